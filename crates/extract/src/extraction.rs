//! What comes out of a document: units of text with their places, and what was left out.

use model::{Pointer, SkipReason};
use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::format::Format;

/// The result of one extraction. There is always one: whatever the bytes were, either units or a skip reason say so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extraction {
    /// What the content is, whatever the name says.
    pub format: Format,
    /// The title that the document gives itself.
    pub title: Option<String>,
    /// In reading order. Pages without text are left out here, their numbers are not given to others.
    pub units: Vec<Unit>,
    /// How many pages, slides or sheets there are, the empty ones included.
    pub parts: u32,
    /// Why there are no units.
    pub skip: Option<SkipReason>,
    /// What was left out or looked odd, in the order of its finding; the same thing is said once.
    pub diagnostics: Vec<Diagnostic>,
    /// Pages whose words are in a picture or drawn, in order: recognition can read them ([`crate::picture`]). A page may be
    /// here and among the units, too: then its text layer is a stamp over a scan, or unreadable characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread_pages: Vec<u32>,
}

/// A piece of text that has a place of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    pub pointer: Pointer,
    /// The heading, slide title or subject above it.
    pub title: Option<String>,
    /// UTF-8 with `\n` line ends and no control characters; tables and links in Markdown.
    pub text: String,
}

impl Extraction {
    /// All units as one text with an empty line between two: the representation.
    pub fn joined(&self) -> String {
        let mut text = String::with_capacity(self.units.iter().map(|unit| unit.text.len() + 2).sum());
        for unit in &self.units {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&unit.text);
        }
        text
    }

    /// The first and the last line of each unit in the joined text, from 1.
    pub fn unit_lines(&self) -> Vec<(u32, u32)> {
        let mut next = 1u32;
        let lines = self.units.iter().map(|unit| {
            let more = u32::try_from(unit.text.bytes().filter(|byte| *byte == b'\n').count());
            let (first, last) = (next, next.saturating_add(more.unwrap_or(u32::MAX)));
            next = last.saturating_add(2);
            (first, last)
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use model::Pointer;

    use super::{Extraction, Unit};
    use crate::Format;

    #[test]
    fn joined_units_know_their_lines() {
        let unit =
            |page, text: &str| Unit { pointer: Pointer::Page { page }, title: None, text: text.to_owned() };
        let extraction = Extraction {
            format: Format::Pdf,
            title: None,
            units: vec![unit(1, "a\nb"), unit(3, "c"), unit(4, "d\ne")],
            parts: 4,
            skip: None,
            diagnostics: vec![],
            unread_pages: vec![],
        };
        let (text, lines) = (extraction.joined(), extraction.unit_lines());
        assert_eq!(text, "a\nb\n\nc\n\nd\ne");
        assert_eq!(lines, [(1, 2), (4, 4), (6, 7)]);
        let all: Vec<&str> = text.split('\n').collect();
        for ((first, last), unit) in lines.iter().zip(&extraction.units) {
            assert_eq!(all[*first as usize - 1..*last as usize].join("\n"), unit.text);
        }
    }
}
