//! How a gate between the guard and a route is added, such as one that asks for payment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use dir2mcp_http::{Refusal, Route};
use http::{HeaderName, HeaderValue, StatusCode};
use model::{Caller, ErrorCode};

use crate::harness::{self, Server, code};

/// Lets a request pass that carries a receipt, and adds one to the answer; refuses others with the price.
async fn payment(request: Request, next: Next) -> Response {
    assert!(request.extensions().get::<Caller>().is_some(), "the caller is known before the gate");
    if !request.headers().contains_key("payment-signature") {
        let price = HeaderValue::from_static("one coin");
        return Refusal::new(StatusCode::PAYMENT_REQUIRED, ErrorCode::Forbidden, "this call costs one coin")
            .header(HeaderName::from_static("payment-required"), price)
            .into_response();
    }
    let mut response = next.run(request).await;
    response.headers_mut().insert("payment-response", HeaderValue::from_static("paid"));
    response
}

#[tokio::test]
async fn a_gate_refuses_in_the_words_of_the_route_and_lets_pass_what_is_paid() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let handler = post(move |body: String| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(body)
    });
    let server = Server::start([Route::new("/api/ask", handler).gate(from_fn(payment))]).await;
    let ask = || harness::post("/api/ask", "a question");

    let answer = server.ask(&ask().with("PAYMENT-SIGNATURE", "x")).await;
    assert_eq!(answer.status, 401, "who asks is settled first");
    let answer = server.ask_as_alice(ask()).await;
    assert_eq!((answer.status, code(&answer).as_str()), (402, "FORBIDDEN"));
    assert_eq!(answer.header("payment-required"), Some("one coin"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(calls.load(Ordering::Relaxed), 0, "the route was not reached");
    let answer = server.ask_as_alice(ask().with("PAYMENT-SIGNATURE", "x")).await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "a question"));
    assert_eq!(answer.header("payment-response"), Some("paid"));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    server.stop().await;
}
