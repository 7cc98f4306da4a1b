//! The front door of `up`: where it listens, what it tells, what it takes, and what it writes into its log.

use serde_json::{Value, json};
use testkit::{Client, Era, Folder, Request, initialize_params};

use super::program;

#[test]
fn d019_a_name_is_looked_up_before_the_process_is_confined() {
    let folder = Folder::empty();
    let server = program(&folder).serve(&["--listen", "localhost:0"]);
    assert!(server.url().starts_with("http://localhost:"), "{}", server.url());
    server.expect("dir2mcp.stats", json!({}));
    let done = program(&folder).run(&["up", "--listen", "no-such-name.invalid:0"]).expect(4);
    assert!(done.stderr.contains("BIND_FAILED") && done.stderr.contains("127.0.0.1"), "{}", done.output());
}

#[test]
fn d021_a_public_server_names_urls_that_another_machine_can_use() {
    let folder = Folder::empty();
    folder.write(".dir2mcp.yaml", "version: 1\nserver:\n  allowed_hosts: [search.example.com]\n");
    let config = folder.path().join(".dir2mcp.yaml");
    let server =
        program(&folder).flag("--config").flag(&config).serve(&["--public", "--listen", "0.0.0.0:0"]);
    assert!(server.url().starts_with("http://search.example.com:"), "{}", server.url());
    let others = server.connection["other_urls"].as_array().unwrap().clone();
    assert!(others.iter().all(|url| !url.as_str().unwrap().contains("0.0.0.0")), "{others:?}");
    server.expect("dir2mcp.stats", json!({}));
}

#[test]
fn d116_media_types_have_no_case() {
    let folder = Folder::empty();
    let server = program(&folder).serve(&[]);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params("2025-11-25") });
    let mut request = Request::post(&server.path, &message);
    request.headers.retain(|(name, _)| name != "Content-Type");
    let response = server.send(request.header("Content-Type", "Application/JSON"));
    assert_eq!(response.status, 200, "{}", response.text());
}

#[test]
fn s033_a_header_does_not_make_a_client_another_one() {
    let folder = Folder::from("//- a.txt\nThe lighthouse.\n");
    let server = program(&folder).serve(&["--tools", "dir2mcp,smart"]);
    server.wait_indexed();
    let mut client = server.client(Era::Modern);
    let codes: Vec<Value> = (0..61)
        .map(|n| {
            let params = json!({ "name": "searchFiles", "arguments": { "query": "lighthouse" } });
            let message = client.message("tools/call", params);
            let posing = client.envelope(&message).header("X-Forwarded-For", &format!("203.0.113.{n}"));
            let reply = client.connection.send(&posing).unwrap().reply().unwrap();
            reply["result"]["structuredContent"]["error"]["code"].clone()
        })
        .collect();
    assert!(codes[..60].iter().all(Value::is_null), "{codes:?}");
    assert_eq!(codes[60], "RATE_LIMITED");
}

#[test]
fn d121_the_end_of_a_session_is_logged_with_reason_and_id() {
    let folder = Folder::empty();
    folder.write(".dir2mcp.yaml", "version: 1\nserver:\n  session_inactivity_timeout: \"1s\"\n");
    let log = folder.outside().join("server.log");
    let server = program(&folder).flag("--log-file").flag(&log).serve(&[]);
    let session = server.client(Era::Legacy).session.unwrap();
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    server.poll("the line in the log", |_| read().contains("session ended").then_some(()));
    let line = read().lines().find(|line| line.contains("session ended")).unwrap().to_owned();
    assert!(line.contains("reason=\"inactivity\"") && line.contains("session="), "{line}");
    assert!(!read().contains(&session), "the id itself is a secret");
    server.stop().expect(0);
    let done = program(&folder).flag("--log-file").flag("/nowhere/at/all.log").run(&["up"]).expect(2);
    assert!(done.stderr.contains("--log-file"), "{}", done.output());
}

#[test]
fn d125_every_revision_that_is_listed_is_served() {
    let folder = Folder::empty();
    let server = program(&folder).serve(&[]);
    let listed = program(&folder).json(&["version", "--json"])["mcp_protocol_versions"].clone();
    for version in listed.as_array().unwrap().iter().map(|version| version.as_str().unwrap()) {
        if version == "2026-07-28" {
            server.expect("dir2mcp.stats", json!({}));
            continue;
        }
        let mut client = server.stranger(Era::Legacy);
        let reply = client.initialize(version);
        assert_eq!(reply.result()["protocolVersion"], version);
        assert_eq!(client.request("tools/list", json!({})).status, 200, "{version}");
    }
}

#[test]
fn a_body_that_is_too_long_is_answered_even_if_the_client_sends_all_of_it_first() {
    let folder = Folder::empty();
    let server = program(&folder).serve(&[]);
    for megabytes in [2, 8] {
        let request = Request::new("POST", &server.path)
            .header("Content-Type", "application/json")
            .body(vec![b' '; megabytes << 20]);
        let response = server.send(request);
        assert_eq!(response.status, 413, "{megabytes} MiB");
        assert_eq!(response.reply().unwrap()["error"]["data"]["code"], "REQUEST_TOO_LARGE");
    }
}
