//! Recognises, without a parser, that a line defines a name: `fn NAME`, `class NAME`, `NAME = function`, `int NAME(…) {`.
//!
//! A signal for ranking, so it may be wrong now and then; it may not be slow.

/// Whether the name at `start..end` of the text is being defined there.
pub(crate) fn is_definition(text: &str, start: usize, end: usize) -> bool {
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[end..].find('\n').map_or(text.len(), |at| end + at);
    if line_end - line_start > LONGEST_LINE {
        return false;
    }
    let before = &text[line_start..start];
    let after = &text[end..line_end];
    follows_keyword(before)
        || is_assigned_function(before, after)
        || has_body(before, after, &text[line_end..])
}

/// Lines beyond this are data or minified code; nobody defines anything there that is worth finding.
const LONGEST_LINE: usize = 400;

const KEYWORDS: &[&str] = &[
    "alias",
    "class",
    "const",
    "data",
    "def",
    "defmacro",
    "defmodule",
    "defn",
    "defp",
    "define",
    "enum",
    "fn",
    "fun",
    "func",
    "function",
    "function*",
    "interface",
    "let",
    "macro",
    "mod",
    "module",
    "namespace",
    "newtype",
    "object",
    "package",
    "proc",
    "procedure",
    "protocol",
    "record",
    "static",
    "struct",
    "sub",
    "table",
    "trait",
    "type",
    "typedef",
    "union",
    "val",
    "var",
    "view",
];

const MODIFIERS: &[&str] = &[
    "abstract",
    "async",
    "case",
    "companion",
    "const",
    "create",
    "data",
    "declare",
    "default",
    "export",
    "exported",
    "extern",
    "final",
    "global",
    "inline",
    "internal",
    "local",
    "mut",
    "open",
    "or",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "public",
    "readonly",
    "ref",
    "replace",
    "sealed",
    "static",
    "suspend",
    "unsafe",
    "virtual",
];

/// `pub(crate) fn NAME`, `func (r *Reader) NAME`, `app.use = function NAME`.
fn follows_keyword(before: &str) -> bool {
    let before = before.trim_end().trim_end_matches(['*', '&']).trim_end();
    // A Go method names its receiver between the keyword and the name.
    if before.ends_with(')') {
        return before.trim_start().starts_with("func (");
    }
    let (rest, word) = match before.char_indices().rfind(|(_, c)| c.is_whitespace()) {
        Some((at, space)) => (&before[..at], &before[at + space.len_utf8()..]),
        None => ("", before),
    };
    let word = word.trim_start_matches(['(', '#', '@']).trim_end_matches('!');
    if word != "macro_rules" && !KEYWORDS.contains(&word) {
        return false;
    }
    let rest = rest.trim_end();
    rest.is_empty() || rest.ends_with(['=', '(', ',', ':', '{', ';', '>']) || are_modifiers(rest)
}

fn are_modifiers(words: &str) -> bool {
    words.split_whitespace().all(|word| {
        let bare = word.split_once('(').map_or(word, |(bare, _)| bare);
        MODIFIERS.contains(&bare) || word.starts_with('@') || word.starts_with("#[")
    })
}

/// `NAME = function`, `NAME: async (`, `exports.NAME =`, `const NAME = (a) =>` (also caught by its keyword).
fn is_assigned_function(before: &str, after: &str) -> bool {
    let after = after.trim_start();
    let Some(value) = after.strip_prefix('=').or_else(|| after.strip_prefix(':')) else { return false };
    if value.starts_with(['=', ':']) {
        return false;
    }
    let value = value.trim_start();
    let value = value.strip_prefix("async ").unwrap_or(value);
    value.starts_with("function")
        || value.starts_with("class ")
        || (value.contains("=>") && value.starts_with(|c: char| c == '(' || c.is_alphabetic()))
        || before.trim_end().ends_with("exports.")
}

/// `NAME(…) {` after nothing but types and modifiers, or at the very margin with the brace on the next line.
fn has_body(before: &str, after: &str, next_lines: &str) -> bool {
    if !after.starts_with('(') {
        return false;
    }
    let plain = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_<>*&,[]:~@".contains(c);
    if !before.chars().all(plain) || before.split_whitespace().any(|word| NOT_A_TYPE.contains(&word)) {
        return false;
    }
    let after = after.trim_end();
    if after.ends_with('{') {
        return true;
    }
    before.is_empty() && after.ends_with(')') && next_lines.trim_start().starts_with('{')
}

const NOT_A_TYPE: &[&str] = &[
    "and", "await", "case", "catch", "else", "for", "if", "in", "new", "not", "of", "or", "return", "switch",
    "throw", "while", "with", "yield",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn defines(text: &str) -> bool {
        let start = text.find("NAME").unwrap();
        is_definition(text, start, start + 4)
    }

    #[test]
    fn definitions_in_many_languages() {
        for text in [
            "fn NAME() {",
            "    pub(crate) async fn NAME<T>(x: T) -> T {",
            "pub struct NAME;",
            "macro_rules! NAME {",
            "def NAME(self):",
            "    async def NAME():",
            "class NAME(Base):",
            "export default class NAME extends X {",
            "export const NAME = 3;",
            "const NAME = (a) => a",
            "  NAME: function () {",
            "exports.NAME = thing",
            "app.use = function NAME(fn) {",
            "  async NAME(request) {",
            "func NAME() error {",
            "func (r *Reader) NAME(p []byte) (int, error) {",
            "type NAME struct {",
            "public static List<String> NAME(int a) {",
            "static int\nNAME(void)\n{",
            "#define NAME 1",
            "interface NAME {",
            "CREATE TABLE x; \ncreate table NAME (",
            "(defn NAME [x]",
            "  def self.x; end\n  module NAME",
            "data class NAME(val x: Int)",
        ] {
            assert!(defines(text), "{text}");
        }
    }

    #[test]
    fn spaces_beyond_ascii_are_spaces() {
        assert!(defines("fn\u{2009}NAME()"));
        assert!(defines("\u{3000}def NAME():"));
    }

    proptest! {
        #[test]
        fn any_line_is_survived(before in "(\\PC|fn|=|[ \\t]|\\s){0,8}", after in "(\\PC|[({:=]|\\s){0,8}") {
            let text = format!("{before}NAME{after}");
            is_definition(&text, before.len(), before.len() + 4);
        }
    }

    #[test]
    fn uses_are_not_definitions() {
        for text in [
            "x = NAME()",
            "// class NAME does this",
            "# def NAME",
            "the class NAME is used",
            "return NAME(x) {",
            "if (NAME(x)) {",
            "foo.NAME(a)",
            "import NAME",
            "NAME == function",
            "let x = NAME;",
            "NAME(x)",
        ] {
            assert!(!defines(text), "{text}");
        }
    }
}
