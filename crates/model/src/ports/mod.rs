//! The ports: traits behind which several implementations stand, and what they answer with when they fail.

mod embed;
mod provider_error;

pub use embed::{EmbedFuture, EmbedLimits, Embedder, EmbeddingProvider, LocalEmbedder, Purpose};
pub use provider_error::{ProviderError, ProviderErrorKind};
