//! The port behind which recordings become text.

use serde::{Deserialize, Serialize};

use super::ProviderFuture;

/// Writes down what is said in a recording.
pub trait Transcriber: Send + Sync {
    /// Its name in the configuration and in errors.
    fn provider(&self) -> &str;

    /// A name that changes whenever the text would.
    fn model(&self) -> &str;

    fn limits(&self) -> TranscribeLimits;

    fn transcribe<'a>(&'a self, input: TranscribeInput<'a>) -> ProviderFuture<'a, Transcript>;
}

#[derive(Clone, Copy)]
pub struct TranscribeInput<'a> {
    pub audio: Audio<'a>,
    /// As ISO 639-1, where the caller knows; otherwise the model finds out.
    pub language: Option<&'a str>,
    /// Ask for times. Without them a transcript has one segment without an end.
    pub timestamps: bool,
    /// Told how much is done, as milliseconds of the recording, where the model works piece by piece.
    pub on_progress: Option<&'a (dyn Fn(u64) + Send + Sync)>,
}

/// A recording as a transcriber gets it.
#[derive(Debug, Clone, Copy)]
pub enum Audio<'a> {
    /// The file as it is; only where [`TranscribeLimits::takes_files`].
    File { bytes: &'a [u8], name: &'a str, media_type: &'a str },
    /// Mono, 16,000 numbers a second, each from -1 to 1.
    Samples(&'a [f32]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscribeLimits {
    /// It decodes files itself; otherwise it gets samples.
    pub takes_files: bool,
    /// Bytes of one file.
    pub bytes: u64,
    /// Requests under way at the same time.
    pub requests: usize,
}

/// What was said. Every provider's answer is brought into this form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Transcript {
    pub provider: String,
    pub model: String,
    /// As ISO 639-1 where it is known.
    pub language: Option<String>,
    /// Zero where it is not known.
    pub duration_ms: u64,
    /// Whether the segments' times are the recording's. Without them there is one segment, and both are zero.
    pub has_times: bool,
    pub segments: Vec<TranscriptSegment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TranscriptSegment {
    pub start_ms: u64,
    pub end_ms: u64,
    pub text: String,
    pub speaker: Option<String>,
}
