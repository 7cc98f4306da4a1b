//! The fixtures of the conformance server: beside the product's tools, and nowhere else.

use serde_json::{Value, json};

use crate::conformance_server::ConformanceServer;
use crate::stub::{Stub, server};
use crate::wire::{Wire, call, initialize, modern, request};

fn with_fixtures() -> Wire {
    Wire::new(ConformanceServer::new(server(&Stub::new())))
}

fn names(answer: &Value) -> Vec<&str> {
    answer["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn fixtures_come_after_the_product_tools() {
    let mut plain = Wire::new(server(&Stub::new()));
    let plain = plain.ask(modern(request(1, "tools/list", json!({})))).await;
    let mut wire = with_fixtures();
    let all = wire.ask(modern(request(1, "tools/list", json!({})))).await;
    assert_eq!(names(&all)[..6], names(&plain));
    assert!(names(&all).contains(&"test_simple_text"));
    assert_eq!(
        plain["result"]["tools"].as_array().unwrap()[..],
        all["result"]["tools"].as_array().unwrap()[..6]
    );
}

#[tokio::test]
async fn the_product_has_no_fixtures() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    for tool in ["test_simple_text", "greet", "test_sampling"] {
        assert_eq!(wire.refused(call(1, tool, json!({}))).await, -32602);
    }
}

#[tokio::test]
async fn every_fixture_answers() {
    let mut wire = with_fixtures();
    let declared = wire.ask(initialize("2025-11-25")).await;
    for capability in ["prompts", "resources", "completions", "logging", "extensions"] {
        assert!(declared["result"]["capabilities"][capability].is_object(), "{capability}");
    }
    let all = wire.ask(request(1, "tools/list", json!({}))).await;
    let asks_the_client = ["test_sampling", "test_elicitation"];
    for tool in
        names(&all)[6..].iter().filter(|name| !asks_the_client.iter().any(|asks| name.starts_with(asks)))
    {
        wire.send(modern(call(*tool, tool, json!({})))).await;
        let answer = loop {
            let line = wire.next().await;
            if line.get("method").is_none() {
                break line;
            }
        };
        assert_eq!(answer["id"], *tool);
        let code = answer["error"]["code"].as_i64();
        assert!(code.is_none_or(|code| code == -32021), "{tool}: {answer}");
    }
}

#[tokio::test]
async fn a_subscription_hears_of_changes_until_it_is_cancelled() {
    let mut wire = with_fixtures();
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let heard = wire.ask(modern(request("listen", "subscriptions/listen", filter))).await;
    assert_eq!(heard["method"], "notifications/subscriptions/acknowledged");
    wire.send(modern(call(1, "test_trigger_tool_change", json!({})))).await;
    let lines = [wire.next().await, wire.next().await];
    let changed =
        lines.iter().find(|line| line["method"] == "notifications/tools/list_changed").expect("a change");
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "listen");
    let cancelled = json!({ "requestId": "listen" });
    wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;
    assert!(wire.end().await.is_empty());
}
