//! `POST /audio/transcriptions`, as OpenAI, Mistral and local servers understand it.

use std::time::Duration;

use bytes::Bytes;
use model::{
    Capability, ProviderError, ProviderErrorKind, ProviderFuture, TranscribeInput, TranscribeLimits,
    Transcriber, Transcript, TranscriptSegment, Usage,
};
use serde::Deserialize;

use super::languages::iso_639_1;
use super::sound::{sample_duration_ms, sound_file};
use crate::http::{FormField, HttpCall, ProviderEndpoint};

/// A recording of hours takes minutes.
pub(crate) const DEADLINE: Duration = Duration::from_secs(900);

/// Whose form of the request it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TranscriptionForm {
    Mistral,
    OpenAi,
}

/// The transcriber of a service that is asked by `POST /audio/transcriptions`.
pub(crate) struct RemoteTranscriber {
    pub(crate) endpoint: ProviderEndpoint,
    pub(crate) model: String,
    pub(crate) form: TranscriptionForm,
    pub(crate) limits: TranscribeLimits,
}

impl RemoteTranscriber {
    async fn transcript(&self, input: TranscribeInput<'_>) -> Result<Transcript, ProviderError> {
        let metered = self.endpoint.admit(Capability::Stt)?;
        let known_ms = sample_duration_ms(input.audio);
        let (bytes, name, media_type) = sound_file(input.audio);
        let file = || FormField::file("file", Bytes::clone(&bytes), &name, &media_type);
        let answer = match self.request(file(), input, true).await {
            // Some of OpenAI's models and some local servers know nothing of times.
            Err(ProviderError { kind: ProviderErrorKind::Refused { reason }, .. })
                if self.form == TranscriptionForm::OpenAi && is_about_times(&reason) =>
            {
                self.request(file(), input, false).await?
            }
            result => result?,
        };
        let transcript = answer.normalized(&self.endpoint, &self.model, input.timestamps, known_ms);
        let used = Usage { audio_ms: transcript.duration_ms, ..Usage::default() };
        metered.record(&self.model, used);
        Ok(transcript)
    }

    async fn request(
        &self,
        file: FormField,
        input: TranscribeInput<'_>,
        with_details: bool,
    ) -> Result<TranscriptionAnswer, ProviderError> {
        let mut fields = vec![FormField::text("model", &*self.model)];
        match self.form {
            TranscriptionForm::Mistral if input.timestamps => {
                // With times it does not take a language.
                fields.push(FormField::text("timestamp_granularities", "segment"));
            }
            TranscriptionForm::Mistral => {
                fields.extend(input.language.map(|language| FormField::text("language", language)));
            }
            TranscriptionForm::OpenAi => {
                let format = if with_details { "verbose_json" } else { "json" };
                fields.push(FormField::text("response_format", format));
                if with_details && input.timestamps {
                    fields.push(FormField::text("timestamp_granularities[]", "segment"));
                }
                fields.extend(input.language.map(|language| FormField::text("language", language)));
            }
        }
        fields.push(file);
        self.endpoint.json(HttpCall::form("audio/transcriptions", fields).within(DEADLINE)).await
    }
}

impl Transcriber for RemoteTranscriber {
    fn provider(&self) -> &str {
        self.endpoint.provider()
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn limits(&self) -> TranscribeLimits {
        self.limits
    }

    fn transcribe<'a>(&'a self, input: TranscribeInput<'a>) -> ProviderFuture<'a, Transcript> {
        Box::pin(self.transcript(input))
    }
}

fn is_about_times(reason: &str) -> bool {
    let reason = reason.to_lowercase();
    ["response_format", "verbose_json", "timestamp_granularities"].iter().any(|sign| reason.contains(sign))
}

#[derive(Deserialize)]
struct TranscriptionAnswer {
    text: String,
    language: Option<String>,
    /// In seconds.
    duration: Option<f64>,
    #[serde(default)]
    segments: Option<Vec<AnsweredSegment>>,
    usage: Option<TranscriptionUsage>,
}

#[derive(Deserialize)]
struct AnsweredSegment {
    text: String,
    /// In seconds.
    start: f64,
    end: f64,
    speaker_id: Option<String>,
}

#[derive(Deserialize)]
struct TranscriptionUsage {
    prompt_audio_seconds: Option<f64>,
    seconds: Option<f64>,
}

impl TranscriptionAnswer {
    fn normalized(
        self,
        endpoint: &ProviderEndpoint,
        model: &str,
        with_times: bool,
        known_ms: Option<u64>,
    ) -> Transcript {
        let told = self
            .duration
            .or_else(|| self.usage.and_then(|usage| usage.prompt_audio_seconds.or(usage.seconds)));
        let mut segments: Vec<TranscriptSegment> = Vec::new();
        if with_times {
            for segment in self.segments.unwrap_or_default() {
                let text = segment.text.trim().to_owned();
                if !text.is_empty() {
                    let (start_ms, end_ms) = (milliseconds(segment.start), milliseconds(segment.end));
                    let end_ms = end_ms.max(start_ms);
                    segments.push(TranscriptSegment { start_ms, end_ms, text, speaker: segment.speaker_id });
                }
            }
        }
        let last_ms = segments.last().map_or(0, |segment| segment.end_ms);
        Transcript {
            provider: endpoint.provider().to_owned(),
            model: model.to_owned(),
            language: self.language.as_deref().and_then(iso_639_1),
            duration_ms: known_ms.unwrap_or_else(|| told.map_or(last_ms, milliseconds)),
            has_times: !segments.is_empty(),
            segments: if segments.is_empty() { without_times(&self.text) } else { segments },
        }
    }
}

/// What a transcript without times consists of.
pub(crate) fn without_times(text: &str) -> Vec<TranscriptSegment> {
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    vec![TranscriptSegment { text: text.to_owned(), ..TranscriptSegment::default() }]
}

/// Of seconds; nonsense is the beginning.
pub(crate) fn milliseconds(seconds: f64) -> u64 {
    // The cast saturates, and turns what is not a number into zero.
    (seconds * 1000.0).round() as u64
}
