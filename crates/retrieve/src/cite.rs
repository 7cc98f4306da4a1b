//! Where a passage is, in words that a person understands and that lead back to it when the file is opened.
//!
//! A pointer names a page, a slide, a sheet, a section or lines. Where that place is longer than a preview, a few words of
//! the passage follow: `page 3 near "Vendor X agrees to provide"`.

use std::ops::Range;

use index::{Index, StoredChunk};
use model::lines::line_range;
use model::{DocType, ErrorCode, Failure, Pointer, Span};

use crate::caption;
use crate::snippet::{DEFAULT_CHARS, snippet};

/// The words that a pointer quotes, and how many characters they may have.
const QUOTED_WORDS: usize = 6;
const QUOTED_CHARS: usize = 60;

const NEAR: &str = " near \"";

/// Quotes that are tried for one that is met nowhere before the passage.
const MOST_QUOTES: usize = 40;

/// Between a place and the lines of the document's text that are meant of it.
const SUBPLACE: &str = ", ";

/// Blanks what must not be shown.
pub type Blank<'a> = &'a dyn Fn(&str) -> String;

/// A passage as it is shown, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedPassage {
    pub pointer: String,
    /// Without what must not be shown.
    pub snippet: String,
}

impl CitedPassage {
    /// The part of a chunk that shows the words, and its place. A preview of `room` bytes at that place contains it.
    pub fn of(
        index: &Index,
        chunk: &StoredChunk,
        words: &[String],
        blank: Blank<'_>,
        room: usize,
    ) -> Result<CitedPassage, Failure> {
        let text = blanked_rows(chunk, blank);
        let cut = snippet(&text, words, DEFAULT_CHARS);
        // Whole lines keep their indentation.
        let shown = cut.text.trim_start_matches(['\n', '\r']).trim_end().to_owned();
        let above = {
            let mut redacted = chunk.clone();
            redacted.text = text.to_string();
            blank(&caption::above(&redacted, &cut))
        };
        let before: usize = text.split('\n').take(cut.line).map(|line| line.len() + 1).sum();
        let of_line = text.split('\n').nth(cut.line).unwrap_or_default();
        // A preview begins at the place; the passage must end within it.
        let fits = |before: usize| before + of_line.len() + shown.len() + MARGIN <= room;
        // Where a secret took whole lines with it, the lines of the passage are not known.
        let exact = text.matches('\n').count() == chunk.text.matches('\n').count();
        let lines = match chunk.span {
            Span::Lines { start_line, end_line } if exact => {
                let start = (start_line + cut.line as u32).min(end_line);
                let end = (start + shown.matches('\n').count() as u32).min(end_line);
                Some((Pointer::Lines { start_line: start, end_line: end }, fits(0)))
            }
            Span::Lines { start_line, end_line } => {
                Some((Pointer::Lines { start_line, end_line }, fits(before)))
            }
            Span::Page { .. } | Span::Time { .. } => None,
        };
        let place = match (&chunk.pointer, chunk.span) {
            // A piece of a line that is too long to have a number of use.
            (Some(Pointer::Lines { .. }), Span::Page { page }) => Some(Pointer::Page { page }),
            (Some(pointer), _) if chunk.doc_type != DocType::Md => Some(pointer.clone()),
            (_, Span::Page { page }) => Some(Pointer::Page { page }),
            (_, Span::Time { start_ms, end_ms }) => Some(Pointer::Time { start_ms, end_ms }),
            (_, Span::Lines { .. }) => None,
        };
        // Several sections of a document may have one title, and a time says little about where a text is.
        let is_vague = matches!(place, None | Some(Pointer::Section { .. } | Pointer::Time { .. }));
        let is_piece =
            matches!((&chunk.pointer, chunk.span), (Some(Pointer::Lines { .. }), Span::Page { .. }));
        let named = place.as_ref().map(|place| blanked(place, blank));
        // Two sheets may have one name once it is blanked: the words tell them apart.
        let is_plain = named == place;
        let begins =
            is_plain && fits(before) && !is_vague && !is_piece && index.begins_its_place(chunk.id)?;
        let (mut pointer, is_found) = match (named, lines) {
            (Some(place), _) if begins => (place.to_string(), true),
            (Some(place), Some((lines, is_found))) => {
                (format!("{place}{SUBPLACE}{lines}"), is_plain && is_found)
            }
            (Some(place), None) => (place.to_string(), false),
            (None, Some((lines, is_found))) => (lines.to_string(), is_found),
            (None, None) => (Pointer::Document.to_string(), false),
        };
        if !is_found {
            // What a search for the quote meets before it meets this passage.
            let earlier = index.earlier_in_place(chunk.id)?;
            let begin = match chunk.span {
                Span::Lines { .. } if exact => before,
                _ => 0,
            };
            let first = shown.lines().next().unwrap_or_default().trim();
            let until = before + of_line.find(first).unwrap_or(0);
            let above = text.get(begin..until).unwrap_or_default();
            let met = |quote: &str| {
                find_words(above, quote).is_some()
                    || earlier.iter().any(|text| find_words(text, quote).is_some())
            };
            if let Some(quote) = quote(&shown, words, &met) {
                pointer.push_str(&format!("{NEAR}{quote}\""));
            }
        }
        let snippet = if above.is_empty() { shown } else { format!("{}{above}\n{shown}", caption::MARK) };
        Ok(CitedPassage { pointer, snippet })
    }
}

/// The text of a chunk, blanked with the header row of its table in view: the header may say that a column is secret.
fn blanked_rows(chunk: &StoredChunk, blank: Blank<'_>) -> String {
    match chunk.heading.columns.as_deref().filter(|header| !chunk.text.contains(header)) {
        Some(header) => {
            let table = blank(&format!("{header}\n{}", chunk.text));
            table.split_once('\n').map(|(_, rows)| rows.to_owned()).unwrap_or(table)
        }
        None => blank(&chunk.text),
    }
}

/// The place as it may be shown: titles and names of sheets are words of the file.
pub fn blanked(place: &Pointer, blank: Blank<'_>) -> Pointer {
    let shown = |name: &Option<String>| name.as_deref().map(blank);
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

/// Words of a passage that occur in the file just so, without quotes and without what redaction put there: those that
/// were searched for, with their neighbours, else the first ones. Of several such, the first that does not occur before the
/// passage itself; a longer one is told apart more easily.
fn quote(shown: &str, searched: &[String], met_before: &dyn Fn(&str) -> bool) -> Option<String> {
    let is_searched = |word: &str| {
        let word = word.to_lowercase();
        searched.iter().any(|searched| word.contains(searched.as_str()))
    };
    let clean = |word: &&str| !word.contains(['"', '[', ']']);
    let words: Vec<&str> = shown.split_whitespace().collect();
    let mut runs: Vec<&[&str]> = words.split(|word| !clean(word)).filter(|run| !run.is_empty()).collect();
    // Stable: of equals the first stays first.
    runs.sort_by_key(|run| {
        let known = run.iter().filter(|word| is_searched(word)).count();
        std::cmp::Reverse((known, run.len().min(QUOTED_WORDS)))
    });
    let quoted = |run: &[&str], start: usize, count: usize, chars: usize| {
        let text = run[start..].iter().take(count).copied().collect::<Vec<_>>().join(" ");
        let text: String = text.chars().take(chars).collect();
        let text = text.trim_end().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let usual = |run: &[&str]| {
        let at = run.iter().position(|word| is_searched(word)).unwrap_or(0);
        let start = at.saturating_sub(1).min(run.len().saturating_sub(QUOTED_WORDS));
        quoted(run, start, QUOTED_WORDS, QUOTED_CHARS)
    };
    let first = runs.iter().find_map(|run| usual(run))?;
    if !met_before(&first) {
        return Some(first);
    }
    let others = runs.iter().flat_map(|run| {
        (0..run.len()).filter_map(move |start| quoted(run, start, 2 * QUOTED_WORDS, 2 * QUOTED_CHARS))
    });
    others.take(MOST_QUOTES).find(|quote| !met_before(quote)).or(Some(first))
}

/// A pointer as a caller writes it.
#[derive(Debug, PartialEq)]
pub struct WrittenPointer {
    pub place: Pointer,
    /// The lines of the document's text that are meant of the place.
    lines: Option<(u32, u32)>,
    quote: Option<String>,
}

impl WrittenPointer {
    pub fn parse(text: &str) -> Result<WrittenPointer, Failure> {
        let text = text.trim();
        let (place, quote) = match text.split_once(NEAR) {
            Some((place, rest)) => (place, Some(rest.strip_suffix('"').unwrap_or(rest).to_owned())),
            None => (text, None),
        };
        let whole = place;
        let (place, lines) = match whole.rsplit_once(", lines ") {
            Some((place, lines)) => match Pointer::parse(&format!("lines {lines}")) {
                Some(Pointer::Lines { start_line, end_line }) => (place, Some((start_line, end_line))),
                // Words of a title.
                _ => (whole, None),
            },
            None => (whole, None),
        };
        let place = Pointer::parse(place).ok_or_else(|| {
            Failure::new(ErrorCode::InvalidField, "the pointer names no place").hint(
                "Give a pointer of searchFiles, or one such as: page 3, slide 7, sheet 'Q2', lines 10-20.",
            )
        })?;
        Ok(WrittenPointer { place, lines, quote: quote.filter(|quote| !quote.trim().is_empty()) })
    }

    /// A passage of the place, told by some of its words.
    pub fn is_passage(&self) -> bool {
        self.quote.is_some()
    }

    /// The bytes of the whole text that are meant. `region` says where in it a place of the document lies, as far as that
    /// is not a question of lines.
    pub fn find(
        &self,
        text: &str,
        region: &dyn Fn(&Pointer) -> Option<Range<usize>>,
    ) -> Result<Range<usize>, Failure> {
        let within = self.lines.and_then(|(first, last)| existing_lines(text, first, last));
        let region = match &self.place {
            _ if within.is_some() => within,
            Pointer::Lines { start_line, end_line } => existing_lines(text, *start_line, *end_line),
            Pointer::Document => Some(0..text.len()),
            place => region(place),
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

/// The bytes of lines, counted from 1; `None` where the text ends before. What follows the last line end is no line.
pub fn existing_lines(text: &str, first: u32, last: u32) -> Option<Range<usize>> {
    line_range(text, first, last).filter(|range| range.start < text.len() || range.start == 0)
}

/// Where words follow each other, whatever white space is between them.
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
    use proptest::prelude::*;

    use super::*;

    /// In a text without pages, rows or sections.
    fn found(wanted: &WrittenPointer, text: &str) -> Option<Range<usize>> {
        wanted.find(text, &|_| None).ok()
    }

    #[test]
    fn s004_pointers_are_read_with_their_quote() {
        let wanted = WrittenPointer::parse("page 3 near \"Vendor X agrees\"").unwrap();
        assert_eq!(wanted.place, Pointer::Page { page: 3 });
        assert_eq!(wanted.quote.as_deref(), Some("Vendor X agrees"));
        assert_eq!(WrittenPointer::parse("sheet 'Q2'").unwrap().quote, None);
        for wrong in ["", "somewhere", "page", "chunk_4"] {
            assert_eq!(WrittenPointer::parse(wrong).unwrap_err().code, ErrorCode::InvalidField, "{wrong}");
        }
    }

    #[test]
    fn a_quote_is_found_across_line_breaks() {
        let text = "one\nVendor  X\n agrees to\npay";
        let wanted = WrittenPointer::parse("lines 1-4 near \"Vendor X agrees\"").unwrap();
        assert_eq!(&text[found(&wanted, text).unwrap()], "Vendor  X\n agrees");
        let gone = WrittenPointer::parse("lines 2-3 near \"not there\"").unwrap();
        assert_eq!(&text[found(&gone, text).unwrap()], "Vendor  X\n agrees to");
    }

    #[test]
    fn lines_of_plain_text() {
        assert_eq!(existing_lines("a\nbb\nc", 2, 99), Some(2..6));
        assert_eq!(existing_lines("a\nbb\n", 3, 3), None);
        assert_eq!(existing_lines("", 1, 1), Some(0..0));
    }

    #[test]
    fn s023_lines_within_a_place() {
        let text = "one\ntwo\nthree\nfour";
        let wanted = WrittenPointer::parse("page 3, section 'Scope, lines of it', lines 2-3").unwrap();
        assert_eq!(&text[found(&wanted, text).unwrap()], "two\nthree");
        let title = WrittenPointer::parse("section 'Poem, lines of'").unwrap();
        assert_eq!((title.lines, &title.place), (None, &Pointer::parse("section 'Poem, lines of'").unwrap()));
    }

    #[test]
    fn quotes_leave_out_what_redaction_put_there() {
        let quote = |text: &str, searched: &str| quote(text, &[searched.to_owned()], &|_| false);
        let text = "mail [EMAIL] about the lease of the windmill today";
        assert_eq!(quote(text, "mail").as_deref(), Some("mail"));
        assert_eq!(quote(text, "nothing").as_deref(), Some("about the lease of the windmill"));
        assert_eq!(quote(text, "windmill").as_deref(), Some("the lease of the windmill today"));
        assert_eq!(quote("[EMAIL]", "x"), None);
        assert_eq!(quote("one \"two\" three four", "x").as_deref(), Some("three four"));
    }

    #[test]
    fn s023_a_quote_is_one_that_is_not_met_before() {
        let before = "the price is 4 for all of them";
        let met = |quote: &str| find_words(before, quote).is_some();
        let quote = quote("the price is 4 for all of these", &["price".to_owned()], &met).unwrap();
        assert!(find_words(before, &quote).is_none(), "{quote}");
    }

    proptest! {
        #[test]
        fn a_quote_is_found_where_it_was_taken(text in "\\PC{0,80}(\\s\\PC{1,20}){0,12}") {
            if let Some(quote) = quote(&text, &[], &|_| false) {
                prop_assert!(find_words(&text, &quote).is_some(), "{quote:?}");
            }
        }

        #[test]
        fn any_pointer_is_read_or_refused(pointer in "\\PC{0,60}", text in "\\PC{0,60}(\\n\\PC{0,30}){0,5}") {
            if let Ok(wanted) = WrittenPointer::parse(&pointer)
                && let Some(range) = found(&wanted, &text)
            {
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
