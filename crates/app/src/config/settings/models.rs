//! Who embeds, reads, transcribes, answers, reranks and speaks, as the configuration says it. Which of them a run can
//! use is decided in `crate::capabilities`.

use std::path::PathBuf;
use std::time::Duration;

use super::SettingsCheck;
use crate::config::combine::Values;
use crate::config::keys::{Key, KeySpec};

#[derive(Debug, Clone)]
pub(crate) struct Models {
    pub embed: ProviderChoice,
    pub chat: ProviderChoice,
    pub ocr: ProviderChoice,
    pub stt: ProviderChoice,
    pub rerank: ProviderChoice,
    pub tts: ProviderChoice,
    pub mistral: MistralSettings,
    pub openai: OpenaiSettings,
    pub elevenlabs: ElevenlabsSettings,
    pub cohere: CohereSettings,
    pub command: CommandSettings,
    /// As Tesseract names languages.
    pub ocr_language: String,
    /// The program that was named; else it is looked for.
    pub tesseract_path: Option<PathBuf>,
    /// As ISO 639-1; none where the model finds out.
    pub stt_language: Option<String>,
    /// Where providers may be reached; empty for the hosts of their addresses.
    pub allowed_hosts: Vec<String>,
    pub extras_dir: Option<PathBuf>,
    pub calls_per_day: Option<u64>,
    pub pages_per_day: Option<u64>,
}

/// What a `*.provider` key says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProviderChoice {
    /// The best of what there is: a service whose key is there, else what this machine has, else what is built in.
    Auto,
    Off,
    Builtin,
    /// What this machine has: programs and extras.
    Local,
    Tesseract,
    Mistral,
    Openai,
    Elevenlabs,
    Cohere,
    Command,
}

#[derive(Debug, Clone)]
pub(crate) struct MistralSettings {
    pub base_url: String,
    pub chat_model: String,
    pub embed_text_model: String,
    pub embed_code_model: String,
    pub ocr_model: String,
    pub stt_model: String,
    pub stt_timestamps: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct OpenaiSettings {
    pub base_url: String,
    /// Another server than OpenAI's own: it may need no key, and it has models of its own.
    pub is_own_server: bool,
    pub chat_model: String,
    pub embed_model: String,
    pub embed_dimensions: Option<usize>,
    pub stt_model: String,
    pub tts_model: String,
    pub tts_voice: String,
}

#[derive(Debug, Clone)]
pub(crate) struct ElevenlabsSettings {
    pub base_url: String,
    /// As the API names it: `scribe` stands for its newest form.
    pub stt_model: String,
    pub stt_timestamps: bool,
    pub tts_model: String,
    pub voice_id: String,
}

#[derive(Debug, Clone)]
pub(crate) struct CohereSettings {
    pub base_url: String,
    pub is_own_server: bool,
    pub rerank_model: String,
    /// As the key spells it.
    pub rerank_api: String,
}

/// Programs of the user's own, each with its arguments; empty where there is none.
#[derive(Debug, Clone)]
pub(crate) struct CommandSettings {
    pub model: String,
    pub timeout: Duration,
    pub embed: Vec<String>,
    pub embed_dimensions: Option<usize>,
    pub ocr: Vec<String>,
    pub stt: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Rag {
    pub generate_answer: bool,
    pub k_default: usize,
    pub system_prompt: String,
    pub max_context_chars: usize,
    pub oversample_factor: usize,
}

impl ProviderChoice {
    /// As the configuration spells it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ProviderChoice::Auto => "auto",
            ProviderChoice::Off => "off",
            ProviderChoice::Builtin => "builtin",
            ProviderChoice::Local => "local",
            ProviderChoice::Tesseract => "tesseract",
            ProviderChoice::Mistral => "mistral",
            ProviderChoice::Openai => "openai",
            ProviderChoice::Elevenlabs => "elevenlabs",
            ProviderChoice::Cohere => "cohere",
            ProviderChoice::Command => "command",
        }
    }

    const ALL: [ProviderChoice; 10] = [
        ProviderChoice::Auto,
        ProviderChoice::Off,
        ProviderChoice::Builtin,
        ProviderChoice::Local,
        ProviderChoice::Tesseract,
        ProviderChoice::Mistral,
        ProviderChoice::Openai,
        ProviderChoice::Elevenlabs,
        ProviderChoice::Cohere,
        ProviderChoice::Command,
    ];

    /// The table admits no other texts.
    fn of(values: &Values, key: Key) -> ProviderChoice {
        let text = values.text(key);
        Self::ALL.into_iter().find(|choice| choice.as_str() == text).unwrap_or(ProviderChoice::Auto)
    }
}

impl SettingsCheck<'_> {
    pub(super) fn models(&mut self) -> Models {
        let values = self.values;
        let text = |key| values.text(key).to_string();
        let path = |key| Some(values.text(key)).filter(|text| !text.is_empty()).map(PathBuf::from);
        let number = |key| Some(values.int(key)).filter(|number| *number > 0);
        let openai = OpenaiSettings {
            is_own_server: self.is_own_server(Key::OpenaiBaseUrl),
            base_url: self.url(Key::OpenaiBaseUrl),
            chat_model: text(Key::OpenaiChatModel),
            embed_model: text(Key::OpenaiEmbedModel),
            embed_dimensions: number(Key::OpenaiEmbedDimensions).map(|number| number as usize),
            stt_model: text(Key::OpenaiSttModel),
            tts_model: text(Key::OpenaiTtsModel),
            tts_voice: text(Key::OpenaiTtsVoice),
        };
        let cohere = CohereSettings {
            is_own_server: self.is_own_server(Key::CohereBaseUrl),
            base_url: self.url(Key::CohereBaseUrl),
            rerank_model: text(Key::CohereRerankModel),
            rerank_api: text(Key::CohereRerankApi),
        };
        let language = values.text(Key::OcrLanguage);
        if !language.chars().all(|c| c.is_ascii_alphanumeric() || "+_/-".contains(c)) {
            self.problem(Key::OcrLanguage, "expected languages as Tesseract names them, such as eng+deu");
        }
        let language = values.text(Key::SttLanguage);
        let is_code = (2..=3).contains(&language.len()) && language.chars().all(|c| c.is_ascii_lowercase());
        if !language.is_empty() && !is_code {
            self.problem(Key::SttLanguage, "expected a language as ISO 639-1, such as en");
        }
        Models {
            embed: ProviderChoice::of(values, Key::EmbedProvider),
            chat: ProviderChoice::of(values, Key::ChatProvider),
            ocr: ProviderChoice::of(values, Key::OcrProvider),
            stt: ProviderChoice::of(values, Key::SttProvider),
            rerank: ProviderChoice::of(values, Key::RerankProvider),
            tts: ProviderChoice::of(values, Key::TtsProvider),
            mistral: MistralSettings {
                base_url: self.url(Key::MistralBaseUrl),
                chat_model: text(Key::MistralChatModel),
                embed_text_model: text(Key::MistralEmbedTextModel),
                embed_code_model: text(Key::MistralEmbedCodeModel),
                ocr_model: text(Key::MistralOcrModel),
                stt_model: text(Key::SttMistralModel),
                stt_timestamps: values.bool(Key::SttMistralTimestamps),
            },
            openai,
            elevenlabs: ElevenlabsSettings {
                base_url: self.url(Key::SttElevenlabsBaseUrl),
                stt_model: match values.text(Key::SttElevenlabsModel) {
                    "scribe" => providers::elevenlabs::STT_MODEL.into(),
                    model => model.into(),
                },
                stt_timestamps: values.bool(Key::SttElevenlabsTimestamps),
                tts_model: text(Key::TtsElevenlabsModel),
                voice_id: text(Key::TtsElevenlabsVoiceId),
            },
            cohere,
            command: CommandSettings {
                model: text(Key::CommandModel),
                timeout: match values.duration(Key::CommandTimeout) {
                    Duration::ZERO => Duration::from_secs(60),
                    timeout => timeout,
                },
                embed: values.list(Key::CommandEmbed).to_vec(),
                embed_dimensions: number(Key::CommandEmbedDimensions).map(|number| number as usize),
                ocr: values.list(Key::CommandOcr).to_vec(),
                stt: values.list(Key::CommandStt).to_vec(),
            },
            ocr_language: text(Key::OcrLanguage),
            tesseract_path: path(Key::OcrTesseractPath),
            stt_language: Some(text(Key::SttLanguage)).filter(|language| !language.is_empty()),
            allowed_hosts: values.list(Key::ProvidersAllowedHosts).to_vec(),
            extras_dir: path(Key::ExtrasDir),
            calls_per_day: number(Key::LimitsSpendCallsPerDay),
            pages_per_day: number(Key::LimitsSpendPagesPerDay),
        }
    }

    /// Whether an address is another one than the table's.
    fn is_own_server(&self, key: Key) -> bool {
        let preset = crate::config::value::ConfigValue::preset(KeySpec::of(key));
        *self.values.value(key) != preset
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
