//! The words that come before a name where it is defined.

use super::cursor::Cursor;

/// A name follows, and it is defined here.
pub(super) const DEFINERS: &[&str] = &[
    "CREATE",
    "actor",
    "class",
    "create",
    "data",
    "def",
    "defmacro",
    "defmodule",
    "defp",
    "defprotocol",
    "enum",
    "fn",
    "fun",
    "func",
    "function",
    "interface",
    "macro",
    "macro_rules",
    "mod",
    "module",
    "namespace",
    "newtype",
    "object",
    "proc",
    "procedure",
    "protocol",
    "record",
    "struct",
    "sub",
    "trait",
    "type",
    "typealias",
    "typedef",
    "union",
    "using",
];

/// The name of a variable or a constant follows, perhaps behind its type.
pub(super) const HOLDERS: &[&str] =
    &["const", "final", "let", "local", "my", "our", "readonly", "static", "val", "var"];

pub(super) const MODIFIERS: &[&str] = &[
    "__always_inline",
    "__inline",
    "abstract",
    "actual",
    "async",
    "case",
    "companion",
    "constexpr",
    "consteval",
    "declare",
    "default",
    "expect",
    "explicit",
    "export",
    "extern",
    "external",
    "friend",
    "get",
    "global",
    "infix",
    "inline",
    "inner",
    "internal",
    "lateinit",
    "mut",
    "mutating",
    "noinline",
    "open",
    "operator",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "public",
    "ref",
    "sealed",
    "set",
    "suspend",
    "synchronized",
    "tailrec",
    "unsafe",
    "virtual",
];

/// A name after one of these is no local variable.
pub(super) const ACCESS: &[&str] =
    &["export", "extern", "internal", "open", "override", "private", "protected", "pub", "public"];

/// `if (x) {` looks like a function with its body; these words tell that it is a statement.
pub(super) const CONTROL: &[&str] = &[
    "await", "catch", "elif", "else", "elseif", "for", "foreach", "function", "if", "new", "return",
    "sizeof", "switch", "throw", "typeof", "until", "while", "with", "yield",
];

/// A line that begins with one of them and a space is a statement.
pub(super) const STATEMENTS: &[&str] = &[
    "and",
    "assert",
    "await",
    "break",
    "case",
    "catch",
    "co_await",
    "co_return",
    "continue",
    "defer",
    "delete",
    "do",
    "elif",
    "else",
    "elsif",
    "end",
    "except",
    "exit",
    "finally",
    "for",
    "foreach",
    "from",
    "go",
    "goto",
    "guard",
    "if",
    "import",
    "in",
    "include",
    "is",
    "loop",
    "match",
    "new",
    "not",
    "of",
    "or",
    "package",
    "pass",
    "print",
    "raise",
    "require",
    "return",
    "select",
    "sizeof",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "throws",
    "try",
    "typeof",
    "unless",
    "until",
    "use",
    "when",
    "where",
    "while",
    "with",
    "yield",
];

/// Moves from behind `create` to the name of what is created in SQL; none where something else follows.
pub(super) fn behind_create(mut cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    const BETWEEN: &[&str] =
        &["or", "replace", "temporary", "temp", "unique", "materialized", "if", "not", "exists"];
    const CREATED: &[&str] = &["table", "view", "function", "procedure", "index", "trigger", "type"];
    let mut is_created = false;
    loop {
        cursor.skip_spaces();
        let before = cursor;
        let word = cursor.word()?.to_ascii_lowercase();
        if CREATED.contains(&word.as_str()) && !is_created {
            is_created = true;
        } else if !BETWEEN.contains(&word.as_str()) {
            return is_created.then_some(before);
        }
    }
}
