//! Where in a document a place is: the one way to open a place, whether a tool names it by lines, page or time, or by
//! the words of a citation.

use std::ops::Range;

use extract::Extraction;
use ingest::TextPages;
use model::lines::line_range;
use model::{ErrorCode, Failure, Pointer, RelPath, RepType, Span};
use retrieve::cite::{Blank, blanked, existing_lines};

use crate::open_file::{Whole, unsupported};

/// Which part of a document to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenSelection {
    /// The beginning: first characters, first page or start of the transcript.
    Start,
    Lines {
        start: u32,
        end: u32,
    },
    Page(u32),
    Time {
        start_ms: u64,
        end_ms: u64,
    },
}

impl Whole {
    /// The part of the text that a caller selects, with at most so many characters.
    pub(crate) fn slice(
        &self,
        path: &RelPath,
        selection: OpenSelection,
        max_chars: usize,
    ) -> Result<Slice, Failure> {
        let unsupported = |why| Err(unsupported(path, self.doc_type, why));
        let (pages, times) = (self.pages(), self.times());
        match selection {
            OpenSelection::Lines { start, end } => {
                let behind = self.text.lines().count() as u32 + 1;
                if !self.annotation.is_empty() && start > behind {
                    return Ok(Slice::annotation(&self.annotation, behind, start, end, max_chars));
                }
                Ok(Slice::lines(&self.text, start, end, max_chars))
            }
            OpenSelection::Start => Ok(match (pages, times) {
                (Some(pages), _) => Slice::unit_page(pages, 1, max_chars),
                (_, Some(times)) => Slice::time(times, 0, u64::MAX, max_chars),
                _ => Slice::lines(&self.text, 1, u32::MAX, max_chars),
            }),
            OpenSelection::Page(page) => {
                let count = match pages {
                    Some(pages) => pages.parts.max(1),
                    None => match TextPages::of(&self.text) {
                        None => return unsupported("has no pages; ask for lines"),
                        Some(pages) => match pages.range(page) {
                            Some(range) => return Ok(Slice::page(&self.text[range], page, max_chars)),
                            None => pages.count(),
                        },
                    },
                };
                match pages {
                    Some(pages) if page <= count => Ok(Slice::unit_page(pages, page, max_chars)),
                    _ => {
                        let message = format!("{path} has no page {page}; its last page is {count}");
                        Err(Failure::new(ErrorCode::InvalidRange, message))
                    }
                }
            }
            OpenSelection::Time { start_ms, end_ms } => match times {
                Some(times) => Ok(Slice::time(times, start_ms, end_ms, max_chars)),
                None if self.rep_type == RepType::Transcript => {
                    unsupported("has a transcript without times; ask for lines")
                }
                None => unsupported("has no transcript"),
            },
        }
    }

    /// The units of a document all of whose parts are pages or slides.
    fn pages(&self) -> Option<&Extraction> {
        let is_page = |pointer: &Pointer| matches!(pointer.span(), Some(Span::Page { .. }));
        self.extraction.as_ref().filter(|all| all.units.iter().all(|unit| is_page(&unit.pointer)))
    }

    /// The units of a document all of whose parts have times.
    fn times(&self) -> Option<&Extraction> {
        let is_timed = |pointer: &Pointer| matches!(pointer, Pointer::Time { .. });
        self.extraction.as_ref().filter(|all| all.units.iter().all(|unit| is_timed(&unit.pointer)))
    }

    /// The bytes of a place of the document, as a citation names it; `None` where it has no such place. Names that were
    /// blanked when the citation was shown count as the names they stand for.
    pub(crate) fn region(&self, place: &Pointer, blank: Blank<'_>) -> Option<Range<usize>> {
        let text = &self.text;
        match (place, &self.extraction) {
            (place, Some(parts)) => {
                let ranges = parts.unit_lines();
                let is_meant =
                    |pointer: &Pointer| pointer.answers(place) || blanked(pointer, blank).answers(place);
                let units = parts.units.iter().zip(ranges);
                let meant: Vec<(u32, u32)> =
                    units.filter(|(unit, _)| is_meant(&unit.pointer)).map(|(_, range)| range).collect();
                existing_lines(text, meant.first()?.0, meant.last()?.1)
            }
            (Pointer::Page { page }, None) => TextPages::of(text).and_then(|pages| pages.range(*page)),
            (Pointer::Rows { sheet: None, first_row, last_row }, None) => rows(text, *first_row, *last_row),
            (Pointer::Section { .. }, None) => Some(0..text.len()),
            _ => None,
        }
    }
}

/// The bytes of rows of a table in text, counted from 1; `None` where the table ends before.
fn rows(text: &str, first: u32, last: u32) -> Option<Range<usize>> {
    let begins = extract::row_lines(text);
    let line_of = |row: u32| begins.get(row.checked_sub(1)? as usize).copied();
    let end = line_of(last.saturating_add(1)).map_or(u32::MAX, |next| next - 1);
    existing_lines(text, line_of(first)?, end)
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) span: Option<Span>,
    pub(crate) content: String,
    pub(crate) truncated: bool,
}

impl Slice {
    /// Lines `start..=end`, clipped to the text and to `max_chars`; the span tells what the content holds.
    fn lines(text: &str, start: u32, end: u32, max_chars: usize) -> Slice {
        let body = text.strip_suffix('\n').unwrap_or(text);
        let Some(range) = line_range(body, start, end).filter(|_| !text.is_empty()) else {
            return Slice { span: None, content: String::new(), truncated: false };
        };
        let (content, truncated) = cut_chars(&body[range], max_chars);
        let start_line = start.max(1);
        let end_line = start_line + content.matches('\n').count() as u32;
        Slice { span: Some(Span::Lines { start_line, end_line }), content: content.to_owned(), truncated }
    }

    /// Lines of an annotation, which are counted on behind those of the document.
    fn annotation(text: &str, behind: u32, start: u32, end: u32, max_chars: usize) -> Slice {
        let slice = Slice::lines(text, start - behind, end.saturating_sub(behind), max_chars);
        let span = slice.span.map(|span| match span {
            Span::Lines { start_line, end_line } => {
                Span::Lines { start_line: start_line + behind, end_line: end_line + behind }
            }
            other => other,
        });
        Slice { span, ..slice }
    }

    /// All units of a document on one page or slide.
    fn unit_page(pages: &Extraction, page: u32, max_chars: usize) -> Slice {
        let span = Some(Span::Page { page });
        let on_page = pages.units.iter().filter(|unit| unit.pointer.span() == span);
        let text = on_page.map(|unit| unit.text.as_str()).collect::<Vec<_>>().join("\n\n");
        Slice::page(&text, page, max_chars)
    }

    /// What is said between two times; the span tells from when to when the content goes.
    fn time(times: &Extraction, from: u64, to: u64, max_chars: usize) -> Slice {
        let mut text = String::new();
        let mut span: Option<(u64, u64)> = None;
        for unit in &times.units {
            let Pointer::Time { start_ms, end_ms } = unit.pointer else { continue };
            // What begins when the wanted part ends is not in it, unless that is a moment.
            let begins = start_ms < to || (from == to && start_ms == to);
            if !begins || end_ms < from || (end_ms == from && start_ms < from) {
                continue;
            }
            if text.chars().count() >= max_chars {
                return Slice::cut(span, &text, max_chars, true);
            }
            if span.is_some() {
                text.push_str("\n\n");
            }
            text.push_str(&unit.text);
            span = Some(
                span.map_or((start_ms, end_ms), |(first, last)| (first.min(start_ms), last.max(end_ms))),
            );
        }
        Slice::cut(span, &text, max_chars, false)
    }

    fn cut(span: Option<(u64, u64)>, text: &str, max_chars: usize, more: bool) -> Slice {
        let (content, truncated) = cut_chars(text, max_chars);
        let span = span.map(|(start_ms, end_ms)| Span::Time { start_ms, end_ms });
        Slice { span, content: content.to_owned(), truncated: truncated || more }
    }

    /// One page of a plain text.
    fn page(content: &str, page: u32, max_chars: usize) -> Slice {
        let (content, truncated) = cut_chars(content, max_chars);
        Slice { span: Some(Span::Page { page }), content: content.to_owned(), truncated }
    }
}

/// The first `max` characters, and whether that left something out.
fn cut_chars(text: &str, max: usize) -> (&str, bool) {
    match text.char_indices().nth(max) {
        Some((at, _)) => (&text[..at], true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use extract::{Extraction, Format};
    use model::{Pointer, Span};

    use super::{Slice, rows};

    #[test]
    fn d152_times() {
        let units = [(0, 1000, "one"), (1000, 2000, "two"), (5000, 9000, "three")];
        let units = units.map(|(start_ms, end_ms, text)| {
            let pointer = Pointer::Time { start_ms, end_ms };
            serde_json::from_value(serde_json::json!({ "pointer": pointer, "title": null, "text": text }))
                .unwrap()
        });
        let times = Extraction {
            format: Format::Srt,
            title: None,
            units: units.into(),
            parts: 3,
            skip: None,
            diagnostics: vec![],
            unread_pages: vec![],
        };
        let at = |from, to| {
            let slice = Slice::time(&times, from, to, 100);
            (slice.content, slice.span)
        };
        let time = |start_ms, end_ms| Some(Span::Time { start_ms, end_ms });
        assert_eq!(at(1000, 2000), ("two".into(), time(1000, 2000)));
        assert_eq!(at(500, 1500), ("one\n\ntwo".into(), time(0, 2000)));
        assert_eq!(at(0, u64::MAX).1, time(0, 9000));
        assert_eq!(at(6000, 6000), ("three".into(), time(5000, 9000)));
        assert_eq!(at(3000, 4000), (String::new(), None));
        assert!(Slice::time(&times, 0, u64::MAX, 2).truncated);
    }

    fn lines(text: &str, start: u32, end: u32, max: usize) -> (String, Option<(u32, u32)>, bool) {
        let slice = Slice::lines(text, start, end, max);
        let span = slice.span.map(|span| match span {
            Span::Lines { start_line, end_line } => (start_line, end_line),
            other => panic!("{other:?}"),
        });
        (slice.content, span, slice.truncated)
    }

    #[test]
    fn d152_lines_are_clipped_to_the_file() {
        let text = "one\ntwo\nthree\n";
        assert_eq!(lines(text, 2, 3, 1000), ("two\nthree".into(), Some((2, 3)), false));
        assert_eq!(lines(text, 2, 99, 1000), ("two\nthree".into(), Some((2, 3)), false));
        assert_eq!(lines(text, 1, 1, 1000), ("one".into(), Some((1, 1)), false));
        assert_eq!(lines(text, 4, 9, 1000), (String::new(), None, false));
        assert_eq!(lines("", 1, 9, 1000), (String::new(), None, false));
        assert_eq!(lines("\n\nx", 2, 2, 1000), (String::new(), Some((2, 2)), false));
    }

    #[test]
    fn rows_may_have_several_lines() {
        assert_eq!(rows("a,b\n\"1\n2\",x\nc,d\n", 2, 2), Some(4..11));
        assert_eq!(rows("a,b\n", 2, 9), None);
    }

    #[test]
    fn d153_a_truncated_slice_says_where_it_ends() {
        assert_eq!(lines("añb\ncd\nef", 1, u32::MAX, 5), ("añb\nc".into(), Some((1, 2)), true));
    }
}
