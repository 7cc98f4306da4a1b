//! Who is let in: the three modes, keys, standard input, switches, rates; on both backends where the backend matters.

use serde_json::{Value, json};
use testkit::{Client, Era, Request, Server};

use super::world::Home;
use super::{Backend, World};

/// The status of a call with this credential, and what the store said.
fn stat_as(server: &Server, key: Option<&str>) -> (u16, Value) {
    let mut client = server.client_at("/mcp/files").bearing(key);
    let arguments = json!({ "name": "file_stat", "arguments": { "project": "p", "path": "/a" } });
    let message = client.message("tools/call", arguments);
    let request = client.envelope(&message);
    let response = client.connection.send(&request).expect("an answer");
    let said = response.reply().map(|reply| reply["result"]["structuredContent"].clone());
    (response.status, said.unwrap_or_default())
}

fn write_as(server: &Server, key: Option<&str>, content: &str) {
    let arguments = json!({ "project": "p", "path": "/a", "content": content, "mode": "TRUNCATE" });
    server.client_at("/mcp/files").bearing(key).expect("file_write", arguments);
}

fn read_as(server: &Server, key: Option<&str>) -> Value {
    server.client_at("/mcp/files").bearing(key).expect("file_read", json!({ "project": "p", "path": "/a" }))["content"].clone()
}

fn keys(home: &Home, arguments: &[&str]) -> Value {
    home.program.json(&[&["keys"], arguments, &["--json"]].concat())
}

fn new_key(home: &Home, name: &str) -> String {
    keys(home, &["add", name])["key"].as_str().expect("a key").to_owned()
}

#[test]
fn f010_single_is_the_default_on_loopback() {
    let home = Home::new(Backend::Sqlite, "auth: auto\n");
    let server = home.serve();
    let token = server.token.clone();
    write_as(&server, token.as_deref(), "of all");
    assert_eq!(read_as(&server, token.as_deref()), "of all");
    for stranger in [None, Some("anything"), Some("")] {
        assert_eq!(stat_as(&server, stranger).0, 401, "{stranger:?}");
    }
    // A new token, the same files.
    server.stop();
    let server = home.program.clone().flag("--auth").flag("none").serve(&[]);
    assert_eq!(read_as(&server, None), "of all");
}

#[test]
fn f010_f013_passthrough_makes_every_key_a_tenant() {
    let home = Home::new(Backend::Sqlite, "auth: passthrough\n");
    let server = home.serve();
    write_as(&server, Some("one"), "of one");
    assert_eq!(stat_as(&server, Some("two")).1["exists"], false);
    assert_eq!(stat_as(&server, None).0, 401);
    // The server's own token is a key like any other here.
    let token = server.token.clone();
    assert_eq!(stat_as(&server, token.as_deref()).1["exists"], false);
    server.stop();
    let open = home.program.clone().flag("--auth").flag("none").serve(&[]);
    let (status, said) = stat_as(&open, None);
    assert_eq!(
        (status, &said["code"], &said["retryable"]),
        (200, &json!("PERMISSION_DENIED"), &json!(false)),
        "{said}"
    );
    assert_eq!(read_as(&open, Some("one")), "of one");
}

fn only_keys_that_were_made_are_let_in(backend: Backend) {
    let home = Home::new(backend, "auth: keys\n");
    let (alice, bob) = (new_key(&home, "alice"), new_key(&home, "bob"));
    assert!(alice.starts_with("d2m_") && alice != bob);
    let server = home.serve();
    write_as(&server, Some(&alice), "of alice");
    assert_eq!(read_as(&server, Some(&alice)), "of alice");
    assert_eq!(stat_as(&server, Some(&bob)).1["exists"], false);
    for stranger in [None, Some("anything"), Some("d2m_"), Some("alice")] {
        assert_eq!(stat_as(&server, stranger).0, 401, "{stranger:?}");
    }
    // Whoever runs the server has no files of their own in this mode.
    let (_, said) = stat_as(&server, server.token.as_deref());
    assert_eq!(said["code"], "PERMISSION_DENIED", "{said}");
    // A key of the store opens the store and nothing else.
    let request =
        Request::post("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }));
    let response = server.connect().send(&request.bearer(Some(&alice))).expect("an answer");
    assert!(matches!(response.status, 401 | 403), "{} {}", response.status, response.text());
    let request = Request::new("GET", "/api/files/content?project=p&path=/a").bearer(Some(&alice));
    assert_eq!(server.connect().send(&request).expect("an answer").text(), "of alice");

    let listed = keys(&home, &["list"]);
    let names: Vec<&str> = listed["keys"]
        .as_array()
        .expect("keys")
        .iter()
        .map(|key| key["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["alice", "bob"]);
    assert!(!listed.to_string().contains(&alice), "keys are shown once");
    home.program.run(&["keys", "revoke", "alice"]).expect(0);
    server.poll("the key is let in no longer", |_| (stat_as(&server, Some(&alice)).0 == 401).then_some(()));
    assert_eq!(stat_as(&server, Some(&bob)).0, 200);
    assert_ne!(home.program.run(&["keys", "revoke", "nobody"]).code, Some(0));
    assert_ne!(home.program.run(&["keys", "add", "bob"]).code, Some(0), "a name is given once");
    assert_ne!(home.program.run(&["keys", "add", "bad name"]).code, Some(0));
    // Only digests are kept.
    let state = std::fs::read(home.folder.state().join("files.sqlite")).unwrap_or_default();
    assert!(!state.windows(bob.len()).any(|window| window == bob.as_bytes()));
}

#[test]
fn f013_f139_only_keys_that_were_made_are_let_in_on_sqlite() {
    only_keys_that_were_made_are_let_in(Backend::Sqlite);
}

#[test]
fn f013_f139_only_keys_that_were_made_are_let_in_on_postgres() {
    only_keys_that_were_made_are_let_in(Backend::Postgres);
}

#[test]
fn stdio_sees_the_files_of_its_key() {
    for backend in Backend::BOTH {
        let home = Home::new(backend, "auth: keys\nstdio_key: alice\n");
        let alice = new_key(&home, "alice");
        let server = home.serve();
        write_as(&server, Some(&alice), "of alice");
        server.stop();
        for era in [Era::Legacy, Era::Modern] {
            let mut stdio = home.program.stdio(&["--tools", "files"]).connect(era);
            let read = stdio.expect("file_read", json!({ "project": "p", "path": "/a" }));
            assert_eq!(read["content"], "of alice", "{backend:?}");
        }
    }
}

#[test]
fn stdio_with_a_key_that_is_not_there_says_what_to_do() {
    let home = Home::new(Backend::Sqlite, "auth: keys\nstdio_key: nobody\n");
    let done = home.program.stdio(&["--tools", "files"]).close();
    assert_ne!(done.code, Some(0));
    assert!(done.stderr.contains("keys add"), "{}", done.output());
}

#[test]
fn stdio_without_a_key_shares_the_files_of_single() {
    let home = Home::new(Backend::Sqlite, "auth: single\n");
    let mut stdio = home.program.stdio(&["--tools", "files"]).connect(Era::Modern);
    stdio.expect("file_write", json!({ "project": "p", "path": "/a", "content": "shared" }));
    stdio.close();
    let server = home.serve();
    assert_eq!(read_as(&server, server.token.as_deref()), "shared");
}

#[test]
fn file_tools_are_served_beside_others_where_they_are_asked_for() {
    let home = Home::new(Backend::Sqlite, "auth: single\n");
    let server = home.program.clone().flag("--tools").flag("dir2mcp,files").serve(&[]);
    let mut client = server.client(Era::Modern);
    client.expect("file_write", json!({ "project": "p", "path": "/a", "content": "text" }));
    assert_eq!(client.expect("dir2mcp.stats", json!({}))["ok"].clone(), Value::Null);
}

#[test]
fn f155_the_store_can_be_switched_off() {
    let home = Home::new(Backend::Sqlite, "enabled: false\n");
    let server = home.serve();
    let token = server.token.clone();
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    assert_eq!(server.send(Request::post("/mcp/files", &message)).status, 404);
    assert_eq!(server.send(Request::new("GET", "/api/files/projects")).status, 404);
    let names = server.client(Era::Modern).request("tools/list", json!({})).result().to_string();
    assert!(!names.contains("file_write"), "{token:?}");
    assert!(!home.folder.state().join("files.sqlite").exists());
}

#[test]
fn f113_searching_can_be_switched_off() {
    for backend in Backend::BOTH {
        let world = World::start(backend, "search:\n  enabled: false\n");
        let mut t = world.tenant();
        t.put("/a", "words");
        assert_eq!(t.read("/a"), "words");
        assert_eq!(t.refused("file_search", json!({ "query": "words" })), "SEARCH_BACKEND_ERROR");
    }
}

#[test]
fn f070_f071_a_project_can_be_wiped_where_that_is_allowed() {
    for backend in Backend::BOTH {
        let world = World::start(backend, "allow_root_wipe: true\n");
        let mut t = world.tenant();
        for path in ["/a", "/b/c", "/b/d"] {
            t.put(path, "some words");
        }
        t.ok("file_write", json!({ "project": "q", "path": "/a", "content": "stays" }));
        t.fails("file_delete", json!({ "path": "" }), "INVALID_PATH");
        t.fails("file_delete", json!({ "path": "", "recursive": false }), "INVALID_PATH");
        assert_eq!(t.ok("file_delete", json!({ "path": "", "recursive": true }))["deleted_count"], 3);
        assert_eq!(t.paths("", 9), Vec::<String>::new());
        assert!(t.search("words").is_empty());
        assert_eq!(t.ok("file_read", json!({ "project": "q", "path": "/a" }))["content"], "stays");
        let again = t.ok("file_delete", json!({ "path": "", "recursive": true }));
        assert_eq!(again["deleted_count"], 0);
    }
}

#[test]
fn f012_f140_whoever_calls_too_often_waits() {
    let world = World::start(Backend::Sqlite, "rate_limit:\n  per_second: 1\n  burst: 3\n");
    let mut t = world.tenant();
    let mut refused = None;
    for _ in 0..10 {
        let reply = t.call("file_stat", json!({}));
        if reply.is_error() {
            refused = Some(reply.structured().clone());
            break;
        }
    }
    let refused = refused.expect("ten calls at once are too many");
    assert_eq!((&refused["code"], &refused["retryable"]), (&json!("RATE_LIMITED"), &json!(true)));
    assert!(
        refused["message"].as_str().expect("a message").chars().any(|c| c.is_ascii_digit()),
        "it says how long: {refused}"
    );
    let response = t.api("GET", "/stat?project=p", &[], "");
    assert_eq!(response.status, 429, "{}", response.text());
    assert!(response.header("retry-after").is_some());
    // Another tenant is not concerned.
    assert!(!world.tenant().call("file_stat", json!({})).is_error());
    // The time that was told is enough.
    t.until("the tenant is let in again", |t| !t.call("file_stat", json!({})).is_error());
}

#[test]
fn f150_environment_variables_change_nothing() {
    let home = Home::new(Backend::Sqlite, "");
    let program = home
        .program
        .clone()
        .env("DIR2MCP_FILES_MAX_PAYLOAD_BYTES", "3")
        .env("DIR2MCP_FILES_ENABLED", "false");
    let server = program.serve(&[]);
    write_as(&server, Some("key"), "more than three bytes");
    assert_eq!(read_as(&server, Some("key")), "more than three bytes");
}

#[test]
fn f151_f152_f153_f154_defaults_of_the_configuration() {
    let home = Home::new(Backend::Sqlite, "");
    let printed = home.program.run(&["config", "print", "--json"]).expect(0).stdout;
    let config: Value = serde_json::from_str(&printed).expect("JSON");
    let text = config.to_string();
    for (key, value) in [
        ("max_payload_bytes", "2000000"),
        ("max_file_bytes", "10000000"),
        ("max_project_bytes", "100000000"),
        ("list_limit_default", "256"),
        ("list_limit_max", "1024"),
        ("lock_timeout_ms", "3000"),
        ("delete_retention_days", "30"),
        ("limit_default", "5"),
        ("limit_max", "20"),
        ("vector_candidates", "30"),
        ("bm25_candidates", "30"),
        ("retry_max", "5"),
        ("retry_backoff_ms", "1000"),
        ("slo_p95_seconds", "30"),
        ("credential_cache_ttl_seconds", "300"),
    ] {
        assert!(
            text.contains(&format!("\"{key}\":{value}"))
                || text.contains(&format!("\"{key}\":{{\"value\":{value}")),
            "{key}: {value} in {printed}"
        );
    }
}
