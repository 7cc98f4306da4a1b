//! How a route for an HTTP API is added: a handler, its methods, its own hardening and limits, refusals in plain JSON.

use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use dir2mcp_http::{Hardening, Refusal, Route, RouteGuard, RouteLimits, WaitsForTurn};
use http::{Method, StatusCode};
use model::{Caller, ErrorCode};
use serde_json::{Value, json};

use crate::harness::{self, Server, code};
use crate::wire::{Ask, Wire};

/// Gives the document back, with its sender; refuses one without a `query`.
async fn search(
    Extension(caller): Extension<Caller>,
    Json(document): Json<Value>,
) -> Result<Json<Value>, Refusal> {
    if document.get("query").is_none() {
        let missing =
            Refusal::new(StatusCode::BAD_REQUEST, ErrorCode::MissingField, "the field query is missing");
        return Err(missing);
    }
    Ok(Json(json!({ "caller": caller.to_string(), "asked": document })))
}

fn api() -> Route {
    Route::new("/api/search", Router::new().route("/api/search", post(search)))
        .methods([Method::POST])
        .limits(RouteLimits { body_bytes: 64, ..RouteLimits::default() })
}

#[tokio::test]
async fn a_handler_gets_the_caller_and_the_document() {
    let server = Server::start([api()]).await;
    let answer = server.ask_as_alice(harness::post("/api/search", r#"{"query":"x"}"#)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json(), json!({ "caller": "http:alice@127.0.0.1", "asked": { "query": "x" } }));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    server.stop().await;
}

#[tokio::test]
async fn refusals_are_plain_json_whoever_makes_them() {
    let server = Server::start([api()]).await;
    let ask = |body: &str| harness::post("/api/search", body);
    let answer = server.ask(&ask("{}")).await;
    assert_eq!((answer.status, code(&answer).as_str()), (401, "UNAUTHORIZED"));
    assert_eq!(answer.json()["error"]["retryable"], false);
    assert!(answer.json().get("jsonrpc").is_none());
    let answer = server.ask(&ask("{}").with("Host", "evil.example")).await;
    assert_eq!((answer.status, code(&answer).as_str()), (403, "FORBIDDEN_HOST"));
    let answer = server.ask_as_alice(Ask::new("GET", "/api/search")).await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    let answer = server.ask_as_alice(ask("{}")).await;
    assert_eq!((answer.status, code(&answer).as_str()), (400, "MISSING_FIELD"), "the handler's own");
    let answer = server.ask_as_alice(Ask::new("GET", "/api/nothing")).await;
    assert_eq!((answer.status, code(&answer).as_str()), (404, "NOT_FOUND"));
    server.stop().await;
}

#[tokio::test]
async fn the_limit_of_the_body_is_the_routes_own() {
    let server = Server::start([api()]).await;
    let long = format!(r#"{{"query":"{}"}}"#, "x".repeat(64));
    let answer = server.ask_as_alice(harness::post("/api/search", &long)).await;
    assert_eq!((answer.status, code(&answer).as_str()), (413, "REQUEST_TOO_LARGE"));
    // In chunks, no length is announced.
    let mut wire = Wire::open(server.address).await;
    let chunked = harness::post("/api/search", "").with("Transfer-Encoding", "chunked");
    wire.send(&chunked.token(&harness::token()).to_bytes()).await;
    wire.send(format!("{:x}\r\n{long}\r\n0\r\n\r\n", long.len()).as_bytes()).await;
    assert_eq!(wire.answer().await.status, 413);
    server.stop().await;
}

#[tokio::test]
async fn an_asset_is_cached_and_hardened_in_its_own_way_but_its_refusals_are_not_kept() {
    let hardening = Hardening::default()
        .cache_control("public, max-age=31536000, immutable")
        .header("content-security-policy", "default-src 'self'");
    let asset = Route::new("/console/app.js", get(async || "console.log(1)"))
        .methods([Method::GET])
        .guard(RouteGuard::Open)
        .limits(RouteLimits { turn: WaitsForTurn::Never, ..RouteLimits::default() })
        .hardening(hardening);
    let server = Server::start([asset]).await;
    let answer = server.ask(&Ask::new("GET", "/console/app.js")).await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "console.log(1)"));
    assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(answer.header("content-security-policy"), Some("default-src 'self'"));
    let answer = server.ask(&Ask::new("DELETE", "/console/app.js")).await;
    assert_eq!((answer.status, answer.header("cache-control")), (405, Some("no-store")));
    let answer = server.ask(&Ask::new("GET", "/healthz")).await;
    assert_eq!(answer.header("content-security-policy"), None, "other routes have theirs");
    server.stop().await;
}
