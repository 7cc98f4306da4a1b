//! What is offered, to whom, and what is not.

use serde_json::{Value, json};

use crate::stub::{Stub, server};
use crate::wire::{Wire, modern, request};

#[tokio::test]
async fn d130_all_tools_come_on_one_page_in_the_order_of_the_service() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let answer = wire.ask(request(1, "tools/list", json!({}))).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["stub.wait", "stub.echo", "stub.fail", "stub.progress", "stub.panic", "stub.caller"]);
    assert_eq!(answer["result"].as_object().unwrap().len(), 1, "no cursor, nothing modern: {answer}");
    // As text, because the order of the keys is part of what was published.
    assert_eq!(
        tools[1].to_string(),
        concat!(
            r#"{"name":"stub.echo","title":"A stub","description":"Shows how it was called","#,
            r#""inputSchema":{"type":"object","properties":{"z":{},"a":{}},"additionalProperties":true},"#,
            r#""outputSchema":{"type":"object","$defs":{}},"#,
            r#""annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}"#
        )
    );
    assert_eq!(wire.refused(request(2, "tools/list", json!({ "cursor": "next" }))).await, -32602);
}

#[tokio::test]
async fn m23_the_list_is_the_same_for_everybody_and_at_any_time() {
    let stub = Stub::new();
    let server = server(&stub);
    let mut lists = Vec::new();
    for _ in 0..3 {
        let mut wire = Wire::new(server.clone());
        for _ in 0..2 {
            lists.push(wire.ask(modern(request(1, "tools/list", json!({})))).await.to_string());
        }
    }
    lists.dedup();
    assert_eq!(lists.len(), 1);
}

#[tokio::test]
async fn modern_lists_say_who_answers_and_for_how_long() {
    let mut wire = Wire::new(server(&Stub::new()));
    let lists = [
        ("tools/list", "tools", 6),
        ("prompts/list", "prompts", 0),
        ("resources/list", "resources", 0),
        ("resources/templates/list", "resourceTemplates", 0),
    ];
    for (method, key, count) in lists {
        let result = wire.ask(modern(request(1, method, json!({})))).await["result"].clone();
        assert_eq!(result["resultType"], "complete", "{method}");
        assert_eq!(result["ttlMs"], 300_000, "{method}");
        assert_eq!(result["cacheScope"], "public", "{method}");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "dir2mcp", "{method}");
        assert_eq!(result[key].as_array().unwrap().len(), count, "{method}");
    }
    let missing =
        wire.ask(modern(request(2, "resources/read", json!({ "uri": "file:///etc/passwd" })))).await;
    assert_eq!(missing["error"]["code"], -32602);
    assert_eq!(missing["error"]["data"]["uri"], "file:///etc/passwd");
    assert_eq!(wire.refused(modern(request(3, "prompts/get", json!({ "name": "x" })))).await, -32602);
}

#[tokio::test]
async fn the_oldest_revision_gets_only_the_fields_it_knows() {
    let mut wire = Wire::new(server(&Stub::new()));
    let answer = wire.ask(crate::wire::initialize("2024-11-05")).await;
    assert_eq!(answer["result"]["serverInfo"], json!({ "name": "dir2mcp", "version": "1.2.3" }));
    let answer = wire.ask(request(1, "tools/list", json!({}))).await;
    for tool in answer["result"]["tools"].as_array().unwrap() {
        let keys: Vec<&String> = tool.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["name", "description", "inputSchema"]);
    }
}

#[tokio::test]
async fn what_is_not_declared_does_not_exist() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    let undeclared: [(&str, Value); 10] = [
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "x" })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "a:b" })),
        ("resources/subscribe", json!({ "uri": "a:b" })),
        ("resources/unsubscribe", json!({ "uri": "a:b" })),
        ("logging/setLevel", json!({ "level": "info" })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "" } }),
        ),
        ("no/such/method", json!({})),
    ];
    for (method, params) in undeclared {
        assert_eq!(wire.refused(request(1, method, params)).await, -32601, "{method}");
    }
    let gone: [(&str, Value); 7] = [
        ("resources/subscribe", json!({ "uri": "a:b" })),
        ("logging/setLevel", json!({ "level": "info" })),
        ("logging/setLevel", json!({})),
        ("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })),
        ("tasks/get", json!({ "taskId": "x" })),
        ("completion/complete", json!({})),
        ("no/such/method", json!({})),
    ];
    for (method, params) in gone {
        assert_eq!(wire.refused(modern(request(1, method, params))).await, -32601, "{method}");
    }
}
