//! A place in a line that moves forward over words, brackets and strings.

/// Brackets that do not close within this many bytes are taken as broken.
const LONGEST_BRACKETS: usize = 2_000;

#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// The end of the line.
    end: usize,
    /// Brackets did not close: nothing more can be said of the line.
    stuck: bool,
}

/// A name with what qualifies it: `a::b`, `self.b`, `List<T>.b`.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamePath {
    pub(super) last: (usize, usize),
    pub(super) is_qualified: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, at: usize, end: usize) -> Cursor<'a> {
        Cursor { text, at, end, stuck: false }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// What is left of the line.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..self.end]
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest().as_bytes().first().copied()
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.stuck
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.end);
    }

    pub(super) fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    pub(super) fn skip_byte(&mut self, byte: u8) {
        if self.peek() == Some(byte) {
            self.at += 1;
        }
    }

    pub(super) fn skip_string(&mut self) {
        let closing = self.rest().get(1..).and_then(|rest| rest.find('"'));
        self.at = closing.map_or(self.end, |length| self.at + length + 2);
        self.skip_spaces();
    }

    /// `#[…]`, `@Name(…)`, `/* … */` and spaces.
    pub(super) fn skip_attributes(&mut self) {
        loop {
            self.skip_spaces();
            let rest = self.rest();
            if rest.starts_with("#[") {
                self.at += 1;
                self.skip_balanced(b'[', b']');
            } else if rest.starts_with("/*") {
                self.at = rest.find("*/").map_or(self.end, |length| self.at + length + 2);
            } else if rest.starts_with("@interface ") {
                // Java's word for an annotation type.
                self.at += 1;
                return;
            } else if rest.starts_with('@') {
                self.at += 1;
                while self.word().is_some() && self.peek() == Some(b'.') {
                    self.at += 1;
                }
                self.skip_balanced(b'(', b')');
            } else {
                return;
            }
            if self.stuck || self.rest().is_empty() {
                return;
            }
        }
    }

    /// The word that begins here.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let length = rest
            .bytes()
            .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80))
            .unwrap_or(rest.len());
        let word = &rest[..length];
        if word.is_empty() || word.as_bytes()[0].is_ascii_digit() {
            return None;
        }
        self.at += length;
        Some(word)
    }

    /// The name that begins here, with what qualifies it.
    pub(super) fn path(&mut self) -> Option<NamePath> {
        let mut is_qualified = false;
        loop {
            let start = self.at;
            self.word()?;
            let last = (start, self.at);
            let mut ahead = *self;
            if ahead.peek() == Some(b'<') {
                // `List<T>.name`; elsewhere the parameters of the name itself.
                ahead.skip_balanced(b'<', b'>');
                if ahead.stuck || ahead.peek() != Some(b'.') {
                    return Some(NamePath { last, is_qualified });
                }
            }
            let joint = ahead.rest().bytes().take_while(|byte| matches!(byte, b'.' | b':' | b'#')).count();
            ahead.advance(joint);
            ahead.skip_byte(b'~');
            let continues =
                ahead.peek().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$'));
            if joint == 0 || joint > 2 || !continues {
                return Some(NamePath { last, is_qualified });
            }
            *self = ahead;
            is_qualified = true;
        }
    }

    /// Moves behind the closing bracket if there is an opening one here; it may be on a later line.
    pub(super) fn skip_balanced(&mut self, open: u8, close: u8) {
        if self.peek() != Some(open) {
            return;
        }
        match closing(&self.text[self.at..], open, close) {
            Some(length) if self.at + length <= self.end => self.at += length,
            _ => {
                self.stuck = true;
                self.at = self.end;
            }
        }
    }

    /// What follows the brackets that open here, on whatever line they close.
    pub(super) fn behind_brackets(&self) -> Option<&'a str> {
        let length = closing(&self.text[self.at..], b'(', b')')?;
        Some(&self.text[self.at + length..])
    }

    /// What the next line begins with.
    pub(super) fn next_line(&self) -> Option<u8> {
        self.text[self.end..].trim_start().as_bytes().first().copied()
    }
}

/// How many bytes there are up to the bracket that closes the first one, that one included.
fn closing(text: &str, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate().take(LONGEST_BRACKETS) {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}
