//! Opens an exact slice of a file through the guarded door: path, policy, content, in that order.

use discover::classify;
use extract::Extracted;
use ingest::{DocumentReader, document, shortfall};
use model::{DocType, ErrorCode, Failure, RelPath, Span};
use policy::{Guard, OpenFile};

use crate::api::{OpenRequest, OpenedFile, Selection};

/// Bytes looked at to tell what a file is.
const HEAD_BYTES: u64 = 8192;

/// What was opened and the hash of what was read, so that the caller can tell whether it is still what was indexed.
pub(crate) struct Opened {
    pub(crate) file: OpenedFile,
    pub(crate) content_hash: blake3::Hash,
}

pub(crate) fn open_file(
    guard: &Guard,
    reader: &dyn DocumentReader,
    request: &OpenRequest,
) -> Result<Opened, Failure> {
    let path = RelPath::parse(&request.rel_path).map_err(|error| policy::path_failure(&error))?;
    let mut file = guard.open(&path)?;
    let head = file.read_head(HEAD_BYTES)?;
    if let Some((_, doc_type)) = document(path.file_name(), &head) {
        return open_document(guard, reader, request, &path, file, doc_type);
    }
    let doc_type = classify(&path, &head);
    if !doc_type.is_textual() {
        return Err(unsupported(&path, doc_type, "has no text to show"));
    }
    let bytes = file.read_all(guard.policy().max_bytes(doc_type))?;
    let content_hash = blake3::hash(&bytes);
    let text = match extract::raw_text(bytes) {
        Extracted::Text(text) => text.text,
        Extracted::Skip(_) => return Err(unsupported(&path, doc_type, "is binary inside")),
    };
    if guard.policy().scan(text.as_bytes()).is_some() {
        return Err(withheld(&path));
    }
    let slice = match request.selection {
        Selection::Start => Slice::lines(&text, 1, u32::MAX, request.max_chars),
        Selection::Lines { start, end } => Slice::lines(&text, start, end, request.max_chars),
        Selection::Page(page) => Slice::page(&text, page, request.max_chars)
            .ok_or_else(|| unsupported(&path, doc_type, "has no pages"))?,
        Selection::Time { .. } => return Err(unsupported(&path, doc_type, "has no transcript")),
    };
    let file = OpenedFile {
        rel_path: path.as_str().to_owned(),
        doc_type,
        span: slice.span,
        content: slice.content,
        truncated: slice.truncated,
        changed_since_indexed: false,
    };
    Ok(Opened { file, content_hash })
}

/// A page of a document, or lines of all its text.
fn open_document(
    guard: &Guard,
    reader: &dyn DocumentReader,
    request: &OpenRequest,
    path: &RelPath,
    mut file: OpenFile,
    doc_type: DocType,
) -> Result<Opened, Failure> {
    let bytes = file.read_all(guard.policy().max_bytes(doc_type))?;
    let content_hash = blake3::hash(&bytes);
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
    let is_paged = extraction.units.iter().all(|unit| matches!(unit.pointer.span(), Some(Span::Page { .. })));
    let page = |page: u32| {
        let on_page = extraction.units.iter().filter(|unit| unit.pointer.span() == Some(Span::Page { page }));
        let text = on_page.map(|unit| unit.text.as_str()).collect::<Vec<_>>().join("\n\n");
        let (content, truncated) = cut_chars(&text, request.max_chars);
        Slice { span: Some(Span::Page { page }), content: content.to_owned(), truncated }
    };
    let slice = match request.selection {
        Selection::Start if is_paged => page(1),
        Selection::Start => Slice::lines(&text, 1, u32::MAX, request.max_chars),
        Selection::Page(number) if is_paged && number <= extraction.parts.max(1) => page(number),
        Selection::Page(number) if is_paged => {
            let message = format!("{path} has {} pages, not {number}", extraction.parts);
            return Err(Failure::new(ErrorCode::InvalidRange, message));
        }
        Selection::Page(_) => return Err(unsupported(path, doc_type, "has no pages")),
        Selection::Lines { start, end } => Slice::lines(&text, start, end, request.max_chars),
        Selection::Time { .. } => return Err(unsupported(path, doc_type, "has no transcript")),
    };
    let file = OpenedFile {
        rel_path: path.as_str().to_owned(),
        doc_type,
        span: slice.span,
        content: slice.content,
        truncated: slice.truncated,
        changed_since_indexed: false,
    };
    Ok(Opened { file, content_hash })
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
