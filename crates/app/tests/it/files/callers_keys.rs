//! Services that are called with the caller's own key: embedding in the background, reranking while the caller waits.

use serde_json::json;
use testkit::standins::{Fault, StandIn};

use super::{Backend, World};

const KEKS: &str = "security:\n  encryption_keks: \"1:old-secret,2:new-secret\"\n";

#[test]
fn f131_to_f135_f139_vectors_are_made_with_the_callers_key_and_it_is_kept_nowhere() {
    for backend in Backend::BOTH {
        let service = StandIn::openai();
        let settings = format!("embedding:\n  endpoint: {}\n{KEKS}", service.url());
        let world = World::start(backend, &settings);
        let mut alice = world.tenant_with(service.key());
        alice.put("/a.md", "what the service embeds");
        alice.put("/dir/b.md", "another text");
        let embedded = "SELECT f.path FROM mcp_files f JOIN mcp_file_chunks c ON c.file_path = f.path \
                        JOIN mcp_file_chunk_embeddings e ON e.chunk_id = c.id ORDER BY 1";
        world.wait(|| world.home.rows(embedded).len() == 2);
        alice.ok("file_rename", json!({ "from_path": "/dir", "to_path": "/moved" }));
        world.wait(|| world.home.rows(embedded) == [["/a.md"], ["/moved/b.md"]]);
        let hits = alice.ok("file_search", json!({ "query": "what the service embeds" }));
        assert_eq!(hits["chunks"][0]["file_path"], "/a.md", "{backend:?}");

        // Another caller's key does not fit: words are found, no vector is made, and no other key is tried.
        let before = service.requests().len();
        let mut bob = world.tenant_with("bobs-own-key");
        bob.put("/b.md", "found by its words");
        let hits = bob.ok("file_search", json!({ "query": "found words" }));
        assert_eq!(hits["chunks"][0]["file_path"], "/b.md", "{backend:?}");
        world.wait(|| service.requests().len() > before + 1);
        for request in &service.requests()[before..] {
            assert_eq!(request.header("authorization"), Some("Bearer bobs-own-key"), "{backend:?}");
        }
        for key in [service.key(), "bobs-own-key"] {
            let (stdout, stderr) = world.server.printed();
            assert!(!stdout.contains(key) && !stderr.contains(key), "{backend:?}: a key in the log");
            if let Some(redis) = world.home.redis() {
                assert!(!redis.dump().contains(key), "{backend:?}: a key in Redis");
            }
        }
    }
}

#[test]
fn f109_f110_f132_reranking_uses_the_callers_key_and_searches_go_on_without_it() {
    for backend in Backend::BOTH {
        let service = StandIn::cohere();
        let settings =
            format!("search:\n  rerank:\n    endpoint: {}/v2/rerank\n    timeout_ms: 2000\n", service.url());
        let world = World::start(backend, &settings);
        let mut alice = world.tenant_with(service.key());
        alice.put("/a.md", "cake with butter");
        alice.put("/b.md", "cake without butter");
        let found = alice.ok("file_search", json!({ "query": "cake" }));
        assert_eq!(found["chunks"].as_array().unwrap().len(), 2, "{backend:?}");
        assert_eq!(service.counts().rerank_calls, 1, "{backend:?}");
        assert_eq!(service.last_request().json()["model"], "rerank-v3.5");
        service.always(Some(Fault::Status(500)));
        let found = alice.ok("file_search", json!({ "query": "cake" }));
        assert_eq!(found["chunks"].as_array().unwrap().len(), 2, "{backend:?}: the fused order answers");
        let page = testkit::Request::new("GET", "/metrics").bearer(world.server.token.as_deref());
        let page = world.server.send(page).text();
        assert!(
            page.lines().any(|line| line == "mcp_files_search_rerank_fail_total 1"),
            "{backend:?}: {page}"
        );
    }
}
