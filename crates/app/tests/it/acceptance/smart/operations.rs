//! What operators look at: health, readiness, metrics, and the version on the wire.

use serde_json::json;
use testkit::{Client, Era, Folder, Request};

use super::super::program;
use super::{indexed, served};

#[test]
fn s035_c52_the_version_is_a_field_and_a_header() {
    let folder = Folder::from("//- a.txt\nThe lighthouse.\n");
    let server = served(&folder, &[]);
    let mut client = server.client(Era::Modern);
    let message = client.message("tools/call", json!({ "name": "listRoots", "arguments": {} }));
    let request = client.envelope(&message);
    let response = client.connection.send(&request).unwrap();
    assert_eq!(response.header("mcp_version"), Some("v1.0.0"));
    assert!(response.text().contains("\"mcp_version\":\"v1.0.0\""));
}

#[test]
fn s039_health_and_readiness() {
    let folder = Folder::from("//- a.txt\nThe lighthouse.\n");
    let server = program(&folder).serve(&[]);
    server.wait_indexed();
    for path in ["/healthz", "/readyz"] {
        let response = server.connect().send(&Request::new("GET", path)).unwrap();
        assert_eq!(response.status, 200, "{path}: {}", response.text());
    }
    let post = server.connect().send(&Request::post("/metrics", &json!({}))).unwrap();
    assert_eq!(post.status, 405);
}

#[test]
fn s039_a_server_is_not_ready_before_its_first_index() {
    let folder = Folder::empty();
    for number in 0..1500 {
        folder.write(&format!("{number}.txt"), format!("file {number} {}\n", "with words ".repeat(100)));
    }
    let server = program(&folder).serve(&[]);
    let first = server.connect().send(&Request::new("GET", "/readyz")).unwrap();
    assert_eq!(first.status, 503, "{}", first.text());
    assert_eq!(first.text(), r#"{"status":"indexing"}"#);
    server.poll("readiness", |_| {
        (server.connect().send(&Request::new("GET", "/readyz")).unwrap().status == 200).then_some(())
    });
    server.stop().expect(0);
    // What was built stays: the next start is ready at once.
    let server = program(&folder).serve(&[]);
    assert_eq!(server.connect().send(&Request::new("GET", "/readyz")).unwrap().status, 200);
}

#[test]
fn s039_metrics_count_calls_and_files() {
    let folder = Folder::from("//- a.txt\nThe lighthouse.\n//- b.txt\nThe windmill.\n");
    let server = served(&folder, &[]);
    let mut client = server.client(Era::Modern);
    indexed(&mut client, folder.path().to_str().unwrap());
    client.expect("searchFiles", json!({ "query": "lighthouse" }));
    client.call("openFile", json!({ "path": folder.path().join("none.txt") }));
    let response = server.connect().send(&Request::new("GET", "/metrics")).unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let page = response.text();
    for line in [
        "dir2mcp_tool_calls_total{tool=\"searchFiles\",outcome=\"ok\"} 1",
        "dir2mcp_tool_calls_total{tool=\"openFile\",outcome=\"FILE_NOT_FOUND\"} 1",
        "dir2mcp_documents{root=\"0\",status=\"ok\"} 2",
        "dir2mcp_chunks{root=\"0\"} 2",
        "dir2mcp_indexing_running{root=\"0\"} 0",
    ] {
        assert!(page.lines().any(|known| known == line), "{line} in {page}");
    }
    assert!(!page.contains(folder.path().to_str().unwrap()), "no paths");
}
