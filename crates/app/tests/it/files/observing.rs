//! Lines 144 to 149 and 157 to 161: what operators and callers can see afterwards, and what nobody can.

use serde_json::{Value, json};
use testkit::Request;

use super::world::tenant_hash;
use super::{Case, Tenant};

pub(super) const SETTINGS: &str = "";

/// A text whose end must not be seen anywhere.
fn secret_text(word: &str) -> String {
    format!("{} {word}", "harmless beginning ".repeat(40))
}

fn calls(t: &mut Tenant<'_>, query: &str) -> Vec<Value> {
    let response = t.api("GET", &format!("/calls?{query}"), &[], "");
    assert_eq!(response.status, 200, "{}", response.text());
    let body: Value = serde_json::from_slice(&response.body).expect("JSON");
    body["calls"].as_array().cloned().expect("calls")
}

fn metrics(t: &Tenant<'_>) -> String {
    t.world.server.send(Request::new("GET", "/metrics")).text()
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("f148_every_call_is_in_the_log_at_no_cost", |t| {
            t.put("/a", "text");
            t.read("/a");
            t.refused("file_read", json!({ "path": "/b" }));
            let calls = calls(t, "");
            let tools: Vec<&str> = calls.iter().map(|call| call["tool"].as_str().unwrap()).collect();
            assert_eq!(tools, ["file_read", "file_read", "file_write"], "newest first");
            assert!(calls.iter().all(|call| call["cost"] == 0), "{calls:?}");
            assert_eq!(
                (&calls[0]["error_code"], &calls[1]["error_code"]),
                (&json!("NOT_FOUND"), &json!(null))
            );
        }),
        Case::new("f149_the_log_can_be_filtered", |t| {
            t.put("/a", "text");
            t.read("/a");
            t.refused("file_read", json!({ "path": "/b" }));
            assert_eq!(calls(t, "tool=file_write").len(), 1);
            assert_eq!(calls(t, "tool=file_read").len(), 2);
            assert_eq!(calls(t, "failed_only=true").len(), 1);
            assert_eq!(calls(t, "limit=1").len(), 1);
            assert_eq!(calls(t, "offset=2").len(), 1);
            assert_eq!(calls(t, "from=2999-01-01T00:00:00Z").len(), 0);
            assert_eq!(calls(t, "to=2001-01-01T00:00:00Z").len(), 0);
        }),
        Case::new("f012_f148_the_calls_of_others_are_not_to_be_seen", |t| {
            t.put("/a", "text");
            assert!(calls(&mut t.stranger(), "").is_empty());
        }),
        Case::new("f144_f145_f146_no_content_in_the_log_of_calls", |t| {
            let text = secret_text("TOPSECRETWORD");
            t.put("/a", &text);
            t.read("/a");
            t.search("harmless beginning");
            let log = Value::from(calls(t, "")).to_string();
            assert!(!log.contains("TOPSECRETWORD"), "{log}");
            assert!(log.contains(&text.len().to_string()), "the length is there: {log}");
            assert!(log.contains("sha256"), "{log}");
            let tenant = tenant_hash(&t.key);
            t.until("the calls are stored", |t| {
                let stored = t
                    .world
                    .home
                    .rows(&format!("SELECT * FROM mcp_file_calls WHERE apikey_hash = '{tenant}'"));
                assert!(!format!("{stored:?}").contains("TOPSECRETWORD"), "{stored:?}");
                stored.len() >= 3
            });
        }),
        Case::new("f145_previews_are_short", |t| {
            t.put("/a", &"0123456789".repeat(500));
            let call = &calls(t, "tool=file_write")[0];
            let preview = call["parameters"]["content"]["preview"].as_str().expect("a preview");
            assert!(preview.len() <= 256, "{call}");
            assert_eq!(call["parameters"]["content"]["truncated"], true, "{call}");
            assert_eq!(call["parameters"]["content"]["length"], 5000, "{call}");
        }),
        Case::new("f147_queries_are_trimmed", |t| {
            t.search("   some words   ");
            assert_eq!(calls(t, "tool=file_search")[0]["parameters"]["query"], "some words");
        }),
        Case::new("f144_f146_no_content_and_no_key_in_what_the_server_prints_and_logs", |t| {
            t.put("/a", &secret_text("ANOTHERSECRET"));
            t.read("/a");
            t.search("harmless beginning");
            t.refused("file_write", json!({ "path": "bad", "content": secret_text("ANOTHERSECRET") }));
            let (out, err) = t.world.server.printed();
            assert!(!out.contains("ANOTHERSECRET") && !err.contains("ANOTHERSECRET"));
            for name in ["audit.jsonl", "dir2mcp.log"] {
                let log = std::fs::read_to_string(t.world.server.state().join(name)).unwrap_or_default();
                assert!(!log.contains("ANOTHERSECRET") && !log.contains(&t.key), "{name}");
            }
        }),
        Case::new("f139_keys_are_stored_nowhere", |t| {
            t.put("/a", "text");
            let tables = ["mcp_files", "mcp_file_index_jobs", "mcp_file_calls", "mcp_file_mutations"];
            for table in tables {
                let rows = t.world.home.rows(&format!("SELECT * FROM {table}"));
                assert!(!format!("{rows:?}").contains(&t.key), "{table}");
            }
        }),
        Case::new("f157_f161_the_metrics_are_there", |t| {
            t.put("/a", "some words");
            t.refused("file_delete", json!({ "path": "/nothing" }));
            t.search("words");
            t.wait_indexed();
            let names = [
                "mcp_files_mutation_total{tool=\"file_write\",status=\"ok\"}",
                "mcp_files_mutation_total{tool=\"file_delete\",status=\"NOT_FOUND\"}",
                "mcp_files_lock_wait_ms",
                "mcp_files_index_queue_depth",
                "mcp_files_index_job_latency_ms",
                "mcp_files_search_latency_ms",
                "mcp_files_search_rerank_fail_total",
                "mcp_files_index_visibility_lag_ms",
            ];
            t.until("all metrics are there", |t| {
                let page = metrics(t);
                names.iter().all(|name| page.contains(name))
            });
        }),
        Case::new("f012_f157_metrics_name_no_tenant_project_or_path", |t| {
            t.project = "projectinmetrics".into();
            t.put("/pathinmetrics", "some words");
            t.search("words");
            let page = metrics(t);
            for secret in ["projectinmetrics", "pathinmetrics", &t.key, &tenant_hash(&t.key)] {
                assert!(!page.contains(secret), "{secret}");
            }
        }),
    ]
}
