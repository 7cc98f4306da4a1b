//! A text as its reader takes it in: without the characters that are not seen, with digits and blanks in their plain
//! form. Rules that look at such a text are not misled by a zero-width space in the middle of a card number.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::RedactedSpan;
use crate::deny::is_ignorable;

/// A folded text and the way back to the original.
pub(super) struct Folded<'t> {
    pub(super) text: Cow<'t, str>,
    /// Places where something was replaced, in order; empty where the text is as it was.
    changes: Vec<FoldedChange>,
}

/// A piece of the original and what replaces it in the folded text.
struct FoldedChange {
    /// Where the piece begins in the original, and its length.
    original: usize,
    original_len: usize,
    /// Where its replacement begins in the folded text, and its length.
    folded: usize,
    folded_len: usize,
}

impl<'t> Folded<'t> {
    pub(super) fn new(text: &'t str) -> Folded<'t> {
        let mut folded = String::new();
        let mut changes = Vec::new();
        let mut copied = 0;
        for (at, length, replacement) in replacements(text) {
            folded.push_str(&text[copied..at]);
            let start = folded.len();
            folded.extend(replacement);
            changes.push(FoldedChange {
                original: at,
                original_len: length,
                folded: start,
                folded_len: folded.len() - start,
            });
            copied = at + length;
        }
        if changes.is_empty() {
            return Folded { text: Cow::Borrowed(text), changes };
        }
        folded.push_str(&text[copied..]);
        Folded { text: Cow::Owned(folded), changes }
    }

    /// The span of the original that became a span of the folded text.
    pub(super) fn original(&self, span: RedactedSpan) -> RedactedSpan {
        RedactedSpan {
            start: self.place(span.start, false),
            end: self.place(span.end, true),
            kind: span.kind,
        }
    }

    /// What was removed belongs to the text behind it where a span begins, and to none where it ends.
    fn place(&self, folded: usize, is_end: bool) -> usize {
        let before = |change: &FoldedChange| {
            let end = change.folded + change.folded_len;
            if is_end { end < folded || (end == folded && change.folded_len > 0) } else { end <= folded }
        };
        let next = self.changes.partition_point(before);
        match next.checked_sub(1).map(|last| &self.changes[last]) {
            Some(last) => last.original + last.original_len + (folded - last.folded - last.folded_len),
            None => folded,
        }
    }
}

/// The pieces to replace, as place, length and replacement, in order and without overlaps.
fn replacements(text: &str) -> Vec<(usize, usize, Option<char>)> {
    let mut found: Vec<(usize, usize, Option<char>)> = Vec::new();
    if !text.is_ascii() {
        let plain = |(at, c): (usize, char)| {
            if is_ignorable(c) {
                Some((at, c.len_utf8(), None))
            } else {
                Some((at, c.len_utf8(), Some(plain(c)?)))
            }
        };
        found.extend(text.char_indices().filter_map(plain));
    }
    if text.contains('&') || text.contains("<wbr") {
        let characters = found.len();
        found.extend(ENTITY.captures_iter(text).filter_map(|entity| {
            let whole = entity.get(0)?;
            Some((whole.start(), whole.len(), named(whole.as_str(), entity.get(1), entity.get(2))?))
        }));
        if characters > 0 {
            // An entity is ASCII and a character of the other kind is not: nothing overlaps.
            found.sort_unstable_by_key(|(at, ..)| *at);
        }
    }
    found
}

static ENTITY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)&#(\d{2,6});|&#x([0-9a-f]{2,5});|&(?:nbsp|thinsp|ensp|emsp|shy|zwj|zwnj|zerowidthspace|hyphen|ndash|plus|period|lpar|rpar|sol|colon);|<wbr ?/?>",
    )
    .expect("the pattern is a constant, compiled by the tests")
});

/// What an entity stands for: `None` where it is none of ours, `Some(None)` where nothing is seen of it.
fn named(
    whole: &str,
    decimal: Option<regex::Match<'_>>,
    hex: Option<regex::Match<'_>>,
) -> Option<Option<char>> {
    let code = match (decimal, hex) {
        (Some(digits), _) => digits.as_str().parse().ok(),
        (_, Some(digits)) => u32::from_str_radix(digits.as_str(), 16).ok(),
        (None, None) => {
            return Some(match whole.to_ascii_lowercase().as_str() {
                "&nbsp;" | "&thinsp;" | "&ensp;" | "&emsp;" => Some(' '),
                "&hyphen;" | "&ndash;" => Some('-'),
                "&plus;" => Some('+'),
                "&period;" => Some('.'),
                "&lpar;" => Some('('),
                "&rpar;" => Some(')'),
                "&sol;" => Some('/'),
                "&colon;" => Some(':'),
                _ => None,
            });
        }
    };
    match char::from_u32(code?)? {
        c if is_ignorable(c) => Some(None),
        // The sign of an address has a rule of its own; what marks a template is not ours to decode.
        c if c.is_ascii_alphanumeric() || " +-./()_:".contains(c) => Some(Some(c)),
        c => plain(c).map(Some),
    }
}

/// The plain form of a digit, a blank or a sign that is written in another way.
fn plain(c: char) -> Option<char> {
    let digit = |zero: char| char::from_digit((c as u32 - zero as u32) % 10, 10);
    match c {
        // Full width, which East Asian keyboards write. The sign of an address has a rule of its own.
        '\u{ff20}' => None,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xff01 + 0x21),
        '\u{660}'..='\u{669}' => digit('\u{660}'),
        '\u{6f0}'..='\u{6f9}' => digit('\u{6f0}'),
        '\u{966}'..='\u{96f}' => digit('\u{966}'),
        '\u{1d7ce}'..='\u{1d7ff}' => digit('\u{1d7ce}'),
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(' '),
        '\u{2010}'..='\u{2013}' | '\u{2212}' | '\u{fe63}' => Some('-'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::RedactionKind;

    #[test]
    fn what_is_not_seen_is_left_out_and_found_again() {
        let text = "a\u{200b}4\u{ad}1&nbsp;１\u{feff}b&#8203;";
        let folded = Folded::new(text);
        assert_eq!(folded.text, "a41 1b");
        let back = |start: usize, end: usize| {
            let span = folded.original(RedactedSpan { start, end, kind: RedactionKind::Card });
            &text[span.start..span.end]
        };
        assert_eq!(back(0, 1), "a");
        assert_eq!(back(1, 5), "4\u{ad}1&nbsp;１");
        assert_eq!(back(5, 6), "b");
        assert_eq!(back(0, 6), "a\u{200b}4\u{ad}1&nbsp;１\u{feff}b");
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(Folded::new("R&D; a < b & grün").text, Cow::Borrowed(_)));
        assert_eq!(Folded::new("&lt;x&gt; &amp; &#60;").text, "&lt;x&gt; &amp; &#60;");
    }
}
