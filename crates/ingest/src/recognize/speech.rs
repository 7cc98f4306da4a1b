//! From a recording to a transcript in the form that is kept: segments in order, none overlapping another.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use extract::Format;
use model::{
    Audio, ProviderError, ProviderErrorKind, TranscribeInput, Transcriber, Transcript, TranscriptSegment,
};
use tokio::sync::Notify;

use crate::documents::DocumentReader;

use super::blocking;
use super::desk::LoadedDocument;
use super::pages::tidy;

/// A transcriber that has neither answered nor reported progress for so long counts as lost. Local models work at a fifth of
/// the recording's length and report; services answer within minutes.
const PATIENCE: Duration = Duration::from_secs(1800);

/// How a recording is to be written down.
#[derive(Clone, Copy)]
pub struct TranscribeWish<'a> {
    /// As ISO 639-1; the model finds out where none is given.
    pub language: Option<&'a str>,
    pub timestamps: bool,
    /// Told how much is done, in milliseconds of the recording.
    pub on_progress: Option<&'a (dyn Fn(u64) + Send + Sync)>,
}

/// Writes down what is said in a recording. Nothing is kept yet.
pub async fn transcribe(
    transcriber: &dyn Transcriber,
    reader: &Arc<dyn DocumentReader>,
    document: &Arc<LoadedDocument>,
    wish: TranscribeWish<'_>,
) -> Result<Transcript, ProviderError> {
    let limits = transcriber.limits();
    let refused = |reason| ProviderError::new(transcriber.provider(), ProviderErrorKind::Refused { reason });
    let samples = if limits.takes_files {
        let size = document.bytes.len() as u64;
        if size > limits.bytes {
            return Err(refused(format!("the recording has {size} bytes; {} are taken", limits.bytes)));
        }
        Vec::new()
    } else {
        let (reader, document) = (Arc::clone(reader), Arc::clone(document));
        blocking(move || Ok(decoded(reader.as_ref(), &document)))
            .await
            .map_err(|error| refused(error.to_string()))?
            .map_err(|detail| refused(format!("the recording cannot be decoded: {detail}")))?
    };
    let name = document.path.file_name();
    let audio = if limits.takes_files {
        let format = extract::sniff(name, &document.bytes).and_then(Format::media_type);
        let media_type = format.unwrap_or("application/octet-stream");
        Audio::File { bytes: &document.bytes, name, media_type }
    } else {
        Audio::Samples(&samples)
    };
    let alive = Notify::new();
    let on_progress = |done| {
        alive.notify_one();
        if let Some(told) = wish.on_progress {
            told(done);
        }
    };
    let input = TranscribeInput {
        audio,
        language: wish.language,
        timestamps: wish.timestamps,
        on_progress: Some(&on_progress),
    };
    let mut answer = transcriber.transcribe(input);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer.map(|transcript| normalized(transcript, transcriber)),
            () = alive.notified() => {}
            () = tokio::time::sleep(PATIENCE) => {
                let reason = format!("none within {} s", PATIENCE.as_secs());
                return Err(ProviderError::new(
                    transcriber.provider(),
                    ProviderErrorKind::Unreachable { reason },
                ));
            }
        }
    }
}

/// One channel, 16,000 numbers a second.
fn decoded(reader: &dyn DocumentReader, document: &LoadedDocument) -> Result<Vec<f32>, String> {
    let name = document.path.file_name();
    let format = extract::sniff(name, &document.bytes).filter(|format| format.is_recording());
    let format = format.ok_or("its format is not known")?;
    let mut samples = Vec::new();
    reader
        .samples(format, name, &document.bytes, &mut |chunk| {
            samples.extend_from_slice(chunk);
            ControlFlow::Continue(())
        })
        .map_err(|reason| reason.to_string())?;
    Ok(samples)
}

/// Segments in order, each of a millisecond at least, none overlapping another: opening the time of a passage then gives
/// that passage.
fn normalized(transcript: Transcript, transcriber: &dyn Transcriber) -> Transcript {
    let Transcript { provider, model, language, duration_ms, has_times, segments } = transcript;
    let mut segments: Vec<TranscriptSegment> = segments
        .into_iter()
        .map(|segment| TranscriptSegment { text: tidy(segment.text.trim()), ..segment })
        .filter(|segment| !segment.text.is_empty())
        .collect();
    if has_times {
        segments.sort_by_key(|segment| segment.start_ms);
        let mut free_from = 0;
        for number in 0..segments.len() {
            let next = segments.get(number + 1).map_or(u64::MAX, |next| next.start_ms);
            let segment = &mut segments[number];
            segment.start_ms = segment.start_ms.max(free_from);
            segment.end_ms = segment.end_ms.min(next).max(segment.start_ms + 1);
            free_from = segment.end_ms;
        }
    } else if !segments.is_empty() {
        let texts: Vec<String> = segments.into_iter().map(|segment| segment.text).collect();
        segments = vec![TranscriptSegment { text: texts.join("\n"), ..TranscriptSegment::default() }];
    }
    let or = |given: String, own: &str| if given.is_empty() { own.to_owned() } else { given };
    let last = segments.last().map_or(0, |segment| segment.end_ms);
    Transcript {
        provider: or(provider, transcriber.provider()),
        model: or(model, transcriber.model()),
        language: language.filter(|language| !language.is_empty()),
        duration_ms: duration_ms.max(last),
        has_times,
        segments,
    }
}
