//! The port behind which text becomes vectors.

use crate::IndexKind;

#[derive(Debug, Clone, thiserror::Error)]
pub enum EmbedError {
    /// Worth another try: a timeout, a rate limit.
    #[error("{0}")]
    Transient(String),
    #[error("{0}")]
    Permanent(String),
}

pub trait Embedder: Send + Sync {
    /// A name that changes whenever the vectors would; stored beside them.
    fn model(&self, kind: IndexKind) -> &str;

    fn dimensions(&self, kind: IndexKind) -> usize;

    /// One vector of unit length (or all zero) per text, in order.
    fn embed(&self, kind: IndexKind, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The vector of a question, for models that treat questions and passages differently.
    fn embed_query(&self, kind: IndexKind, text: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(self.embed(kind, &[text])?.pop().unwrap_or_default())
    }

    /// True where a vector costs money or seconds, so that it is kept in the catalog for good;
    /// a cheap one is computed again when a vector file has to be rebuilt.
    fn is_costly(&self) -> bool;
}
