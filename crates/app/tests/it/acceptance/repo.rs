//! The repository tools, as a client that starts them sees them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{Client, Era, Folder, Request, StdioServer, ToolReply};

use super::program;

/// A server of the repository tools alone.
fn repo(folder: &Folder) -> StdioServer {
    repo_with(folder, &[])
}

fn repo_with(folder: &Folder, flags: &[&str]) -> StdioServer {
    program(folder).stdio(&[&["--tools", "repo"], flags].concat()).connect(Era::Legacy)
}

/// The result of a call that succeeds.
fn result(server: &mut StdioServer, tool: &str, arguments: Value) -> Value {
    let envelope = server.expect(&format!("repo.{tool}"), arguments.clone());
    assert_eq!(envelope["ok"], true, "{tool} {arguments}: {envelope}");
    envelope["result"].clone()
}

/// The envelope of any call.
fn envelope(server: &mut StdioServer, tool: &str, arguments: Value) -> Value {
    server.call(&format!("repo.{tool}"), arguments).structured().clone()
}

fn blocked(server: &mut StdioServer, tool: &str, arguments: Value) -> String {
    let reply: ToolReply = server.call(&format!("repo.{tool}"), arguments.clone());
    let answer = reply.structured();
    assert!(reply.is_error(), "{tool} {arguments}: {answer}");
    assert_eq!(answer["blocked"], true, "{tool} {arguments}: {answer}");
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["error"]["code"], "PATH_BLOCKED");
    assert!(!answer["result"]["hint"].as_str().unwrap().is_empty(), "{answer}");
    answer["result"]["reason"].as_str().unwrap().to_owned()
}

fn strings(rows: &Value, key: &str) -> Vec<String> {
    rows.as_array().unwrap().iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
}

fn service() -> Folder {
    Folder::from(
        "
        //- src/service.py
        import os
        from src.util import helper

        class Service(Base, metaclass=Meta):
            '''Runs items.

            Slowly.
            '''

            def run(self, item: str, retries: int = 2) -> bool:
                for attempt in range(retries):
                    if helper(item):
                        return True
                return False
        //- src/util.py
        LIMIT = 3

        def helper(item):
            '''Whether an item is short.'''
            return len(item) < LIMIT

        def windmill():
            return 'unrelated'
        //- tests/test_util.py
        from src.util import helper

        def test_helper():
            assert helper('a')
        //- README.md
        # Service

        The lighthouse retries every item.
        ",
    )
}

#[test]
fn case_23_r003_lines_in_lines_out() {
    let folder = service();
    let mut server = program(&folder).stdio(&["--tools", "repo"]);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    for line in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "repo.status" } }),
    ] {
        server.send_line(&line.to_string());
    }
    let ids: Vec<Value> = (0..3).map(|_| server.next_message()["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(2), json!(3)]);
    server.send_line("{not json");
    let parse = server.next_message();
    assert_eq!((&parse["error"]["code"], &parse["id"]), (&json!(-32700), &Value::Null));
    server.send_line(&json!({ "jsonrpc": "2.0", "id": 9, "method": "repo/nope" }).to_string());
    assert_eq!(server.next_message()["error"]["code"], -32601);
    server.close().expect(0);
}

#[test]
fn r038_r039_r050_the_envelope_and_the_status() {
    let folder = service();
    let mut server = repo(&folder);
    result(&mut server, "refresh_index", json!({}));
    let reply = server.call("repo.status", json!({}));
    let answer = reply.structured().clone();
    let keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["request_id", "ok", "result", "warnings", "blocked"]);
    assert_eq!(serde_json::from_str::<Value>(&reply.text()).unwrap(), answer, "the text is the same JSON");
    assert_eq!(answer["request_id"], "3", "the id of the request");
    let status = &answer["result"];
    assert_eq!(status["repo_root"], folder.path().to_str().unwrap());
    assert_eq!(status["index_status"], "ready");
    assert_eq!(status["indexed_file_count"], 4);
    assert!(status["last_refresh_timestamp"].as_str().unwrap().ends_with('Z'));
    assert!(status["enabled_adapters"].as_array().unwrap().contains(&json!("python")));
    assert_eq!(status["limits_summary"]["max_open_lines"], 500);
    assert_eq!(status["chunking_summary"], json!({ "lines": 200, "overlap_lines": 30 }));
    assert_eq!(status["semantic_available"], false);
}

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

#[test]
fn r013_r015_case_25_every_limit_blocks_and_is_named() {
    let folder = service();
    let mut server = repo_with(&folder, &["--max-file-bytes", "10"]);
    assert!(blocked(&mut server, "open_file", json!({ "path": "src/util.py" })).contains("max_file_bytes"));
    drop(server);
    let mut server = repo_with(&folder, &["--max-open-lines", "2", "--max-search-hits", "3"]);
    let range = json!({ "path": "src/util.py", "start_line": 1, "end_line": 3 });
    assert!(blocked(&mut server, "open_file", range).contains("max_open_lines"));
    let open = result(&mut server, "open_file", json!({ "path": "src/util.py" }));
    assert_eq!(
        (open["numbered_lines"].as_array().unwrap().len(), &open["truncated"]),
        (2, &json!(true)),
        "c46"
    );
    assert!(
        blocked(&mut server, "search", json!({ "query": "item", "top_k": 4 })).contains("max_search_hits")
    );
    assert_eq!(
        envelope(&mut server, "search", json!({ "query": "item", "top_k": 0 }))["error"]["code"],
        "INVALID_PARAMS"
    );
    assert_eq!(envelope(&mut server, "search", json!({ "query": " " }))["error"]["code"], "INVALID_PARAMS");
    assert!(
        blocked(&mut server, "build_context_bundle", json!({ "prompt": "x", "budget": { "max_files": 21 } }))
            .contains("max_bundle_files")
    );
    drop(server);
    let mut server = repo_with(&folder, &["--max-total-bytes-per-response", "120"]);
    let reason = blocked(&mut server, "open_file", json!({ "path": "src/service.py" }));
    assert!(reason.contains("max_total_bytes_per_response"), "{reason}");
}

#[test]
fn r017_to_r020_case_25_the_configuration_and_what_is_wrong_with_it() {
    let folder = service();
    let refused = |text: &str, flags: &[&str]| {
        folder.write("repo_mcp.toml", text);
        program(&folder).run(&[&["stdio", "--tools", "repo"], flags].concat()).expect(2).output()
    };
    assert!(refused("[limits]\nmax_search_hits = 500\n", &[]).contains("limits.max_search_hits"));
    assert!(refused("[security]\ndenylist_relax = [\".env\"]\n", &[]).contains("denylist_relax"));
    assert!(refused("[limits\n", &[]).contains("repo_mcp.toml:1"));
    assert!(refused("", &["--max-open-lines", "0"]).contains("max_open_lines"));
    folder.write(
        "repo_mcp.toml",
        "[limits]\nmax_open_lines = 4\nmax_search_hits = 7\n[index]\ninclude_extensions = [\".md\"]\n",
    );
    let mut server = repo_with(&folder, &["--max-open-lines", "5"]);
    result(&mut server, "refresh_index", json!({}));
    let status = result(&mut server, "status", json!({}));
    assert_eq!(status["limits_summary"]["max_open_lines"], 5, "a flag over the file");
    assert_eq!(status["limits_summary"]["max_search_hits"], 7, "the file over the default");
    assert_eq!(status["effective_config"]["include_extensions"], json!([".md"]));
    assert_eq!(status["indexed_file_count"], 1);
    assert_eq!(
        strings(&result(&mut server, "search", json!({ "query": "item" }))["hits"], "path"),
        ["README.md"]
    );
    drop(server);
    // Whoever serves the folder for other tools does not stumble over the file.
    folder.write("repo_mcp.toml", "[limits\n");
    program(&folder).run(&["index"]).expect(0);
    // C48: a client may start the server anywhere.
    let elsewhere = std::process::Command::new(super::BINARY)
        .args(["stdio", "--tools", "repo"])
        .current_dir(folder.path())
        .env_remove("DIR2MCP_DIR")
        .output()
        .unwrap();
    assert_eq!(elsewhere.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&elsewhere.stderr).contains("--repo-root"));
}

#[test]
fn r023_r024_case_26_windows_of_lines_with_stable_ids() {
    let folder = Folder::empty();
    let lines =
        |changed: u32| -> String {
            (1..=500)
                .map(|n| {
                    if n == changed {
                        "common_changed = 0\n".into()
                    } else {
                        format!("common_{n:03} = {n}\n")
                    }
                })
                .collect()
        };
    folder.write("long.py", lines(0));
    let mut server = repo(&folder);
    let hits = |server: &mut StdioServer| {
        result(server, "refresh_index", json!({}));
        let found = result(server, "search", json!({ "query": "common" }));
        let mut hits: Vec<(u64, u64, String)> = (found["hits"].as_array().unwrap().iter())
            .map(|hit| {
                let id = hit["chunk_id"].as_str().unwrap().to_owned();
                (hit["start_line"].as_u64().unwrap(), hit["end_line"].as_u64().unwrap(), id)
            })
            .collect();
        hits.sort();
        hits
    };
    let first = hits(&mut server);
    let ranges: Vec<(u64, u64)> = first.iter().map(|(start, end, _)| (*start, *end)).collect();
    assert_eq!(ranges, [(1, 200), (171, 370), (341, 500)]);
    drop(server);
    let mut server = repo_with(&folder, &["--data-dir", folder.outside().join("other").to_str().unwrap()]);
    assert_eq!(hits(&mut server), first, "the same ids in a fresh index");
    folder.write("long.py", lines(10));
    let changed = hits(&mut server);
    assert_ne!(changed[0].2, first[0].2);
    assert_eq!(changed[1..], first[1..]);
}

#[test]
fn r026_r044_refresh_counts_what_changed() {
    let folder = service();
    let mut server = repo(&folder);
    let counts = |server: &mut StdioServer, arguments: Value| {
        let done = result(server, "refresh_index", arguments);
        assert!(done["duration_ms"].is_u64() && done["timestamp"].is_string());
        [&done["added"], &done["updated"], &done["removed"]].map(|count| count.as_u64().unwrap())
    };
    assert_eq!(counts(&mut server, json!({})), [4, 0, 0]);
    assert_eq!(counts(&mut server, json!({})), [0, 0, 0]);
    folder.write("src/util.py", "def helper(item):\n    return 'zeppelin'\n");
    folder.write("src/more.py", "x = 1\n");
    folder.remove("README.md");
    assert_eq!(counts(&mut server, json!({})), [1, 1, 1]);
    assert_eq!(
        strings(&result(&mut server, "search", json!({ "query": "zeppelin" }))["hits"], "path"),
        ["src/util.py"]
    );
    assert_eq!(result(&mut server, "search", json!({ "query": "lighthouse" }))["hits"], json!([]));
    assert_eq!(counts(&mut server, json!({ "force": true })), [0, 4, 0]);
    drop(server);
    // The count goes on where the last server left it.
    folder.write("src/more.py", "y = 2\n");
    let mut server = repo(&folder);
    assert_eq!(counts(&mut server, json!({})), [0, 1, 0]);
}

#[test]
fn r043_r055_case_27_search_is_ranked_cited_and_repeatable() {
    let folder = service();
    for name in ["b/same.py", "a/same.py"] {
        folder.write(name, "def twin():\n    return 'porcupine'\n");
    }
    let mut server = repo(&folder);
    let first = result(&mut server, "search", json!({ "query": "porcupine" }));
    assert_eq!(strings(&first["hits"], "path")[0], "a/same.py");
    assert_eq!(result(&mut server, "search", json!({ "query": "porcupine" })), first);
    let hit = &first["hits"][0];
    assert_eq!((&hit["start_line"], &hit["end_line"]), (&json!(1), &json!(2)));
    assert!(hit["snippet"].as_str().unwrap().contains("porcupine"), "the snippet shows the match");
    assert_eq!(hit["matched_terms"], json!(["porcupine"]));
    let found = result(&mut server, "search", json!({ "query": "helper item" }));
    let scores: Vec<f64> =
        found["hits"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.len() > 2 && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let prefixed = |prefix: &str| json!({ "query": "helper", "path_prefix": prefix });
    let slashed = result(&mut server, "search", prefixed("src/"));
    assert!(strings(&slashed["hits"], "path").iter().all(|path| path.starts_with("src/")));
    for same in ["src\\", "./src/"] {
        assert_eq!(result(&mut server, "search", prefixed(same)), slashed, "{same}");
    }
    let globbed = result(&mut server, "search", json!({ "query": "helper", "file_glob": "tests/**" }));
    assert_eq!(strings(&globbed["hits"], "path"), ["tests/test_util.py"]);
    for mode in ["semantic", "hybrid"] {
        let refused = envelope(&mut server, "search", json!({ "query": "helper", "mode": mode }));
        assert_eq!(refused["error"]["code"], "SEMANTIC_NOT_AVAILABLE");
    }
    drop(server);
    let mut server = repo_with(&folder, &["--semantic"]);
    for mode in ["semantic", "hybrid"] {
        let found = result(&mut server, "search", json!({ "query": "helper", "mode": mode }));
        assert!(!found["hits"].as_array().unwrap().is_empty(), "{mode}");
    }
}

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

#[test]
fn r045_to_r048_case_29_bundles() {
    let folder = service();
    for name in ["one", "two", "three"] {
        folder.write(
            &format!("pack/{name}.py"),
            "def quokka():\n    first = 1\n    second = 2\n    return first\n",
        );
    }
    let mut server = repo(&folder);
    let request = json!({ "prompt": "quokka", "budget": { "max_files": 2, "max_total_lines": 8 } });
    let bundle = result(&mut server, "build_context_bundle", request.clone());
    assert_eq!(bundle["totals"], json!({ "selected_files": 2, "selected_lines": 8, "truncated": true }));
    assert_eq!(bundle["audit"]["budget_enforcement"].as_array().unwrap().len(), 1);
    assert!(
        bundle["audit"]["budget_enforcement"][0]
            .as_str()
            .unwrap()
            .starts_with("skipped_file_budget:pack/two.py:1-4")
    );
    assert_eq!(bundle["why_not_selected"]["reason_counts"]["file_budget"], 1);
    assert_eq!(result(&mut server, "build_context_bundle", request), bundle, "the same bytes");
    for (at, selection) in bundle["selections"].as_array().unwrap().iter().enumerate() {
        assert!(selection["rationale"].as_str().unwrap().contains("quokka"), "{selection}");
        assert_eq!(bundle["citations"][at]["path"], selection["path"]);
        assert_eq!(bundle["citations"][at]["selection_index"], at);
    }
    // The symbol that matches, not the smallest of the chunk (defect 6).
    let bundle = result(
        &mut server,
        "build_context_bundle",
        json!({ "prompt": "Where does Service.run count retries?" }),
    );
    let first = &bundle["selections"][0];
    assert_eq!(first["path"], "src/service.py");
    let data = folder.path().join(".repo_mcp");
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(data.join("last_bundle.json")).unwrap()).unwrap();
    assert_eq!(kept, bundle);
    let page = fs::read_to_string(data.join("last_bundle.md")).unwrap();
    assert!(
        page.contains("> Where does Service.run count retries?") && page.contains("## src/service.py:"),
        "{page}"
    );
    let log = fs::read_to_string(data.join("audit.jsonl")).unwrap();
    assert!(log.contains("\"prompt_length\":37") && !log.contains("count retries"), "{log}");
    for (arguments, code) in [
        (json!({ "prompt": " " }), "INVALID_PARAMS"),
        (json!({ "prompt": "x", "strategy": "llm" }), "INVALID_PARAMS"),
        (json!({ "prompt": "x", "budget": { "max_files": 0 } }), "INVALID_PARAMS"),
        (json!({ "prompt": "x", "retrieval_mode": "semantic" }), "SEMANTIC_NOT_AVAILABLE"),
    ] {
        assert_eq!(envelope(&mut server, "build_context_bundle", arguments)["error"]["code"], code);
    }
}

#[test]
fn r051_a_bundle_that_cannot_be_kept_is_still_given() {
    let folder = service();
    let mut server = repo(&folder);
    result(&mut server, "refresh_index", json!({}));
    // Folders where the files should be: nobody can write those, not even root.
    for name in ["last_bundle.json", "last_bundle.md"] {
        fs::create_dir(folder.path().join(".repo_mcp").join(name)).unwrap();
        fs::write(folder.path().join(".repo_mcp").join(name).join("inside"), "").unwrap();
    }
    let answer = envelope(&mut server, "build_context_bundle", json!({ "prompt": "helper" }));
    assert_eq!(answer["ok"], true);
    assert!(answer["warnings"][0].as_str().unwrap().contains("last_bundle.json"), "{answer}");
}

#[test]
fn r049_r050_the_audit_log() {
    let folder = service();
    let mut server = repo(&folder);
    result(&mut server, "search", json!({ "query": "where is the lighthouse" }));
    envelope(&mut server, "open_file", json!({ "path": ".env" }));
    envelope(&mut server, "search", json!({ "query": "x", "top_k": 500 }));
    let records = result(&mut server, "audit_log", json!({}))["records"].clone();
    assert_eq!(
        strings(&records, "tool"),
        ["repo.search", "repo.open_file", "repo.search"],
        "without the call itself"
    );
    assert_eq!(records[0]["metadata"], json!({ "query_present": true, "query_length": 23 }));
    assert_eq!((&records[1]["blocked"], &records[1]["error_code"]), (&json!(true), &json!("PATH_BLOCKED")));
    assert_eq!(records[1]["metadata"]["path"], ".env");
    assert_eq!(records[2]["error_code"], "POLICY_BLOCKED");
    let since = records[2]["timestamp"].as_str().unwrap();
    let later = result(&mut server, "audit_log", json!({ "since": since }))["records"].clone();
    assert!(strings(&later, "tool").contains(&"repo.audit_log".to_owned()));
    assert_eq!(
        strings(&result(&mut server, "audit_log", json!({ "limit": 1 }))["records"], "tool"),
        ["repo.audit_log"]
    );
    let mode = fs::metadata(folder.path().join(".repo_mcp/audit.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Acceptance: the same bytes whatever the number of threads and however the index came to be.
#[test]
fn r055_the_same_bytes_however_the_index_was_built() {
    let files: Vec<(String, String)> = (0..40)
        .map(|n| {
            (
                format!("pkg/mod_{n:02}.py"),
                format!("class Worker{n}:\n    def drain_{n}(self):\n        return shared_pool({n})\n"),
            )
        })
        .collect();
    let questions = [
        ("search", json!({ "query": "shared pool worker" })),
        ("references", json!({ "symbol": "shared_pool" })),
        ("find_definition", json!({ "symbol": "drain_7" })),
        ("build_context_bundle", json!({ "prompt": "drain the shared pool of Worker7" })),
        ("outline", json!({ "path": "pkg/mod_07.py" })),
    ];
    let mut answers: Vec<Vec<Value>> = Vec::new();
    for (threads, stepwise) in [("1", false), ("8", false), ("8", true)] {
        let folder = Folder::empty();
        let launch = || {
            program(&folder)
                .env("DIR2MCP_INGEST_THREADS", threads)
                .stdio(&["--tools", "repo"])
                .connect(Era::Legacy)
        };
        let mut server = launch();
        if stepwise {
            for (path, _) in &files {
                folder.write(path, "def shared_pool(): pass\n");
            }
            result(&mut server, "refresh_index", json!({}));
            for chunk in files.chunks(7) {
                chunk.iter().for_each(|(path, text)| folder.write(path, text));
                result(&mut server, "refresh_index", json!({}));
            }
            drop(server);
            server = launch();
        } else {
            files.iter().for_each(|(path, text)| folder.write(path, text));
        }
        result(&mut server, "refresh_index", json!({}));
        answers.push(
            questions.iter().map(|(tool, arguments)| result(&mut server, tool, arguments.clone())).collect(),
        );
    }
    assert_eq!(answers[0], answers[1], "1 and 8 threads");
    assert_eq!(answers[0], answers[2], "at once and step by step");
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

#[test]
fn c1_c10_the_tools_beside_others_and_over_http() {
    let folder = service();
    let server = program(&folder).serve(&["--tools", "dir2mcp,repo"]);
    server.wait_indexed();
    let mut client = server.client(Era::Modern);
    let names = client.request("tools/list", json!({})).result()["tools"].as_array().unwrap().len();
    assert_eq!(names, 15);
    let found = client.expect("repo.search", json!({ "query": "helper" }));
    assert_eq!(found["ok"], true);
    assert!(folder.state().join("audit.jsonl").exists(), "one state directory");
    assert!(!folder.path().join(".repo_mcp").exists());
}

#[test]
fn the_tools_have_an_endpoint_of_their_own() {
    let folder = service();
    let server = program(&folder).serve(&[]);
    server.wait_indexed();
    let mut client = server.client_at("/mcp/repo");
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed.result()["tools"].as_array().unwrap().len(), 10);
    assert_eq!(client.expect("repo.search", json!({ "query": "helper" }))["ok"], true);
    drop(server);
    folder.write("repo_mcp.toml", "[limits\n");
    let server = program(&folder).serve(&[]);
    assert_eq!(server.send(Request::new("POST", "/mcp/repo")).status, 404);
}

#[test]
fn the_command_line_outlines_and_bundles() {
    let folder = service();
    let shown = program(&folder).run(&["outline", "src/service.py"]).expect(0).stdout;
    insta::assert_snapshot!("outline_text", shown);
    let bundle = program(&folder)
        .run(&["bundle", "--max-files", "2", "why does helper ignore the LIMIT?"])
        .expect(0)
        .stdout;
    assert!(bundle.starts_with("# Context bundle\n\n> why does helper ignore the LIMIT?"), "{bundle}");
    assert!(bundle.contains("def helper(item):"), "{bundle}");
    let as_json = program(&folder).json(&["bundle", "--json", "helper"]);
    assert!(as_json["selections"][0]["excerpt"].as_str().unwrap().contains("helper"));
    program(&folder).run(&["outline", ".env"]).expect(1);
}
