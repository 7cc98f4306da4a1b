//! JSON-RPC messages: the strict reader, the envelope, and a whole endpoint that gets them over HTTP.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use mcp::envelope::{self, MessageKind};
use mcp::streamable::{Endpoint, Streamable, StreamableConfig, Variant, is_endless};
use mcp::{CallerSource, McpOptions, McpServer, strict};
use serde_json::Value;
use tower_service::Service;

use crate::no_tools::NoTools;

pub(crate) fn check(variant: usize, bytes: &[u8]) {
    match variant {
        0 => read_strictly(bytes),
        1 => read_envelope(bytes),
        _ => post(bytes),
    }
}

fn read_strictly(bytes: &[u8]) {
    if let Ok(value) = strict::parse(bytes) {
        let plain: Value = serde_json::from_slice(bytes).expect("what is strict is JSON");
        assert_eq!(value, plain);
    }
}

fn read_envelope(bytes: &[u8]) {
    match envelope::read(bytes) {
        Ok(read) => {
            assert_eq!(read.body["jsonrpc"], "2.0");
            match read.kind {
                MessageKind::Request { id, method } => {
                    assert_eq!(
                        (&read.body["id"], read.body["method"].as_str()),
                        (&id, Some(method.as_str()))
                    );
                }
                MessageKind::Notification { method } => {
                    assert_eq!(
                        (read.body.get("id"), read.body["method"].as_str()),
                        (None, Some(method.as_str()))
                    );
                }
                MessageKind::Response => assert!(!read.body.contains_key("method")),
            }
        }
        Err(rejection) => {
            assert!([-32700, -32600, -32602].contains(&rejection.code), "{rejection:?}");
            assert!(rejection.id.is_null() || rejection.id.is_string() || rejection.id.is_number());
        }
    }
}

thread_local! {
    static RUNTIME: tokio::runtime::Runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    static ENDPOINT: Endpoint<McpServer> = endpoint();
}

/// Lines of headers, an empty line, and the body.
fn post(bytes: &[u8]) {
    let split = bytes.windows(2).position(|two| two == b"\n\n");
    let (head, body) = split.map_or((&[][..], bytes), |at| (&bytes[..at], &bytes[at + 2..]));
    let mut request = Request::post("/mcp").header("content-type", "application/json");
    for line in head.split(|byte| *byte == b'\n').take(32) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            request = request.header(name, value);
        }
    }
    let Ok(request) = request.body(Full::new(Bytes::copy_from_slice(body))) else { return };
    let mut endpoint = ENDPOINT.with(Clone::clone);
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let Ok(response) = endpoint.call(request).await;
            assert!(!response.status().is_server_error(), "{}", response.status());
            if is_endless(response.extensions()) {
                return;
            }
            let (parts, body) = response.into_parts();
            let Ok(body) = body.collect().await;
            let body = body.to_bytes();
            if parts.headers.get("content-type").is_some_and(|kind| kind == "application/json") {
                let answer: Value = serde_json::from_slice(&body).expect("a document is JSON");
                assert_eq!(answer["jsonrpc"], "2.0");
                assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
            }
        });
    });
}

fn endpoint() -> Endpoint<McpServer> {
    let config = StreamableConfig { max_sessions: 64, max_awake_sessions: 4, ..StreamableConfig::default() };
    let server = McpServer::new(Arc::new(NoTools), McpOptions::new("0.0.0", CallerSource::Http));
    let streamable = Streamable::new(config).expect("sound limits");
    streamable.endpoint(vec![Variant { query: None, server }], Vec::new())
}
