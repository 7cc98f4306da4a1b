//! Words with times, put together to segments that a person would read as lines.

use model::TranscriptSegment;
use serde::Deserialize;

use crate::wire::transcription::milliseconds;

/// A silence after which a new segment begins.
const PAUSE_MS: u64 = 800;
/// A segment this long ends with its sentence.
const LONG_ENOUGH_MS: u64 = 4_000;
/// A segment this long ends with its word.
const TOO_LONG_MS: u64 = 20_000;

/// A word, the space between two, or a sound that is not a word.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct SpokenWord {
    pub(super) text: String,
    /// In seconds.
    pub(super) start: Option<f64>,
    pub(super) end: Option<f64>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) speaker_id: Option<String>,
}

/// The segments of a recording; none where the words have no times.
pub(super) fn segments(words: &[SpokenWord]) -> Vec<TranscriptSegment> {
    let mut segments: Vec<TranscriptSegment> = Vec::new();
    let mut is_open = false;
    let mut space = String::new();
    for word in words {
        if word.kind.as_deref() == Some("spacing") {
            space.push_str(&word.text);
            continue;
        }
        let (Some(start), Some(end)) = (word.start, word.end) else { continue };
        let (start_ms, end_ms) = (milliseconds(start), milliseconds(end));
        let joined = segments.last_mut().filter(|segment| {
            is_open
                && segment.speaker == word.speaker_id
                && start_ms.saturating_sub(segment.end_ms) < PAUSE_MS
                && end_ms.saturating_sub(segment.start_ms) < TOO_LONG_MS
        });
        let segment = match joined {
            Some(segment) => {
                segment.text.push_str(&space);
                segment
            }
            None => {
                let speaker = word.speaker_id.clone();
                segments.push(TranscriptSegment {
                    start_ms,
                    end_ms,
                    speaker,
                    ..TranscriptSegment::default()
                });
                segments.last_mut().expect("just pushed")
            }
        };
        segment.text.push_str(&word.text);
        segment.end_ms = end_ms.max(segment.end_ms);
        is_open = !(ends_sentence(&word.text) && segment.end_ms - segment.start_ms >= LONG_ENOUGH_MS);
        space.clear();
    }
    for segment in &mut segments {
        segment.text = segment.text.trim().to_owned();
    }
    segments.retain(|segment| !segment.text.is_empty());
    segments
}

fn ends_sentence(word: &str) -> bool {
    word.trim_end_matches(['"', '\'', '”', '’', ')', '»'])
        .ends_with(['.', '!', '?', '…', '。', '！', '？', '؟', '।'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of half a second each, and what separates them.
    fn spoken(text: &str, mut at: f64, speaker: Option<&str>) -> Vec<SpokenWord> {
        let mut words = Vec::new();
        for word in text.split(' ') {
            let of = |text: &str, kind: &str, start, end| SpokenWord {
                text: text.to_owned(),
                start: Some(start),
                end: Some(end),
                kind: Some(kind.to_owned()),
                speaker_id: speaker.map(str::to_owned),
            };
            words.push(of(word, "word", at, at + 0.4));
            words.push(of(" ", "spacing", at + 0.4, at + 0.5));
            at += 0.5;
        }
        words
    }

    fn shown(words: &[SpokenWord]) -> Vec<(u64, u64, String)> {
        segments(words).into_iter().map(|segment| (segment.start_ms, segment.end_ms, segment.text)).collect()
    }

    #[test]
    fn segments_end_at_pauses_and_sentences() {
        let mut words = spoken("one two three four five six seven eight nine. Short. Next", 0.0, None);
        words.extend(spoken("after a pause", 7.0, None));
        assert_eq!(
            shown(&words),
            [
                (0, 4400, "one two three four five six seven eight nine.".to_owned()),
                (4500, 5400, "Short. Next".to_owned()),
                (7000, 8400, "after a pause".to_owned()),
            ]
        );
    }

    #[test]
    fn another_speaker_is_another_segment() {
        let mut words = spoken("hello there", 0.0, Some("a"));
        words.extend(spoken("hi", 1.0, Some("b")));
        let segments = segments(&words);
        assert_eq!(segments.len(), 2);
        assert_eq!(segments[1].speaker.as_deref(), Some("b"));
    }

    #[test]
    fn speech_without_an_end_is_cut() {
        let words = spoken(&["word"; 200].join(" "), 0.0, None);
        let segments = segments(&words);
        assert!(segments.iter().all(|segment| segment.end_ms - segment.start_ms <= TOO_LONG_MS));
        assert_eq!(segments.iter().map(|segment| segment.text.split(' ').count()).sum::<usize>(), 200);
    }

    #[test]
    fn words_without_times_make_no_segments() {
        let word = SpokenWord { text: "x".into(), start: None, end: None, kind: None, speaker_id: None };
        assert_eq!(segments(&[word]), []);
    }
}
