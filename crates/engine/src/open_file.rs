//! Opens an exact slice of a file, or of a member of an archive, through the guarded door: path, policy, content, in that
//! order.

use std::sync::Arc;

use index::Index;
use ingest::{Archive, ArchiveMode, DocumentReader, Extraction, Extractor, Kind, TextPages, unread};
use model::{ContentHash, DocType, ErrorCode, Failure, Pointer, RelPath, Span};
use policy::{Guard, OpenError};

use crate::api::{OpenRequest, OpenedFile, Selection};

/// Bytes looked at to tell how much of a file may be read.
const HEAD_BYTES: u64 = 8192;

/// What was opened and the hash of what was read, so that the caller can tell whether it is still what was indexed.
pub(crate) struct Opened {
    pub(crate) file: OpenedFile,
    pub(crate) content_hash: ContentHash,
}

/// The whole text of a file or member, before a slice is cut from it.
pub(crate) struct Whole {
    pub(crate) doc_type: DocType,
    pub(crate) text: String,
    pub(crate) content_hash: ContentHash,
    /// Where the text was extracted: its parts with their places.
    pub(crate) extraction: Option<Extraction>,
}

/// How the texts of documents are got.
pub(crate) struct Door<'a> {
    pub(crate) guard: &'a Guard,
    pub(crate) reader: &'a dyn DocumentReader,
    /// How far archives are looked into, if at all.
    pub(crate) archives: Option<ArchiveMode>,
    /// What was extracted when a document was indexed is opened from here.
    pub(crate) index: Arc<Index>,
}

pub(crate) fn open_file(door: &Door<'_>, request: &OpenRequest) -> Result<Opened, Failure> {
    let path = door.guard.locate(&request.rel_path).map_err(|error| policy::path_failure(&error))?;
    let whole = door.whole(&path)?;
    let slice = whole.slice(&path, request)?;
    let file = OpenedFile {
        rel_path: path.as_str().to_owned(),
        doc_type: whole.doc_type,
        span: slice.span,
        content: slice.content,
        truncated: slice.truncated,
        changed_since_indexed: false,
    };
    Ok(Opened { file, content_hash: whole.content_hash })
}

impl Door<'_> {
    /// The text of a file or of a member of an archive, unless the policy holds it back.
    pub(crate) fn whole(&self, path: &RelPath) -> Result<Whole, Failure> {
        let bytes = match self.guard.open(path) {
            Ok(mut file) => {
                let guess = Kind::of(path, &file.read_head(HEAD_BYTES)?);
                if let Kind::Other(doc_type) = guess {
                    return Err(unread(path, doc_type).failure(path.as_str()));
                }
                file.read_all(self.guard.policy().max_bytes(guess.doc_type()))?
            }
            Err(OpenError::NotFound) => match self.member(path)? {
                Some(bytes) => bytes,
                None => return Err(OpenError::NotFound.into()),
            },
            Err(error) => return Err(error.into()),
        };
        let kind = Kind::of(path, &bytes);
        let doc_type = kind.doc_type();
        let (size, limit) = (bytes.len() as u64, self.guard.policy().max_bytes(doc_type));
        if size > limit {
            return Err(OpenError::TooLarge { size, limit }.into());
        }
        match kind {
            Kind::Archive(_) => {
                return Err(unsupported(path, doc_type, "is opened member by member: add the path of one"));
            }
            Kind::Other(_) => return Err(unread(path, doc_type).failure(path.as_str())),
            Kind::Text(_) | Kind::Document(..) => {}
        }
        let content_hash = ContentHash(*blake3::hash(&bytes).as_bytes());
        let extractor = Extractor { reader: self.reader, kept: Some(&self.index) };
        let content = extractor
            .text(path, kind, bytes, &content_hash)
            .map_err(|reason| reason.failure(path.as_str()))?;
        if let Some(secret) = self.guard.policy().scan(path, content.text.as_bytes()) {
            return Err(secret.failure(path));
        }
        Ok(Whole { doc_type, text: content.text, content_hash, extraction: content.extraction })
    }

    /// The bytes of `archive.zip/inner/path`, if some file above the path is an archive that holds it. The policy has been
    /// asked about the whole path.
    fn member(&self, path: &RelPath) -> Result<Option<Vec<u8>>, Failure> {
        let Some(mode) = self.archives else { return Ok(None) };
        for (slash, _) in path.as_str().match_indices('/') {
            let above =
                RelPath::from_walk(&path.as_str()[..slash]).map_err(|error| policy::path_failure(&error))?;
            let mut file = match self.guard.open(&above) {
                Ok(file) => file,
                Err(OpenError::NotAFile { .. }) => continue,
                Err(OpenError::NotFound) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let Kind::Archive(_) = Kind::of(&above, &file.read_head(HEAD_BYTES)?) else { return Ok(None) };
            let bytes = file.read_all(self.guard.policy().max_bytes(DocType::Archive))?;
            let Kind::Archive(format) = Kind::of(&above, &bytes) else { return Ok(None) };
            let max_member_bytes = self.guard.policy().max_member_bytes();
            let archive = Archive { format, name: above.file_name(), bytes: &bytes, mode, max_member_bytes };
            let inner = &path.as_str()[slash + 1..];
            return self
                .reader
                .member(&archive, inner)
                .map_err(|message| Failure::new(ErrorCode::ExtractFailed, format!("{path}: {message}")));
        }
        Ok(None)
    }
}

impl Whole {
    fn slice(&self, path: &RelPath, request: &OpenRequest) -> Result<Slice, Failure> {
        let unsupported = |why| Err(unsupported(path, self.doc_type, why));
        let max_chars = request.max_chars;
        let (pages, times) = (self.pages(), self.times());
        match request.selection {
            Selection::Lines { start, end } => Ok(Slice::lines(&self.text, start, end, max_chars)),
            Selection::Start => Ok(match (pages, times) {
                (Some(pages), _) => Slice::unit_page(pages, 1, max_chars),
                (_, Some(times)) => Slice::time(times, 0, u64::MAX, max_chars),
                _ => Slice::lines(&self.text, 1, u32::MAX, max_chars),
            }),
            Selection::Page(page) => {
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
            Selection::Time { start_ms, end_ms } => match times {
                Some(times) => Ok(Slice::time(times, start_ms, end_ms, max_chars)),
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
}

fn unsupported(path: &RelPath, doc_type: DocType, why: &str) -> Failure {
    Failure::new(ErrorCode::DocTypeUnsupported, format!("{path} ({doc_type}) {why}"))
}

#[derive(Debug, PartialEq, Eq)]
struct Slice {
    span: Option<Span>,
    content: String,
    truncated: bool,
}

impl Slice {
    /// Lines `start..=end`, clipped to the text and to `max_chars`; the span tells what the content holds.
    fn lines(text: &str, start: u32, end: u32, max_chars: usize) -> Slice {
        let body = text.strip_suffix('\n').unwrap_or(text);
        let from = match start {
            0 | 1 => Some(0),
            later => body.match_indices('\n').nth(later as usize - 2).map(|(at, _)| at + 1),
        };
        let Some(from) = from.filter(|_| !text.is_empty()) else {
            return Slice { span: None, content: String::new(), truncated: false };
        };
        let wanted = end.saturating_sub(start.max(1)) as usize;
        let to = body[from..].match_indices('\n').nth(wanted).map_or(body.len(), |(at, _)| from + at);
        let (content, truncated) = cut_chars(&body[from..to], max_chars);
        let start_line = start.max(1);
        let end_line = start_line + content.matches('\n').count() as u32;
        Slice { span: Some(Span::Lines { start_line, end_line }), content: content.to_owned(), truncated }
    }

    /// All units of a document that stand on one page or slide.
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
    use ingest::{Extraction, Format};
    use model::{Pointer, Span};

    use super::Slice;

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
    fn d153_a_truncated_slice_says_where_it_ends() {
        assert_eq!(lines("añb\ncd\nef", 1, u32::MAX, 5), ("añb\nc".into(), Some((1, 2)), true));
    }
}
