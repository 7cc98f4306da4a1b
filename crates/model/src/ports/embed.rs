//! The ports behind which text becomes vectors.
//!
//! There are two, because their callers differ. A [`LocalEmbedder`] is a cheap function of the text: the index calls it
//! while it writes, and an index is complete when it is published. An [`Embedder`] costs money or seconds and can fail: the
//! embedding worker calls it in the background, keeps every vector for good, and words can be searched meanwhile.

use std::sync::Arc;

use super::{ProviderError, ProviderErrorKind, ProviderFuture};
use crate::IndexKind;

/// An embedder that is as cheap as a table look-up and cannot fail. Its vectors are computed again, not stored, when a
/// vector file has to be rebuilt. A model that takes seconds is an [`Embedder`], wherever it runs.
pub trait LocalEmbedder: Send + Sync {
    /// A name that changes whenever the vectors would; stored beside them.
    fn model(&self, kind: IndexKind) -> &str;

    /// The length of every vector.
    fn dimensions(&self, kind: IndexKind) -> usize;

    /// One vector of unit length (or all zero) per text, in order.
    fn embed(&self, kind: IndexKind, texts: &[&str]) -> Vec<Vec<f32>>;

    /// The vector of a question, for models that treat questions and passages differently.
    fn embed_query(&self, kind: IndexKind, text: &str) -> Vec<f32> {
        self.embed(kind, &[text]).pop().unwrap_or_default()
    }
}

/// An embedder that is asked in the background.
///
/// It answers with a future rather than blocking a thread, so that one thread keeps several requests under way and giving up
/// on one (a deadline, the end of the process) is dropping it. Documents and questions are embedded on different threads.
pub trait Embedder: Send + Sync {
    /// Its name in the configuration and in errors.
    fn provider(&self) -> &str;

    /// A name that changes whenever the vectors would; stored beside them.
    fn model(&self, kind: IndexKind) -> &str;

    /// The length of every vector.
    fn dimensions(&self, kind: IndexKind) -> usize;

    /// How much it takes at once.
    fn limits(&self) -> EmbedLimits;

    /// One vector per text, in order. Callers use `vectors`, which checks the answer.
    fn embed<'a>(
        &'a self,
        kind: IndexKind,
        purpose: Purpose,
        texts: &'a [&'a str],
    ) -> ProviderFuture<'a, Vec<Vec<f32>>>;
}

impl dyn Embedder + '_ {
    /// One vector of the right length per text, in order.
    pub async fn vectors(
        &self,
        kind: IndexKind,
        purpose: Purpose,
        texts: &[&str],
    ) -> Result<Vec<Vec<f32>>, ProviderError> {
        let vectors = self.embed(kind, purpose, texts).await?;
        let dimensions = self.dimensions(kind);
        let reason = if vectors.len() != texts.len() {
            format!("{} vectors for {} texts", vectors.len(), texts.len())
        } else if let Some(odd) = vectors.iter().find(|vector| vector.len() != dimensions) {
            format!("a vector of {} numbers instead of {dimensions}", odd.len())
        } else if vectors.iter().flatten().any(|number| !number.is_finite()) {
            "a vector with a number that is not finite".to_owned()
        } else {
            return Ok(vectors);
        };
        Err(ProviderError::new(self.provider(), ProviderErrorKind::BadAnswer { reason }))
    }
}

/// What a text is embedded for: some models treat questions and passages differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Passage,
    Question,
}

/// How much an [`Embedder`] takes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbedLimits {
    /// Texts of one batch. Never more are under way at the same time, so that a kill costs one batch at most.
    pub texts: usize,
    /// Bytes of text in one request; a single longer text is sent alone.
    pub bytes: usize,
    /// Requests that a batch is divided into, which are under way at the same time.
    pub requests: usize,
}

impl EmbedLimits {
    /// Texts of one request.
    pub fn texts_of_a_request(&self) -> usize {
        (self.texts / self.requests.max(1)).max(1)
    }

    /// Requests under way at the same time: together they hold no more than a batch.
    pub fn requests_at_once(&self) -> usize {
        self.requests.clamp(1, self.texts.max(1))
    }
}

/// Who makes the vectors of an index.
#[derive(Clone)]
pub enum EmbeddingProvider {
    Local(Arc<dyn LocalEmbedder>),
    Remote(Arc<dyn Embedder>),
}

impl EmbeddingProvider {
    pub fn model(&self, kind: IndexKind) -> &str {
        match self {
            EmbeddingProvider::Local(embedder) => embedder.model(kind),
            EmbeddingProvider::Remote(embedder) => embedder.model(kind),
        }
    }

    pub fn dimensions(&self, kind: IndexKind) -> usize {
        match self {
            EmbeddingProvider::Local(embedder) => embedder.dimensions(kind),
            EmbeddingProvider::Remote(embedder) => embedder.dimensions(kind),
        }
    }

    pub fn local(&self) -> Option<&Arc<dyn LocalEmbedder>> {
        match self {
            EmbeddingProvider::Local(embedder) => Some(embedder),
            EmbeddingProvider::Remote(_) => None,
        }
    }

    pub fn remote(&self) -> Option<&Arc<dyn Embedder>> {
        match self {
            EmbeddingProvider::Local(_) => None,
            EmbeddingProvider::Remote(embedder) => Some(embedder),
        }
    }
}

impl<E: LocalEmbedder + 'static> From<E> for EmbeddingProvider {
    fn from(embedder: E) -> EmbeddingProvider {
        EmbeddingProvider::Local(Arc::new(embedder))
    }
}
