//! `tools/call`: results, failures, progress and cancellation.

use serde_json::json;

use crate::stub::{Stub, server};
use crate::wire::{Wire, call, modern, request};

#[tokio::test]
async fn d132_a_result_has_text_and_structure() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let answer = wire.ask(call(1, "stub.echo", json!({ "q": "ü" }))).await;
    assert_eq!(
        answer,
        json!({
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "content": [{ "type": "text", "text": r#"{"arguments":{"q":"ü"}}"# }],
                "structuredContent": { "arguments": { "q": "ü" } },
                "isError": false,
            },
        })
    );
    let bare = wire.ask(request(2, "tools/call", json!({ "name": "stub.echo" }))).await;
    assert_eq!(bare["result"]["structuredContent"], json!({ "arguments": null }));
}

#[tokio::test]
async fn d133_a_failing_tool_is_a_result_not_a_protocol_error() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let answer = wire.ask(call(1, "stub.fail", json!({}))).await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["content"][0]["text"], "ERROR: FILE_NOT_FOUND: a.txt");
    assert_eq!(answer["result"]["structuredContent"]["error"]["retryable"], false);
}

#[tokio::test]
async fn c53_an_unknown_tool_is_a_protocol_error() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let long = "x".repeat(100_000);
    for name in ["stub.Echo", "", "../etc", "test_simple_text", &long] {
        let answer = wire.ask(call(1, name, json!({}))).await;
        assert_eq!(answer["error"]["code"], -32602);
        assert!(answer["error"]["message"].as_str().unwrap().len() < 200);
    }
}

#[tokio::test]
async fn modern_results_say_their_type_and_who_answers() {
    let mut wire = Wire::new(server(&Stub::new()));
    for tool in ["stub.echo", "stub.fail"] {
        let result = wire.ask(modern(call(1, tool, json!({})))).await["result"].clone();
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"], "1.2.3");
        assert!(result["structuredContent"].is_object());
    }
}

#[tokio::test]
async fn the_oldest_revision_gets_text_only() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2024-11-05").await;
    let answer = wire.ask(call(1, "stub.echo", json!({}))).await;
    assert!(answer["result"]["content"][0]["text"].is_string());
    assert!(answer["result"].get("structuredContent").is_none());
}

#[tokio::test]
async fn progress_arrives_in_order_and_before_the_answer() {
    for (version, message) in [("2025-11-25", json!("step 1")), ("2024-11-05", json!(null))] {
        let mut wire = Wire::legacy(server(&Stub::new()), version).await;
        let mut asked = call(1, "stub.progress", json!({}));
        asked["params"]["_meta"] = json!({ "progressToken": "t" });
        wire.send(asked).await;
        for done in 1..=3 {
            let report = wire.next().await;
            assert_eq!(report["method"], "notifications/progress", "{report}");
            assert_eq!(report["params"]["progressToken"], "t");
            assert_eq!(report["params"]["progress"], f64::from(done));
            assert_eq!(report["params"]["total"], 3.0);
            if done == 1 {
                assert_eq!(report["params"]["message"], message);
            }
        }
        assert_eq!(wire.next().await["result"]["content"][0]["text"], r#"{"asked":true}"#);
        let unasked = wire.ask(call(2, "stub.progress", json!({}))).await;
        assert_eq!(unasked["result"]["content"][0]["text"], r#"{"asked":false}"#);
    }
}

#[tokio::test]
async fn a_cancelled_call_is_stopped_and_not_answered() {
    let stub = Stub::new();
    let mut wire = Wire::legacy(server(&stub), "2025-11-25").await;
    wire.send(call(7, "stub.wait", json!({}))).await;
    stub.waiting.notified().await;
    let cancelled = json!({ "requestId": 7, "reason": "changed my mind" });
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;
    stub.cancelled.notified().await;
    // The id stays taken: an answer to the first call could be mistaken for one to the second.
    assert_eq!(wire.refused(call(7, "stub.echo", json!({}))).await, -32600);
    assert_eq!(wire.ask(call(8, "stub.echo", json!({}))).await["id"], 8);
    assert!(wire.end().await.is_empty());
}

#[tokio::test]
async fn cancelling_what_does_not_run_changes_nothing() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    for params in [json!({ "requestId": 99 }), json!({ "requestId": [] }), json!({}), json!(null)] {
        wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    }
    assert_eq!(wire.ask(call(99, "stub.echo", json!({}))).await["id"], 99);
}

#[tokio::test]
async fn a_panicking_tool_costs_its_own_call_only() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let answer = wire.ask(call(1, "stub.panic", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32603);
    assert!(!answer.to_string().contains("a tool that panics"));
    assert_eq!(wire.ask(call(2, "stub.echo", json!({}))).await["id"], 2);
}

#[tokio::test]
async fn calls_run_side_by_side() {
    let stub = Stub::new();
    let mut wire = Wire::legacy(server(&stub), "2025-11-25").await;
    wire.send(call(1, "stub.wait", json!({}))).await;
    stub.waiting.notified().await;
    assert_eq!(wire.ask(call(2, "stub.echo", json!({}))).await["id"], 2);
    assert_eq!(wire.ask(request(3, "tools/list", json!({}))).await["id"], 3);
}

#[tokio::test]
async fn the_parent_process_is_the_caller() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let answer = wire.ask(call(1, "stub.caller", json!({}))).await;
    assert_eq!(answer["result"]["structuredContent"]["caller"], "stdio");
}
