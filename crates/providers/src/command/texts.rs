//! What a program is given and gives back, as text.

use bytes::Bytes;
use model::{IndexKind, Purpose, Transcript, TranscriptSegment};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::wire::languages::iso_639_1;
use crate::wire::transcription::{milliseconds, without_times};

/// Texts to embed, a line of JSON for each.
pub(super) fn lines(kind: IndexKind, purpose: Purpose, texts: &[&str]) -> Bytes {
    let purpose = match purpose {
        Purpose::Passage => "passage",
        Purpose::Question => "question",
    };
    let kind = match kind {
        IndexKind::Text => "text",
        IndexKind::Code => "code",
    };
    let mut lines = String::new();
    for text in texts {
        lines.push_str(&json!({ "text": text, "kind": kind, "purpose": purpose }).to_string());
        lines.push('\n');
    }
    Bytes::from(lines)
}

/// A vector for each line: a list of numbers, or an object with one named `embedding`.
pub(super) fn vectors(output: &[u8]) -> Result<Vec<Vec<f32>>, String> {
    let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    lines
        .enumerate()
        .map(|(number, line)| {
            let mut value: Value =
                serde_json::from_slice(line).map_err(|_| format!("line {} is not JSON", number + 1))?;
            if value.is_object() {
                value = value["embedding"].take();
            }
            serde_json::from_value(value).map_err(|_| format!("line {} is not a vector", number + 1))
        })
        .collect()
}

/// What programs such as Whisper's print as JSON. Times are in seconds.
#[derive(Deserialize)]
struct PrintedTranscript {
    language: Option<String>,
    segments: Vec<PrintedSegment>,
}

#[derive(Deserialize)]
struct PrintedSegment {
    start: f64,
    end: f64,
    text: String,
    speaker: Option<String>,
}

/// JSON with segments, or else plain text without times.
pub(super) fn transcript(
    output: &str,
    provider: &str,
    model: &str,
    with_times: bool,
    known_ms: Option<u64>,
) -> Transcript {
    let printed: Option<PrintedTranscript> = serde_json::from_str(output).ok();
    let (language, segments) = match printed {
        Some(printed) => {
            let language = printed.language.as_deref().and_then(iso_639_1);
            let segments = printed.segments.into_iter().map(|segment| {
                let (start_ms, end_ms) = (milliseconds(segment.start), milliseconds(segment.end));
                TranscriptSegment {
                    start_ms,
                    end_ms: end_ms.max(start_ms),
                    text: segment.text.trim().to_owned(),
                    speaker: segment.speaker,
                }
            });
            (language, segments.filter(|segment| !segment.text.is_empty()).collect())
        }
        None => (None, Vec::new()),
    };
    let last_ms = segments.last().map_or(0, |segment: &TranscriptSegment| segment.end_ms);
    let has_times = with_times && !segments.is_empty();
    let segments = if has_times {
        segments
    } else if segments.is_empty() {
        without_times(output)
    } else {
        let texts: Vec<&str> = segments.iter().map(|segment| segment.text.as_str()).collect();
        without_times(&texts.join(" "))
    };
    let duration_ms = known_ms.unwrap_or(last_ms);
    let (provider, model) = (provider.to_owned(), model.to_owned());
    Transcript { provider, model, language, duration_ms, has_times, segments }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_as_lists_or_objects() {
        let output = b"[1, 2]\n\n{\"embedding\": [0.5], \"id\": 3}\n";
        assert_eq!(vectors(output).unwrap(), [vec![1.0, 2.0], vec![0.5]]);
        assert_eq!(vectors(b"[1]\nnope\n").unwrap_err(), "line 2 is not JSON");
        assert_eq!(vectors(b"{}\n").unwrap_err(), "line 1 is not a vector");
    }

    #[test]
    fn transcripts_as_json_or_text() {
        let json = r#"{"language": "english", "segments": [{"start": 0, "end": 1.5, "text": " Hello. "}]}"#;
        let timed = transcript(json, "command", "m", true, None);
        assert_eq!((timed.language.as_deref(), timed.duration_ms, timed.has_times), (Some("en"), 1500, true));
        assert_eq!(timed.segments[0].text, "Hello.");
        let untimed = transcript(json, "command", "m", false, Some(2000));
        assert_eq!((untimed.duration_ms, untimed.has_times, untimed.segments[0].end_ms), (2000, false, 0));
        let plain = transcript("just words\n", "command", "m", true, None);
        assert_eq!((plain.has_times, plain.segments[0].text.as_str()), (false, "just words"));
    }
}
