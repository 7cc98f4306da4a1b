//! Which revision is spoken, and how that is agreed.

use mcp::{CallerSource, McpOptions, ProtocolVersion};
use serde_json::json;

use crate::stub::{Stub, server, server_with};
use crate::wire::{Wire, call, initialize, modern, request};

#[tokio::test]
async fn d126_the_handshake_says_who_answers_and_what_it_can() {
    let mut wire = Wire::new(server(&Stub::new()));
    let answer = wire.ask(initialize("2025-11-25")).await;
    assert_eq!(
        answer,
        json!({
            "jsonrpc": "2.0",
            "id": 0,
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": { "listChanged": false } },
                "serverInfo": { "name": "dir2mcp", "title": "dir2mcp: Directory RAG MCP Server", "version": "1.2.3" },
                "instructions": "Use tools/list then tools/call.",
            },
        })
    );
}

#[tokio::test]
async fn c28_a_served_revision_is_echoed_any_other_gets_the_newest_handshake() {
    let agreed = [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2025-03-26", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ];
    for (asked, expected) in agreed {
        let mut wire = Wire::new(server(&Stub::new()));
        let answer = wire.ask(initialize(asked)).await;
        assert_eq!(answer["result"]["protocolVersion"], expected, "asked for {asked}");
        assert_eq!(wire.ask(request(1, "ping", json!({}))).await["result"], json!({}));
    }
}

#[tokio::test]
async fn a_pinned_revision_is_the_only_one() {
    let pinned = |version| {
        let mut options = McpOptions::new("1.2.3", CallerSource::Stdio);
        options.protocol = Some(version);
        Wire::new(server_with(&Stub::new(), options))
    };
    let mut old = pinned(ProtocolVersion::V_2024_11_05);
    let answer = old.ask(initialize("2025-11-25")).await;
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(old.refused(modern(request(1, "tools/list", json!({})))).await, -32022);

    let mut new = pinned(ProtocolVersion::V_2026_07_28);
    assert_eq!(new.refused(initialize("2025-11-25")).await, -32022);
    assert_eq!(new.refused(request(1, "tools/list", json!({}))).await, -32602);
    assert!(new.ask(modern(request(1, "tools/list", json!({})))).await["result"]["tools"].is_array());
}

#[tokio::test]
async fn discovery_tells_what_is_served_and_for_how_long_that_holds() {
    let mut wire = Wire::new(server(&Stub::new()));
    let answer = wire.ask(modern(request("d", "server/discover", json!({})))).await;
    assert_eq!(
        answer["result"],
        json!({
            "resultType": "complete",
            "supportedVersions": ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"],
            "capabilities": { "prompts": {}, "resources": {}, "tools": { "listChanged": false } },
            "instructions": "Use tools/list then tools/call.",
            "ttlMs": 300_000,
            "cacheScope": "public",
            "_meta": {
                "io.modelcontextprotocol/serverInfo":
                    { "name": "dir2mcp", "title": "dir2mcp: Directory RAG MCP Server", "version": "1.2.3" },
            },
        })
    );
}

#[tokio::test]
async fn a_modern_request_needs_no_handshake_but_its_metadata() {
    let mut wire = Wire::new(server(&Stub::new()));
    assert!(wire.ask(modern(request(1, "tools/list", json!({})))).await["result"]["tools"].is_array());
    assert_eq!(wire.refused(request(2, "tools/list", json!({}))).await, -32602);
    assert_eq!(wire.refused(request(3, "server/discover", json!({}))).await, -32602);

    let mut without_capabilities = modern(request(4, "tools/list", json!({})));
    let meta = without_capabilities["params"]["_meta"].as_object_mut().unwrap();
    meta.remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(wire.refused(without_capabilities).await, -32602);

    let mut unknown = modern(request(5, "tools/list", json!({})));
    unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let answer = wire.ask(unknown).await;
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(answer["error"]["data"]["requested"], "2031-01-01");
    assert_eq!(answer["error"]["data"]["supported"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn both_eras_share_a_connection() {
    let mut wire = Wire::legacy(server(&Stub::new()), "2025-11-25").await;
    for id in 1..=3 {
        let legacy = wire.ask(call(id, "stub.echo", json!({}))).await;
        assert!(legacy["result"].get("resultType").is_none());
        let modern = wire.ask(modern(call(id, "stub.echo", json!({})))).await;
        assert_eq!(modern["result"]["resultType"], "complete");
    }
}

#[tokio::test]
async fn ping_belongs_to_the_older_revisions() {
    let mut wire = Wire::new(server(&Stub::new()));
    assert_eq!(wire.ask(request(1, "ping", json!({}))).await["result"], json!({}));
    assert_eq!(wire.refused(modern(request(2, "ping", json!({})))).await, -32601);
    assert_eq!(wire.refused(modern(request(3, "initialize", json!({})))).await, -32601);
}
