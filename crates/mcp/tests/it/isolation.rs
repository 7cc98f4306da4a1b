//! Answers go to the client that asked.

use futures::future::join_all;
use serde_json::json;

use crate::stub::{Stub, server};
use crate::wire::{Wire, call, modern};

/// A thousand connections, the same id on all of them, each asking for its own canary; every third hangs up early.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m14_equal_ids_on_separate_connections_do_not_mix() {
    let server = server(&Stub::new());
    let clients = (0..1000).map(|number| {
        let mut wire = Wire::new(server.clone());
        async move {
            let canary = format!("canary-{number}");
            for _ in 0..2 {
                wire.send(modern(call(1, "stub.echo", json!({ "canary": canary })))).await;
                if number % 3 == 0 {
                    let _ = wire.hang_up().await;
                    return 0;
                }
                let answer = wire.next().await;
                assert_eq!(answer["id"], 1);
                assert_eq!(answer["result"]["structuredContent"]["arguments"]["canary"], canary);
            }
            assert!(wire.end().await.is_empty());
            1
        }
    });
    let served: i32 = join_all(clients.map(tokio::spawn)).await.into_iter().map(Result::unwrap).sum();
    assert_eq!(served, 666);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m14_answers_on_one_connection_keep_their_ids() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    // More than may be in flight at once, in both types of id.
    let ids = (0..3000).map(|id| if id % 2 == 0 { json!(id) } else { json!(id.to_string()) });
    let requests = ids.map(|id| call(id.clone(), "stub.echo", json!({ "id": id }))).collect();
    for answer in wire.exchange(requests).await {
        assert_eq!(answer["id"], answer["result"]["structuredContent"]["arguments"]["id"], "{answer}");
    }
    assert!(wire.end().await.is_empty());
}

#[tokio::test]
async fn an_id_in_use_is_refused() {
    let stub = Stub::new();
    let mut wire = Wire::legacy(server(&stub), "2025-11-25").await;
    wire.send(call(1, "stub.wait", json!({}))).await;
    stub.waiting.notified().await;
    assert_eq!(wire.refused(call(1, "stub.echo", json!({}))).await, -32600);
    // Another type is another id.
    assert_eq!(wire.ask(call("1", "stub.echo", json!({}))).await["id"], "1");
}
