//! Recognises, without a parser, which names the lines of a source define: `fn NAME`, `class NAME`, `NAME = function`,
//! `static int NAME(…) {`.
//!
//! It runs on every line that is indexed and decides which chunk is the definition of a name that a query asks for. It
//! knows no language: it reads modifiers, a word that defines, and what is around the name. One name per line is
//! found, and now and then a wrong one.

mod cursor;
mod declarator;
mod words;

use cursor::Cursor;
use words::{ACCESS, DEFINERS, HOLDERS, MODIFIERS};

/// A name that a line defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefinedName {
    /// The name in the text, in bytes.
    pub start: usize,
    pub end: usize,
    pub strength: Strength,
    /// It belongs to something around it: it is indented, has a receiver or is written `Container::name`.
    pub is_member: bool,
}

/// How much of a definition it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// A prototype, a forward declaration, a variable inside a function.
    Declared,
    /// A constant, a field, an alias.
    Value,
    /// A type, a function, a macro.
    Whole,
}

/// What the ending of a file's name says about its syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `struct x;` declares what is defined elsewhere.
    C,
    /// The name comes before its type, and declarations come in groups.
    Go,
    /// `name(x) {` is a call with a block.
    TrailingBlocks,
    Other,
}

impl Family {
    pub fn of(path: &str) -> Family {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending {
            "c" | "h" | "cc" | "hh" | "cpp" | "hpp" | "cxx" | "hxx" | "inl" | "ipp" | "m" | "mm" | "cu" => {
                Family::C
            }
            "go" => Family::Go,
            "kt" | "kts" | "swift" | "rb" | "scala" | "sc" | "groovy" | "gradle" => Family::TrailingBlocks,
            _ => Family::Other,
        }
    }
}

/// Longer lines are data or minified code.
const LONGEST_LINE: usize = 400;

/// Hands every definition of the text to `each`, in order.
pub fn definitions(text: &str, family: Family, each: &mut dyn FnMut(DefinedName)) {
    let mut start = 0;
    while start < text.len() {
        if let Some(found) = definition_at(text, start, family) {
            each(found);
        }
        start = match text[start..].find('\n') {
            Some(length) => start + length + 1,
            None => text.len(),
        };
    }
}

/// What the line that begins at `start` defines.
pub fn definition_at(text: &str, start: usize, family: Family) -> Option<DefinedName> {
    let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    let line = &text[start..end];
    let body = line.trim_start();
    // A macro may be long.
    if line.len() > LONGEST_LINE && !body.starts_with('#') {
        return None;
    }
    let indent = line.len() - body.len();
    let mut cursor = Cursor::new(text, start + indent, end);
    match body.as_bytes().first()? {
        b'#' if !body.starts_with("#[") => return macro_definition(cursor),
        b'}' => return closed_type(cursor, indent, family),
        b'(' => return in_parentheses(cursor),
        b'/' | b'*' | b'-' | b'%' | b';' | b'"' | b'\'' | b'<' | b'|' | b'+' | b')' | b',' | b'.' | b'&' => {
            return None;
        }
        _ => {}
    }
    let mut line = Line { text, indent, family, is_variable: false, has_access: false };
    loop {
        cursor.skip_attributes();
        // The parameters of a generic method in Java.
        cursor.skip_balanced(b'<', b'>');
        cursor.skip_spaces();
        // `async *name()`.
        cursor.skip_byte(b'*');
        let before = cursor;
        let word = cursor.word()?;
        let ends = cursor.peek().is_none_or(|next| next == b' ' || next == b'\t');
        if ends && (HOLDERS.contains(&word) || MODIFIERS.contains(&word)) {
            line.is_variable |= HOLDERS.contains(&word);
            line.has_access |= ACCESS.contains(&word);
            let is_first = matches!(word, "let" | "val" | "var") || (word == "const" && family == Family::Go);
            cursor.skip_spaces();
            if is_first && !cursor.rest().starts_with("mut ") {
                return line.held(cursor);
            }
            // `extern "C"`.
            if cursor.peek() == Some(b'"') {
                cursor.skip_string();
            }
            continue;
        }
        // `data class`, `enum struct`, `fun interface`.
        if matches!(word, "data" | "enum" | "record" | "fun" | "value" | "annotation") && ends {
            let mut ahead = cursor;
            ahead.skip_spaces();
            if ahead.word().is_some_and(|next| matches!(next, "class" | "struct" | "interface")) {
                continue;
            }
        }
        if word == "pub" && cursor.peek() == Some(b'(') {
            line.has_access = true;
            cursor.skip_balanced(b'(', b')');
            continue;
        }
        if word == "template" {
            cursor.skip_spaces();
            cursor.skip_balanced(b'<', b'>');
            continue;
        }
        if DEFINERS.contains(&word)
            && let Some(found) = line.defined_by(word, cursor)
        {
            return Some(found);
        }
        return line.declared(before);
    }
}

/// What is known of the line before its name.
struct Line<'a> {
    text: &'a str,
    indent: usize,
    family: Family,
    /// `let`, `var`, `const`.
    is_variable: bool,
    /// `pub`, `export`, `private`: it is no local variable.
    has_access: bool,
}

impl Line<'_> {
    fn found(
        &self,
        (start, end): (usize, usize),
        strength: Strength,
        is_member: bool,
    ) -> Option<DefinedName> {
        (start < end).then_some(DefinedName { start, end, strength, is_member: is_member || self.indent > 0 })
    }

    /// `let NAME = …`, `var NAME Type`: the name comes first, whatever follows.
    fn held(&self, mut cursor: Cursor<'_>) -> Option<DefinedName> {
        let before = cursor;
        let start = cursor.at();
        cursor.word()?;
        let name = (start, cursor.at());
        if let Some(found) = self.declared(before).filter(|found| found.start == start) {
            return Some(found);
        }
        let is_outside = self.indent == 0 || self.has_access;
        self.found(name, if is_outside { Strength::Value } else { Strength::Declared }, false)
    }

    /// The name behind a word that defines; none where the word turns out to be something else.
    fn defined_by(&self, word: &str, mut cursor: Cursor<'_>) -> Option<DefinedName> {
        match word {
            "macro_rules" => cursor.skip_byte(b'!'),
            "function" => cursor.skip_byte(b'*'),
            "typedef" => return self.type_definition(cursor),
            "create" | "CREATE" => cursor = words::behind_create(cursor)?,
            _ => {}
        }
        cursor.skip_spaces();
        let mut is_member = false;
        if matches!(word, "func" | "fn") && cursor.peek() == Some(b'(') {
            // A Go method names its receiver between the keyword and the name.
            cursor.skip_balanced(b'(', b')');
            cursor.skip_spaces();
            is_member = true;
        }
        if matches!(cursor.peek(), Some(b'<' | b'[')) {
            let (open, close) = if cursor.peek() == Some(b'<') { (b'<', b'>') } else { (b'[', b']') };
            cursor.skip_balanced(open, close);
            cursor.skip_spaces();
        }
        if matches!(word, "class" | "data" | "newtype")
            && cursor.rest().contains(" where")
            && let Some(at) = cursor.rest().find("=>")
        {
            // The context of a Haskell class.
            cursor.advance(at + 2);
            cursor.skip_spaces();
        }
        if word == "type" && cursor.rest().starts_with("family ") {
            cursor.advance("family ".len());
        }
        let is_c_type = self.family == Family::C && matches!(word, "struct" | "union" | "enum" | "class");
        if is_c_type {
            return self.c_type(cursor);
        }
        let path = cursor.path()?;
        let strength = match word {
            "mod" if cursor.rest().trim_start().starts_with(';') => Strength::Declared,
            "using" => {
                cursor.skip_spaces();
                let is_alias = cursor.peek() == Some(b'=') && self.family == Family::C;
                return if is_alias { self.found(path.last, Strength::Value, false) } else { None };
            }
            _ => Strength::Whole,
        };
        // `type = 3`, `data.x`, `object in list`: an ordinary word.
        if matches!(
            word,
            "type" | "data" | "object" | "record" | "module" | "table" | "view" | "macro" | "sub"
        ) && cursor.rest().trim_start().starts_with(['.', ')', ','])
        {
            return None;
        }
        self.found(path.last, strength, is_member || path.is_qualified)
    }

    /// `struct x {`, `class API x final : y {`; `struct x;` only declares, and `struct x *y(…)` is about `y`.
    fn c_type(&self, mut cursor: Cursor<'_>) -> Option<DefinedName> {
        let mut last = cursor.path()?;
        loop {
            cursor.skip_spaces();
            match cursor.peek() {
                None | Some(b'{') => {
                    let has_body =
                        cursor.peek().is_some() || matches!(cursor.next_line(), Some(b'{' | b':' | b'#'));
                    return if has_body {
                        self.found(last.last, Strength::Whole, last.is_qualified)
                    } else {
                        None
                    };
                }
                Some(b':') if cursor.rest().as_bytes().get(1) != Some(&b':') => {
                    return self.found(last.last, Strength::Whole, last.is_qualified);
                }
                Some(b';') => return self.found(last.last, Strength::Declared, false),
                Some(b'<') => cursor.skip_balanced(b'<', b'>'),
                Some(b'(') => cursor.skip_balanced(b'(', b')'),
                _ => {
                    let next = cursor.path()?;
                    if &self.text[next.last.0..next.last.1] != "final" {
                        last = next;
                    }
                }
            }
            if cursor.is_stuck() {
                // The arguments of a template go on in the next line.
                return self.found(last.last, Strength::Whole, last.is_qualified);
            }
        }
    }

    /// `typedef old NAME;`, `typedef struct NAME {`.
    fn type_definition(&self, mut cursor: Cursor<'_>) -> Option<DefinedName> {
        cursor.skip_spaces();
        let rest = cursor.rest().trim_end();
        for word in ["struct ", "union ", "enum "] {
            if rest.starts_with(word) && !rest.contains([';', '(']) {
                cursor.advance(word.len());
                return self.c_type(cursor);
            }
        }
        let rest = rest.split_once("//").map_or(rest, |(code, _)| code).trim_end();
        // `typedef int (*NAME)(void);`, `typedef int NAME(void);`
        let before = match (rest.find("(*"), rest.find('(')) {
            (Some(at), _) => &rest[..rest[at..].find(')').map_or(rest.len(), |close| at + close)],
            (None, Some(at)) => &rest[..at],
            (None, None) => rest.strip_suffix(';')?.split('[').next()?,
        };
        let end = cursor.at() + before.len();
        let before_name = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        self.found((cursor.at() + before_name.len(), end), Strength::Value, false)
    }
}

/// `#define NAME`.
fn macro_definition(mut cursor: Cursor<'_>) -> Option<DefinedName> {
    cursor.skip_byte(b'#');
    cursor.skip_spaces();
    if cursor.word()? != "define" {
        return None;
    }
    cursor.skip_spaces();
    let start = cursor.at();
    cursor.word()?;
    Some(DefinedName { start, end: cursor.at(), strength: Strength::Whole, is_member: false })
}

/// `} NAME;` ends a type definition in C.
fn closed_type(mut cursor: Cursor<'_>, indent: usize, family: Family) -> Option<DefinedName> {
    if family != Family::C || indent > 0 {
        return None;
    }
    cursor.skip_byte(b'}');
    cursor.skip_spaces();
    let start = cursor.at();
    cursor.word()?;
    let end = cursor.at();
    let closes = matches!(cursor.peek(), Some(b';' | b','));
    closes.then_some(DefinedName { start, end, strength: Strength::Whole, is_member: false })
}

/// `(defn NAME`, `(define (NAME x)`.
fn in_parentheses(mut cursor: Cursor<'_>) -> Option<DefinedName> {
    cursor.skip_byte(b'(');
    if !cursor.word()?.starts_with("def") {
        return None;
    }
    cursor.skip_spaces();
    cursor.skip_byte(b'(');
    let start = cursor.at();
    cursor.word()?;
    Some(DefinedName { start, end: cursor.at(), strength: Strength::Whole, is_member: false })
}

#[cfg(test)]
mod tests;
