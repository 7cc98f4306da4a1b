//! Where a passage stands, said so that a person understands it and `openFile` finds it again.
//!
//! A pointer names a page, a slide, a sheet, a section or lines. Where that place is longer than a preview, a few words of
//! the passage follow: `page 3 near "Vendor X agrees to provide"`.

use std::ops::Range;

use index::{Index, StoredChunk};
use ingest::Extraction;
use model::{DocType, ErrorCode, Failure, Pointer, Span};
use policy::Redactor;
use retrieve::caption;
use retrieve::snippet::{DEFAULT_CHARS, snippet};

use super::SmartConfig;

/// The words that a pointer quotes, and how many characters they may have.
const QUOTED_WORDS: usize = 6;
const QUOTED_CHARS: usize = 60;

const NEAR: &str = " near \"";

/// A passage as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cited {
    pub(super) pointer: String,
    /// Redacted.
    pub(super) snippet: String,
}

impl Cited {
    /// The part of a chunk that shows the words, and its place. A preview at that place contains it.
    pub(super) fn of(
        index: &Index,
        chunk: &StoredChunk,
        words: &[String],
        config: &SmartConfig,
    ) -> Result<Cited, Failure> {
        let text = config.redactor.redact(&chunk.text);
        let room = config.preview_bytes;
        let cut = snippet(&text, words, DEFAULT_CHARS);
        // Whole lines keep their indentation.
        let shown = cut.text.trim_start_matches(['\n', '\r']).trim_end().to_owned();
        let above = {
            let mut redacted = chunk.clone();
            redacted.text = text.to_string();
            config.redactor.redact(&caption::above(&redacted, &cut)).into_owned()
        };
        let before: usize = text.split('\n').take(cut.line).map(|line| line.len() + 1).sum();
        let of_line = text.split('\n').nth(cut.line).unwrap_or_default();
        // A preview begins at the place; the passage must end within it.
        let fits = |before: usize| before + of_line.len() + shown.len() + MARGIN <= room;
        let (place, is_found) = match (&chunk.pointer, chunk.span) {
            // Several sections of a document may have one title.
            (Some(section @ Pointer::Section { .. }), _) if chunk.doc_type != DocType::Md => {
                (section.clone(), false)
            }
            (Some(pointer), _) if chunk.doc_type != DocType::Md => {
                (pointer.clone(), fits(before) && index.begins_its_place(chunk.id)?)
            }
            (_, Span::Lines { start_line, end_line }) => {
                // Where a secret took whole lines with it, the lines of the passage are not known.
                let exact = text.matches('\n').count() == chunk.text.matches('\n').count();
                let start = if exact { (start_line + cut.line as u32).min(end_line) } else { start_line };
                let lines = shown.matches('\n').count() as u32;
                let end = if exact { (start + lines).min(end_line) } else { end_line };
                let before = if exact { 0 } else { before };
                (Pointer::Lines { start_line: start, end_line: end }, fits(before))
            }
            (_, Span::Page { page }) => {
                (Pointer::Page { page }, fits(before) && index.begins_its_place(chunk.id)?)
            }
            (_, Span::Time { start_ms, end_ms }) => (Pointer::Time { start_ms, end_ms }, false),
        };
        let named = blanked(&place, &config.redactor);
        // Two sheets may have one name once it is blanked: the words tell them apart.
        let is_found = is_found && named == place;
        let mut pointer = named.to_string();
        if !is_found && let Some(quote) = quote(&shown, words) {
            pointer.push_str(&format!("{NEAR}{quote}\""));
        }
        let snippet = if above.is_empty() { shown } else { format!("{}{above}\n{shown}", caption::MARK) };
        Ok(Cited { pointer, snippet })
    }
}

/// The place as it may be shown: titles and names of sheets are words of the file.
pub(super) fn blanked(place: &Pointer, redactor: &Redactor) -> Pointer {
    let shown = |name: &Option<String>| name.as_deref().map(|name| redactor.redact(name).into_owned());
    match place {
        Pointer::Rows { sheet, first_row, last_row } => {
            Pointer::Rows { sheet: shown(sheet), first_row: *first_row, last_row: *last_row }
        }
        Pointer::Section { section, title, page } => {
            Pointer::Section { section: *section, title: shown(title), page: *page }
        }
        other => other.clone(),
    }
}

/// For marks and for what redaction adds.
const MARGIN: usize = 64;

/// Words of a passage that stand in the file just so, without quotes and without what redaction put there: those that
/// were searched for, with their neighbours, else the first ones.
fn quote(shown: &str, searched: &[String]) -> Option<String> {
    let is_searched = |word: &str| {
        let word = word.to_lowercase();
        searched.iter().any(|searched| word.contains(searched.as_str()))
    };
    let clean = |word: &&str| !word.contains(['"', '[', ']']);
    let words: Vec<&str> = shown.split_whitespace().collect();
    let runs = words.split(|word| !clean(word)).filter(|run| !run.is_empty());
    let best = runs.max_by_key(|run| {
        let known = run.iter().filter(|word| is_searched(word)).count();
        // Of equals the last is taken, so the first has to be the greatest.
        (known, run.len().min(QUOTED_WORDS), std::cmp::Reverse(run.as_ptr() as usize))
    })?;
    let at = best.iter().position(|word| is_searched(word)).unwrap_or(0);
    let start = at.saturating_sub(1).min(best.len().saturating_sub(QUOTED_WORDS));
    let quote = best[start..].iter().take(QUOTED_WORDS).copied().collect::<Vec<_>>().join(" ");
    let quote: String = quote.chars().take(QUOTED_CHARS).collect();
    let quote = quote.trim_end();
    (!quote.is_empty()).then(|| quote.to_owned())
}

/// A pointer as a caller writes it.
#[derive(Debug, PartialEq)]
pub(super) struct Wanted {
    place: Pointer,
    quote: Option<String>,
}

impl Wanted {
    pub(super) fn parse(text: &str) -> Result<Wanted, Failure> {
        let text = text.trim();
        let (place, quote) = match text.split_once(NEAR) {
            Some((place, rest)) => (place, Some(rest.strip_suffix('"').unwrap_or(rest).to_owned())),
            None => (text, None),
        };
        let place = Pointer::parse(place).ok_or_else(|| {
            Failure::new(ErrorCode::InvalidField, "the pointer names no place").hint(
                "Give a pointer of searchFiles, or one such as: page 3, slide 7, sheet 'Q2', lines 10-20.",
            )
        })?;
        Ok(Wanted { place, quote: quote.filter(|quote| !quote.trim().is_empty()) })
    }

    /// A passage of the place, told by some of its words.
    pub(super) fn is_passage(&self) -> bool {
        self.quote.is_some()
    }

    /// The bytes of the whole text that are meant. `parts` are those of a document.
    pub(super) fn find(
        &self,
        text: &str,
        parts: Option<&Extraction>,
        redactor: &Redactor,
    ) -> Result<Range<usize>, Failure> {
        let region = match (&self.place, parts) {
            (Pointer::Lines { start_line, end_line }, _) => lines(text, *start_line, *end_line),
            (Pointer::Document, _) => Some(0..text.len()),
            (place, Some(parts)) => region(place, text, parts, redactor),
            (Pointer::Page { page }, None) => page_of_text(text, *page),
            // A table that is read as text has a row in every line.
            (Pointer::Rows { sheet: None, first_row, last_row }, None) => lines(text, *first_row, *last_row),
            (Pointer::Section { .. }, None) => Some(0..text.len()),
            _ => None,
        };
        let region = region.ok_or_else(|| {
            let message = format!("the file has no {}", self.place);
            Failure::new(ErrorCode::FileNotFound, message)
                .hint("Leave the pointer out for the beginning of the file.")
        })?;
        // A passage that is no longer there leaves the place it was at.
        let quoted = self.quote.as_deref().and_then(|quote| find_words(&text[region.clone()], quote));
        Ok(match quoted {
            Some(at) => region.start + at.start..region.start + at.end,
            None => region,
        })
    }
}

/// The lines of the joined text that the wanted parts of a document have.
fn region(place: &Pointer, text: &str, parts: &Extraction, redactor: &Redactor) -> Option<Range<usize>> {
    let (_, ranges) = parts.joined();
    let wanted: Vec<(u32, u32)> = parts
        .units
        .iter()
        .zip(ranges)
        .filter(|(unit, _)| unit.pointer.answers(place) || blanked(&unit.pointer, redactor).answers(place))
        .map(|(_, range)| range)
        .collect();
    lines(text, wanted.first()?.0, wanted.last()?.1)
}

/// The bytes of lines, counted from 1; none where the text ends before.
fn lines(text: &str, first: u32, last: u32) -> Option<Range<usize>> {
    let start_of = |line: u32| match line {
        0 | 1 => Some(0),
        later => text.match_indices('\n').nth(later as usize - 2).map(|(at, _)| at + 1),
    };
    let start = start_of(first).filter(|start| *start < text.len() || *start == 0)?;
    let wanted = last.saturating_sub(first.max(1)) as usize;
    let end = text[start..].match_indices('\n').nth(wanted).map_or(text.len(), |(at, _)| start + at);
    Some(start..end)
}

/// A page of a text whose pages are divided by form feeds.
fn page_of_text(text: &str, page: u32) -> Option<Range<usize>> {
    let pages: Vec<&str> = text.split('\x0c').collect();
    let wanted = page.checked_sub(1)? as usize;
    if pages.len() < 2 || wanted >= pages.len() {
        return None;
    }
    let start: usize = pages[..wanted].iter().map(|page| page.len() + 1).sum();
    Some(start..start + pages[wanted].len())
}

/// Where words stand one after the other, whatever white space is between them.
fn find_words(text: &str, quote: &str) -> Option<Range<usize>> {
    let words: Vec<&str> = quote.split_whitespace().collect();
    let first = words.first()?;
    text.match_indices(first).find_map(|(start, _)| {
        let mut end = start + first.len();
        for word in &words[1..] {
            let rest = &text[end..];
            let skipped = rest.len() - rest.trim_start().len();
            if skipped == 0 || !rest[skipped..].starts_with(word) {
                return None;
            }
            end += skipped + word.len();
        }
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use policy::SecretPatterns;
    use proptest::prelude::*;

    use super::*;

    fn redactor() -> Redactor {
        Redactor::new(&SecretPatterns::Default).unwrap()
    }

    #[test]
    fn s004_pointers_are_read_with_their_quote() {
        let wanted = Wanted::parse("page 3 near \"Vendor X agrees\"").unwrap();
        assert_eq!(wanted.place, Pointer::Page { page: 3 });
        assert_eq!(wanted.quote.as_deref(), Some("Vendor X agrees"));
        assert_eq!(Wanted::parse("sheet 'Q2'").unwrap().quote, None);
        for wrong in ["", "somewhere", "page", "chunk_4"] {
            assert_eq!(Wanted::parse(wrong).unwrap_err().code, ErrorCode::InvalidField, "{wrong}");
        }
    }

    #[test]
    fn a_quote_is_found_across_line_breaks() {
        let text = "one\nVendor  X\n agrees to\npay";
        let wanted = Wanted::parse("lines 1-4 near \"Vendor X agrees\"").unwrap();
        assert_eq!(&text[wanted.find(text, None, &redactor()).unwrap()], "Vendor  X\n agrees");
        let gone = Wanted::parse("lines 2-3 near \"not there\"").unwrap();
        assert_eq!(&text[gone.find(text, None, &redactor()).unwrap()], "Vendor  X\n agrees to");
    }

    #[test]
    fn lines_and_pages_of_plain_text() {
        assert_eq!(lines("a\nbb\nc", 2, 2), Some(2..4));
        assert_eq!(lines("a\nbb\nc", 2, 99), Some(2..6));
        assert_eq!(lines("a\nbb\nc", 4, 4), None);
        assert_eq!(lines("", 1, 1), Some(0..0));
        assert_eq!(page_of_text("a\x0cbb", 2), Some(2..4));
        assert_eq!(page_of_text("a\x0cbb", 3), None);
        assert_eq!(page_of_text("no pages", 1), None);
    }

    #[test]
    fn quotes_leave_out_what_redaction_put_there() {
        let quote = |text: &str, searched: &str| quote(text, &[searched.to_owned()]);
        let text = "mail [EMAIL] about the lease of the windmill today";
        assert_eq!(quote(text, "mail").as_deref(), Some("mail"));
        assert_eq!(quote(text, "nothing").as_deref(), Some("about the lease of the windmill"));
        assert_eq!(quote(text, "windmill").as_deref(), Some("the lease of the windmill today"));
        assert_eq!(quote("[EMAIL]", "x"), None);
        assert_eq!(quote("one \"two\" three four", "x").as_deref(), Some("three four"));
    }

    proptest! {
        #[test]
        fn a_quote_is_found_where_it_was_taken(text in "\\PC{0,80}(\\s\\PC{1,20}){0,12}") {
            if let Some(quote) = quote(&text, &[]) {
                prop_assert!(find_words(&text, &quote).is_some(), "{quote:?}");
            }
        }

        #[test]
        fn any_pointer_is_read_or_refused(pointer in "\\PC{0,60}", text in "\\PC{0,60}(\\n\\PC{0,30}){0,5}") {
            if let Ok(wanted) = Wanted::parse(&pointer)
                && let Ok(range) = wanted.find(&text, None, &redactor())
            {
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
