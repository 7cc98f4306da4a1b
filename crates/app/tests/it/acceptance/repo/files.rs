//! Files listed, opened and refused.

use std::fs;

use serde_json::json;

use super::{blocked, envelope, repo, repo_with, result, service, strings};

#[test]
fn r040_files_are_listed_as_they_are() {
    let folder = service();
    folder.write(".hidden/notes.md", "x");
    folder.write("big.md", "x".repeat(2000));
    fs::write(folder.outside().join("outside.md"), "outside").unwrap();
    folder.link("link.md", folder.outside().join("outside.md"));
    folder.write("node_modules/a.js", "x");
    let mut server = repo_with(&folder, &["--max-file-bytes", "1000"]);
    let listed = result(&mut server, "list_files", json!({}));
    let expected = ["README.md", "src/service.py", "src/util.py", "tests/test_util.py"];
    assert_eq!(strings(&listed["files"], "path"), expected);
    let row = &listed["files"][2];
    let on_disk = fs::metadata(folder.path().join("src/util.py")).unwrap();
    assert_eq!(row["size"], on_disk.len());
    let modified = on_disk.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(row["mtime"], modified.as_nanos() as u64, "nanoseconds");
    let hidden = result(&mut server, "list_files", json!({ "include_hidden": true, "glob": "*.md" }));
    assert_eq!(strings(&hidden["files"], "path"), [".hidden/notes.md", "README.md"]);
    let cut = result(&mut server, "list_files", json!({ "max_results": 1 }));
    assert_eq!((&cut["truncated"], &cut["total"]), (&json!(true), &json!(4)));
    // At once, without a refresh.
    folder.write("src/new.py", "x = 1\n");
    let globbed = result(&mut server, "list_files", json!({ "glob": "src/*.py" }));
    assert_eq!(strings(&globbed["files"], "path"), ["src/new.py", "src/service.py", "src/util.py"]);
}

#[test]
fn r004_to_r007_r041_r052_case_27_files_open_by_lines() {
    let folder = service();
    fs::write(folder.outside().join("outside.txt"), "outside").unwrap();
    folder.link("escape.py", folder.outside().join("outside.txt"));
    folder.link("inside.py", "src/util.py");
    let mut server = repo(&folder);
    let opened =
        result(&mut server, "open_file", json!({ "path": "src/util.py", "start_line": 3, "end_line": 4 }));
    assert_eq!(
        opened["numbered_lines"],
        json!([
            { "line": 3, "text": "def helper(item):" },
            { "line": 4, "text": "    '''Whether an item is short.'''" }
        ])
    );
    assert_eq!(opened["truncated"], false);
    let absolute = folder.path().join("src/util.py");
    for same in ["src\\util.py", "./src/util.py", "src//util.py", absolute.to_str().unwrap(), "inside.py"] {
        let again = result(&mut server, "open_file", json!({ "path": same, "start_line": 3, "end_line": 4 }));
        assert_eq!(again["numbered_lines"], opened["numbered_lines"], "{same}");
    }
    for outside in
        ["../outside.txt", "src/../../outside.txt", "/etc/passwd", "escape.py", "..\\outside.txt", ""]
    {
        let reason = blocked(&mut server, "open_file", json!({ "path": outside }));
        assert!(!reason.contains("root:"), "{reason}");
    }
    for (arguments, code) in [
        (json!({ "path": "src/none.py" }), "FILE_NOT_FOUND"),
        (json!({}), "INVALID_PARAMS"),
        (json!({ "path": "src/util.py", "start_line": 5, "end_line": 4 }), "INVALID_PARAMS"),
        (json!({ "path": "src/util.py", "lines": 5 }), "INVALID_PARAMS"),
    ] {
        let answer = envelope(&mut server, "open_file", arguments.clone());
        assert_eq!(
            (&answer["error"]["code"], &answer["blocked"]),
            (&json!(code), &json!(false)),
            "{arguments}"
        );
        assert_eq!(answer["result"], json!({}));
    }
    // Below 1 means the first line; behind the end there is nothing, and a warning.
    let first =
        result(&mut server, "open_file", json!({ "path": "src/util.py", "start_line": -3, "end_line": 1 }));
    assert_eq!(first["numbered_lines"][0]["line"], 1);
    let behind = envelope(&mut server, "open_file", json!({ "path": "src/util.py", "start_line": 900 }));
    assert_eq!(behind["result"]["numbered_lines"], json!([]));
    assert!(behind["warnings"][0].as_str().unwrap().contains("only 8 lines"), "{behind}");
}

#[test]
fn r008_to_r016_case_24_the_deny_floor_holds_everywhere() {
    let folder = service();
    let denied = [
        ".env",
        "tls.pem",
        "a.key",
        "b.pfx",
        "c.p12",
        "id_rsa.pub",
        "config/secrets.toml",
        ".git/config",
        "config/secrets.py",
    ];
    for path in denied {
        folder.write(path, "def canary():\n    return 'canary bird'\n");
    }
    folder.write("src/soon.py", "def later_canary():\n    return 'later canary'\n");
    let mut server = repo(&folder);
    result(&mut server, "refresh_index", json!({}));
    for path in denied {
        for tool in ["open_file", "outline"] {
            let reason = blocked(&mut server, tool, json!({ "path": path }));
            assert!(reason.contains("deny list"), "{path}: {reason}");
        }
    }
    assert_eq!(
        strings(&result(&mut server, "search", json!({ "query": "later canary" }))["hits"], "path"),
        ["src/soon.py"]
    );
    // Renamed onto a forbidden name after it was indexed: the old path is gone, and with it what was known.
    folder.rename("src/soon.py", "src/secrets.py");
    for (tool, arguments) in [
        ("search", json!({ "query": "canary bird later_canary" })),
        ("find_definition", json!({ "symbol": "canary" })),
        ("find_definition", json!({ "symbol": "later_canary" })),
        ("references", json!({ "symbol": "canary" })),
        ("build_context_bundle", json!({ "prompt": "canary later_canary", "include_tests": true })),
        ("list_files", json!({ "include_hidden": true })),
    ] {
        let answer = envelope(&mut server, tool, arguments.clone());
        assert_eq!(answer["ok"], true, "one forbidden file does not cost the call: {tool} {answer}");
        let mut text = answer["result"].to_string();
        for own in
            ["\"canary bird later_canary\"", "\"canary later_canary\"", "\"canary\"", "\"later_canary\""]
        {
            text = text.replace(own, "");
        }
        assert!(!text.contains("canary"), "{tool} {arguments}: {text}");
        for path in denied.iter().chain(&["src/secrets.py", "src/soon.py"]) {
            assert!(!text.contains(path), "{tool} {arguments}: {path}");
        }
    }
    let log = result(&mut server, "audit_log", json!({})).to_string();
    assert!(!log.contains("canary"), "{log}");
}
