//! Opens an exact slice of a file through the guarded door: path, policy, content, in that order.

use discover::classify;
use ingest::{DocumentReader, Extraction, FileText, Unshown, document, read_text, shortfall};
use model::{ContentHash, DocType, ErrorCode, Failure, RelPath, Span};
use policy::{Guard, OpenFile};

use crate::api::{OpenRequest, OpenedFile, Selection};

/// Bytes looked at to tell what a file is.
const HEAD_BYTES: u64 = 8192;

/// What was opened and the hash of what was read, so that the caller can tell whether it is still what was indexed.
pub(crate) struct Opened {
    pub(crate) file: OpenedFile,
    pub(crate) content_hash: ContentHash,
}

/// The whole text of a file, before a slice is cut from it.
pub(crate) struct Whole {
    doc_type: DocType,
    pub(crate) text: String,
    content_hash: ContentHash,
    /// The parts of a document; their texts joined are the text.
    pub(crate) parts: Option<Extraction>,
}

pub(crate) fn open_file(
    guard: &Guard,
    reader: &dyn DocumentReader,
    request: &OpenRequest,
) -> Result<Opened, Failure> {
    let path = RelPath::parse(&request.rel_path).map_err(|error| policy::path_failure(&error))?;
    let whole = whole(guard, reader, &path)?;
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

/// Reads a file through the guarded door: as text, or what was dug out of a document.
pub(crate) fn whole(guard: &Guard, reader: &dyn DocumentReader, path: &RelPath) -> Result<Whole, Failure> {
    let mut file = guard.open(path)?;
    let head = file.read_head(HEAD_BYTES)?;
    match document(path.file_name(), &head) {
        Some((_, doc_type)) => whole_document(guard, reader, path, file, doc_type),
        None => whole_text(guard, path, file, classify(path, &head)),
    }
}

fn whole_text(
    guard: &Guard,
    path: &RelPath,
    mut file: OpenFile,
    doc_type: DocType,
) -> Result<Whole, Failure> {
    if !doc_type.is_textual() {
        return Err(unsupported(path, doc_type, "has no text to show"));
    }
    match read_text(guard, &mut file, guard.policy().max_bytes(doc_type)) {
        Ok(FileText { text, content_hash }) => Ok(Whole { doc_type, text, content_hash, parts: None }),
        Err(Unshown::Open(error)) => Err(error.into()),
        Err(Unshown::NotText) => Err(unsupported(path, doc_type, "is binary inside")),
        Err(Unshown::Secret) => Err(withheld(path)),
    }
}

fn whole_document(
    guard: &Guard,
    reader: &dyn DocumentReader,
    path: &RelPath,
    mut file: OpenFile,
    doc_type: DocType,
) -> Result<Whole, Failure> {
    let bytes = file.read_all(guard.policy().max_bytes(doc_type))?;
    let content_hash = ContentHash(*blake3::hash(&bytes).as_bytes());
    let Some((format, _)) = document(path.file_name(), &bytes) else {
        return Err(unsupported(path, doc_type, "has no text to show"));
    };
    let extraction = reader
        .read(format, path.file_name(), &bytes)
        .map_err(|message| Failure::new(ErrorCode::ExtractFailed, format!("{path}: {message}")))?;
    if let Some(reason) = shortfall(&extraction) {
        return Err(Failure::new(ErrorCode::DocTypeUnsupported, format!("{path}: {reason}")));
    }
    let (text, _) = extraction.joined();
    if guard.policy().scan(text.as_bytes()).is_some() {
        return Err(withheld(path));
    }
    Ok(Whole { doc_type, text, content_hash, parts: Some(extraction) })
}

impl Whole {
    /// The parts of a document all of whose parts are pages.
    fn pages(&self) -> Option<&Extraction> {
        let is_page = |unit: &ingest::Unit| matches!(unit.pointer.span(), Some(Span::Page { .. }));
        self.parts.as_ref().filter(|parts| parts.units.iter().all(is_page))
    }

    fn slice(&self, path: &RelPath, request: &OpenRequest) -> Result<Slice, Failure> {
        let unsupported = |why| Err(unsupported(path, self.doc_type, why));
        let max_chars = request.max_chars;
        match (request.selection, self.pages()) {
            (Selection::Lines { start, end }, _) => Ok(Slice::lines(&self.text, start, end, max_chars)),
            (Selection::Start, None) => Ok(Slice::lines(&self.text, 1, u32::MAX, max_chars)),
            (Selection::Start, Some(pages)) => Ok(Slice::unit_page(pages, 1, max_chars)),
            (Selection::Page(page), Some(pages)) if page <= pages.parts.max(1) => {
                Ok(Slice::unit_page(pages, page, max_chars))
            }
            (Selection::Page(page), Some(pages)) => {
                let message = format!("{path} has {} pages, not {page}", pages.parts);
                Err(Failure::new(ErrorCode::InvalidRange, message))
            }
            (Selection::Page(page), None) => {
                Slice::page(&self.text, page, max_chars).map_or_else(|| unsupported("has no pages"), Ok)
            }
            (Selection::Time { .. }, _) => unsupported("has no transcript"),
        }
    }
}

fn withheld(path: &RelPath) -> Failure {
    Failure::new(
        ErrorCode::Forbidden,
        format!("{path} is withheld: its content matches a secret rule (security.secret_patterns)"),
    )
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
        let (content, truncated) = cut_chars(&text, max_chars);
        Slice { span, content: content.to_owned(), truncated }
    }

    /// Page `page` of a text whose pages are divided by form feeds, as `pdftotext` and the RFCs write them.
    fn page(text: &str, page: u32, max_chars: usize) -> Option<Slice> {
        if !text.contains('\x0c') {
            return None;
        }
        let content = text.split('\x0c').nth(page as usize - 1).unwrap_or("");
        let (content, truncated) = cut_chars(content, max_chars);
        Some(Slice { span: Some(Span::Page { page }), content: content.to_owned(), truncated })
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
    use model::Span;

    use super::Slice;

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

    #[test]
    fn form_feeds_divide_pages() {
        assert_eq!(Slice::page("no pages", 1, 10), None);
        let second = Slice::page("a\x0cb\x0cc", 2, 10).unwrap();
        assert_eq!((second.content.as_str(), second.span), ("b", Some(Span::Page { page: 2 })));
        assert_eq!(Slice::page("a\x0cb", 9, 10).unwrap().content, "");
    }
}
