//! `POST /embeddings`, as OpenAI, Mistral and most local servers understand it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use model::{
    Capability, EmbedLimits, Embedder, IndexKind, ProviderError, ProviderErrorKind, ProviderFuture, Purpose,
    Usage,
};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use std::fmt;
use std::time::Duration;

use crate::http::{HttpCall, ProviderEndpoint};

const DEADLINE: Duration = Duration::from_secs(90);

/// An embedding model and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedModel {
    pub name: String,
    /// The length of its vectors.
    pub dimensions: usize,
    /// Ask for vectors of this length, for models that make several.
    pub is_chosen: bool,
}

impl EmbedModel {
    /// A model whose vectors have this length anyway.
    pub fn new(name: impl Into<String>, dimensions: usize) -> EmbedModel {
        EmbedModel { name: name.into(), dimensions, is_chosen: false }
    }

    /// The length of the vectors of well-known models, where nothing else is asked for.
    pub fn known_dimensions(name: &str) -> Option<usize> {
        // Servers put the maker's name before a model's, and a variant behind it.
        let name = name.rsplit('/').next().unwrap_or(name);
        let name = name.split(':').next().unwrap_or(name);
        Some(match name {
            "mistral-embed" | "mistral-embed-2312" => 1024,
            "codestral-embed" | "codestral-embed-2505" => 1536,
            "text-embedding-3-small" | "text-embedding-ada-002" => 1536,
            "text-embedding-3-large" => 3072,
            "nomic-embed-text" | "nomic-embed-text-v1.5" => 768,
            "mxbai-embed-large" | "bge-m3" | "bge-large-en-v1.5" | "snowflake-arctic-embed2" => 1024,
            "bge-base-en-v1.5" | "embeddinggemma" => 768,
            "all-minilm" | "all-MiniLM-L6-v2" | "bge-small-en-v1.5" => 384,
            _ => return None,
        })
    }

    /// A name that changes whenever the vectors would.
    fn identity(&self) -> String {
        if self.is_chosen { format!("{}@{}", self.name, self.dimensions) } else { self.name.clone() }
    }
}

/// The embedder of a service that is asked by `POST /embeddings`.
pub(crate) struct RemoteEmbedder {
    pub(crate) endpoint: ProviderEndpoint,
    pub(crate) limits: EmbedLimits,
    /// What the service calls the length that is asked for.
    pub(crate) dimensions_field: &'static str,
    models: [(EmbedModel, String); 2],
}

impl RemoteEmbedder {
    pub(crate) fn new(
        endpoint: ProviderEndpoint,
        [text, code]: [EmbedModel; 2],
        limits: EmbedLimits,
        dimensions_field: &'static str,
    ) -> RemoteEmbedder {
        let named = |model: EmbedModel| {
            let identity = model.identity();
            (model, identity)
        };
        RemoteEmbedder { endpoint, limits, dimensions_field, models: [named(text), named(code)] }
    }

    fn of(&self, kind: IndexKind) -> &(EmbedModel, String) {
        match kind {
            IndexKind::Text => &self.models[0],
            IndexKind::Code => &self.models[1],
        }
    }

    /// As many requests as the service wants: it halves what is too much for one.
    async fn vectors_of(&self, model: &EmbedModel, texts: &[&str]) -> Result<Vec<Vec<f32>>, ProviderError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut left: Vec<&[&str]> = texts.chunks(self.limits.texts.max(1)).rev().collect();
        while let Some(batch) = left.pop() {
            match self.request(model, batch).await {
                Ok(answer) => vectors.extend(answer),
                Err(error) if batch.len() > 1 && is_too_much(&error.kind) => {
                    let (first, second) = batch.split_at(batch.len() / 2);
                    left.extend([second, first]);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(vectors)
    }

    async fn request(&self, model: &EmbedModel, texts: &[&str]) -> Result<Vec<Vec<f32>>, ProviderError> {
        let metered = self.endpoint.admit(Capability::Embed)?;
        let mut body = json!({ "model": model.name, "input": texts, "encoding_format": "float" });
        if model.is_chosen {
            body[self.dimensions_field] = json!(model.dimensions);
        }
        let call = HttpCall::json("embeddings", &body).within(DEADLINE);
        let answer: EmbeddingsAnswer = self.endpoint.json(call).await?;
        let tokens_in = answer.usage.as_ref().and_then(|usage| usage.prompt_tokens).unwrap_or(0);
        let vectors = answer.in_order().map_err(|reason| self.endpoint.bad_answer(reason))?;
        metered.record(&model.name, Usage { tokens_in, ..Usage::default() });
        Ok(vectors)
    }
}

impl Embedder for RemoteEmbedder {
    fn provider(&self) -> &str {
        self.endpoint.provider()
    }

    fn model(&self, kind: IndexKind) -> &str {
        &self.of(kind).1
    }

    fn dimensions(&self, kind: IndexKind) -> usize {
        self.of(kind).0.dimensions
    }

    fn limits(&self) -> EmbedLimits {
        self.limits
    }

    fn embed<'a>(
        &'a self,
        kind: IndexKind,
        _purpose: Purpose,
        texts: &'a [&'a str],
    ) -> ProviderFuture<'a, Vec<Vec<f32>>> {
        Box::pin(self.vectors_of(&self.of(kind).0, texts))
    }
}

/// Asks for one vector to learn how long the model's are.
pub(crate) async fn probe_dimensions(
    endpoint: &ProviderEndpoint,
    model: &str,
) -> Result<usize, ProviderError> {
    let metered = endpoint.admit(Capability::Embed)?;
    let body = json!({ "model": model, "input": ["dimensions"], "encoding_format": "float" });
    let answer: EmbeddingsAnswer =
        endpoint.json(HttpCall::json("embeddings", &body).within(DEADLINE)).await?;
    metered.record(model, Usage::default());
    let vectors = answer.in_order().map_err(|reason| endpoint.bad_answer(reason))?;
    match vectors.first() {
        Some(vector) if !vector.is_empty() => Ok(vector.len()),
        _ => Err(endpoint.bad_answer("there is no vector in it")),
    }
}

/// Whether fewer texts at once may pass.
fn is_too_much(kind: &ProviderErrorKind) -> bool {
    let ProviderErrorKind::Refused { reason } = kind else { return false };
    let reason = reason.to_lowercase();
    reason.starts_with("http 413")
        || ["too many inputs", "too many tokens", "too large", "more batches", "maximum batch", "batch size"]
            .iter()
            .any(|sign| reason.contains(sign))
}

#[derive(Deserialize)]
struct EmbeddingsAnswer {
    data: Vec<EmbeddingItem>,
    usage: Option<EmbeddingUsage>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: Option<usize>,
    #[serde(deserialize_with = "vector")]
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct EmbeddingUsage {
    prompt_tokens: Option<u64>,
}

impl EmbeddingsAnswer {
    /// The vectors in the order of the texts, which is not promised for the list.
    fn in_order(self) -> Result<Vec<Vec<f32>>, String> {
        if self.data.iter().all(|item| item.index.is_none()) {
            return Ok(self.data.into_iter().map(|item| item.embedding).collect());
        }
        let mut places: Vec<Option<Vec<f32>>> = self.data.iter().map(|_| None).collect();
        for item in self.data {
            let place = item.index.and_then(|index| places.get_mut(index));
            match place {
                Some(place @ None) => *place = Some(item.embedding),
                _ => return Err("the numbers of its vectors are not those of the texts".to_owned()),
            }
        }
        Ok(places.into_iter().flatten().collect())
    }
}

/// A list of numbers, or 32-bit floats in base64, which some servers send whatever was asked for.
fn vector<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    struct Numbers;

    impl<'de> Visitor<'de> for Numbers {
        type Value = Vec<f32>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of numbers, or base64")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<f32>, A::Error> {
            let mut numbers = Vec::with_capacity(list.size_hint().unwrap_or(1024).min(1 << 14));
            while let Some(number) = list.next_element()? {
                numbers.push(number);
            }
            Ok(numbers)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<f32>, E> {
            let bytes = BASE64_STANDARD.decode(text).map_err(|_| E::custom("a vector is not base64"))?;
            let (numbers, rest) = bytes.as_chunks::<4>();
            if !rest.is_empty() {
                return Err(E::custom("a vector in base64 has an odd length"));
            }
            Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
        }
    }

    deserializer.deserialize_any(Numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Vec<f32>>, String> {
        serde_json::from_str::<EmbeddingsAnswer>(text).map_err(|error| error.to_string())?.in_order()
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let vectors = parse(r#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1.5]}]}"#);
        assert_eq!(vectors.unwrap(), [vec![1.5], vec![2.0]]);
        assert_eq!(
            parse(r#"{"data":[{"embedding":[2]},{"embedding":[1]}]}"#).unwrap(),
            [vec![2.0], vec![1.0]]
        );
        assert_eq!(parse(r#"{"data":[{"index":0,"embedding":"AACAPwAAAEA="}]}"#).unwrap(), [vec![1.0, 2.0]]);
    }

    #[test]
    fn wrong_shapes_are_errors() {
        for text in [
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]}"#,
            r#"{"data":[{"index":5,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":"AAA="}]}"#,
            r#"{"data":[{"index":0,"embedding":"?"}]}"#,
            r#"{"data":[{"index":0,"embedding":["a"]}]}"#,
            r#"{"data":{}}"#,
            r#"{}"#,
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn known_models_under_their_many_names() {
        for (name, dimensions) in [
            ("mistral-embed", Some(1024)),
            ("nomic-embed-text:latest", Some(768)),
            ("openai/text-embedding-3-large", Some(3072)),
            ("my-model", None),
        ] {
            assert_eq!(EmbedModel::known_dimensions(name), dimensions, "{name}");
        }
    }

    #[test]
    fn a_chosen_length_is_part_of_the_name() {
        let model = EmbedModel { is_chosen: true, ..EmbedModel::new("codestral-embed", 256) };
        assert_eq!(model.identity(), "codestral-embed@256");
        assert_eq!(EmbedModel::new("codestral-embed", 1536).identity(), "codestral-embed");
    }
}
