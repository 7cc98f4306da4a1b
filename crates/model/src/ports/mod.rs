//! The ports: traits behind which several implementations stand, and what they answer with when they fail.

mod chat;
mod embed;
mod provider_error;
mod recognize;
mod rerank;
mod speak;
mod transcribe;
mod usage;

use std::pin::Pin;
use std::sync::Arc;

pub use chat::{AnswerSchema, ChatAnswer, ChatMessage, ChatModel, ChatRequest, ChatRole};
pub use embed::{EmbedLimits, Embedder, EmbeddingProvider, LocalEmbedder, Purpose};
pub use provider_error::{ProviderError, ProviderErrorKind};
pub use recognize::{RecognizeInput, RecognizeLimits, RecognizedLine, RecognizedPage, TextRecognizer};
pub use rerank::Reranker;
pub use speak::{Speaker, SpeechFormat};
pub use transcribe::{Audio, TranscribeInput, TranscribeLimits, Transcriber, Transcript, TranscriptSegment};
pub use usage::{Capability, Usage, UsageMeter};

/// What a port answers with. Dropping it gives up: nothing goes on in the background.
///
/// A client that is bound to a runtime, as HTTP clients are, spawns its requests on its own, since ports are called from
/// several threads.
pub type ProviderFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ProviderError>> + Send + 'a>>;

/// The providers of a workspace; `None` where there is none for a capability.
#[derive(Clone)]
pub struct Providers {
    pub embedding: EmbeddingProvider,
    /// Who may have made the vectors that an index holds from before: they answer until the new ones are complete.
    pub former_embedding: Vec<EmbeddingProvider>,
    pub recognizer: Option<Arc<dyn TextRecognizer>>,
    pub transcriber: Option<Arc<dyn Transcriber>>,
    pub chat: Option<Arc<dyn ChatModel>>,
    pub reranker: Option<Arc<dyn Reranker>>,
    pub speaker: Option<Arc<dyn Speaker>>,
}

impl Providers {
    /// Nothing but vectors.
    pub fn only(embedding: EmbeddingProvider) -> Providers {
        Providers {
            embedding,
            former_embedding: Vec::new(),
            recognizer: None,
            transcriber: None,
            chat: None,
            reranker: None,
            speaker: None,
        }
    }
}
