//! The ways in: lines, endpoints, the command line.

use serde_json::{Value, json};
use testkit::{Client, Era, Request};

use super::{program, service};

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
fn c1_c10_the_tools_beside_others_and_over_http() {
    let folder = service();
    let server = program(&folder).serve(&["--tools", "dir2mcp,repo"]);
    server.wait_indexed();
    let mut client = server.client(Era::Modern);
    let names = client.request("tools/list", json!({})).result()["tools"].as_array().unwrap().len();
    assert_eq!(names, 19);
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
