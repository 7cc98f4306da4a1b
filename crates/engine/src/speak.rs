//! Answers read aloud.

use std::sync::Arc;
use std::time::Duration;

use model::{ErrorCode, Failure, ProviderError, ProviderErrorKind, Speaker, SpeechFormat};

use crate::call::Call;
use crate::engine::Engine;
use crate::model_text::{cleaned, failure_of};

/// How long a provider may take to read a text.
const SPEAK_WAIT: Duration = Duration::from_secs(60);
/// Characters that are read: some five minutes of speech, and what services take at once.
const MOST_CHARS: usize = 4_000;

/// What to read, and how.
#[derive(Debug, Clone)]
pub struct SpeakRequest {
    pub text: String,
    /// The provider's own name of a voice; without one it is the configured voice.
    pub voice: Option<String>,
    pub format: SpeechFormat,
}

impl Engine {
    /// The provider that reads aloud; where there is none, what to do about it.
    pub fn speaker(&self) -> Result<&Arc<dyn Speaker>, Failure> {
        self.providers().speaker.as_ref().ok_or_else(|| {
            Failure::new(ErrorCode::ConfigInvalid, "no provider that reads aloud is set up").hint(
                "Set tts.provider: elevenlabs or openai with its key, or local with the program espeak-ng. dir2mcp.ask answers in text.",
            )
        })
    }

    /// Has a text read aloud. The text is redacted, as everything that goes to a provider.
    pub async fn speak(&self, call: &Call, request: SpeakRequest) -> Result<Vec<u8>, Failure> {
        let speaker = self.speaker()?;
        let text: String = cleaned(self.redactor(), &request.text).chars().take(MOST_CHARS).collect();
        let spoken = speaker.speak(&text, request.voice.as_deref(), request.format);
        tokio::select! {
            biased;
            failure = call.ended() => Err(failure),
            done = tokio::time::timeout(SPEAK_WAIT, spoken) => match done {
                Ok(Ok(sound)) if !sound.is_empty() => Ok(sound),
                Ok(Ok(_)) => {
                    let kind = ProviderErrorKind::BadAnswer { reason: "a recording without a sound".to_owned() };
                    Err(failure_of(&ProviderError::new(speaker.provider(), kind)))
                }
                Ok(Err(error)) => Err(failure_of(&error)),
                Err(_) => {
                    let reason = format!("no answer within {} s", SPEAK_WAIT.as_secs());
                    let kind = ProviderErrorKind::Unreachable { reason };
                    Err(failure_of(&ProviderError::new(speaker.provider(), kind)))
                }
            },
        }
    }
}
