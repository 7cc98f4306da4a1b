//! Searching: both backends find the same and rank alike.

use std::sync::Arc;

use filestore::MutationGuard;
use filestore::search::StoreSearchRequest;
use testkit::ScriptedReranker;

use super::{ALICE, BOB, Bench, question};

const TEXTS: &[(&str, &str)] = &[
    ("/docs/retry.md", "Exponential backoff doubles the pause after each failed attempt, with jitter."),
    ("/docs/cake.md", "Bake the cake at 180 degrees for 40 minutes. Let the cake cool."),
    ("/docs_old/cake.md", "An older recipe: a cake without butter."),
    ("/src/http_client.rs", "fn parseHTTPResponse(bytes: &[u8]) -> Response { todo_later(bytes) }"),
    ("/src/retry.rs", "/// Pauses between attempts.\nfn backoff(attempt: u32) -> Duration { base * 2 }"),
    ("/notes/ja.md", "日本語の検索も二文字ずつ見つかる。"),
    ("/notes/quotes.md", "It's a back\\slash and a 'quoted' word, 100%_sure."),
];

async fn filled() -> [Bench; 2] {
    let benches = Bench::each().await;
    for bench in &benches {
        for (path, text) in TEXTS {
            bench.write(ALICE, path, text).await;
        }
        bench.write(BOB, "/docs/cake.md", "Bob's own cake, which nobody else may see.").await;
    }
    benches
}

const QUESTIONS: &[&str] = &[
    "cake",
    "pause after a failed attempt",
    "parse http response",
    "parseHTTPResponse",
    "検索",
    "it's a 'quoted' back\\slash",
    "100%_sure",
    "retry",
    "\0 cake \0",
    "!()&|:* <-> cake",
    "how long to bake",
];

#[tokio::test(flavor = "multi_thread")]
async fn f105_f108_both_backends_rank_alike_before_and_after_indexing() {
    let benches = filled().await;
    let mut answers = Vec::new();
    for bench in &benches {
        let mut own = Vec::new();
        for query in QUESTIONS {
            own.push(shown(bench, question(ALICE, query)).await);
        }
        bench.settle().await;
        for query in QUESTIONS {
            own.push(shown(bench, question(ALICE, query)).await);
            own.push(shown(bench, StoreSearchRequest { project: None, ..question(ALICE, query) }).await);
        }
        answers.push(own);
    }
    let [sqlite, postgres] = &answers[..] else { panic!("two backends") };
    for (one, other) in sqlite.iter().zip(postgres) {
        assert_eq!(one, other);
    }
    assert!(sqlite.iter().all(|answer| !answer.is_empty()), "{sqlite:?}");
    assert!(!format!("{answers:?}").contains("Bob"));
}

/// Path, range and score of each passage.
async fn shown(bench: &Bench, request: StoreSearchRequest) -> Vec<String> {
    let hits = bench.find_with(request).await;
    hits.iter()
        .map(|hit| format!("{} {}-{} {:.4} {}", hit.file_path, hit.start, hit.end, hit.score, hit.content))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn f101_f103_f106_f116_prefixes_deletions_and_projects() {
    for bench in filled().await {
        for settled in [false, true] {
            if settled {
                bench.settle().await;
            }
            let paths = |hits: Vec<filestore::search::SearchHit>| -> Vec<String> {
                hits.into_iter().map(|hit| hit.file_path).collect()
            };
            let below = |prefix: &str| StoreSearchRequest {
                path_prefix: prefix.to_owned(),
                ..question(ALICE, "cake")
            };
            let mut raw = paths(bench.find_with(below("/docs")).await);
            raw.sort();
            assert_eq!(raw, ["/docs/cake.md", "/docs_old/cake.md"], "{} {settled}", bench.name);
            // `_` is a letter like any other.
            assert_eq!(
                paths(bench.find_with(below("/docs_")).await),
                ["/docs_old/cake.md"],
                "{}",
                bench.name
            );
            assert_eq!(paths(bench.find_with(below("docs")).await), [""; 0], "{}", bench.name);
            assert_eq!(paths(bench.find_with(below("/d\0")).await), [""; 0], "{}", bench.name);
        }
        bench.store.delete(ALICE, "p", "/docs/cake.md", false, MutationGuard::default()).await.unwrap();
        let left: Vec<String> =
            bench.find(ALICE, "cake").await.into_iter().map(|hit| hit.file_path).collect();
        assert_eq!(left, ["/docs_old/cake.md"], "{}: deleted and not worked off yet", bench.name);
        // What changed and is not indexed yet is found as it is now, not as it was.
        bench.write(ALICE, "/docs_old/cake.md", "now about soup").await;
        assert!(
            bench.find(ALICE, "cake").await.iter().all(|hit| !hit.content.contains("butter")),
            "{}",
            bench.name
        );
        assert_eq!(bench.find(ALICE, "soup").await[0].file_path, "/docs_old/cake.md", "{}", bench.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f109_f110_f115_reranking_falls_back_and_only_what_is_returned_is_served() {
    for bench in filled().await {
        bench.settle().await;
        let served =
            "SELECT file_path FROM {s}.mcp_file_chunks WHERE last_served_at IS NOT NULL ORDER BY file_path";
        assert_eq!(bench.column(ALICE, served), [""; 0], "{}", bench.name);
        let butter = StoreSearchRequest {
            limit: Some(1),
            reranker: Some(Arc::new(ScriptedReranker::liking("butter"))),
            ..question(ALICE, "cake")
        };
        let best = bench.find_with(butter).await;
        assert_eq!(best[0].file_path, "/docs_old/cake.md", "{}: the reranker's order", bench.name);
        assert_eq!(bench.column(ALICE, served), ["/docs_old/cake.md"], "{}", bench.name);
        let failing = StoreSearchRequest {
            reranker: Some(Arc::new(ScriptedReranker::failing())),
            ..question(ALICE, "cake")
        };
        let answer = bench.searching().search(&failing).await.unwrap();
        assert!(answer.rerank_error.is_some(), "{}", bench.name);
        assert_eq!(answer.hits[0].file_path, "/docs/cake.md", "{}", bench.name);
    }
}
