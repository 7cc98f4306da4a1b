//! Cuts a transcript into windows of time: each is a run of whole segments, cited by the time from the first to the last.

use extract::{Extraction, Unit};
use model::{Chunk, Heading, IndexKind, Pointer};

use super::{ChunkOptions, ChunkSource, Cut, identify, prose};

/// The chunks of a transcript. Without times it is cut by size, and its chunks are cited by lines.
pub fn chunk_transcript(
    source: ChunkSource<'_>,
    transcript: &Extraction,
    options: &ChunkOptions,
) -> Vec<Chunk> {
    let places = transcript.unit_lines();
    let times: Option<Vec<(u64, u64)>> = transcript.units.iter().map(time_of).collect();
    let windows = match &times {
        Some(times) => windows(times, options.transcript_segment_ms, options.transcript_overlap_ms),
        None => (0..transcript.units.len()).map(|unit| (unit, unit + 1)).collect(),
    };
    let mut chunks: Vec<Chunk> = Vec::new();
    for (from, to) in windows {
        let pointer = match &times {
            Some(times) => Pointer::Time { start_ms: times[from].0, end_ms: times[to - 1].1 },
            None => transcript.units[from].pointer.clone(),
        };
        // As the whole transcript is joined, so that what is opened holds what was indexed.
        let texts: Vec<&str> = transcript.units[from..to].iter().map(|unit| unit.text.as_str()).collect();
        let text = texts.join("\n\n");
        let first_line = places[from].0;
        for cut in prose::cut(&text, options) {
            if cut.text.trim().is_empty() {
                continue;
            }
            let cut = Cut {
                start_line: first_line + cut.start_line - 1,
                end_line: first_line + cut.end_line - 1,
                text: cut.text,
            };
            let ordinal = chunks.len() as u32;
            let pointer = Some(pointer.clone());
            chunks.push(identify(source, IndexKind::Text, ordinal, cut, pointer, None, Heading::default()));
        }
    }
    chunks
}

fn time_of(unit: &Unit) -> Option<(u64, u64)> {
    match unit.pointer {
        Pointer::Time { start_ms, end_ms } => Some((start_ms, end_ms)),
        _ => None,
    }
}

/// Runs of segments, each from its first to behind its last. A window holds as many segments as end within its length, at
/// least one; the next one begins with the first segment within the overlap.
fn windows(times: &[(u64, u64)], length: u64, overlap: u64) -> Vec<(usize, usize)> {
    let mut windows = Vec::new();
    let mut from = 0;
    while from < times.len() {
        let until = times[from].0.saturating_add(length);
        let to = from + times[from..].iter().skip(1).take_while(|(_, end)| *end <= until).count() + 1;
        windows.push((from, to));
        if to == times.len() {
            break;
        }
        let again = times[to - 1].1.saturating_sub(overlap);
        // A window that does not reach the next segment would say nothing new.
        let reaches = |next: &usize| times[to].1 <= times[*next].0.saturating_add(length);
        from = (from + 1..to).find(|next| times[*next].0 >= again && reaches(next)).unwrap_or(to);
    }
    windows
}

#[cfg(test)]
mod tests {
    use extract::Format;
    use model::{RelPath, RepType, Span};
    use proptest::prelude::*;

    use super::*;

    fn transcript(segments: &[(u64, u64, &str)]) -> Extraction {
        let unit = |(start_ms, end_ms, text): &(u64, u64, &str)| Unit {
            pointer: Pointer::Time { start_ms: *start_ms, end_ms: *end_ms },
            title: None,
            text: (*text).to_owned(),
        };
        Extraction {
            format: Format::Txt,
            title: None,
            units: segments.iter().map(unit).collect(),
            parts: segments.len() as u32,
            skip: None,
            diagnostics: vec![],
            unread_pages: vec![],
        }
    }

    fn chunks(transcript: &Extraction) -> Vec<Chunk> {
        let path = RelPath::parse("talk.wav").unwrap();
        let source = ChunkSource { path: &path, rep_type: RepType::Transcript };
        chunk_transcript(source, transcript, &ChunkOptions::default())
    }

    #[test]
    fn d095_windows_of_thirty_seconds_overlap_by_five() {
        let words = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
        let segments: Vec<(u64, u64, &str)> =
            (0..).zip(words).map(|(n, word)| (n * 5000, n * 5000 + 5000, word)).collect();
        let spans: Vec<(Span, String)> =
            chunks(&transcript(&segments)).into_iter().map(|chunk| (chunk.span, chunk.text)).collect();
        let time = |start_ms, end_ms| Span::Time { start_ms, end_ms };
        assert_eq!(
            spans,
            [
                (time(0, 30_000), "one\n\ntwo\n\nthree\n\nfour\n\nfive\n\nsix".to_owned()),
                (time(25_000, 40_000), "six\n\nseven\n\neight".to_owned()),
            ]
        );
    }

    #[test]
    fn d096_without_times_there_are_no_time_spans() {
        let mut transcript = transcript(&[(0, 0, "a long speech")]);
        transcript.units[0].pointer = Pointer::Document;
        let chunks = chunks(&transcript);
        assert_eq!(chunks.len(), 1);
        assert_eq!(chunks[0].span, Span::Lines { start_line: 1, end_line: 1 });
    }

    proptest! {
        /// Every segment is in a window, windows go forward, and none is longer than allowed unless one segment is.
        #[test]
        fn windows_cover_all(
            lengths in proptest::collection::vec((1u64..40_000, 0u64..8_000), 1..60),
            length in 1_000u64..60_000,
            overlap in 0u64..30_000,
        ) {
            let mut at = 0;
            let times: Vec<(u64, u64)> = lengths
                .iter()
                .map(|(long, pause)| {
                    let time = (at, at + long);
                    at = time.1 + pause;
                    time
                })
                .collect();
            let windows = windows(&times, length, overlap);
            prop_assert_eq!((windows[0].0, windows.last().unwrap().1), (0, times.len()));
            for pair in windows.windows(2) {
                prop_assert!(pair[0].0 < pair[1].0 && pair[1].0 <= pair[0].1 && pair[0].1 < pair[1].1);
            }
            for (from, to) in windows {
                prop_assert!(to - from == 1 || times[to - 1].1 - times[from].0 <= length);
            }
        }
    }
}
