//! Mistral: embeddings, chat, OCR and transcription.

mod ocr;

use std::sync::Arc;

use model::{ChatModel, EmbedLimits, Embedder, ProviderError, TextRecognizer, TranscribeLimits, Transcriber};

use crate::account::{ServiceAccount, ServiceFacts};
use crate::http::{AddressError, HttpCore, KeyHeader, ProviderEndpoint};
use crate::probe::{ProviderProbe, probe_models};
use crate::reach::ProviderReach;
use crate::wire::chat::RemoteChat;
use crate::wire::embeddings::{EmbedModel, RemoteEmbedder, probe_dimensions};
use crate::wire::transcription::{RemoteTranscriber, TranscriptionForm};

pub const BASE_URL: &str = "https://api.mistral.ai";
pub const EMBED_TEXT_MODEL: &str = "mistral-embed";
pub const EMBED_CODE_MODEL: &str = "codestral-embed";
pub const CHAT_MODEL: &str = "mistral-small-2506";
pub const OCR_MODEL: &str = "mistral-ocr-latest";
pub const STT_MODEL: &str = "voxtral-mini-latest";

/// 256 texts pass and 257 are refused. Fewer keep a request within the tokens that it may have, which are not documented.
const EMBED_LIMITS: EmbedLimits = EmbedLimits { texts: 128, bytes: 48 << 10, requests: 4 };
const SERVICE: ServiceFacts = ServiceFacts {
    name: "mistral",
    base_url: BASE_URL,
    address: |written| written.with_version("v1"),
    key_header: KeyHeader::Bearer,
    requests: 8,
};

pub struct Mistral {
    endpoint: ProviderEndpoint,
}

impl Mistral {
    pub fn new(account: ServiceAccount, core: Arc<HttpCore>) -> Result<Mistral, AddressError> {
        Ok(Mistral { endpoint: account.endpoint(&SERVICE, core)? })
    }

    /// One model for text and one for code.
    pub fn embedder(&self, text: EmbedModel, code: EmbedModel) -> Arc<dyn Embedder> {
        let endpoint = self.endpoint.clone();
        Arc::new(RemoteEmbedder::new(endpoint, [text, code], EMBED_LIMITS, "output_dimension"))
    }

    /// Asks a model that [`EmbedModel::known_dimensions`] does not know how long its vectors are.
    pub async fn dimensions(&self, model: &str) -> Result<usize, ProviderError> {
        probe_dimensions(&self.endpoint, model).await
    }

    pub fn chat(&self, model: impl Into<String>) -> Arc<dyn ChatModel> {
        Arc::new(RemoteChat {
            endpoint: self.endpoint.clone(),
            model: model.into(),
            // It tells unasked, and refuses the question.
            asks_for_usage: false,
            quirks: Default::default(),
        })
    }

    pub fn recognizer(&self, model: impl Into<String>) -> Arc<dyn TextRecognizer> {
        Arc::new(ocr::MistralRecognizer::new(self.endpoint.clone(), model.into()))
    }

    pub fn transcriber(&self, model: impl Into<String>) -> Arc<dyn Transcriber> {
        Arc::new(RemoteTranscriber {
            endpoint: self.endpoint.clone(),
            model: model.into(),
            form: TranscriptionForm::Mistral,
            limits: TranscribeLimits { takes_files: true, bytes: 256 << 20, requests: 2 },
        })
    }

    pub fn reach(&self) -> ProviderReach {
        ProviderReach::of(&self.endpoint)
    }

    /// Whether key and address work, and whether these models are offered.
    pub async fn probe(&self, models: &[&str]) -> ProviderProbe {
        probe_models(&self.endpoint, "models", models).await
    }
}
