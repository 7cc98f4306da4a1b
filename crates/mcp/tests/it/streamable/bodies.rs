//! Bodies that are too large, too slow, not JSON, or JSON that is not what it should be.

use std::time::Duration;

use serde_json::{Value, json};

use super::harness::{Server, alpha, call, in_session, initialize, list_tools, modern, modern_call};
use super::wire::{Ask, Wire};

#[tokio::test]
async fn d115_one_message_per_post() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    for batch in ["[]", &format!("[{}]", list_tools(1)), &format!("[{},{}]", list_tools(1), list_tools(2))] {
        let answer = server.ask_as_alice(in_session(&session, batch.as_bytes())).await;
        assert_eq!(
            (answer.status, answer.json()["error"]["code"].as_i64()),
            (400, Some(-32600)),
            "C37: {batch}"
        );
        assert_eq!(answer.code(), "INVALID_FIELD");
    }
    server.stop().await;
}

#[tokio::test]
async fn case_6_jsonrpc_must_be_2_0() {
    let server = Server::start().await;
    for jsonrpc in [None, Some(json!("1.0")), Some(json!(2.0)), Some(Value::Null), Some(json!(["2.0"]))] {
        let mut body: Value = serde_json::from_str(&initialize()).unwrap();
        body.as_object_mut().unwrap().remove("jsonrpc");
        if let Some(jsonrpc) = &jsonrpc {
            body["jsonrpc"] = jsonrpc.clone();
        }
        let answer = server.ask_as_alice(Ask::post(body.to_string())).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_FIELD"), "{jsonrpc:?}");
        assert_eq!(answer.json()["id"], 1, "the id is known");
        assert_eq!(answer.header("mcp-session-id"), None);
    }
    server.stop().await;
}

#[tokio::test]
async fn content_type_415() {
    let server = Server::start().await;
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", ""]
    {
        let answer = server.ask_as_alice(Ask::post(initialize()).with("Content-Type", kind)).await;
        assert_eq!((answer.status, answer.code().as_str()), (415, "INVALID_FIELD"), "{kind}");
        assert_eq!(answer.json()["error"]["code"], -32600);
    }
    assert_eq!(server.ask_as_alice(Ask::post(initialize()).without("Content-Type")).await.status, 415);
    assert_eq!(
        server.ask_as_alice(Ask::post(initialize()).with("Content-Encoding", "gzip")).await.status,
        415
    );
    let answer = server
        .ask_as_alice(Ask::post(initialize()).with("Content-Type", "application/json; charset=utf-8"))
        .await;
    assert_eq!(answer.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn bodies_are_limited_to_1_mib() {
    let server = Server::start().await;
    let fitting = call(1, "echo", json!({ "x": "x".repeat(1_000_000) }));
    let session = server.initialize(&alpha()).await;
    assert_eq!(server.ask_as_alice(in_session(&session, fitting)).await.status, 200);

    let announced = Ask::post("").with("Content-Length", "1048577");
    let answer = server.ask_as_alice(announced).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "REQUEST_TOO_LARGE"));

    // In chunks, no length is announced; the server stops reading at the limit.
    let mut wire = Wire::open(server.address).await;
    wire.send(&Ask::post("").with("Transfer-Encoding", "chunked").token(&alpha()).to_bytes()).await;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..17 {
        wire.send(chunk.as_bytes()).await;
    }
    assert_eq!(wire.answer().await.status, 413);
    server.assert_works().await;
    server.stop().await;
}

#[tokio::test]
async fn handshakes_are_limited_more() {
    let server = Server::start().await;
    let mut body: Value = serde_json::from_str(&initialize()).unwrap();
    body["params"]["clientInfo"]["name"] = "x".repeat(5_000).into();
    let answer = server.ask_as_alice(Ask::post(body.to_string())).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "REQUEST_TOO_LARGE"));
    server.stop().await;
}

#[tokio::test]
async fn chunked_and_split_bodies_are_read() {
    let server = Server::start().await;
    let body = String::from_utf8(modern("tools/list", json!({})).body).unwrap();
    let ask = Ask { body: Vec::new(), ..modern("tools/list", json!({})) }.token(&alpha());
    let mut wire = Wire::open(server.address).await;
    wire.send(&ask.clone().with("Transfer-Encoding", "chunked").to_bytes()).await;
    for byte in body.as_bytes() {
        wire.send(format!("1\r\n{}\r\n", *byte as char).as_bytes()).await;
    }
    wire.send(b"0\r\n\r\n").await;
    assert_eq!(wire.answer().await.status, 200);
    wire.send(&ask.with("Content-Length", body.len().to_string()).to_bytes()).await;
    for byte in body.as_bytes() {
        wire.send(&[*byte]).await;
    }
    assert_eq!(wire.answer().await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn slow_clients_are_given_up() {
    let server = Server::with(|config| {
        config.timeouts.head = Duration::from_millis(50);
        config.timeouts.body = Duration::from_millis(50);
        config.timeouts.idle = Duration::from_secs(60);
    })
    .await;
    let mut silent = Wire::open(server.address).await;
    assert_eq!(silent.rest().await, b"", "a connection that says nothing is closed");
    let mut slow_head = Wire::open(server.address).await;
    slow_head.send(b"POST /mcp HTTP/1.1\r\nHost: 127").await;
    slow_head.rest().await;
    let mut slow_body = Wire::open(server.address).await;
    slow_body.send(&Ask::post("{").with("Content-Length", "100").token(&alpha()).to_bytes()).await;
    let answer = slow_body.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "TIMEOUT"));
    // The head of a second request is timed too, from its first byte.
    let mut second = Wire::open(server.address).await;
    assert_eq!(second.ask(&Ask::new("GET", "/healthz")).await.status, 200);
    second.send(b"GET /healthz HT").await;
    assert_eq!(second.rest().await, b"");
    server.assert_works().await;
    server.stop().await;
}

#[tokio::test]
async fn idle_connections_are_closed_after_the_idle_time_only() {
    let server = Server::with(|config| {
        config.timeouts.head = Duration::from_millis(20);
        config.timeouts.idle = Duration::from_millis(200);
    })
    .await;
    let mut wire = Wire::open(server.address).await;
    assert_eq!(wire.ask(&Ask::new("GET", "/healthz")).await.status, 200);
    let asked = std::time::Instant::now();
    assert_eq!(wire.rest().await, b"");
    assert!(asked.elapsed() >= Duration::from_millis(150), "closed after {:?}", asked.elapsed());
    server.stop().await;
}

#[tokio::test]
async fn long_headers_are_refused() {
    let server = Server::start().await;
    let answer = server.ask(&Ask::post("").with("X-Long", "x".repeat(20_000))).await;
    assert_eq!(answer.status, 431);
    let mut many = Ask::post("");
    for n in 0..200 {
        many = many.and(&format!("x-{n}"), "y");
    }
    assert_eq!(server.ask(&many).await.status, 431);
    server.assert_works().await;
    server.stop().await;
}

#[tokio::test]
async fn m18_malformed_http_and_half_closed_sockets() {
    let server = Server::start().await;
    let whole = Ask::post(list_tools(1)).token(&alpha()).to_bytes();
    let smuggling = Ask::post("0\r\n\r\n")
        .token(&alpha())
        .with("Transfer-Encoding", "chunked")
        .and("Content-Length", "3");
    let raw: [&[u8]; 10] = [
        b"\r\n\r\n",
        b"GARBAGE\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        b"POST /mcp HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &smuggling.to_bytes(),
    ];
    for bytes in raw {
        let mut wire = Wire::open(server.address).await;
        wire.send(bytes).await;
        wire.shut_down_write().await;
        if let Some((status, _)) = wire.head().await {
            assert!((400..500).contains(&status), "{status} for {}", bytes.escape_ascii());
        }
    }
    for cut in [1, 20, whole.len() / 2, whole.len() - 1, whole.len()] {
        let mut wire = Wire::open(server.address).await;
        wire.send(&whole[..cut]).await;
        wire.shut_down_write().await;
        if let Some((status, _)) = wire.head().await {
            assert!(status < 500, "{status} when cut at {cut}");
        }
        drop(wire);
        server.assert_works().await;
    }
    server.stop().await;
}

/// Bodies that are not messages at all.
fn nonsense() -> Vec<Vec<u8>> {
    let deep = |open: &str, close: &str, n| format!("{}{}", open.repeat(n), close.repeat(n)).into_bytes();
    let mut bodies: Vec<Vec<u8>> = [
        "", " ", "{", "}", "[", "]", "{]", "nul", "null", "true", "0", "-", "1e999", "\"", "\"x\"", "{}", "[{}]",
        "{\"jsonrpc\"}", "{\"jsonrpc\":}", "{\"jsonrpc\":\"2.0\",}", "{'jsonrpc':'2.0'}", "{jsonrpc:\"2.0\"}",
        "{\"jsonrpc\":\"2.0\"}", "{\"jsonrpc\":\"2.0\",\"id\":1}", "{\"jsonrpc\":\"2.0\",\"method\":\"\\ud800\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"} x",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}{}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/call\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"name\":\"wait\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"Method\":\"tools/list\"}",
        "{\"JSONRPC\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
        "/* c */ {}", "NaN", "[1,2,3]", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    bodies.push(b"\xff\xfe\x00".to_vec());
    bodies.push(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec());
    bodies.push(b"{\"jsonrpc\":\"2.0\",\0\"id\":1}".to_vec());
    bodies.push(vec![0; 100]);
    bodies.push(deep("[", "]", 100_000));
    bodies.push(deep("{\"a\":", "1}", 50_000));
    bodies.push(
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{}1{}}}",
            "{\"a\":".repeat(5000),
            "}".repeat(5000)
        )
        .into_bytes(),
    );
    bodies
}

/// Messages that are whole but for one field, which takes each wrong type in turn.
fn wrong_types() -> Vec<Vec<u8>> {
    let wrong = [
        json!(null),
        json!(true),
        json!(1.5),
        json!(-1),
        json!("x"),
        json!([]),
        json!([1]),
        json!({}),
        json!({"a": 1}),
    ];
    let templates = [
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x", "_meta": {"progressToken": 1}}}),
            vec![
                "/jsonrpc",
                "/id",
                "/method",
                "/params",
                "/params/cursor",
                "/params/_meta",
                "/params/_meta/progressToken",
            ],
        ),
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {}}}),
            vec!["/params", "/params/name", "/params/arguments"],
        ),
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {"roots": {"listChanged": true}}, "clientInfo": {"name": "x", "version": "1"}}}),
            vec![
                "/params",
                "/params/protocolVersion",
                "/params/capabilities",
                "/params/capabilities/roots",
                "/params/clientInfo",
                "/params/clientInfo/name",
            ],
        ),
        (
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "x"}}),
            vec!["/method", "/params", "/params/requestId", "/params/reason"],
        ),
        (json!({"jsonrpc": "2.0", "id": 1, "result": {}}), vec!["/id", "/result"]),
        (
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}),
            vec!["/error", "/error/code", "/error/message"],
        ),
    ];
    let mut bodies = Vec::new();
    for (template, fields) in templates {
        for field in fields {
            for value in &wrong {
                let mut body = template.clone();
                *body.pointer_mut(field).unwrap() = value.clone();
                bodies.push(body.to_string().into_bytes());
            }
        }
    }
    bodies
}

#[tokio::test]
async fn m16_m18_nonsense_is_a_client_error_and_breaks_nothing() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    let mut wire = Wire::open(server.address).await;
    for body in nonsense() {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        for ask in [
            Ask::post(body.clone()),
            in_session(&session, body.clone()),
            Ask { body: body.clone(), ..modern("tools/list", json!({})) },
        ] {
            let answer = wire.ask(&ask.token(&alpha())).await;
            assert_eq!(answer.status, 400, "{shown:?}: {answer:?}");
            assert_eq!(answer.code(), "INVALID_FIELD", "{shown:?}");
        }
        let answer = wire.ask(&in_session(&session, list_tools(2)).token(&alpha())).await;
        assert_eq!(answer.status, 200, "the session lives on after {shown:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn m18_wrong_types_are_errors_and_break_nothing() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    let mut wire = Wire::open(server.address).await;
    for body in wrong_types() {
        let shown = String::from_utf8_lossy(&body).into_owned();
        for ask in [
            Ask::post(body.clone()),
            in_session(&session, body.clone()),
            Ask { body: body.clone(), ..modern("tools/list", json!({})) },
        ] {
            let answer = wire.ask(&ask.token(&alpha())).await;
            assert!(answer.status < 500, "{shown}: {answer:?}");
            if answer.status != 202 {
                assert_eq!(answer.json()["jsonrpc"], "2.0", "{shown}: {answer:?}");
            }
        }
        let answer = wire.ask(&in_session(&session, list_tools("after")).token(&alpha())).await;
        assert!(answer.json()["result"]["tools"].is_array(), "the session lives on after {shown}");
    }
    server.assert_works().await;
    server.stop().await;
}

#[tokio::test]
async fn unknown_methods_and_tools_are_protocol_errors() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "no/such" }).to_string();
    let answer = server.ask_as_alice(in_session(&session, body)).await;
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (200, Some(-32601)));
    let answer = server.ask_as_alice(modern("no/such", json!({}))).await;
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (404, Some(-32601)));
    let answer = server.ask_as_alice(modern_call("no_such", json!({}))).await;
    assert_eq!(answer.json()["error"]["code"], -32602);
    server.stop().await;
}
