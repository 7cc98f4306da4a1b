//! Limits, and the configuration that sets them.

use serde_json::json;
use testkit::Client;

use super::{BINARY, blocked, envelope, program, repo_with, result, service, strings};

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

/// An answer carries its content twice, as text and as structured content, and both count.
#[test]
fn r015_the_limit_is_that_of_the_message_on_the_wire() {
    const LIMIT: usize = 20_000;
    let folder = service();
    for lines in (50..=400).step_by(25) {
        folder.write(&format!("big/{lines}.py"), "value = \"quoted\"\n".repeat(lines));
    }
    let limit = LIMIT.to_string();
    let mut server =
        repo_with(&folder, &["--max-total-bytes-per-response", &limit, "--max-open-lines", "400"]);
    let (mut answered, mut refused) = (0, 0);
    for lines in (50..=400).step_by(25) {
        let reply = server.call("repo.open_file", json!({ "path": format!("big/{lines}.py") }));
        let size = reply.result.to_string().len();
        match reply.is_error() {
            false => answered += 1,
            true => {
                refused += 1;
                let reason = reply.structured()["result"]["reason"].as_str().unwrap().to_owned();
                assert!(reason.contains("max_total_bytes_per_response"), "{reason}");
            }
        }
        assert!(size <= LIMIT, "{lines} lines: {size} bytes on the wire");
    }
    assert!(answered > 0 && refused > 0, "{answered} answered, {refused} refused");
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
    let elsewhere = std::process::Command::new(BINARY)
        .args(["stdio", "--tools", "repo"])
        .current_dir(folder.path())
        .env_remove("DIR2MCP_DIR")
        .output()
        .unwrap();
    assert_eq!(elsewhere.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&elsewhere.stderr).contains("--repo-root"));
}
