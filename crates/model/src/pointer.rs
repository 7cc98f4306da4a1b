//! Where in a document a piece of text stands, as people say it: `page 3`, `slide 7`, `sheet 'Q2' rows 1-40`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Span;
use crate::citation::minutes;

/// The place of an extracted unit. Everything counts from 1, both ends included.
///
/// `Display` writes the locator of the smart contract, [`Pointer::parse`] reads it back, also in the shorter forms
/// that people type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Pointer {
    /// The whole document: it has no smaller part with a name or a number.
    Document,
    Page {
        page: u32,
    },
    Slide {
        slide: u32,
        /// The speaker's notes of that slide.
        notes: bool,
    },
    /// Rows of a table; without a sheet those of a file that is one table.
    Rows {
        sheet: Option<String>,
        first_row: u32,
        last_row: u32,
    },
    /// The text from one heading to the next, with the page it begins on where the document says so.
    Section {
        section: u32,
        title: Option<String>,
        page: Option<u32>,
    },
    /// A cell of a notebook.
    Cell {
        cell: u32,
    },
    /// A message of a mailbox.
    Message {
        message: u32,
    },
    Time {
        start_ms: u64,
        end_ms: u64,
    },
    Lines {
        start_line: u32,
        end_line: u32,
    },
}

impl Pointer {
    /// The span that says the same, for the contracts that know lines, pages and times only. A slide is a page.
    /// `None` where lines of the representation have to do.
    pub fn span(&self) -> Option<Span> {
        match *self {
            Pointer::Page { page } | Pointer::Slide { slide: page, .. } => Some(Span::Page { page }),
            Pointer::Time { start_ms, end_ms } => Some(Span::Time { start_ms, end_ms }),
            Pointer::Lines { start_line, end_line } => Some(Span::Lines { start_line, end_line }),
            _ => None,
        }
    }

    /// Reads a locator as a caller writes it.
    pub fn parse(text: &str) -> Option<Pointer> {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match word.to_ascii_lowercase().as_str() {
            "document" => Some(Pointer::Document),
            "page" => {
                let number = rest.split_once(',').map_or(rest, |(number, _)| number);
                Some(Pointer::Page { page: positive(number)? })
            }
            "slide" => {
                let (number, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                Some(Pointer::Slide {
                    slide: positive(number)?,
                    notes: more.trim().eq_ignore_ascii_case("notes"),
                })
            }
            "sheet" => {
                let (name, rest) = quoted(rest)?;
                let (first_row, last_row) = match rest.trim() {
                    "" => (1, u32::MAX),
                    rows => range(rows.strip_prefix("rows").or_else(|| rows.strip_prefix("row"))?)?,
                };
                Some(Pointer::Rows { sheet: Some(name), first_row, last_row })
            }
            "row" | "rows" => {
                let (first_row, last_row) = range(rest)?;
                Some(Pointer::Rows { sheet: None, first_row, last_row })
            }
            "section" => match positive(rest) {
                Some(section) => Some(Pointer::Section { section, title: None, page: None }),
                None => Some(Pointer::Section { section: 0, title: Some(quoted(rest)?.0), page: None }),
            },
            "cell" => Some(Pointer::Cell { cell: positive(rest)? }),
            "message" => Some(Pointer::Message { message: positive(rest)? }),
            "line" | "lines" => {
                let (start_line, end_line) = range(rest)?;
                Some(Pointer::Lines { start_line, end_line })
            }
            _ => {
                let (start, end) = text.split_once('-').unwrap_or((text, text));
                Some(Pointer::Time { start_ms: clock(start)?, end_ms: clock(end)? })
            }
        }
    }

    /// Whether a unit at `self` is what a caller means who says `wanted`: rows and times that overlap, a section
    /// by its title or by its page.
    pub fn answers(&self, wanted: &Pointer) -> bool {
        use Pointer::{Document, Lines, Page, Rows, Section, Slide, Time};
        match (self, wanted) {
            (_, Document) => true,
            (Section { page: Some(page), .. }, Page { page: wanted }) => page == wanted,
            (Slide { slide, .. }, Page { page }) => slide == page,
            (Section { section, title, .. }, Section { section: number, title: name, .. }) => match name {
                Some(name) => title.as_ref().is_some_and(|title| title.eq_ignore_ascii_case(name)),
                None => section == number,
            },
            (
                Rows { sheet, first_row, last_row },
                Rows { sheet: wanted, first_row: first, last_row: last },
            ) => {
                let same = match (sheet, wanted) {
                    (Some(sheet), Some(wanted)) => sheet.eq_ignore_ascii_case(wanted),
                    (None, None) => true,
                    _ => false,
                };
                same && first_row <= last && first <= last_row
            }
            (Time { start_ms, end_ms }, Time { start_ms: start, end_ms: end }) => {
                start_ms <= end && start <= end_ms
            }
            (Lines { start_line, end_line }, Lines { start_line: start, end_line: end }) => {
                start_line <= end && start <= end_line
            }
            (one, other) => one == other,
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pointer::Document => f.write_str("document"),
            Pointer::Page { page } => write!(f, "page {page}"),
            Pointer::Slide { slide, notes } => {
                write!(f, "slide {slide}{}", if *notes { " notes" } else { "" })
            }
            Pointer::Rows { sheet, first_row, last_row } => {
                if let Some(sheet) = sheet {
                    write!(f, "sheet '{sheet}' ")?;
                }
                write!(f, "rows {first_row}-{last_row}")
            }
            Pointer::Section { section, title, page } => {
                if let Some(page) = page {
                    write!(f, "page {page}, ")?;
                }
                match title {
                    Some(title) => write!(f, "section '{title}'"),
                    None => write!(f, "section {section}"),
                }
            }
            Pointer::Cell { cell } => write!(f, "cell {cell}"),
            Pointer::Message { message } => write!(f, "message {message}"),
            Pointer::Time { start_ms, end_ms } => {
                write!(f, "{}-{}", minutes(*start_ms), minutes(*end_ms))
            }
            Pointer::Lines { start_line, end_line } => write!(f, "lines {start_line}-{end_line}"),
        }
    }
}

fn positive(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|number| *number > 0)
}

/// `4` or `4-9`.
fn range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (positive(first)?, positive(last)?);
    (first <= last).then_some((first, last))
}

/// A name in quotes and what follows it; without quotes the whole rest is the name. The last quote closes, because
/// names hold quotes, too.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next()?;
    if !matches!(quote, '\'' | '"') {
        return Some((text.to_owned(), ""));
    }
    let inner = &text[1..];
    let end = inner.rfind(quote)?;
    Some((inner[..end].to_owned(), &inner[end + 1..]))
}

/// `mm:ss` or `hh:mm:ss`, in milliseconds.
fn clock(text: &str) -> Option<u64> {
    let mut seconds = 0u64;
    let mut parts = 0;
    for part in text.trim().split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(part.parse().ok()?)?;
        parts += 1;
    }
    (2..=3).contains(&parts).then(|| seconds.checked_mul(1000)).flatten()
}

#[cfg(test)]
mod tests {
    use super::Pointer;
    use crate::Span;

    #[test]
    fn s004_locators_are_written_and_read() {
        let rows = |sheet: Option<&str>| Pointer::Rows {
            sheet: sheet.map(str::to_owned),
            first_row: 1,
            last_row: 40,
        };
        for (pointer, text) in [
            (Pointer::Page { page: 3 }, "page 3"),
            (Pointer::Slide { slide: 7, notes: false }, "slide 7"),
            (Pointer::Slide { slide: 7, notes: true }, "slide 7 notes"),
            (rows(Some("Q2")), "sheet 'Q2' rows 1-40"),
            (rows(Some("Bob's")), "sheet 'Bob's' rows 1-40"),
            (rows(None), "rows 1-40"),
            (Pointer::Cell { cell: 4 }, "cell 4"),
            (Pointer::Message { message: 2 }, "message 2"),
            (Pointer::Time { start_ms: 30_000, end_ms: 3_661_000 }, "00:30-61:01"),
            (Pointer::Lines { start_line: 3, end_line: 9 }, "lines 3-9"),
            (Pointer::Section { section: 4, title: None, page: None }, "section 4"),
        ] {
            assert_eq!(pointer.to_string(), text);
            assert_eq!(Pointer::parse(text), Some(pointer), "{text}");
        }
    }

    #[test]
    fn what_people_type_finds_the_unit() {
        let section = Pointer::Section { section: 4, title: Some("Scope".into()), page: Some(3) };
        assert_eq!(section.to_string(), "page 3, section 'Scope'");
        for text in ["page 3", "Page 3, section 'Scope'", "section 'scope'", "section 4"] {
            assert!(section.answers(&Pointer::parse(text).unwrap()), "{text}");
        }
        let rows = Pointer::Rows { sheet: Some("Q2".into()), first_row: 41, last_row: 80 };
        for text in ["sheet 'Q2'", "sheet Q2", "sheet 'q2' rows 60-61", "sheet \"Q2\" row 41"] {
            assert!(rows.answers(&Pointer::parse(text).unwrap()), "{text}");
        }
        assert!(!rows.answers(&Pointer::parse("sheet 'Q2' rows 1-40").unwrap()));
        assert!(!rows.answers(&Pointer::parse("page 1").unwrap()));
        for text in ["", "page", "page 0", "page x", "rows 9-3", "sheet '", "12", "lines -", "1:2:3:4"] {
            assert_eq!(Pointer::parse(text), None, "{text}");
        }
    }

    #[test]
    fn d142_spans() {
        assert_eq!(Pointer::Slide { slide: 2, notes: true }.span(), Some(Span::Page { page: 2 }));
        assert_eq!(Pointer::Document.span(), None);
    }
}
