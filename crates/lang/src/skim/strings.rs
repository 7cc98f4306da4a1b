//! Skips strings, whose braces do not count. Each language has its own kinds.

use super::lex::{Dialect, Lexer, Token, is_word};

impl<'s> Lexer<'s> {
    /// A string, a character, or the sign of a lifetime.
    pub(super) fn quote(&mut self, mark: u8) -> Token<'s> {
        if mark == b'"' && self.dialect == Dialect::Java && self.bytes[self.at..].starts_with(b"\"\"\"") {
            self.at += 3;
            self.until(b"\"\"\"");
            return Token::Text;
        }
        if mark == b'\'' && self.dialect == Dialect::Rust && self.peek(1) != b'\\' {
            let letter = self.source.get(self.at + 1..).and_then(|rest| rest.chars().next());
            if self.peek(1 + letter.map_or(1, char::len_utf8)) != b'\'' {
                self.at += 1;
                return Token::Sign(b'\'');
            }
        }
        self.at += 1;
        let lines = matches!(self.dialect, Dialect::Rust | Dialect::Php);
        while let Some(found) = memchr::memchr3(mark, b'\\', b'\n', self.rest()) {
            self.at += found;
            match self.peek(0) {
                b'\\' => self.at += 2,
                // What is not closed on its line was no string.
                b'\n' if !lines => return Token::Text,
                b'\n' => self.at += 1,
                _ => {
                    self.at += 1;
                    return Token::Text;
                }
            }
        }
        self.at = self.bytes.len();
        Token::Text
    }

    /// To the end of the mark that is not escaped.
    fn until(&mut self, mark: &[u8]) {
        while let Some(found) = memchr::memchr2(mark[0], b'\\', self.rest()) {
            self.at += found;
            if self.peek(0) == b'\\' {
                self.at += 2;
            } else if self.bytes[self.at..].starts_with(mark) {
                self.at += mark.len();
                return;
            } else {
                self.at += 1;
            }
        }
        self.at = self.bytes.len();
    }

    /// The text of a template string up to its end or the next `${`.
    pub(super) fn template(&mut self) -> Token<'s> {
        while let Some(found) = memchr::memchr3(b'`', b'\\', b'$', self.rest()) {
            self.at += found;
            match (self.peek(0), self.peek(1)) {
                (b'\\', _) => self.at += 2,
                (b'$', b'{') => {
                    self.at += 2;
                    self.templates.push(0);
                    return Token::Text;
                }
                (b'`', _) => {
                    self.at += 1;
                    return Token::Text;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.bytes.len();
        Token::Text
    }

    pub(super) fn regex(&mut self) -> Token<'s> {
        let start = self.at;
        self.at += 1;
        let mut class = false;
        loop {
            match self.peek(0) {
                b'\\' => self.at += 1,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => {
                    self.at += 1;
                    return Token::Text;
                }
                b'\n' | 0 => {
                    self.at = start + 1;
                    return Token::Sign(b'/');
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// `r#"…"#`; or `r#name`, which is a name.
    pub(super) fn raw_rust(&mut self, word: &'s str) -> Token<'s> {
        let mut hashes = 0;
        while self.peek(hashes) == b'#' {
            hashes += 1;
        }
        if self.peek(hashes) != b'"' {
            return Token::Word(word);
        }
        self.at += hashes + 1;
        let end = format!("\"{}", "#".repeat(hashes));
        self.at = self.find(end.as_bytes());
        Token::Text
    }

    /// `R"mark(…)mark"`
    pub(super) fn raw_c(&mut self) -> Token<'s> {
        let rest = &self.bytes[self.at + 1..];
        let Some(open) = memchr::memchr(b'(', rest).filter(|open| *open <= 16) else {
            return self.quote(b'"');
        };
        let mut end = vec![b')'];
        end.extend_from_slice(&rest[..open]);
        end.push(b'"');
        self.at += open + 2;
        self.at = self.find(&end);
        Token::Text
    }

    /// PHP's `"…{$a["b"]}…"` and `` `…` ``: over lines, with values in braces.
    pub(super) fn filled(&mut self, mark: u8) -> Token<'s> {
        self.at += 1;
        while let Some(found) = memchr::memchr3(mark, b'\\', b'{', self.rest()) {
            self.at += found;
            match (self.peek(0), self.peek(1)) {
                (b'\\', _) => self.at += 2,
                (b'{', b'$') => self.value(),
                (b'{', _) => self.at += 1,
                _ => {
                    self.at += 1;
                    return Token::Text;
                }
            }
        }
        self.at = self.bytes.len();
        Token::Text
    }

    /// To behind the brace that closes the one here; strings inside are read as such.
    fn value(&mut self) {
        let mut open = 0_usize;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match byte {
                b'{' => open += 1,
                b'}' if open <= 1 => {
                    self.at += 1;
                    return;
                }
                b'}' => open -= 1,
                b'"' | b'$' | b'@' if self.dialect == Dialect::CSharp && self.prefixed().is_some() => {
                    continue;
                }
                b'"' | b'\'' => {
                    self.quote(byte);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// PHP's `<<<MARK`, to the line that begins with the mark.
    pub(super) fn heredoc(&mut self) -> Token<'s> {
        self.at += 3;
        while matches!(self.peek(0), b' ' | b'\t' | b'"' | b'\'') {
            self.at += 1;
        }
        let start = self.at;
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        let mark = &self.bytes[start..self.at];
        while !mark.is_empty()
            && let Some(found) = memchr::memchr(b'\n', self.rest())
        {
            self.at += found + 1;
            let blanks = self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            if self.rest()[blanks..].starts_with(mark) && !is_word(self.peek(blanks + mark.len())) {
                self.at += blanks + mark.len();
                return Token::Text;
            }
        }
        self.at = self.bytes.len();
        Token::Text
    }

    /// C#'s strings that begin with `$` and `@`, and those in three quotes or more; none if no string begins here.
    pub(super) fn prefixed(&mut self) -> Option<Token<'s>> {
        // Nobody writes more; hostile text has as many as it likes.
        const MAX_SIGNS: usize = 16;
        let signs = self.rest().iter().take(MAX_SIGNS).take_while(|byte| matches!(byte, b'$' | b'@')).count();
        let quotes = self.rest()[signs..].iter().take_while(|byte| **byte == b'"').count();
        let signed = &self.rest()[..signs];
        let (values, verbatim) = (signed.contains(&b'$'), signed.contains(&b'@'));
        if quotes >= 3 && !verbatim {
            let mark = "\"".repeat(quotes);
            self.at += signs + quotes;
            self.at = self.find(mark.as_bytes());
            return Some(Token::Text);
        }
        if signs == 0 || quotes == 0 {
            return None;
        }
        self.at += signs + 1;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match byte {
                b'"' if verbatim && self.peek(1) == b'"' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    break;
                }
                b'\\' if !verbatim => self.at += 2,
                b'{' if values && self.peek(1) == b'{' => self.at += 2,
                b'{' if values => self.value(),
                b'\n' if !verbatim && !values => break,
                _ => self.at += 1,
            }
        }
        Some(Token::Text)
    }
}
