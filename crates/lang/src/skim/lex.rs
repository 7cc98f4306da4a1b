//! Just enough of the words and signs of a language to know which braces belong together.

/// What the languages differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    C,
    Java,
    CSharp,
    Go,
    Php,
    Rust,
    JavaScript,
    TypeScript,
}

impl Dialect {
    pub(crate) fn is_script(self) -> bool {
        matches!(self, Dialect::JavaScript | Dialect::TypeScript)
    }

    /// Whether of a text with errors the shorter one is as good. In C an error is a macro mostly, and the whole text
    /// has more of them. Elsewhere it is syntax that the grammar does not know, and recovery needs what is around.
    pub(crate) fn bears_errors(self) -> bool {
        !self.is_script() && self != Dialect::CSharp
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'s> {
    /// A name, a keyword or a number.
    Word(&'s str),
    /// A whole string, character or regular expression.
    Text,
    Sign(u8),
    /// `=>`
    Arrow,
    /// A line for the preprocessor, by its first word.
    Directive(&'s str),
    Start,
}

pub(crate) struct Lexer<'s> {
    pub(super) source: &'s str,
    pub(super) bytes: &'s [u8],
    pub(super) dialect: Dialect,
    pub(crate) at: usize,
    /// How many braces are open inside each template string that is being read.
    pub(super) templates: Vec<usize>,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str, dialect: Dialect) -> Lexer<'s> {
        let mut lexer = Lexer { source, bytes: source.as_bytes(), dialect, at: 0, templates: Vec::new() };
        if dialect == Dialect::Php {
            lexer.page();
        }
        lexer
    }

    pub(super) fn rest(&self) -> &'s [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The next token. `value` says whether what comes before it is a value, so that `/` divides it.
    pub(crate) fn next(&mut self, value: bool) -> Option<Token<'s>> {
        let scripts = self.dialect.is_script();
        loop {
            let byte = *self.bytes.get(self.at)?;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' => self.at += 1,
                b'/' if self.peek(1) == b'/' => self.line(),
                b'/' if self.peek(1) == b'*' => self.comment(),
                b'#' if matches!(self.dialect, Dialect::C | Dialect::CSharp) => {
                    return Some(self.directive());
                }
                b'#' if self.dialect == Dialect::Php && self.peek(1) != b'[' => self.line(),
                b'?' if self.dialect == Dialect::Php && self.peek(1) == b'>' => {
                    self.page();
                    return Some(Token::Sign(b';'));
                }
                b'#' if scripts && self.at == 0 && self.peek(1) == b'!' => self.line(),
                b'/' if scripts && !value => return Some(self.regex()),
                b'"' | b'`' if self.dialect == Dialect::Php => return Some(self.filled(byte)),
                b'<' if self.dialect == Dialect::Php && self.rest().starts_with(b"<<<") => {
                    return Some(self.heredoc());
                }
                b'"' | b'$' | b'@' if self.dialect == Dialect::CSharp => {
                    return Some(self.prefixed().unwrap_or_else(|| match byte {
                        b'"' => self.quote(byte),
                        _ => self.sign(byte),
                    }));
                }
                b'"' | b'\'' => return Some(self.quote(byte)),
                b'`' if scripts => {
                    self.at += 1;
                    return Some(self.template());
                }
                b'`' if self.dialect == Dialect::Go => {
                    self.at += 1;
                    self.at = self.find(b"`");
                    return Some(Token::Text);
                }
                b'{' => {
                    if let Some(open) = self.templates.last_mut() {
                        *open += 1;
                    }
                    self.at += 1;
                    return Some(Token::Sign(byte));
                }
                b'}' => {
                    self.at += 1;
                    match self.templates.last_mut() {
                        Some(0) => {
                            self.templates.pop();
                            return Some(self.template());
                        }
                        Some(open) => *open -= 1,
                        None => {}
                    }
                    return Some(Token::Sign(byte));
                }
                b'=' if self.peek(1) == b'>' => {
                    self.at += 2;
                    return Some(Token::Arrow);
                }
                _ if is_word(byte) => return Some(self.word()),
                _ => return Some(self.sign(byte)),
            }
        }
    }

    fn sign(&mut self, byte: u8) -> Token<'s> {
        self.at += 1;
        Token::Sign(byte)
    }

    /// What is outside of `<?php … ?>`.
    fn page(&mut self) {
        self.at = self.find(b"<?");
    }

    /// Whether the word that ends here begins a line.
    pub(super) fn is_at_line_start(&self, word: usize) -> bool {
        let start = self.at - word;
        start == 0 || self.bytes.get(start - 1) == Some(&b'\n')
    }

    pub(super) fn closes_next(&self) -> bool {
        self.next_on_line() == Some(b'}')
    }

    pub(super) fn opens_next(&self) -> bool {
        self.next_on_line() == Some(b'{')
    }

    pub(super) fn is_called_next(&self) -> bool {
        matches!(self.next_on_line(), Some(b'(' | b'.' | b'?'))
    }

    fn next_on_line(&self) -> Option<u8> {
        self.bytes.get(self.at..)?.iter().copied().find(|byte| !matches!(byte, b' ' | b'\t'))
    }

    pub(super) fn has_line_end(&self, start: usize, end: usize) -> bool {
        self.bytes.get(start..end).is_some_and(|inside| memchr::memchr(b'\n', inside).is_some())
    }

    fn line(&mut self) {
        let rest = self.rest();
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        // In PHP the page goes on even behind a comment.
        let page =
            if self.dialect == Dialect::Php { memchr::memmem::find(&rest[..end], b"?>") } else { None };
        self.at += page.unwrap_or(end);
    }

    /// Where the needle ends, or the text.
    pub(super) fn find(&self, needle: &[u8]) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        memchr::memmem::find(rest, needle).map_or(self.bytes.len(), |found| self.at + found + needle.len())
    }

    fn comment(&mut self) {
        self.at += 2;
        if self.dialect != Dialect::Rust {
            self.at = self.find(b"*/");
            return;
        }
        // Rust's nest.
        let mut depth = 1;
        while depth > 0 {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(found) = memchr::memchr2(b'*', b'/', rest) else {
                self.at = self.bytes.len();
                return;
            };
            self.at += found;
            match (self.peek(0), self.peek(1)) {
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                }
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
    }

    fn directive(&mut self) -> Token<'s> {
        self.at += 1;
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        let start = self.at;
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        let name = &self.source[start..self.at];
        // To the end of the line that does not continue; a comment may hide that end.
        loop {
            let rest = &self.bytes[self.at..];
            match memchr::memchr2(b'\n', b'/', rest) {
                None => {
                    self.at = self.bytes.len();
                    break;
                }
                Some(found) if rest[found] == b'/' => {
                    self.at += found;
                    match self.peek(1) {
                        b'*' => self.comment(),
                        b'/' => self.line(),
                        _ => self.at += 1,
                    }
                }
                Some(found) => {
                    self.at += found + 1;
                    let line = rest[..found].strip_suffix(b"\r").unwrap_or(&rest[..found]);
                    if !line.ends_with(b"\\") {
                        break;
                    }
                }
            }
        }
        Token::Directive(name)
    }

    fn word(&mut self) -> Token<'s> {
        let start = self.at;
        let number = self.peek(0).is_ascii_digit();
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            // `1'000` is one number in C++.
            let separated = *byte == b'\'' && number && self.dialect == Dialect::C && is_word(self.peek(1));
            if !is_word(*byte) && !separated {
                break;
            }
            self.at += 1;
        }
        let word = self.source.get(start..self.at).unwrap_or("");
        match (self.dialect, self.peek(0), word) {
            (Dialect::Rust, b'"', "r" | "br" | "cr") | (Dialect::Rust, b'#', "r" | "br" | "cr") => {
                self.raw_rust(word)
            }
            (Dialect::C, b'"', "R" | "LR" | "uR" | "UR" | "u8R") => self.raw_c(),
            _ => Token::Word(word),
        }
    }
}

/// Letters beyond ASCII are parts of words.
pub(super) fn is_word(byte: u8) -> bool {
    const WORD: [bool; 256] = {
        let mut word = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            let b = byte as u8;
            word[byte] = b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80;
            byte += 1;
        }
        word
    };
    WORD[byte as usize]
}
