//! What the endpoint relies on: the caller in the extensions of a request reaches the tool through the library's transport,
//! and errors have their status.

use std::io::Cursor;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use mcp::{CallerSource, McpOptions};
use model::{Caller, Identity};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use crate::stub::{Stub, server_with};
use crate::wire::{call, modern, request};

/// Posts one message and returns the status with the JSON body.
async fn post(message: Value, name: Option<&str>, caller: Option<Caller>) -> (u16, Value) {
    let server = server_with(&Stub::new(), McpOptions::new("1.2.3", CallerSource::Http));
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let mut post = http::Request::post("/mcp")
        .header("host", "127.0.0.1")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", message["method"].as_str().unwrap());
    if let Some(name) = name {
        post = post.header("mcp-name", name);
    }
    let mut post = post.body(Full::new(Cursor::new(message.to_string().into_bytes()))).unwrap();
    post.extensions_mut().extend(
        caller
            .map(|caller| {
                let mut extensions = http::Extensions::new();
                extensions.insert(caller);
                extensions
            })
            .unwrap_or_default(),
    );
    let response = service.handle(post).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

#[tokio::test]
async fn the_caller_of_a_request_reaches_the_tool() {
    let ask = || modern(call(1, "stub.caller", json!({})));
    let caller = Caller::http(Identity::new("token-1"), [127, 0, 0, 1].into());
    let (status, body) = post(ask(), Some("stub.caller"), Some(caller)).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["result"]["structuredContent"]["caller"], "http:token-1@127.0.0.1");
    // Without one the client is unknown, not the owner of the machine.
    let (_, body) = post(ask(), Some("stub.caller"), None).await;
    assert_eq!(body["result"]["structuredContent"]["caller"], "http:unknown@unknown");
}

#[tokio::test]
async fn modern_errors_have_their_status() {
    let status = async |message: Value, name: Option<&str>| {
        let (status, body) = post(message, name, None).await;
        (status, body["error"]["code"].as_i64())
    };
    assert_eq!(status(modern(request(1, "no/such/method", json!({}))), None).await, (404, Some(-32601)));
    assert_eq!(status(modern(request(1, "initialize", json!({}))), None).await, (404, Some(-32601)));
    assert_eq!(status(modern(request(1, "logging/setLevel", json!({}))), None).await, (404, Some(-32601)));
    assert_eq!(status(modern(call(1, "stub.none", json!({}))), Some("stub.none")).await, (200, Some(-32602)));
    let no_object = modern(request(1, "tools/call", json!({ "name": "stub.echo", "arguments": [] })));
    assert_eq!(status(no_object, Some("stub.echo")).await, (200, Some(-32602)));
    assert_eq!(status(request(1, "tools/list", json!({})), None).await, (400, Some(-32602)));
    // The name in the header and the name in the body are one.
    assert_eq!(status(modern(call(1, "stub.echo", json!({}))), Some("stub.fail")).await, (400, Some(-32020)));
}
