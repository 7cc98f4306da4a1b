//! A place in a text that a keyword pointed out, and the alphabets to read around it.

use std::ops::Range;

use crate::place::{SecretPlace, Sort};

/// No key is longer than this; a longer run is data of another kind.
pub(crate) const LONGEST: usize = 512;

/// A keyword found in a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeywordSite<'t> {
    pub(crate) text: &'t [u8],
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// What sort of file it is.
    pub(crate) place: SecretPlace,
}

impl<'t> KeywordSite<'t> {
    /// As it is written in the text.
    pub(crate) fn keyword(self) -> &'t [u8] {
        &self.text[self.start..self.end]
    }

    /// At most this many bytes before the keyword, on its line.
    pub(crate) fn before(self, most: usize) -> &'t [u8] {
        let before = &self.text[self.start.saturating_sub(most)..self.start];
        let line = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        &before[line..]
    }

    pub(crate) fn after(self, most: usize) -> &'t [u8] {
        &self.text[self.end..self.text.len().min(self.end + most)]
    }

    /// From the keyword on.
    pub(crate) fn window(self, most: usize) -> &'t [u8] {
        &self.text[self.start..self.text.len().min(self.start + most)]
    }

    /// From the keyword to the end of a value that was read after it.
    pub(crate) fn with(self, value: &[u8]) -> &'t [u8] {
        &self.text[self.start..self.range_of(value).end]
    }

    /// The byte range of a part of the text.
    pub(crate) fn range_of(self, part: &[u8]) -> Range<usize> {
        let start = part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr()).min(self.text.len());
        start..(start + part.len()).min(self.text.len())
    }

    /// The keyword is not the middle of a longer word (`ask_`, `msg.`). A `\n` written out is a border.
    pub(crate) fn starts_word(self) -> bool {
        match self.text[..self.start] {
            [.., b'\\', b'n' | b'r' | b't'] => true,
            [.., byte] => !byte.is_ascii_alphanumeric() && byte != b'_',
            [] => true,
        }
    }

    /// In an example of a manual, where values that look like secrets show how a setting is written: a program of its own,
    /// or a part of the page that is indented, quoted or fenced. What a manual says by itself is no example.
    pub(crate) fn is_sample(self) -> bool {
        const FENCE: &[u8] = b"```";
        // What is looked at for fences: a page with many samples must not be read once for each.
        const BACK: usize = 8 << 10;
        if !self.place.shows_examples() {
            return false;
        }
        let indented = || matches!(self.before(usize::MAX), [b' ', b' ', ..] | [b'\t', ..]);
        let quoted = || self.before(usize::MAX).iter().any(|byte| matches!(byte, b'`' | b'>'));
        let before = &self.text[self.start.saturating_sub(BACK)..self.start];
        let fenced = || before.windows(3).filter(|part| *part == FENCE).count() % 2 == 1;
        match self.place.sort {
            Sort::Sample => true,
            Sort::Docs => indented() || quoted() || fenced(),
            _ => false,
        }
    }

    /// The identifier that the keyword is part of, up to the keyword's end.
    pub(crate) fn name_before(self) -> &'t [u8] {
        let before = self.before(48);
        let start = before.iter().rposition(|&byte| !dashed(byte) && byte != b'.').map_or(0, |at| at + 1);
        &before[start..]
    }
}

pub(crate) fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

pub(crate) fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(crate) fn dashed(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

pub(crate) fn dashed_padded(byte: u8) -> bool {
    dashed(byte) || matches!(byte, b'=' | b'+' | b'/')
}

pub(crate) fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

pub(crate) fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

pub(crate) fn lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

pub(crate) fn upper_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

pub(crate) fn run(text: &[u8], alphabet: fn(u8) -> bool) -> &[u8] {
    &text[..text.iter().position(|&byte| !alphabet(byte)).unwrap_or(text.len())]
}
