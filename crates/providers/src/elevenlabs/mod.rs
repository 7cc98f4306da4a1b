//! ElevenLabs: speech to text, and text to speech.

mod speech;
mod words;

use std::sync::Arc;

use model::{
    Capability, ProviderError, ProviderFuture, Speaker, TranscribeInput, TranscribeLimits, Transcriber,
    Transcript, Usage,
};
use serde::Deserialize;

use crate::account::{ServiceAccount, ServiceFacts};
use crate::http::{AddressError, FormField, HttpCall, HttpCore, KeyHeader, ProviderEndpoint};
use crate::probe::{ProviderProbe, probe_models};
use crate::reach::ProviderReach;
use crate::wire::languages::iso_639_1;
use crate::wire::sound::{sample_duration_ms, sound_file};
use crate::wire::transcription::{DEADLINE, milliseconds, without_times};

pub const BASE_URL: &str = "https://api.elevenlabs.io";
pub const STT_MODEL: &str = "scribe_v2";
pub const TTS_MODEL: &str = "eleven_multilingual_v2";
/// One of the voices that every account has.
pub const VOICE: &str = "JBFqnCBsd6RMkjVDRZzb";

const SERVICE: ServiceFacts = ServiceFacts {
    name: "elevenlabs",
    base_url: BASE_URL,
    address: |written| written.with_version("v1"),
    key_header: KeyHeader::Named("xi-api-key"),
    requests: 4,
};

pub struct ElevenLabs {
    endpoint: ProviderEndpoint,
}

impl ElevenLabs {
    pub fn new(account: ServiceAccount, core: Arc<HttpCore>) -> Result<ElevenLabs, AddressError> {
        Ok(ElevenLabs { endpoint: account.endpoint(&SERVICE, core)? })
    }

    pub fn transcriber(&self, model: impl Into<String>) -> Arc<dyn Transcriber> {
        Arc::new(ElevenLabsTranscriber { endpoint: self.endpoint.clone(), model: model.into() })
    }

    pub fn speaker(&self, model: impl Into<String>, voice: impl Into<String>) -> Arc<dyn Speaker> {
        Arc::new(speech::ElevenLabsSpeaker::new(self.endpoint.clone(), model.into(), voice.into()))
    }

    pub fn reach(&self) -> ProviderReach {
        ProviderReach::of(&self.endpoint)
    }

    /// Whether key and address work. Its list of models names those for speech only, so no model is looked for.
    pub async fn probe(&self) -> ProviderProbe {
        probe_models(&self.endpoint, "models", &[]).await
    }
}

struct ElevenLabsTranscriber {
    endpoint: ProviderEndpoint,
    model: String,
}

impl ElevenLabsTranscriber {
    async fn transcript(&self, input: TranscribeInput<'_>) -> Result<Transcript, ProviderError> {
        let metered = self.endpoint.admit(Capability::Stt)?;
        let known_ms = sample_duration_ms(input.audio);
        let (bytes, name, media_type) = sound_file(input.audio);
        let granularity = if input.timestamps { "word" } else { "none" };
        let mut fields = vec![
            FormField::text("model_id", &*self.model),
            FormField::text("timestamps_granularity", granularity),
            FormField::text("tag_audio_events", "false"),
        ];
        fields.extend(input.language.map(|language| FormField::text("language_code", language)));
        fields.push(FormField::file("file", bytes, &name, &media_type));
        let call = HttpCall::form("speech-to-text", fields).within(DEADLINE);
        let answer: SpeechAnswer = self.endpoint.json(call).await?;

        let segments = if input.timestamps { words::segments(&answer.words) } else { Vec::new() };
        let last_ms = segments.last().map_or(0, |segment| segment.end_ms);
        let told_ms = answer.audio_duration_secs.map(milliseconds);
        let transcript = Transcript {
            provider: SERVICE.name.to_owned(),
            model: self.model.clone(),
            language: answer.language_code.as_deref().and_then(iso_639_1),
            duration_ms: known_ms.or(told_ms).unwrap_or(last_ms),
            has_times: !segments.is_empty(),
            segments: if segments.is_empty() { without_times(&answer.text) } else { segments },
        };
        let used = Usage { audio_ms: transcript.duration_ms, ..Usage::default() };
        metered.record(&self.model, used);
        Ok(transcript)
    }
}

impl Transcriber for ElevenLabsTranscriber {
    fn provider(&self) -> &str {
        self.endpoint.provider()
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn limits(&self) -> TranscribeLimits {
        // It takes 3 GB, but a request is held in memory.
        TranscribeLimits { takes_files: true, bytes: 512 << 20, requests: 2 }
    }

    fn transcribe<'a>(&'a self, input: TranscribeInput<'a>) -> ProviderFuture<'a, Transcript> {
        Box::pin(self.transcript(input))
    }
}

#[derive(Deserialize)]
struct SpeechAnswer {
    language_code: Option<String>,
    text: String,
    #[serde(default)]
    words: Vec<words::SpokenWord>,
    audio_duration_secs: Option<f64>,
}
