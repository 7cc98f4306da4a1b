//! Who embeds, reads, transcribes and answers.

use super::SettingsCheck;
use crate::config::combine::Values;
use crate::config::keys::Key;

#[derive(Debug, Clone)]
pub(crate) struct Models {
    pub embed: ModelProvider,
    pub ocr: ModelProvider,
    pub stt: SttProvider,
    pub mistral_base_url: String,
    pub chat_model: String,
    pub embed_text_model: String,
    pub embed_code_model: String,
    pub ocr_model: String,
    pub stt_mistral_model: String,
    pub stt_mistral_timestamps: bool,
    pub elevenlabs_base_url: String,
    /// As the API names it: `scribe` stands for `scribe_v1`.
    pub stt_elevenlabs_model: String,
    pub stt_elevenlabs_timestamps: bool,
    pub tts_voice_id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelProvider {
    /// What this machine offers, today the built-in.
    Auto,
    Builtin,
    Mistral,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SttProvider {
    Mistral,
    Elevenlabs,
}

#[derive(Debug, Clone)]
pub(crate) struct Rag {
    pub generate_answer: bool,
    pub k_default: usize,
    pub system_prompt: String,
    pub max_context_chars: usize,
    pub oversample_factor: usize,
}

impl SettingsCheck<'_> {
    pub(super) fn models(&mut self) -> Models {
        let values = self.values;
        let text = |key| values.text(key).to_string();
        let provider = |key| match values.text(key) {
            "builtin" => ModelProvider::Builtin,
            "mistral" => ModelProvider::Mistral,
            _ => ModelProvider::Auto,
        };
        Models {
            embed: provider(Key::EmbedProvider),
            ocr: provider(Key::OcrProvider),
            stt: match values.text(Key::SttProvider) {
                "elevenlabs" => SttProvider::Elevenlabs,
                _ => SttProvider::Mistral,
            },
            mistral_base_url: self.url(Key::MistralBaseUrl),
            chat_model: text(Key::MistralChatModel),
            embed_text_model: text(Key::MistralEmbedTextModel),
            embed_code_model: text(Key::MistralEmbedCodeModel),
            ocr_model: text(Key::MistralOcrModel),
            stt_mistral_model: text(Key::SttMistralModel),
            stt_mistral_timestamps: values.bool(Key::SttMistralTimestamps),
            elevenlabs_base_url: self.url(Key::SttElevenlabsBaseUrl),
            stt_elevenlabs_model: match values.text(Key::SttElevenlabsModel) {
                "scribe" => "scribe_v1".into(),
                model => model.into(),
            },
            stt_elevenlabs_timestamps: values.bool(Key::SttElevenlabsTimestamps),
            tts_voice_id: text(Key::TtsElevenlabsVoiceId),
        }
    }
}

pub(super) fn rag(values: &Values) -> Rag {
    Rag {
        generate_answer: values.bool(Key::RagGenerateAnswer),
        k_default: values.int(Key::RagKDefault) as usize,
        system_prompt: values.text(Key::RagSystemPrompt).into(),
        max_context_chars: values.int(Key::RagMaxContextChars) as usize,
        oversample_factor: values.int(Key::RagOversampleFactor) as usize,
    }
}
