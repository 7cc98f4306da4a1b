//! The port behind which text is read aloud.

use super::ProviderFuture;

pub trait Speaker: Send + Sync {
    /// Its name in the configuration and in errors.
    fn provider(&self) -> &str;

    fn model(&self) -> &str;

    /// `voice` is the provider's own name of a voice; without one it is the configured voice.
    fn speak<'a>(
        &'a self,
        text: &'a str,
        voice: Option<&'a str>,
        format: SpeechFormat,
    ) -> ProviderFuture<'a, Vec<u8>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpeechFormat {
    Mp3,
    Wav,
}

impl SpeechFormat {
    pub fn media_type(self) -> &'static str {
        match self {
            SpeechFormat::Mp3 => "audio/mpeg",
            SpeechFormat::Wav => "audio/wav",
        }
    }
}
