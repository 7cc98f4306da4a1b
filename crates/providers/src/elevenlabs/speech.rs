//! ElevenLabs' text to speech.

use std::time::Duration;

use model::{Capability, ProviderError, ProviderErrorKind, ProviderFuture, Speaker, SpeechFormat};
use serde_json::json;

use crate::http::{HttpCall, ProviderEndpoint};
use crate::wav;

const DEADLINE: Duration = Duration::from_secs(180);
/// Characters of one request that every model takes.
const LONGEST: usize = 10_000;
/// Samples a second of the plain samples that every account may have.
const RATE: u32 = 24_000;

pub(super) struct ElevenLabsSpeaker {
    endpoint: ProviderEndpoint,
    model: String,
    voice: String,
}

impl ElevenLabsSpeaker {
    pub(super) fn new(endpoint: ProviderEndpoint, model: String, voice: String) -> ElevenLabsSpeaker {
        ElevenLabsSpeaker { endpoint, model, voice }
    }

    async fn sound(
        &self,
        text: &str,
        voice: Option<&str>,
        format: SpeechFormat,
    ) -> Result<Vec<u8>, ProviderError> {
        let refused = |reason: String| self.endpoint.error(ProviderErrorKind::Refused { reason });
        let characters = text.chars().count();
        if characters > LONGEST {
            return Err(refused(format!(
                "{characters} characters are more than the {LONGEST} that can be read aloud"
            )));
        }
        let voice = voice.unwrap_or(&self.voice);
        if voice.is_empty() || !voice.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
            return Err(refused(format!("{voice:?} is not the id of a voice")));
        }
        let metered = self.endpoint.admit(Capability::Tts)?;
        let (output_format, is_plain) = match format {
            SpeechFormat::Mp3 => ("mp3_44100_128".to_owned(), false),
            // Plain samples: a finished WAV file needs a larger account.
            SpeechFormat::Wav => (format!("pcm_{RATE}"), true),
        };
        let body = json!({ "text": text, "model_id": self.model });
        let call = HttpCall::json(format!("text-to-speech/{voice}"), &body)
            .query("output_format", output_format)
            .within(DEADLINE);
        let sound = self.endpoint.spoken(call, metered, &self.model, characters).await?;
        Ok(if is_plain { wav::write(RATE, &sound) } else { sound.into() })
    }
}

impl Speaker for ElevenLabsSpeaker {
    fn provider(&self) -> &str {
        self.endpoint.provider()
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn speak<'a>(
        &'a self,
        text: &'a str,
        voice: Option<&'a str>,
        format: SpeechFormat,
    ) -> ProviderFuture<'a, Vec<u8>> {
        Box::pin(self.sound(text, voice, format))
    }
}
