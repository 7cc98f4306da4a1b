//! HTTP and JSON-RPC: statuses, headers, sessions, and bodies that nobody should send.

use serde_json::{Value, json};
use testkit::{
    Client, Era, Folder, HttpClient, LEGACY, MODERN, Request, Response, Server, initialize_params,
    modern_meta,
};

use super::{program, serve};

fn hello() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params(LEGACY) })
}

/// A modern request with all its headers.
fn list_tools() -> Request {
    let message =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": modern_meta() } });
    Request::post("/mcp", &message).header("MCP-Protocol-Version", MODERN).header("Mcp-Method", "tools/list")
}

fn code(response: &Response) -> Option<String> {
    response.reply()?.pointer("/error/data/code")?.as_str().map(str::to_owned)
}

#[test]
fn d117_d123_d126_d128_the_handshake() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let mut client = server.stranger(Era::Legacy);
    let reply = client.initialize(LEGACY);
    let result = reply.result();
    assert_eq!(result["protocolVersion"], LEGACY);
    assert_eq!(result["capabilities"]["tools"]["listChanged"], false);
    assert_eq!(result["serverInfo"]["name"], "dir2mcp");
    assert_eq!(result["serverInfo"]["title"], "dir2mcp: Directory RAG MCP Server");
    assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(result["instructions"].as_str().is_some_and(|text| !text.is_empty()));
    assert!(client.session.is_some(), "no Mcp-Session-Id");
    assert!(client.request("tools/list", json!({})).result()["tools"].is_array());
}

#[test]
fn versions_are_negotiated() {
    let folder = Folder::empty();
    let server = serve(&folder);
    for (asked, given) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", LEGACY),
    ] {
        let reply = server.stranger(Era::Legacy).initialize(asked);
        assert_eq!(reply.result()["protocolVersion"], given, "asked for {asked}");
    }
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
    let request = Request::post("/mcp", &message)
        .header("MCP-Protocol-Version", "2099-01-01")
        .header("Mcp-Method", "tools/list");
    let response = server.send(request);
    assert_eq!(response.status, 400);
    assert_eq!(response.reply().unwrap()["error"]["code"], -32022, "{}", response.text());
}

/// Plain modern calls are answered without the transport library; anything else in the parameters takes the way
/// through it. Nobody may be able to tell by the answer.
#[test]
fn both_ways_of_a_call_give_the_same_bytes() {
    let folder =
        Folder::from("//- src/a.rs\nfn connect_timeout() {}\n//- notes.md\n# Timeouts\n\nThey \"pass\".\n");
    let server = serve(&folder);
    server.wait_indexed();
    for (tool, arguments) in [
        ("dir2mcp.search", json!({ "query": "timeout" })),
        ("dir2mcp.search", json!({ "query": "timeout", "k": 0 })),
        ("dir2mcp.search", json!({})),
        ("dir2mcp.ask", json!({ "question": "what is \"a timeout\"?" })),
        ("dir2mcp.open_file", json!({ "rel_path": "notes.md", "start_line": 3 })),
        ("dir2mcp.open_file", json!({ "rel_path": "../notes.md" })),
        ("dir2mcp.list_files", json!({})),
        ("dir2mcp.nope", json!({})),
    ] {
        for id in [json!(7), json!("seven\"\u{1}")] {
            let ask = |extra: Option<Value>| {
                let mut params = json!({ "name": tool, "arguments": arguments, "_meta": modern_meta() });
                if let Some(extra) = extra {
                    params["extra"] = extra;
                }
                let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
                server.send(
                    Request::post("/mcp", &message)
                        .header("MCP-Protocol-Version", MODERN)
                        .header("Mcp-Method", "tools/call")
                        .header("Mcp-Name", tool),
                )
            };
            let (short, long) = (ask(None), ask(Some(json!(1))));
            assert_eq!(short.status, long.status, "{tool} {arguments}");
            assert_eq!(short.text(), long.text(), "{tool} {arguments}");
            assert_eq!(short.header("content-type"), long.header("content-type"));
            assert_eq!(short.reply().unwrap()["id"], id);
        }
    }
}

#[test]
fn d120_d122_unknown_and_missing_sessions() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    let with = |session: &str| {
        server.send(
            Request::post("/mcp", &list)
                .header("Mcp-Session-Id", session)
                .header("MCP-Protocol-Version", LEGACY),
        )
    };
    let response = with("sess_00000000000000000000000000000000");
    assert_eq!(response.status, 404, "{}", response.text());
    assert_eq!(code(&response).as_deref(), Some("SESSION_NOT_FOUND"));
    let response = server.send(Request::post("/mcp", &list).header("MCP-Protocol-Version", LEGACY));
    assert_eq!(response.status, 400, "{}", response.text());

    let mut client = server.client(Era::Legacy);
    let session = client.session.clone().unwrap();
    let mut delete = Request::new("DELETE", "/mcp").header("Mcp-Session-Id", &session);
    delete = delete.header("MCP-Protocol-Version", LEGACY);
    let status = server.send(delete).status;
    assert!(status == 200 || status == 204, "DELETE answers {status}");
    assert_eq!(with(&session).status, 404);
    client.session = None;
    assert_eq!(client.initialize(LEGACY).status, 200);
    assert_ne!(client.session, Some(session), "an old id came back");
}

/// The answer to the next request of a session.
fn ping(client: &mut HttpClient) -> Response {
    let message = client.message("ping", json!({}));
    client.connection.send(&client.envelope(&message)).unwrap()
}

#[test]
fn d118_d121_a_session_expires_by_inactivity() {
    let folder =
        Folder::from("//- .dir2mcp.yaml\nversion: 1\nserver:\n  session_inactivity_timeout: \"50ms\"\n");
    let log = folder.outside().join("server.log");
    let server = program(&folder).flag("--log-file").flag(&log).serve(&[]);
    let mut client = server.client(Era::Legacy);
    // Asking would keep it alive, so the log tells when its time is over.
    server.poll("the end of the session", |_| {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains("session ended")).then_some(())
    });
    let response = ping(&mut client);
    assert_eq!(response.status, 404, "{}", response.text());
    assert_eq!(response.header("x-mcp-session-expired"), Some("inactivity"));
}

#[test]
fn d119_d121_a_session_expires_by_age() {
    let folder = Folder::from(
        "//- .dir2mcp.yaml\nversion: 1\nserver:\n  session_inactivity_timeout: \"2s\"\n  session_max_lifetime: \"2s\"\n",
    );
    let server = program(&folder).serve(&[]);
    let mut client = server.client(Era::Legacy);
    assert_eq!(ping(&mut client).status, 200);
    let response = server.poll("the end of the session", |_| {
        let response = ping(&mut client);
        (response.status != 200).then_some(response)
    });
    assert_eq!(response.status, 404, "{}", response.text());
    assert_eq!(response.header("x-mcp-session-expired"), Some("max-lifetime"));
}

#[test]
fn d124_m8_origins() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let own = format!("http://{}", server.address);
    let with = |origin: &str| server.send(list_tools().header("Origin", origin));
    for origin in ["http://localhost", "http://localhost:5173", "http://127.0.0.1:8080", own.as_str()] {
        assert_eq!(with(origin).status, 200, "{origin}");
    }
    for origin in [
        "http://evil.example",
        "http://localhost.evil.example",
        "http://evil.example/localhost",
        "http://127.0.0.1.nip.io",
        "http://localhost@evil.example",
        "https://evil.example:80",
        "null",
        "file://",
        "localhost",
        "http://",
        "http://localhost, http://evil.example",
    ] {
        let response = with(origin);
        assert_eq!(response.status, 403, "{origin}: {}", response.text());
        assert_eq!(code(&response).as_deref(), Some("FORBIDDEN_ORIGIN"), "{origin}");
    }
    let two = list_tools().header("Origin", "http://localhost").header("Origin", "http://evil.example");
    assert_eq!(server.send(two).status, 403, "two origins");
    // Refused before anybody asks for the token.
    let response = server.connect().send(&list_tools().header("Origin", "http://evil.example")).unwrap();
    assert_eq!(response.status, 403);
}

#[test]
fn m7_hosts() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let port = server.address.rsplit_once(':').unwrap().1.to_owned();
    for host in [server.address.clone(), format!("localhost:{port}"), format!("LOCALHOST:{port}")] {
        assert_eq!(server.send(list_tools().header("Host", &host)).status, 200, "{host}");
    }
    for host in
        ["evil.example", "evil.example:80", "127.0.0.1.nip.io", "localhost.evil.example", "169.254.169.254"]
    {
        let response = server.send(list_tools().header("Host", host));
        assert!(
            matches!(response.status, 400 | 403 | 421),
            "{host}: {} {}",
            response.status,
            response.text()
        );
        assert!(!response.text().contains("dir2mcp.search"), "{host}");
    }
    let two = list_tools().header("Host", &server.address).header("Host", "evil.example");
    assert!(matches!(server.send(two).status, 400 | 403 | 421), "two hosts");
}

#[test]
fn d125_m13_the_token_is_demanded_and_never_in_a_url() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let token = server.token.clone().unwrap();
    let send = |request: Request| server.connect().send(&request).unwrap();
    for request in [
        list_tools(),
        list_tools().header("Authorization", "Bearer wrong"),
        list_tools().header("Authorization", &token),
        list_tools().header("Authorization", &format!("Basic {token}")),
        Request { target: format!("/mcp?token={token}"), ..list_tools() },
        Request::post("/mcp", &hello()),
    ] {
        let response = send(request.clone());
        assert_eq!(response.status, 401, "{request:?}: {}", response.text());
        assert_eq!(code(&response).as_deref(), Some("UNAUTHORIZED"));
        assert!(response.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")));
        assert!(!response.text().contains(&token), "the token came back");
    }
    assert_eq!(send(list_tools().header("Authorization", &format!("bearer {token}"))).status, 200);
    assert!(!server.url().contains(&token));
}

#[test]
fn d115_bodies_that_are_no_request() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let mut bad = hello();
    bad.as_object_mut().unwrap().remove("jsonrpc");
    let response = server.send(Request::post("/mcp", &bad));
    assert_eq!(response.status, 400, "{}", response.text());
    assert_eq!(code(&response).as_deref(), Some("INVALID_FIELD"));

    for (body, error) in [
        ("", -32700),
        ("{", -32700),
        ("nonsense", -32700),
        ("\u{feff}{}", -32700),
        ("[]", -32600),
        ("null", -32600),
        ("7", -32600),
        ("{}", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
    ] {
        let request = Request::new("POST", "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(body);
        let response = server.send(request);
        assert_eq!(response.status, 400, "{body:?}: {}", response.text());
        assert_eq!(response.reply().unwrap()["error"]["code"], error, "{body:?}: {}", response.text());
    }
    assert_eq!(server.send(list_tools()).status, 200, "and the next request works");
}

#[test]
fn m16_keys_are_exact_and_unique() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let meta = modern_meta();
    for body in [
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{{"_meta":{meta}}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{meta},"name":"dir2mcp.stats","name":"dir2mcp.search"}}}}"#
        ),
    ] {
        let request = Request::new("POST", "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", MODERN)
            .header("Mcp-Method", if body.contains("stats") { "tools/call" } else { "tools/list" })
            .header("Mcp-Name", "dir2mcp.stats")
            .body(body.clone());
        let response = server.send(request);
        assert_eq!(response.status, 400, "{body}: {}", response.text());
    }
    let mut message =
        json!({ "jsonrpc": "2.0", "id": 1, "Method": "tools/list", "params": { "_meta": meta } });
    let request = |message: &Value| {
        Request::post("/mcp", message)
            .header("MCP-Protocol-Version", MODERN)
            .header("Mcp-Method", "tools/list")
    };
    assert_eq!(server.send(request(&message)).status, 400, "only a capital Method");
    message["method"] = "tools/list".into();
    let response = server.send(request(&message));
    assert!(response.status == 200 || response.status == 400, "{}", response.text());
}

#[test]
fn m17_headers_agree_with_the_body() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let params = json!({ "_meta": modern_meta(), "name": "dir2mcp.search", "arguments": { "query": "x" } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let with = |version: &str, method: &str, name: &str| {
        let request = Request::post("/mcp", &message).header("MCP-Protocol-Version", version);
        server.send(request.header("Mcp-Method", method).header("Mcp-Name", name))
    };
    assert_eq!(with(MODERN, "tools/call", "dir2mcp.search").status, 200);
    for (version, method, name) in [
        (MODERN, "tools/list", "dir2mcp.search"),
        (MODERN, "tools/call", "dir2mcp.stats"),
        (LEGACY, "tools/call", "dir2mcp.search"),
    ] {
        let response = with(version, method, name);
        assert_eq!(response.status, 400, "{version} {method} {name}: {}", response.text());
        assert_eq!(response.reply().unwrap()["error"]["code"], -32020, "{version} {method} {name}");
    }
}

#[test]
fn methods_of_the_modern_era() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let found = client.request("server/discover", json!({}));
    assert!(found.result()["supportedVersions"].as_array().unwrap().contains(&MODERN.into()), "{found:?}");
    for removed in ["ping", "initialize", "no/such/method"] {
        let reply = client.request(removed, json!({}));
        assert_eq!((reply.status, reply.error_code()), (404, Some(-32601)), "{removed}: {reply:?}");
    }
    assert_eq!(server.send(Request::new("GET", "/mcp").header("MCP-Protocol-Version", MODERN)).status, 405);
}

#[test]
fn known_methods_with_wrong_parameters() {
    let folder = Folder::empty();
    let server = serve(&folder);
    for era in [Era::Legacy, Era::Modern] {
        let mut client = server.client(era);
        let unknown = client.request("tools/call", json!({ "name": "dir2mcp.nothing", "arguments": {} }));
        assert_eq!(unknown.error_code(), Some(-32602), "{unknown:?}");
        let reply = client.request("tools/call", json!({ "name": "dir2mcp.stats", "arguments": [1] }));
        assert_eq!(reply.error_code(), Some(-32602), "{reply:?}");
        assert!(client.request("tools/list", json!({})).result()["tools"].is_array());
    }
}

#[test]
fn m18_broken_connections_leave_the_server_whole() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let address = server.address.clone();
    for bytes in [
        &b"\0\0\0\0"[..],
        b"GET\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nContent-Length: 99\r\n\r\n{",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nzz\r\n",
    ] {
        use std::io::Write;
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        drop(stream);
    }
    assert_eq!(server.send(list_tools()).status, 200);
}

#[test]
fn a_body_has_a_limit() {
    let folder = Folder::empty();
    let server = serve(&folder);
    let response = server.send(Request::post("/mcp", &json!({ "padding": "x".repeat(8 << 20) })));
    assert_eq!(response.status, 413, "{}", response.text());
    assert_eq!(server.send(list_tools()).status, 200);
}

#[test]
fn other_paths_and_methods() {
    let folder = Folder::empty();
    let server = serve(&folder);
    assert_eq!(server.send(Request::new("GET", "/nothing")).status, 404);
    assert_eq!(server.send(Request::new("PUT", "/mcp")).status, 405);
}

/// What the TypeScript client does after its handshake: it opens its stream and asks at the same time.
#[test]
fn a_client_listens_while_it_asks() {
    use std::io::Write;
    let folder = Folder::empty();
    let server = serve(&folder);
    for round in 0..100 {
        let mut client = server.client(Era::Legacy);
        let listen = Request::new("GET", "/mcp")
            .header("Accept", "text/event-stream")
            .header("Mcp-Session-Id", client.session.as_deref().unwrap())
            .header("MCP-Protocol-Version", LEGACY)
            .bearer(server.token.as_deref());
        let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
        stream.write_all(&listen.encode(&server.address)).unwrap();
        let reply = client.request("tools/list", json!({}));
        assert_eq!(reply.status, 200, "round {round}: {reply:?}");
    }
}

#[test]
fn d020_the_path_can_be_chosen() {
    let folder = Folder::empty();
    let server = program(&folder).serve(&["--mcp-path", "/tools/here"]);
    assert!(server.url().ends_with("/tools/here"), "{}", server.url());
    server.expect("dir2mcp.stats", json!({}));
    assert_eq!(server.send(list_tools()).status, 404);
}

#[test]
fn d021_loopback_clients_are_not_limited() {
    let folder = Folder::empty();
    let server: Server = program(&folder).serve(&["--public", "--listen", "0.0.0.0:0"]);
    let mut client = server.client(Era::Modern);
    for _ in 0..300 {
        client.expect("dir2mcp.stats", json!({}));
    }
}
