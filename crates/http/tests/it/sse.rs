//! How a route that streams server-sent events is added.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use dir2mcp_http::{Endless, Route};
use futures::stream::unfold;
use http::Method;
use tokio::sync::Semaphore;

use crate::harness::{Server, token};
use crate::wire::{Ask, Wire};

/// Sends one event per permit, without end.
fn events(permits: Arc<Semaphore>) -> Response {
    let stream = unfold((0, permits), async |(n, permits)| {
        permits.acquire().await.ok()?.forget();
        Some((Ok::<_, Infallible>(Event::default().data(n.to_string())), (n + 1, permits)))
    });
    let mut response = Sse::new(stream).into_response();
    response.extensions_mut().insert(Endless);
    response
}

#[tokio::test]
async fn events_arrive_one_by_one_until_the_server_stops() {
    let permits = Arc::new(Semaphore::new(0));
    let handler = {
        let permits = permits.clone();
        move || std::future::ready(events(permits.clone()))
    };
    let server = Server::start([Route::new("/api/events", get(handler)).methods([Method::GET])]).await;
    assert_eq!(server.ask(&Ask::new("GET", "/api/events")).await.status, 401);

    let mut wire = Wire::open(server.address).await;
    wire.send(&Ask::new("GET", "/api/events").token(&token()).to_bytes()).await;
    let (status, headers) = wire.head().await.expect("an answer");
    assert_eq!(status, 200);
    assert!(headers.contains(&("content-type".into(), "text/event-stream".into())), "{headers:?}");
    for n in 0..3 {
        permits.add_permits(1);
        let event = String::from_utf8(wire.chunk().await.expect("an event")).unwrap();
        assert_eq!(event, format!("data: {n}\n\n"));
    }
    // A stopping server does not wait for a stream without an end, and closes it well.
    server.stop().await;
    assert_eq!(wire.chunk().await, None);
}
