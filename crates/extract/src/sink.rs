//! Where extractors put their units: cleans the text, keeps the limits, remembers what was odd.

use std::rc::Rc;

use model::{Pointer, SkipReason};

use crate::diagnostic::Diagnostic;
use crate::extraction::Unit;
use crate::format::Format;
use crate::limits::{Limit, Meter};

/// Why an extractor stops before the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Halt {
    /// Nothing of it may or can be used.
    Skip(SkipReason),
    /// A bound was met; what there is stays.
    Limit(Limit),
    /// The bytes make no sense from here on; what there is stays.
    Broken(String),
}

impl From<Limit> for Halt {
    fn from(limit: Limit) -> Halt {
        Halt::Limit(limit)
    }
}

pub(crate) type Outcome<T = ()> = Result<T, Halt>;

/// A shorthand for what cannot be read.
pub(crate) fn broken<T>(detail: impl Into<String>) -> Outcome<T> {
    Err(Halt::Broken(detail.into()))
}

/// What is said of a document that a password protects.
pub(crate) fn encrypted(format: Format) -> Halt {
    Halt::Skip(SkipReason::Encrypted { format: format.to_string() })
}

#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) format: Format,
    /// Shared with the readers that are open while the sink takes units.
    pub(crate) meter: Rc<Meter>,
    pub(crate) title: Option<String>,
    pub(crate) units: Vec<Unit>,
    pub(crate) parts: u32,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) unread_pages: Vec<u32>,
    chars: u64,
}

impl Sink {
    /// A longer list would not be read.
    const MAX_DIAGNOSTICS: usize = 50;
    const MAX_TITLE_CHARS: usize = 200;

    pub(crate) fn new(format: Format, meter: Rc<Meter>) -> Sink {
        Sink {
            format,
            meter,
            title: None,
            units: Vec::new(),
            parts: 0,
            diagnostics: Vec::new(),
            unread_pages: Vec::new(),
            chars: 0,
        }
    }

    /// Takes a unit; one without text is dropped.
    pub(crate) fn unit(&mut self, pointer: Pointer, title: Option<&str>, text: &str) -> Outcome {
        let mut text = clean(text);
        if text.is_empty() {
            return Ok(());
        }
        if self.units.len() >= self.meter.limits().max_units as usize {
            return Err(Limit::Units.into());
        }
        let left = usize::try_from(self.meter.limits().max_output_chars.saturating_sub(self.chars));
        let cut = left.ok().and_then(|left| text.char_indices().nth(left)).map(|(at, _)| at);
        if let Some(at) = cut {
            text.truncate(at);
        }
        self.chars += text.chars().count() as u64;
        let title = title.and_then(short);
        if !text.is_empty() {
            self.units.push(Unit { pointer, title, text });
        }
        if cut.is_some() { Err(Limit::OutputChars.into()) } else { Ok(()) }
    }

    pub(crate) fn title(&mut self, title: &str) {
        if self.title.is_none() {
            self.title = short(title);
        }
    }

    pub(crate) fn note(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < Self::MAX_DIAGNOSTICS && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Notes what went wrong in one part, so that the others are read all the same. Limits and refusals pass.
    pub(crate) fn tolerate<T>(&mut self, place: &str, result: Outcome<T>) -> Outcome<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Halt::Broken(detail)) => {
                self.note(Diagnostic::Damaged { place: short(place).unwrap_or_default(), detail });
                Ok(None)
            }
            Err(Halt::Limit(limit @ (Limit::MemberBytes | Limit::Nesting))) => {
                self.note(Diagnostic::Stopped { limit });
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }
}

/// One line, cut to a length that fits a heading.
fn short(title: &str) -> Option<String> {
    let line = clean(title).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return None;
    }
    Some(match line.char_indices().nth(Sink::MAX_TITLE_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    })
}

/// `\n` line ends, no control characters, no blanks at line ends, at most one empty line in a row, none around.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut line_ends = 0usize;
    let mut blanks = String::new();
    let mut after_return = false;
    for character in text.chars() {
        let returned = std::mem::replace(&mut after_return, character == '\r');
        match character {
            '\n' if returned => {}
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                line_ends += 1;
                blanks.clear();
            }
            ' ' | '\t' => blanks.push(character),
            '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{2000}'..='\u{200a}' | '\u{3000}' => blanks.push(' '),
            // Soft hyphens and zero-width marks split words that people search for as one.
            '\u{ad}' | '\u{200b}' | '\u{feff}' | '\u{2060}' | '\u{fffe}' | '\u{ffff}' => {}
            // Marks that make a text read otherwise than it is stored.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            other if other.is_control() => {}
            other => {
                if line_ends > 0 && !out.is_empty() {
                    out.extend(std::iter::repeat_n('\n', line_ends.min(2)));
                }
                line_ends = 0;
                out.push_str(&blanks);
                blanks.clear();
                out.push(other);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn cleaned_text() {
        assert_eq!(clean("  a \r\n\r\n\n\n b\u{0}\u{ad}c\u{a0}d \n"), "  a\n\n b\u{63} d");
        assert_eq!(clean("a\rb\u{c}c\r\nd"), "a\nb\nc\nd");
        assert_eq!(clean("\u{202e}abc\u{7f} "), "abc");
        assert_eq!(clean(" \n \n"), "");
    }
}
