//! How a connection ends.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use crate::stub::{Stub, server};
use crate::wire::{Wire, call, initialize, modern, request};

#[tokio::test]
async fn the_end_of_input_before_initialize_is_a_clean_end() {
    assert!(Wire::new(server(&Stub::new())).end().await.is_empty());
}

#[tokio::test]
async fn the_last_line_counts_without_a_line_end() {
    let mut wire = Wire::new(server(&Stub::new()));
    wire.send_bytes(initialize("2025-11-25").to_string().as_bytes()).await;
    let rest = wire.end().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn calls_in_flight_at_the_end_of_input_are_finished() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let mut asked = call(1, "stub.progress", json!({}));
    asked["params"]["_meta"] = json!({ "progressToken": 5 });
    wire.send(asked).await;
    wire.send(call(2, "stub.echo", json!({}))).await;
    let rest = wire.end().await;
    let answers = rest.iter().filter(|line| line.get("result").is_some()).count();
    assert_eq!((rest.len(), answers), (5, 2), "{rest:?}");
}

#[tokio::test]
async fn a_call_that_hangs_is_cancelled_some_time_after_the_end_of_input() {
    let stub = Stub::new();
    let mut wire = Wire::with_grace(server(&stub), Duration::from_millis(50));
    wire.send(modern(call(1, "stub.wait", json!({})))).await;
    stub.waiting.notified().await;
    let rest = wire.end().await;
    stub.cancelled.notified().await;
    assert!(rest.len() <= 1, "{rest:?}");
}

#[tokio::test]
async fn a_stop_ends_the_connection_and_cancels_its_calls() {
    let stub = Stub::new();
    let mut wire = Wire::legacy(server(&stub), "2025-11-25").await;
    wire.send(call(1, "stub.wait", json!({}))).await;
    stub.waiting.notified().await;
    wire.stop.cancel();
    stub.cancelled.notified().await;
    wire.rest().await;
}

#[tokio::test]
async fn a_stop_before_the_first_line_ends_the_connection() {
    let wire = Wire::new(server(&Stub::new()));
    wire.stop.cancel();
    assert!(wire.rest().await.is_empty());
}

#[tokio::test]
async fn a_client_that_stops_reading_for_good_ends_the_connection() {
    let (mut to, input) = tokio::io::duplex(1024);
    let (output, from) = tokio::io::duplex(1024);
    drop(from);
    let serving = tokio::spawn(mcp::serve_io(
        server(&Stub::new()),
        input,
        output,
        Duration::ZERO,
        CancellationToken::new(),
    ));
    to.write_all(format!("{}\n", request(1, "ping", json!({}))).as_bytes()).await.unwrap();
    // The input stays open: it is the broken output that ends it.
    serving.await.unwrap().unwrap();
    drop(to);
}
