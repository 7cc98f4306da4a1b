//! Live events: what happens is told to those who watch, in order, and to those who come back.

use serde_json::json;
use testkit::{Client, Folder, Request};

use super::{Events, get, serve};

#[test]
fn calls_and_changes_are_told() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    let mut events = Events::open(&server, Request::new("GET", "/console/events"));
    let (id, name, hello) = events.next().unwrap();
    assert_eq!((name.as_str(), &hello["resumed"]), ("hello", &json!(false)));
    assert_eq!(hello["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&hello["progress"]["searchable"], &hello["progress"]["running"]), (&json!(1), &json!(false)));
    let instance = hello["instance"].as_str().unwrap().to_owned();
    assert!(id.starts_with(&instance), "{id}");

    server.expect("dir2mcp.search", json!({ "query": "a" }));
    let call = events.wait_for("call");
    assert_eq!(
        (&call["tool"], &call["ok"], &call["error_code"]),
        (&json!("dir2mcp.search"), &json!(true), &json!(null))
    );
    assert!(call.get("query").is_none());

    server
        .client_at("/mcp/files")
        .expect("file_write", json!({ "project": "p", "path": "/a.md", "content": "x", "mode": "TRUNCATE" }));
    let changed = events.wait_for("file_changed");
    assert_eq!(
        (&changed["project"], &changed["path"], &changed["operation"]),
        (&json!("p"), &json!("/a.md"), &json!("write"))
    );
    assert!(changed["content_hash"].is_string());

    folder.write("b.md", "# B\n");
    loop {
        let progress = events.wait_for("progress");
        if progress["searchable"] == 2 && progress["running"] == false {
            break;
        }
    }
}

#[test]
fn who_comes_back_gets_what_was_missed() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    let (id, ..) = Events::open(&server, Request::new("GET", "/console/events")).next().unwrap();
    server.expect("dir2mcp.search", json!({ "query": "a" }));
    let mut events =
        Events::open(&server, Request::new("GET", "/console/events").header("Last-Event-ID", &id));
    assert_eq!(events.next().unwrap().2["resumed"], true);
    assert_eq!(events.wait_for("call")["tool"], "dir2mcp.search");
    // The place of another start.
    let other = Request::new("GET", "/console/events").header("Last-Event-ID", "0123456789abcdef-3");
    assert_eq!(Events::open(&server, other).next().unwrap().2["resumed"], false);
}

#[test]
fn streams_are_bounded_and_end_with_the_server() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    let mut open: Vec<Events> =
        (0..8).map(|_| Events::open(&server, Request::new("GET", "/console/events"))).collect();
    open.iter_mut().for_each(|events| drop(events.next()));
    let refused = get(&server, "/console/events");
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    let mut last = open.pop().unwrap();
    server.stop();
    while last.next().is_some() {}
}
