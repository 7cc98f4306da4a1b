//! Reranking as Cohere offers it, and servers that speak like it: vLLM, llama.cpp, Jina, text-embeddings-inference.

use std::sync::Arc;
use std::time::Duration;

use model::{Capability, ProviderError, ProviderFuture, Reranker, Usage};
use serde::Deserialize;
use serde_json::json;

use crate::account::{ServiceAccount, ServiceFacts};
use crate::http::{AddressError, HttpCall, HttpCore, KeyHeader, ProviderEndpoint};
use crate::probe::{ProviderProbe, probe_models};
use crate::reach::ProviderReach;

pub const BASE_URL: &str = "https://api.cohere.com";
pub const RERANK_MODEL: &str = "rerank-v3.5";

/// A person waits for the result of a search.
const DEADLINE: Duration = Duration::from_secs(10);
/// Passages of one request.
const PASSAGES: usize = 500;

/// How the service wants to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RerankShape {
    /// `POST /v2/rerank`
    #[default]
    V2,
    /// `POST /v1/rerank`, as llama.cpp, Jina and older clients have it.
    V1,
    /// `POST /rerank` of text-embeddings-inference, with names of its own.
    Tei,
}

const SERVICE: ServiceFacts = ServiceFacts {
    name: "cohere",
    base_url: BASE_URL,
    // The shape names the version.
    address: |written| written.without_version("v1").without_version("v2"),
    key_header: KeyHeader::Bearer,
    requests: 4,
};

pub struct Cohere {
    endpoint: ProviderEndpoint,
    shape: RerankShape,
}

impl Cohere {
    pub fn new(
        account: ServiceAccount,
        shape: RerankShape,
        core: Arc<HttpCore>,
    ) -> Result<Cohere, AddressError> {
        Ok(Cohere { endpoint: account.endpoint(&SERVICE, core)?, shape })
    }

    pub fn reranker(&self, model: impl Into<String>) -> Arc<dyn Reranker> {
        let (endpoint, shape) = (self.endpoint.clone(), self.shape);
        Arc::new(RemoteReranker { endpoint, shape, model: model.into() })
    }

    pub fn reach(&self) -> ProviderReach {
        ProviderReach::of(&self.endpoint)
    }

    /// Whether key and address work. Servers that rerank have different lists of models, so no model is looked for.
    pub async fn probe(&self) -> ProviderProbe {
        let path = if self.shape == RerankShape::Tei { "info" } else { "v1/models" };
        probe_models(&self.endpoint, path, &[]).await
    }
}

struct RemoteReranker {
    endpoint: ProviderEndpoint,
    shape: RerankShape,
    model: String,
}

impl RemoteReranker {
    async fn all_scores(&self, question: &str, passages: &[&str]) -> Result<Vec<f32>, ProviderError> {
        let mut scores = Vec::with_capacity(passages.len());
        for batch in passages.chunks(PASSAGES) {
            let metered = self.endpoint.admit(Capability::Rerank)?;
            let results = self.request(question, batch).await?;
            scores.extend(in_order(results, batch.len()).map_err(|reason| self.endpoint.bad_answer(reason))?);
            metered.record(&self.model, Usage::default());
        }
        Ok(scores)
    }

    async fn request(&self, question: &str, passages: &[&str]) -> Result<Vec<RerankResult>, ProviderError> {
        let path = match self.shape {
            RerankShape::V2 => "v2/rerank",
            RerankShape::V1 => "v1/rerank",
            RerankShape::Tei => {
                let body = json!({ "query": question, "texts": passages, "truncate": true });
                return self.endpoint.json(HttpCall::json("rerank", &body).within(DEADLINE)).await;
            }
        };
        let body = json!({
            "model": self.model, "query": question, "documents": passages, "top_n": passages.len(),
        });
        let answer: RerankAnswer = self.endpoint.json(HttpCall::json(path, &body).within(DEADLINE)).await?;
        Ok(answer.results)
    }
}

impl Reranker for RemoteReranker {
    fn provider(&self) -> &str {
        self.endpoint.provider()
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn scores<'a>(&'a self, question: &'a str, passages: &'a [&'a str]) -> ProviderFuture<'a, Vec<f32>> {
        Box::pin(self.all_scores(question, passages))
    }
}

#[derive(Deserialize)]
struct RerankAnswer {
    results: Vec<RerankResult>,
}

#[derive(Deserialize)]
struct RerankResult {
    index: usize,
    #[serde(alias = "score")]
    relevance_score: f32,
}

/// The scores in the order of the passages: services sort them, and not all of them do.
fn in_order(results: Vec<RerankResult>, passages: usize) -> Result<Vec<f32>, String> {
    let mut scores = vec![None; passages];
    for result in results {
        match scores.get_mut(result.index) {
            Some(score @ None) if result.relevance_score.is_finite() => *score = Some(result.relevance_score),
            _ => return Err(format!("passage {} was scored wrongly", result.index)),
        }
    }
    let scored = scores.iter().flatten().count();
    if scored < passages {
        return Err(format!("{scored} of {passages} passages have a score"));
    }
    Ok(scores.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, passages: usize) -> Result<Vec<f32>, String> {
        let answer: RerankAnswer = serde_json::from_str(text).map_err(|error| error.to_string())?;
        in_order(answer.results, passages)
    }

    #[test]
    fn scores_come_in_the_order_of_the_passages() {
        let sorted = r#"{"results":[{"index":1,"relevance_score":7.5},{"index":0,"relevance_score":-3}]}"#;
        assert_eq!(parse(sorted, 2).unwrap(), [-3.0, 7.5]);
        assert_eq!(parse(r#"{"results":[{"index":0,"score":0.5}]}"#, 1).unwrap(), [0.5]);
    }

    #[test]
    fn a_passage_without_a_score_is_an_error() {
        for text in [
            r#"{"results":[]}"#,
            r#"{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":1}]}"#,
            r#"{"results":[{"index":9,"relevance_score":1}]}"#,
            r#"{"results":[{"index":0,"relevance_score":null}]}"#,
        ] {
            assert!(parse(text, 2).is_err(), "{text}");
        }
    }
}
