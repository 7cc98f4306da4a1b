//! The vectors of a question from a provider that is slow, away, or fine.

use std::sync::Arc;
use std::time::Duration;

use model::{EmbeddingProvider, Filter, IndexChoice, ProviderErrorKind, Query};
use retrieve::{QueryEmbedder, QueryVectors};
use testkit::{ScriptedEmbedder, Step, rate_limited};
use tokio::time::Instant;

use crate::corpus::Corpus;

/// Questions to one provider, for both indices.
struct Queries {
    embedder: QueryEmbedder,
    maker: EmbeddingProvider,
}

impl Queries {
    async fn vectors(&self, question: &str) -> QueryVectors {
        self.embedder.vectors(question, [Some(&self.maker), Some(&self.maker)]).await
    }
}

fn queries(embedder: &Arc<ScriptedEmbedder>) -> Queries {
    let maker = EmbeddingProvider::Remote(Arc::clone(embedder) as _);
    Queries { embedder: QueryEmbedder::default(), maker }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_embedded_once_for_both_indices_and_remembered() {
    let embedder = ScriptedEmbedder::new("m").shared();
    let queries = queries(&embedder);
    assert!(queries.vectors("how are retries done").await.error().is_none());
    // The same question, with other filters.
    queries.vectors("how are retries done ext:rs").await;
    let requests = embedder.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].is_question);
    assert_eq!(requests[0].texts, ["how are retries done"]);
}

#[tokio::test(start_paused = true)]
async fn few_questions_are_remembered() {
    let embedder = ScriptedEmbedder::new("m").shared();
    let queries = queries(&embedder);
    for number in 0..300 {
        queries.vectors(&format!("question {number}")).await;
    }
    queries.vectors("question 299").await;
    assert_eq!(embedder.requests().len(), 300);
    queries.vectors("question 0").await;
    assert_eq!(embedder.requests().len(), 301);
}

#[tokio::test(start_paused = true)]
async fn a_slow_provider_costs_one_deadline_and_words_answer() {
    let embedder = ScriptedEmbedder::new("m").shared();
    embedder.always(Step::Hang);
    let queries = queries(&embedder);
    let started = Instant::now();
    let vectors = queries.vectors("retry").await;
    assert_eq!(started.elapsed().as_secs(), 2);
    assert!(matches!(vectors.error().unwrap().kind, ProviderErrorKind::Unreachable { .. }));

    let corpus = Corpus::new("//- src/retry.rs\nfn retry() { backoff(); }\n//- notes.md\nabout retry\n");
    let query = Query { text: "retry".into(), k: 5, index: IndexChoice::Both, filter: Filter::default() };
    let answer = corpus.query_with(&vectors, &query, &|_| true).unwrap();
    assert_eq!(answer.hits.len(), 2);
    assert_eq!(answer.vector_error.as_ref(), vectors.error(), "the answer says so");

    // The next questions do not wait, until the provider gets another chance.
    assert!(queries.vectors("another").await.error().is_some());
    assert_eq!((started.elapsed().as_secs(), embedder.requests().len()), (2, 1));
    embedder.always(Step::Answer);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert!(queries.vectors("another").await.error().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_left_alone_for_the_time_it_asked_for() {
    let embedder = ScriptedEmbedder::new("m").then([rate_limited(30)]).shared();
    let queries = queries(&embedder);
    assert!(queries.vectors("one").await.error().is_some());
    tokio::time::advance(Duration::from_secs(29)).await;
    assert!(queries.vectors("two").await.error().is_some());
    assert_eq!(embedder.requests().len(), 1);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(queries.vectors("three").await.error().is_none());
}
