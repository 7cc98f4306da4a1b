//! Everything that speaks OpenAI's HTTP interface: OpenAI itself, and servers such as Ollama, llama.cpp, vLLM and LM Studio.

use std::sync::Arc;
use std::time::Duration;

use model::{
    Capability, ChatModel, EmbedLimits, Embedder, ProviderError, ProviderErrorKind, ProviderFuture, Speaker,
    SpeechFormat, TranscribeLimits, Transcriber,
};
use serde_json::json;

use crate::account::{ServiceAccount, ServiceFacts};
use crate::http::{AddressError, HttpCall, HttpCore, KeyHeader, ProviderEndpoint};
use crate::probe::{ProviderProbe, probe_models};
use crate::reach::ProviderReach;
use crate::wire::chat::RemoteChat;
use crate::wire::embeddings::{EmbedModel, RemoteEmbedder, probe_dimensions};
use crate::wire::transcription::{RemoteTranscriber, TranscriptionForm};

pub const BASE_URL: &str = "https://api.openai.com/v1";
pub const EMBED_MODEL: &str = "text-embedding-3-small";
pub const CHAT_MODEL: &str = "gpt-4o-mini";
pub const STT_MODEL: &str = "whisper-1";
pub const TTS_MODEL: &str = "tts-1";
pub const VOICE: &str = "alloy";

/// Small enough for a server at home, which holds a whole request in memory.
const EMBED_LIMITS: EmbedLimits = EmbedLimits { texts: 64, bytes: 128 << 10, requests: 4 };
const SPEECH_DEADLINE: Duration = Duration::from_secs(180);
/// Characters of a text that is read aloud.
const LONGEST_SPEECH: usize = 4096;

const SERVICE: ServiceFacts = ServiceFacts {
    name: "openai",
    base_url: BASE_URL,
    // `/v1` is added to a host alone.
    address: |written| if written.is_bare() { written.with_version("v1") } else { written },
    key_header: KeyHeader::Bearer,
    requests: 8,
};

pub struct OpenAi {
    endpoint: ProviderEndpoint,
}

impl OpenAi {
    pub fn new(account: ServiceAccount, core: Arc<HttpCore>) -> Result<OpenAi, AddressError> {
        Ok(OpenAi { endpoint: account.endpoint(&SERVICE, core)? })
    }

    /// One model for text and one for code; they may be the same.
    pub fn embedder(&self, text: EmbedModel, code: EmbedModel) -> Arc<dyn Embedder> {
        Arc::new(RemoteEmbedder::new(self.endpoint.clone(), [text, code], EMBED_LIMITS, "dimensions"))
    }

    /// Asks a model that [`EmbedModel::known_dimensions`] does not know how long its vectors are.
    pub async fn dimensions(&self, model: &str) -> Result<usize, ProviderError> {
        probe_dimensions(&self.endpoint, model).await
    }

    pub fn chat(&self, model: impl Into<String>) -> Arc<dyn ChatModel> {
        Arc::new(RemoteChat {
            endpoint: self.endpoint.clone(),
            model: model.into(),
            asks_for_usage: true,
            quirks: Default::default(),
        })
    }

    pub fn transcriber(&self, model: impl Into<String>) -> Arc<dyn Transcriber> {
        Arc::new(RemoteTranscriber {
            endpoint: self.endpoint.clone(),
            model: model.into(),
            form: TranscriptionForm::OpenAi,
            // OpenAI's own limit.
            limits: TranscribeLimits { takes_files: true, bytes: 25 << 20, requests: 2 },
        })
    }

    pub fn speaker(&self, model: impl Into<String>, voice: impl Into<String>) -> Arc<dyn Speaker> {
        let endpoint = self.endpoint.clone();
        Arc::new(OpenAiSpeaker { endpoint, model: model.into(), voice: voice.into() })
    }

    pub fn reach(&self) -> ProviderReach {
        ProviderReach::of(&self.endpoint)
    }

    /// Whether key and address work, and whether these models are offered.
    pub async fn probe(&self, models: &[&str]) -> ProviderProbe {
        probe_models(&self.endpoint, "models", models).await
    }
}

struct OpenAiSpeaker {
    endpoint: ProviderEndpoint,
    model: String,
    voice: String,
}

impl OpenAiSpeaker {
    async fn sound(
        &self,
        text: &str,
        voice: Option<&str>,
        format: SpeechFormat,
    ) -> Result<Vec<u8>, ProviderError> {
        let characters = text.chars().count();
        if characters > LONGEST_SPEECH {
            let reason =
                format!("{characters} characters are more than the {LONGEST_SPEECH} that can be read aloud");
            return Err(self.endpoint.error(ProviderErrorKind::Refused { reason }));
        }
        let metered = self.endpoint.admit(Capability::Tts)?;
        let format = match format {
            SpeechFormat::Mp3 => "mp3",
            SpeechFormat::Wav => "wav",
        };
        let voice = voice.unwrap_or(&self.voice);
        let body = json!({ "model": self.model, "input": text, "voice": voice, "response_format": format });
        let call = HttpCall::json("audio/speech", &body).within(SPEECH_DEADLINE);
        let sound = self.endpoint.spoken(call, metered, &self.model, characters).await?;
        Ok(sound.into())
    }
}

impl Speaker for OpenAiSpeaker {
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
