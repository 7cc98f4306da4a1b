//! Macros of C and C++ that are no part of the grammar: `class EXPORT A`, `API int run()`, `void stop() LOCKED(mutex);`.
//!
//! The preprocessor removes or expands them before a compiler parses the text. A parser that sees them takes them for
//! types, and then misses the declaration or gives it the wrong name. So what the grammar reads has blanks in their place.
//! A macro is recognised by its name, which is in capitals, and by standing where a type or a name cannot.

use std::ops::Range;

use crate::skim::{Dialect, Lexer, Token};

/// The macros of a text with their arguments, in order.
pub(super) fn find(source: &str) -> Vec<Range<usize>> {
    let words = Words::read(source);
    let mut found = Vec::new();
    let mut around = Vec::new();
    // What comes before the current token, without the macros that were found.
    let mut before: Vec<usize> = Vec::with_capacity(8);
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut callee = None;
    let mut at = 0;
    while at < words.tokens.len() {
        let kind = words.kind(at);
        if kind == WordKind::Word && is_mostly_capitals(words.text(at)) {
            let after = words.after_arguments(at);
            let place = MacroPlace { words: &words, at, after, before: &before, callee };
            if place.is_around_return_type() {
                // The type stays, and with it the parts of the macro around it.
                let (open, close) = (words.tokens[at + 1], words.tokens[after - 1]);
                found.push(words.tokens[at].start as usize..open.end as usize);
                around.push(close.start as usize..close.end as usize);
                before.push(at + 2);
                at = after;
                continue;
            }
            if is_macro(words.text(at)) && place.is_macro() {
                let end = words.tokens[after - 1].end;
                found.push(words.tokens[at].start as usize..end as usize);
                at = after;
                continue;
            }
        }
        match kind {
            WordKind::Sign(b'(') => open.push(before.last().copied()),
            WordKind::Sign(b')') => callee = open.pop().flatten(),
            _ => {}
        }
        before.push(at);
        at += 1;
    }
    if !around.is_empty() {
        found.extend(around);
        found.sort_unstable_by_key(|part: &Range<usize>| part.start);
    }
    found
}

/// The text with blanks in place of these parts; line ends stay.
pub(crate) fn blank(source: &str, parts: &[Range<usize>]) -> String {
    let mut bytes = source.as_bytes().to_vec();
    for part in parts {
        for byte in bytes.get_mut(part.clone()).unwrap_or_default() {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    // Parts begin and end with whole tokens, so that no character is cut.
    String::from_utf8(bytes).unwrap_or_else(|_| source.to_owned())
}

/// How many words may be between the parameters of a function and a macro.
const MAX_QUALIFIERS: usize = 8;
/// How far an attribute is followed back.
const MAX_ATTRIBUTE: usize = 16;
/// How far arguments, template arguments and base classes are followed.
const MAX_AHEAD: usize = 400;

/// `EXPORT`, `_LIBCPP_HIDE`, `API_2`; one letter is a template parameter.
fn is_macro(word: &str) -> bool {
    let mut capitals = 0;
    for byte in word.bytes() {
        match byte {
            b'A'..=b'Z' => capitals += 1,
            b'_' => {}
            b'0'..=b'9' if capitals > 0 => {}
            _ => return false,
        }
    }
    capitals >= 2
}

/// The same, or nearly: `PyAPI_FUNC`.
fn is_mostly_capitals(word: &str) -> bool {
    let capitals = word.bytes().filter(u8::is_ascii_uppercase).count();
    capitals >= 2 && capitals > word.bytes().filter(u8::is_ascii_lowercase).count()
}

/// What pointers are called, also those without a name: `Type *NONNULL, …`.
fn is_qualifier(word: &str) -> bool {
    ["NONNULL", "NULLABLE", "RESTRICT"].iter().any(|end| word.ends_with(end))
}

/// A macro's name and what is around it.
struct MacroPlace<'w> {
    words: &'w Words<'w>,
    at: usize,
    /// The first token behind the name and its arguments.
    after: usize,
    before: &'w [usize],
    /// The token before the parentheses that were closed last.
    callee: Option<usize>,
}

impl MacroPlace<'_> {
    fn is_macro(&self) -> bool {
        let previous = self.before.last().map(|at| (self.words.kind(*at), self.words.text(*at)));
        let next = self.words.kind(self.after);
        let next_word = self.words.text(self.after);
        match previous {
            Some((WordKind::Word, key @ ("class" | "struct" | "union" | "enum"))) => {
                return self.is_before_record_name(key);
            }
            Some((WordKind::Sign(b']'), _)) if self.is_behind_record_attribute() => {
                return self.is_before_record_name("class");
            }
            _ => {}
        }
        if next == WordKind::Word && DECLARATION_WORDS.contains(&next_word) {
            return true;
        }
        if self.is_behind_parameters(previous) && self.ends_head() {
            return true;
        }
        if let Some((WordKind::Sign(b'*' | b'&'), _)) = previous {
            // `Type *NONNULL name`; with nothing behind it, it may be a factor.
            let name = next == WordKind::Word && is_name(next_word) && !KEYWORDS.contains(&next_word);
            return name || is_qualifier(self.words.text(self.at));
        }
        let begins = match previous {
            None | Some((WordKind::Text | WordKind::Sign(b';' | b'{' | b'}' | b'>' | b']'), _)) => true,
            Some((WordKind::Sign(b':'), _)) => self.is_behind_access(),
            Some((WordKind::Word, word)) => SPECIFIERS.contains(&word),
            _ => false,
        };
        if begins {
            let destructor =
                next == WordKind::Sign(b'~') && self.words.kind(self.after + 1) == WordKind::Word;
            return destructor || self.is_before_return_type();
        }
        let behind_type = match previous {
            Some((WordKind::Word, word)) => {
                is_name(word) && !KEYWORDS.contains(&word) || TYPES.contains(&word)
            }
            _ => false,
        };
        behind_type && self.after == self.at + 1 && self.words.function_name(self.after)
    }

    /// `EXPORT(Type) name(`, and not the loop `EACH(item) run(item);`.
    fn is_around_return_type(&self) -> bool {
        let words = self.words;
        if self.after < self.at + 4 || !words.function_name(self.after) {
            return false;
        }
        let previous = self.before.last().map(|at| (words.kind(*at), words.text(*at)));
        let mut is_type = match previous {
            None | Some((WordKind::Text | WordKind::Sign(b';' | b'{' | b'}'), _)) => false,
            Some((WordKind::Word, word)) if SPECIFIERS.contains(&word) => true,
            _ => return false,
        };
        for at in self.at + 2..self.after - 1 {
            match (words.kind(at), words.text(at)) {
                (WordKind::Word, word) => {
                    is_type |= TYPES.contains(&word)
                        || matches!(word, "const" | "struct" | "enum" | "union")
                        || word.ends_with("_t");
                }
                (WordKind::Sign(b'*' | b'&'), _) => is_type = true,
                (WordKind::Sign(b':' | b'<' | b'>'), _) => {}
                _ => return false,
            }
        }
        is_type
    }

    /// `class EXPORT Name {`, and not `struct stat EXPORT;`.
    fn is_before_record_name(&self, key: &str) -> bool {
        let words = self.words;
        let mut at = self.after;
        for _ in 0..8 {
            let name = words.text(at);
            if words.kind(at) != WordKind::Word
                || !is_name(name)
                || KEYWORDS.contains(&name)
                || name == "final"
            {
                return false;
            }
            let behind = words.after_path(at);
            match words.kind(behind) {
                WordKind::Sign(b'{') => return true,
                WordKind::Sign(b':') => return words.opens_before_end(behind),
                WordKind::Sign(b';') => return key == "class",
                WordKind::Word if words.text(behind) == "final" => return true,
                // Another macro before the name.
                WordKind::Word | WordKind::Sign(b'(') if is_macro(name) => at = words.after_arguments(at),
                _ => return false,
            }
        }
        false
    }

    /// `class [[deprecated]] EXPORT`.
    fn is_behind_record_attribute(&self) -> bool {
        let near = &self.before[self.before.len().saturating_sub(MAX_ATTRIBUTE)..];
        let open = near.iter().rposition(|at| self.words.kind(*at) == WordKind::Sign(b'['));
        open.and_then(|open| near.get(open.checked_sub(2)?))
            .is_some_and(|at| matches!(self.words.text(*at), "class" | "struct" | "union" | "enum"))
    }

    /// `public: EXPORT`, and not `case a: EXPORT`.
    fn is_behind_access(&self) -> bool {
        let word = self.before.iter().rev().nth(1);
        word.is_some_and(|at| matches!(self.words.text(*at), "public" | "private" | "protected" | "slots"))
    }

    /// `EXPORT Type name(`. Where two names in capitals come before the function's, the one without `_` is the type.
    fn is_before_return_type(&self) -> bool {
        let words = self.words;
        let mut at = self.after;
        while matches!(words.text(at), "const" | "volatile") {
            at += 1;
        }
        let type_ = words.text(at);
        if words.kind(at) != WordKind::Word || !is_name(type_) || KEYWORDS.contains(&type_) {
            return false;
        }
        let mut behind = words.after_path(at);
        let name_follows = behind == at + 1 && words.kind(behind) == WordKind::Word;
        if name_follows && is_macro(type_) && !words.text(self.at).contains('_') {
            return false;
        }
        while matches!(words.kind(behind), WordKind::Sign(b'*' | b'&'))
            || matches!(words.text(behind), "const" | "volatile")
        {
            behind += 1;
        }
        // `EXPORT Type CALL name(`.
        if words.kind(behind) == WordKind::Word
            && is_macro(words.text(behind))
            && words.function_name(behind + 1)
        {
            return true;
        }
        words.function_name(behind)
    }

    /// `name(…) const EXPORT`, and not `if (…) EXPORT`.
    fn is_behind_parameters(&self, previous: Option<(WordKind, &str)>) -> bool {
        let closes = match previous {
            Some((WordKind::Sign(b')'), _)) => true,
            Some((WordKind::Word, "const" | "noexcept" | "override" | "final" | "volatile")) => {
                let mut near = self.before.iter().rev().take(MAX_QUALIFIERS);
                let others = near.find(|at| self.words.kind(**at) != WordKind::Word);
                others.is_some_and(|at| self.words.kind(*at) == WordKind::Sign(b')'))
            }
            _ => false,
        };
        let name = self.callee.map(|at| self.words.text(at)).unwrap_or_default();
        closes && is_name(name) && !is_macro(name) && !KEYWORDS.contains(&name)
    }

    /// Whether the head of a function ends here, or goes on with more of the same.
    fn ends_head(&self) -> bool {
        match self.words.kind(self.after) {
            WordKind::Sign(b';' | b'{' | b'=') => true,
            WordKind::Word => {
                let word = self.words.text(self.after);
                matches!(word, "override" | "final" | "const" | "noexcept") || is_macro(word)
            }
            _ => false,
        }
    }
}

/// What begins a declaration, and cannot follow the name of a type.
const DECLARATION_WORDS: &[&str] = &[
    "auto",
    "bool",
    "char",
    "class",
    "consteval",
    "constexpr",
    "constinit",
    "double",
    "enum",
    "explicit",
    "extern",
    "float",
    "friend",
    "inline",
    "int",
    "long",
    "namespace",
    "private",
    "protected",
    "public",
    "register",
    "short",
    "signed",
    "static",
    "struct",
    "template",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "wchar_t",
];

/// What comes before a return type.
const SPECIFIERS: &[&str] =
    &["static", "inline", "virtual", "extern", "explicit", "constexpr", "consteval", "friend"];

/// Types that are keywords.
const TYPES: &[&str] =
    &["auto", "bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned", "void"];

/// Words that name nothing.
const KEYWORDS: &[&str] = &[
    "alignas",
    "auto",
    "bool",
    "case",
    "catch",
    "char",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "const",
    "consteval",
    "constexpr",
    "decltype",
    "default",
    "define",
    "defined",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "extern",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "namespace",
    "new",
    "noexcept",
    "not",
    "operator",
    "private",
    "protected",
    "public",
    "register",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "struct",
    "switch",
    "template",
    "throw",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "__attribute__",
    "__declspec",
];

fn is_name(word: &str) -> bool {
    !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit())
}

/// The words and signs of a text, without comments and lines for the preprocessor.
struct Words<'s> {
    source: &'s str,
    tokens: Vec<Item>,
}

#[derive(Clone, Copy)]
struct Item {
    kind: WordKind,
    start: u32,
    end: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Word,
    Sign(u8),
    /// A string or a character.
    Text,
    /// There is no such token.
    End,
}

impl<'s> Words<'s> {
    fn read(source: &'s str) -> Words<'s> {
        let mut lexer = Lexer::new(source, Dialect::C);
        let mut tokens = Vec::with_capacity(source.len() / 6);
        while let Some(token) = lexer.next(true) {
            let end = lexer.at;
            let (kind, length) = match token {
                Token::Word(word) => (WordKind::Word, word.len()),
                Token::Sign(sign) => (WordKind::Sign(sign), 1),
                Token::Arrow => (WordKind::Sign(b'='), 2),
                Token::Text => (WordKind::Text, 0),
                Token::Directive(_) | Token::Start => continue,
            };
            tokens.push(Item { kind, start: (end - length) as u32, end: end as u32 });
        }
        Words { source, tokens }
    }

    fn kind(&self, at: usize) -> WordKind {
        self.tokens.get(at).map_or(WordKind::End, |token| token.kind)
    }

    fn text(&self, at: usize) -> &'s str {
        let token = self.tokens.get(at);
        token.and_then(|token| self.source.get(token.start as usize..token.end as usize)).unwrap_or_default()
    }

    /// The token behind a name and, if it has any, its arguments.
    fn after_arguments(&self, name: usize) -> usize {
        match self.kind(name + 1) {
            WordKind::Sign(b'(') => self.after_group(name + 1, b'(', b')').unwrap_or(name + 1),
            _ => name + 1,
        }
    }

    /// The token behind the bracket that closes the one here.
    fn after_group(&self, open: usize, opens: u8, closes: u8) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..(open + MAX_AHEAD).min(self.tokens.len()) {
            match self.kind(at) {
                WordKind::Sign(sign) if sign == opens => depth += 1,
                WordKind::Sign(sign) if sign == closes => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                WordKind::Sign(b';' | b'{') if opens == b'<' => return None,
                _ => {}
            }
        }
        None
    }

    /// The token behind `a::b<c>::d`, which begins here.
    fn after_path(&self, name: usize) -> usize {
        let mut at = name + 1;
        for _ in 0..16 {
            if self.kind(at) == WordKind::Sign(b'<') {
                at = self.after_group(at, b'<', b'>').unwrap_or(at);
            }
            if self.is_scope(at) && self.kind(at + 2) == WordKind::Word {
                at += 3;
            } else {
                break;
            }
        }
        at
    }

    fn is_scope(&self, at: usize) -> bool {
        self.kind(at) == WordKind::Sign(b':') && self.kind(at + 1) == WordKind::Sign(b':')
    }

    /// Whether `name(` or `a::~b(` comes here.
    fn function_name(&self, at: usize) -> bool {
        let name = self.text(at);
        if self.kind(at) != WordKind::Word || !is_name(name) {
            return false;
        }
        if name == "operator" {
            return true;
        }
        let mut behind = self.after_path(at);
        if self.is_scope(behind) && self.kind(behind + 2) == WordKind::Sign(b'~') {
            behind += 4;
        } else if self.text(behind.saturating_sub(1)) == "operator" {
            return true;
        }
        !KEYWORDS.contains(&name) && self.kind(behind) == WordKind::Sign(b'(')
    }

    /// Whether a brace opens before the statement ends.
    fn opens_before_end(&self, from: usize) -> bool {
        let ahead = (from..(from + MAX_AHEAD).min(self.tokens.len())).map(|at| self.kind(at));
        ahead.into_iter().find(|kind| matches!(kind, WordKind::Sign(b'{' | b';')))
            == Some(WordKind::Sign(b'{'))
    }
}
