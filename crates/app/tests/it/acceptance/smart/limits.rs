//! How often a client may call, and what is kept of its calls.

use serde_json::{Value, json};
use testkit::{Client, Era, Folder};

use super::super::program;
use super::{indexed, refused, served, smart, smart_with};

#[test]
fn s033_case_30_the_sixty_first_search_of_a_minute_is_refused() {
    let folder = Folder::from("//- a.txt\nThe lighthouse.\n");
    let server = served(&folder, &[]);
    let mut client = server.client(Era::Legacy);
    for call in 0..60 {
        let reply = client.call("searchFiles", json!({ "query": "lighthouse" }));
        assert!(!reply.is_error(), "call {call}: {}", reply.result);
    }
    let reply = client.call("searchFiles", json!({ "query": "lighthouse" }));
    let error = reply.structured()["error"].clone();
    assert_eq!(error["code"], "RATE_LIMITED");
    assert!(error["details"]["hint"].as_str().unwrap().starts_with("Try again in "), "{error}");
    // Another tool has a limit of its own, and some have none.
    let path = folder.path().join("a.txt");
    for _ in 0..30 {
        client.expect("openFile", json!({ "path": path }));
    }
    assert_eq!(refused(&mut client, "openFile", json!({ "path": path })), "RATE_LIMITED");
    for _ in 0..70 {
        client.expect("listRoots", json!({}));
    }
    let results = json!([{ "path": path, "snippet": "The lighthouse." }]);
    for _ in 0..20 {
        client.expect("summarizeResults", json!({ "query": "x", "results": results }));
    }
    let summary = json!({ "query": "x", "results": results });
    assert_eq!(refused(&mut client, "summarizeResults", summary), "RATE_LIMITED");
}

#[test]
fn s033_limits_are_the_operators_and_a_parent_process_has_none() {
    let folder = Folder::from("//- a.txt\nThe lighthouse.\n");
    let mut server = smart(&folder);
    for _ in 0..65 {
        server.expect("searchFiles", json!({ "query": "lighthouse" }));
    }
    drop(server);
    folder.write(".dir2mcp.yaml", "smart:\n  rate_limits:\n    search_files: 2\n    stdio: true\n");
    let mut server = smart_with(&folder, &[]);
    for _ in 0..2 {
        server.expect("searchFiles", json!({ "query": "lighthouse" }));
    }
    assert_eq!(refused(&mut server, "searchFiles", json!({ "query": "lighthouse" })), "RATE_LIMITED");
}

#[test]
fn s034_every_call_leaves_a_line_without_what_was_asked() {
    let folder = Folder::from("//- a.txt\nThe lighthouse.\n");
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    server.expect("searchFiles", json!({ "query": "lighthouse of my heart" }));
    refused(&mut server, "openFile", json!({ "path": "/etc/passwd" }));
    let lines = audit(&folder);
    let line =
        |tool: &str| lines.iter().find(|line| line["tool"] == tool).unwrap_or_else(|| panic!("{lines:?}"));
    let search = line("searchFiles");
    assert_eq!(search["caller"], "stdio");
    assert_eq!(search["ok"], true);
    assert!(search["timestamp"].as_str().unwrap().ends_with('Z') && search["duration_ms"].is_u64());
    assert_eq!(search["metadata"]["items_returned"], 1);
    assert_eq!(search["metadata"]["query_length"], 22);
    assert_eq!(line("openFile")["error_code"], "FORBIDDEN");
    assert!(!format!("{lines:?}").contains("heart"));
    drop(server);
    folder.write(".dir2mcp.yaml", "smart:\n  audit_queries: true\n");
    program(&folder).run(&["trust"]).expect(0);
    let mut server = smart_with(&folder, &[]);
    let mail = ["a.b", "example.org"].join("@");
    server.expect("searchFiles", json!({ "query": format!("lighthouse of {mail}") }));
    let lines = audit(&folder);
    assert_eq!(lines.last().unwrap()["metadata"]["query"], "lighthouse of [EMAIL]");
}

fn audit(folder: &Folder) -> Vec<Value> {
    let text = folder.read(".dir2mcp/audit.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
