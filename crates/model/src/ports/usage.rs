//! What calling a provider costs, and the port that counts it.

use serde::{Deserialize, Serialize};

use super::ProviderError;

/// What a provider is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    Embed,
    Ocr,
    Stt,
    Chat,
    Rerank,
    Tts,
}

impl Capability {
    /// As the configuration names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Capability::Embed => "embed",
            Capability::Ocr => "ocr",
            Capability::Stt => "stt",
            Capability::Chat => "chat",
            Capability::Rerank => "rerank",
            Capability::Tts => "tts",
        }
    }

    pub fn parse(text: &str) -> Option<Capability> {
        use Capability::{Chat, Embed, Ocr, Rerank, Stt, Tts};
        [Embed, Ocr, Stt, Chat, Rerank, Tts].into_iter().find(|capability| capability.as_str() == text)
    }
}

/// What was used up, as far as the provider says; what does not apply is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    pub calls: u64,
    pub pages: u64,
    /// Of recordings, in milliseconds.
    pub audio_ms: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// Of text that was read aloud.
    pub characters: u64,
}

/// Counts what providers are paid for, and pauses them when the day's limit is reached. Only providers outside this
/// machine are counted.
pub trait UsageMeter: Send + Sync {
    /// Called before a request: sets aside what it will use. An error where that is more than a limit of the user's leaves,
    /// counting what is set aside for the requests under way.
    fn reserve(&self, provider: &str, capability: Capability, wanted: Usage) -> Result<(), ProviderError>;

    /// Called when a request has ended, answered or not: what was set aside for it is free again.
    fn release(&self, wanted: Usage);

    /// Called after every request that was answered, and before its release.
    fn record(&self, provider: &str, model: &str, capability: Capability, used: Usage);

    /// Pages that may still be read today, where there is a limit.
    fn pages_left(&self) -> Option<u64>;
}
