//! Outlines, definitions and references.

use std::fs;

use serde_json::json;
use testkit::Folder;

use super::{envelope, repo, repo_with, result, service, strings};

#[test]
fn r028_to_r037_case_28_outlines() {
    let folder = Folder::from(
        "
        //- nested.py
        if True:
            def under_if():
                pass

        class Outer(Base, metaclass=Meta):
            def method(self):
                def local_fn():
                    pass

                class Local:
                    async def run(self, *, retries=2):
                        '''Runs.'''

        def top(a, b: int = 3) -> str:
            if a:
                def under_nested_if():
                    pass
        //- broken.py
        def fine():
            pass
        def broken(:
        //- lib.rs
        pub struct Lease;
        impl Lease {
            /// Extends it.
            pub fn renew(&mut self) {}
        }
        //- notes.txt
        no language
        ",
    );
    let mut server = repo(&folder);
    let outline = result(&mut server, "outline", json!({ "path": "nested.py" }));
    assert_eq!(outline["language"], "python");
    assert_eq!(
        strings(&outline["symbols"], "name"),
        [
            "under_if",
            "Outer",
            "Outer.method",
            "Outer.method.local_fn",
            "Outer.method.Local",
            "Outer.method.Local.run",
            "top",
            "top.under_nested_if"
        ]
    );
    insta::assert_json_snapshot!("outline", outline["symbols"]);
    let broken = envelope(&mut server, "outline", json!({ "path": "broken.py" }));
    assert_eq!(broken["result"]["symbols"], json!([]), "nothing partial");
    assert!(broken["warnings"][0].as_str().unwrap().contains("SYNTAX_ERROR"), "{broken}");
    let rust = result(&mut server, "outline", json!({ "path": "lib.rs" }));
    assert_eq!(strings(&rust["symbols"], "kind"), ["struct", "impl", "method"]);
    let plain = result(&mut server, "outline", json!({ "path": "notes.txt" }));
    assert_eq!((&plain["language"], &plain["symbols"]), (&json!("lexical"), &json!([])));
    drop(server);
    let mut server = repo_with(&folder, &["--python-adapter-enabled", "false"]);
    let off = result(&mut server, "outline", json!({ "path": "nested.py" }));
    assert_eq!((&off["language"], &off["symbols"]), (&json!("lexical"), &json!([])));
}

#[test]
fn definitions_and_references_across_files() {
    let folder = service();
    let mut server = repo(&folder);
    let found = result(&mut server, "find_definition", json!({ "symbol": "helper" }));
    assert_eq!(
        found["definitions"],
        json!([{
            "path": "src/util.py", "symbol": "helper", "kind": "function", "signature": "(item)",
            "start_line": 3, "end_line": 5, "scope_kind": "module"
        }])
    );
    for asked in ["run", "Service.run", "src.service.Service.run", "Service::run()"] {
        let found = result(&mut server, "find_definition", json!({ "symbol": asked }));
        assert_eq!(strings(&found["definitions"], "symbol"), ["Service.run"], "{asked}");
    }
    let found = result(&mut server, "references", json!({ "symbol": "helper" }));
    let rows: Vec<(String, u64, String, String)> = (found["references"].as_array().unwrap().iter())
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            (text("path"), row["line"].as_u64().unwrap(), text("kind"), text("evidence"))
        })
        .collect();
    let row = |path: &str, line, kind: &str, evidence: &str| {
        (path.to_owned(), line, kind.to_owned(), evidence.to_owned())
    };
    assert_eq!(
        rows,
        [
            row("src/service.py", 2, "import", "from src.util import helper"),
            row("src/service.py", 12, "call", "if helper(item):"),
            row("tests/test_util.py", 1, "import", "from src.util import helper"),
            row("tests/test_util.py", 4, "call", "assert helper('a')"),
        ]
    );
    assert!(
        found["references"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["strategy"] == "ast" && row["confidence"] == "high")
    );
    let within = result(&mut server, "references", json!({ "symbol": "helper", "path": "tests" }));
    assert_eq!(within["total_candidates"], 2);
    let cut = result(&mut server, "references", json!({ "symbol": "helper", "top_k": 1 }));
    assert_eq!((&cut["truncated"], &cut["total_candidates"]), (&json!(true), &json!(4)));
    // An edit shows in the next answer after a refresh, at its new line.
    folder.write("tests/test_util.py", "\n\n\nfrom src.util import helper\n");
    result(&mut server, "refresh_index", json!({}));
    let moved = result(&mut server, "references", json!({ "symbol": "helper", "path": "tests" }));
    assert_eq!(moved["references"][0]["line"], 4);
    assert_eq!(moved["total_candidates"], 1);
}

/// Acceptance: broken, hostile and enormous sources leave the server answering, and each has a reason.
#[test]
fn hostile_sources_have_a_reason() {
    let folder = service();
    folder.write("minified.js", format!("var a={{}};{}", "function f(a,b){return a+b};".repeat(100_000)));
    folder.write("nested.py", "(".repeat(100_000));
    folder.write("nul.py", b"def a():\n    return '\0'\n");
    folder.write("latin.py", b"# caf\xe9\ndef caffeine():\n    return 1\n");
    folder.write("deep.json", "[".repeat(200_000));
    let huge = fs::File::create(folder.path().join("generated.py")).unwrap();
    huge.set_len(1 << 30).unwrap();
    let mut server = repo(&folder);
    result(&mut server, "refresh_index", json!({}));
    let mut reason = |path: &str| {
        let answer = envelope(&mut server, "outline", json!({ "path": path }));
        let warning = answer["warnings"].as_array().unwrap().first().cloned().unwrap_or_default();
        format!("{}{}", answer["result"]["reason"].as_str().unwrap_or(""), warning.as_str().unwrap_or(""))
    };
    assert!(reason("minified.js").contains("max_file_bytes"));
    assert!(reason("generated.py").contains("max_file_bytes"));
    assert!(reason("nested.py").contains("NESTED") || reason("nested.py").contains("SYNTAX"));
    assert!(reason("deep.json").contains("SOURCE_TOO_NESTED"));
    assert!(!reason("nul.py").is_empty());
    let latin = result(&mut server, "outline", json!({ "path": "latin.py" }));
    assert_eq!(strings(&latin["symbols"], "name"), ["caffeine"]);
    assert_eq!(
        strings(&result(&mut server, "search", json!({ "query": "windmill" }))["hits"], "path"),
        ["src/util.py"]
    );
}
