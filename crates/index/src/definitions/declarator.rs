//! Names that no word introduces: functions by their bodies, values by their types and what they are set to.

use super::cursor::Cursor;
use super::words::{CONTROL, STATEMENTS};
use super::{DefinedName, Family, Line, Strength};

/// What comes before the mark that decides.
#[derive(Default)]
struct Seen {
    /// The last name, in the text.
    name: Option<(usize, usize)>,
    /// The one before it.
    before: Option<(usize, usize)>,
    /// Names that are not parts of one path.
    names: usize,
    is_dotted: bool,
    /// `Container::name`.
    is_qualified: bool,
    has_brackets: bool,
}

impl Line<'_> {
    /// Reads types and a name up to the mark behind it.
    pub(super) fn declared(&self, mut cursor: Cursor<'_>) -> Option<DefinedName> {
        let mut seen = Seen::default();
        let mut joined = false;
        loop {
            if cursor.is_stuck() {
                return None;
            }
            let byte = cursor.peek()?;
            match byte {
                b' ' | b'\t' => cursor.skip_spaces(),
                b'*' | b'&' | b'~' | b'$' | b'?' => cursor.advance(1),
                b'<' if cursor.rest().starts_with("<-") => return self.assigned(&seen, &cursor.rest()[2..]),
                b'<' => cursor.skip_balanced(b'<', b'>'),
                b'[' => {
                    cursor.skip_balanced(b'[', b']');
                    seen.has_brackets = true;
                }
                b'.' => {
                    cursor.advance(1);
                    (joined, seen.is_dotted) = (true, true);
                }
                b':' => {
                    let rest = cursor.rest();
                    if rest.starts_with(":=") {
                        return None;
                    }
                    if !rest.starts_with("::") {
                        return self.annotated(&seen, &rest[1..]);
                    }
                    if rest[2..].starts_with(' ') {
                        // A signature in Haskell.
                        let strength = if self.indent == 0 { Strength::Whole } else { Strength::Value };
                        let is_alone = seen.names == 1 && !seen.is_dotted;
                        return if is_alone { self.found(seen.name?, strength, false) } else { None };
                    }
                    cursor.advance(2);
                    (joined, seen.is_qualified) = (true, true);
                }
                b'=' => return self.assigned(&seen, cursor.rest().get(1..)?),
                b'(' => return self.called(&seen, cursor),
                b'{' => return self.opened(&seen),
                b';' => {
                    let is_field = self.has_access && seen.names > 1;
                    return if is_field { self.found(seen.name?, Strength::Value, false) } else { None };
                }
                _ => {
                    let start = cursor.at();
                    let word = cursor.word()?;
                    let is_statement =
                        STATEMENTS.contains(&word) && matches!(cursor.peek(), None | Some(b' ' | b'\t'));
                    if seen.names == 0 && (is_statement || CONTROL.contains(&word)) {
                        return None;
                    }
                    if !joined {
                        seen.names += 1;
                        seen.before = seen.name;
                    }
                    seen.name = Some((start, cursor.at()));
                    joined = false;
                }
            }
        }
    }

    /// `int NAME(…) {`, `NAME(…) {`, `Type NAME(…);`.
    fn called(&self, seen: &Seen, cursor: Cursor<'_>) -> Option<DefinedName> {
        let name = seen.name?;
        if CONTROL.contains(&&self.text[name.0..name.1]) {
            return None;
        }
        let is_typed = seen.names > 1;
        if !is_typed && !self.has_access && (seen.is_dotted || self.family == Family::TrailingBlocks) {
            return None;
        }
        let behind = cursor.behind_brackets()?;
        let is_free = is_typed || self.has_access || self.indent == 0 || self.family == Family::C;
        match tail(behind, self.family, is_free) {
            // `name(x): Type;`
            Tail::Typed => self.found(name, Strength::Value, false),
            Tail::Body => self.found(name, Strength::Whole, seen.is_qualified),
            Tail::End if is_typed || self.has_access => {
                let strength = if self.family == Family::C { Strength::Declared } else { Strength::Value };
                (self.family == Family::C || self.indent > 0)
                    .then(|| self.found(name, strength, seen.is_qualified))
                    .flatten()
            }
            _ => None,
        }
    }

    /// `NAME = function`, `const NAME = 3`.
    fn assigned(&self, seen: &Seen, value: &str) -> Option<DefinedName> {
        let name = seen.name?;
        if value.starts_with(['=', '>']) || (seen.has_brackets && seen.names == 1) {
            return None;
        }
        if is_function(value) {
            return self.found(name, Strength::Whole, false);
        }
        let written = &self.text[..name.0];
        if written.ends_with("exports.") {
            return self.found(name, Strength::Whole, false);
        }
        if seen.is_dotted {
            return None;
        }
        let is_outside = self.indent == 0 || self.has_access;
        let written = &self.text[name.0..name.1];
        // A group of constants in Go; functions seldom set what begins with a capital.
        let is_grouped =
            self.family == Family::Go && self.indent == 1 && written.starts_with(char::is_uppercase);
        let has_capitals = is_constant(written) || is_grouped;
        if is_outside || has_capitals {
            self.found(name, Strength::Value, false)
        } else if seen.names > 1 || self.is_variable {
            self.found(name, Strength::Declared, false)
        } else {
            None
        }
    }

    /// `NAME: function`, `val NAME: Type`.
    fn annotated(&self, seen: &Seen, value: &str) -> Option<DefinedName> {
        let name = seen.name?;
        if seen.is_dotted {
            return None;
        }
        if is_function(value) {
            return self.found(name, Strength::Whole, false);
        }
        let is_outside = self.has_access || (self.indent == 0 && (self.is_variable || value.contains('=')));
        if is_outside {
            self.found(name, Strength::Value, false)
        } else if self.is_variable {
            self.found(name, Strength::Declared, false)
        } else {
            None
        }
    }

    /// `public int NAME {`, and `NAME struct {` within a group of Go types.
    fn opened(&self, seen: &Seen) -> Option<DefinedName> {
        let name = seen.name?;
        if let Some(before) = seen.before
            && matches!(&self.text[name.0..name.1], "struct" | "interface")
            && seen.names == 2
        {
            return self.found(before, Strength::Whole, false);
        }
        let is_property = self.has_access && seen.names > 1;
        if is_property { self.found(name, Strength::Value, false) } else { None }
    }
}

enum Tail {
    Body,
    /// The end, behind a type.
    Typed,
    End,
    Other,
}

/// What follows the parameters: a body, the end, or something that makes it no definition. `is_free` lets qualifiers and
/// line breaks are between.
fn tail(behind: &str, family: Family, is_free: bool) -> Tail {
    const LONGEST: usize = 200;
    let mut depth = 0usize;
    let (mut broke, mut is_typed) = (false, false);
    for (at, c) in behind.char_indices().take(LONGEST) {
        match c {
            '{' => return Tail::Body,
            ';' if is_typed => return Tail::Typed,
            ';' => return Tail::End,
            // What a constructor sets comes before its body.
            ':' if family == Family::C => return Tail::Body,
            ':' if behind[..at].trim().is_empty() => is_typed = true,
            '\n' if !is_free && broke => return Tail::Other,
            '\n' => {
                broke = true;
                let next = behind[at..].trim_start();
                let goes_on = next.starts_with(['{', ':', '-'])
                    || ["const", "noexcept", "throws", "where", "override"]
                        .iter()
                        .any(|w| next.starts_with(w));
                if !goes_on {
                    return Tail::Other;
                }
            }
            '=' if behind[at..].starts_with("=>") && is_free => return Tail::Body,
            '=' => return Tail::End,
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ' ' | '\t' | '\r' | '_' | ':' | '<' | '>' | '&' | '*' | ',' | '-' | '[' | ']' | '.' | '@'
            | '?' | '|' | '"' | '\'' => {}
            c if c.is_alphanumeric() => {}
            _ => return Tail::Other,
        }
        if !is_free && c.is_alphanumeric() && !is_typed {
            return Tail::Other;
        }
    }
    Tail::Other
}

/// Whether a value is a function, a class or a type.
fn is_function(value: &str) -> bool {
    let value = value.trim_start();
    let value = value.strip_prefix("async ").unwrap_or(value);
    const BEGIN: &[&str] = &[
        "function",
        "class ",
        "struct",
        "enum",
        "union",
        "opaque",
        "lambda",
        "proc ",
        "->",
        "fn(",
        "func(",
        "packed struct",
        "extern struct",
    ];
    if let Some(word) = BEGIN.iter().find(|word| value.starts_with(**word)) {
        let next = value[word.len()..].chars().next();
        return !next.is_some_and(|c| c.is_alphanumeric() || c == '_') || word.ends_with([' ', '(']);
    }
    value.contains("=>") && value.starts_with(|c: char| c == '(' || c.is_alphabetic())
}

/// `MAX_SIZE`.
fn is_constant(name: &str) -> bool {
    name.len() > 1
        && name.chars().any(|c| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
