//! Lines that no honest client sends.

use serde_json::{Value, json};

use crate::stub::{Stub, server};
use crate::wire::{Wire, call, initialize, modern, request};

/// Three requests and a notification, sent in one breath, give three lines.
#[tokio::test]
async fn case_23_one_line_out_for_each_request_in_order() {
    let mut wire = Wire::new(server(&Stub::new()));
    let mut lines = String::new();
    for message in [
        initialize("2025-11-25"),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        request(2, "tools/list", json!({})),
        call(3, "stub.echo", json!({})),
    ] {
        lines.push_str(&format!("{message}\n"));
    }
    wire.send_bytes(lines.as_bytes()).await;
    let ids: Vec<Value> = wire.end().await.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(0), json!(2), json!(3)]);
}

#[tokio::test]
async fn m18_garbage_is_answered_and_the_next_request_works() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let garbage: [(&[u8], i64); 14] = [
        (b"not json", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700),
        (b"\xff\xfe{}", -32700),
        (b"{\"a\":\"\xc3\x28\"}", -32700),
        (b"\0", -32700),
        (b"\x1b[31m", -32700),
        (b"null", -32600),
        (b"\"ping\"", -32600),
        (b"[]", -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        (b"{}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"method\":5}", -32600),
    ];
    for (line, code) in garbage {
        wire.send_line(line).await;
        let answer = wire.next().await;
        assert_eq!(answer["error"]["code"], code, "{}", String::from_utf8_lossy(line));
        assert_eq!(answer["id"], Value::Null, "{}", String::from_utf8_lossy(line));
        assert!(answer.as_object().unwrap().contains_key("id"));
        assert_eq!(wire.ask(request("next", "ping", json!({}))).await["id"], "next");
    }
    assert!(wire.end().await.is_empty());
}

#[tokio::test]
async fn m16_ambiguous_keys_are_refused_and_names_are_exact() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stub.echo","arguments":{"a":1,"a":2}}}"#,
    ] {
        wire.send_line(line.as_bytes()).await;
        assert_eq!(wire.next().await["error"]["code"], -32600, "{line}");
    }
    wire.send_line(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call","PARAMS":[]}"#)
        .await;
    assert!(wire.next().await["result"]["tools"].is_array());
    assert_eq!(wire.refused(json!({ "jsonrpc": "2.0", "id": 1, "Method": "tools/list" })).await, -32600);
    let renamed = json!({ "Name": "stub.echo", "arguments": {} });
    assert_eq!(wire.refused(request(1, "tools/call", renamed)).await, -32602);
}

/// Every field of the messages a client sends, with a value of every wrong type.
#[tokio::test]
async fn m18_wrong_types_get_an_error_and_never_silence() {
    let values =
        [json!(null), json!(true), json!(7), json!(-1.5), json!("text"), json!([]), json!({}), json!([[{}]])];
    let targets = [
        (initialize("2025-11-25"), "/params"),
        (initialize("2025-11-25"), "/params/protocolVersion"),
        (initialize("2025-11-25"), "/params/capabilities"),
        (initialize("2025-11-25"), "/params/clientInfo"),
        (initialize("2025-11-25"), "/params/clientInfo/name"),
        (request(1, "tools/list", json!({ "cursor": "" })), "/params/cursor"),
        (request(1, "tools/list", json!({ "_meta": {} })), "/params/_meta"),
        (call(1, "stub.echo", json!({})), "/params"),
        (call(1, "stub.echo", json!({})), "/params/name"),
        (call(1, "stub.echo", json!({})), "/params/arguments"),
        (request(1, "ping", json!({})), "/params"),
        (request(1, "ping", json!({})), "/method"),
        (request(1, "ping", json!({})), "/jsonrpc"),
        (modern(request(1, "server/discover", json!({}))), "/params/_meta"),
        (modern(call(1, "stub.echo", json!({}))), "/params/_meta/io.modelcontextprotocol~1protocolVersion"),
        (
            modern(call(1, "stub.echo", json!({}))),
            "/params/_meta/io.modelcontextprotocol~1clientCapabilities",
        ),
    ];
    for (message, field) in &targets {
        for value in &values {
            let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
            let mut wrong = message.clone();
            *wrong.pointer_mut(field).expect(field) = value.clone();
            let answer = wire.ask(wrong.clone()).await;
            assert_eq!(answer["id"], message["id"], "{wrong} was answered {answer}");
            let code = &answer["error"]["code"];
            let fine = answer.get("result").is_some();
            assert!(
                fine || [-32600, -32601, -32602, -32022].iter().any(|known| code == known),
                "{wrong}: {answer}"
            );
            assert_eq!(wire.ask(request("next", "ping", json!({}))).await["id"], "next", "after {wrong}");
            assert!(wire.end().await.is_empty(), "{wrong} was answered twice");
        }
    }
    // The ones that must not pass for something else.
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    for params in [json!({}), json!({ "name": 1 }), json!({ "name": "stub.echo", "arguments": [1] })] {
        assert_eq!(wire.refused(request(1, "tools/call", params)).await, -32602);
    }
    assert_eq!(wire.refused(request(1, "initialize", json!({}))).await, -32602);
}

#[tokio::test]
async fn notifications_and_answers_are_never_answered() {
    let mut wire = Wire::new(server(&Stub::new()));
    for silent in [
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": [1] }),
        json!({ "jsonrpc": "2.0", "method": "no/such/notification", "params": "x" }),
        json!({ "jsonrpc": "2.0", "id": 4, "result": { "roots": [] } }),
        json!({ "jsonrpc": "2.0", "id": 5, "error": { "code": "x" } }),
        json!({ "jsonrpc": "2.0", "error": { "code": -1, "message": "" } }),
    ] {
        wire.send(silent).await;
    }
    wire.send_bytes(b"\n\r\n  \n").await;
    // None of them ended the connection either.
    assert_eq!(wire.ask(initialize("2025-11-25")).await["id"], 0);
    assert!(wire.end().await.is_empty());
}

#[tokio::test]
async fn a_line_without_end_costs_an_error_not_memory() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let piece = vec![b'a'; 1024 * 1024];
    for _ in 0..=mcp::MAX_LINE_BYTES / piece.len() {
        wire.send_bytes(&piece).await;
    }
    // Answered as soon as the limit is passed, and once.
    assert_eq!(wire.next().await["error"]["code"], -32600);
    wire.send_bytes(&piece).await;
    wire.send_bytes(b"\n").await;
    assert_eq!(wire.ask(request(1, "ping", json!({}))).await["id"], 1);
}

#[tokio::test]
async fn deep_nesting_is_refused() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"stub.echo","arguments":{{"a":{deep}}}}}}}"#
    );
    wire.send_line(line.as_bytes()).await;
    assert_eq!(wire.next().await["error"]["code"], -32600);
    assert_eq!(wire.ask(request(1, "ping", json!({}))).await["id"], 1);
}
