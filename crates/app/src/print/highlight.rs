//! Colours for source code on a terminal: comments, texts, numbers and the words that most languages share. A glance, not
//! a parser: a language that it does not know stays plain.

use super::style::{Ink, Look};

/// How a family of languages marks its comments and texts.
struct LanguageFamily {
    extensions: &'static [&'static str],
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static [char],
}

const FAMILIES: &[LanguageFamily] = &[
    LanguageFamily {
        extensions: &[
            "rs", "c", "h", "cc", "cpp", "hpp", "cs", "go", "java", "js", "jsx", "mjs", "ts", "tsx", "kt",
            "scala", "swift", "php", "dart", "css", "scss", "proto", "json", "jsonc",
        ],
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        quotes: &['"', '`'],
    },
    LanguageFamily {
        extensions: &[
            "py",
            "sh",
            "bash",
            "rb",
            "toml",
            "yaml",
            "yml",
            "pl",
            "r",
            "jl",
            "ini",
            "cfg",
            "mk",
            "dockerfile",
        ],
        line_comments: &["#"],
        block_comment: None,
        quotes: &['"', '\''],
    },
    LanguageFamily {
        extensions: &["sql", "lua", "hs", "elm", "ada"],
        line_comments: &["--"],
        block_comment: None,
        quotes: &['"', '\''],
    },
];

const KEYWORDS: &[&str] = &[
    "abstract",
    "and",
    "as",
    "async",
    "await",
    "begin",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "do",
    "elif",
    "else",
    "end",
    "enum",
    "except",
    "export",
    "extends",
    "false",
    "False",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "if",
    "impl",
    "import",
    "in",
    "interface",
    "is",
    "let",
    "local",
    "match",
    "mod",
    "module",
    "mut",
    "namespace",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "return",
    "select",
    "SELECT",
    "FROM",
    "WHERE",
    "self",
    "static",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "True",
    "try",
    "type",
    "use",
    "using",
    "val",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

/// The lines of a text that is safe already, each in its colours.
pub(crate) fn lines(path: &str, text: &str, look: Look) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    let family = FAMILIES.iter().find(|family| family.extensions.contains(&extension.as_str()));
    let Some(family) = family.filter(|_| look.colour) else {
        return text.lines().map(str::to_owned).collect();
    };
    let mut in_comment = false;
    text.lines().map(|line| coloured(line, family, look, &mut in_comment)).collect()
}

fn coloured(line: &str, family: &LanguageFamily, look: Look, in_comment: &mut bool) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let (length, ink) = if *in_comment {
            let end = family.block_comment.and_then(|(_, end)| rest.find(end).map(|at| at + end.len()));
            *in_comment = end.is_none();
            (end.unwrap_or(rest.len()), Some(Ink::Comment))
        } else if family.line_comments.iter().any(|mark| rest.starts_with(mark)) {
            (rest.len(), Some(Ink::Comment))
        } else if let Some((start, end)) = family.block_comment.filter(|(start, _)| rest.starts_with(start)) {
            let close = rest[start.len()..].find(end).map(|at| start.len() + at + end.len());
            *in_comment = close.is_none();
            (close.unwrap_or(rest.len()), Some(Ink::Comment))
        } else if family.quotes.contains(&c) {
            (quoted(rest, c), Some(Ink::Text))
        } else if c.is_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            (length, KEYWORDS.contains(&&rest[..length]).then_some(Ink::Keyword))
        } else if c.is_ascii_digit() {
            let length =
                rest.find(|c: char| !c.is_alphanumeric() && c != '.' && c != '_').unwrap_or(rest.len());
            (length, Some(Ink::Number))
        } else {
            (c.len_utf8(), None)
        };
        let (piece, after) = rest.split_at(length);
        match ink {
            Some(ink) => shown.push_str(&look.paint(ink, piece)),
            None => shown.push_str(piece),
        }
        rest = after;
    }
    shown
}

/// The length of a text in quotes, up to the end of the line where it is not closed.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOOK: Look = Look { colour: true, links: false };

    /// The text without escape sequences.
    fn plain(text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("\x1b[") {
            plain.push_str(before);
            rest = after.split_once('m').map_or("", |(_, after)| after);
        }
        plain + rest
    }

    #[test]
    fn words_texts_numbers_and_comments() {
        let shown = lines("a.rs", "let x = \"a\\\"b\" + 42; // why\n/* one\ntwo */ fn y", LOOK);
        assert_eq!(
            shown[0],
            "\x1b[34mlet\x1b[0m x = \x1b[32m\"a\\\"b\"\x1b[0m + \x1b[36m42\x1b[0m; \x1b[2m// why\x1b[0m"
        );
        assert_eq!(shown[1], "\x1b[2m/* one\x1b[0m");
        assert_eq!(shown[2], "\x1b[2mtwo */\x1b[0m \x1b[34mfn\x1b[0m y");
        assert_eq!(lines("notes.txt", "let it be", LOOK), ["let it be"]);
        assert_eq!(lines("a.py", "def a(): # b", Look::default()), ["def a(): # b"]);
    }

    proptest! {
        #[test]
        fn nothing_but_colours_is_added(text in "[a-z\"'#/*\\\\ 0-9é\n-]{0,80}") {
            for path in ["a.rs", "a.py", "a.sql"] {
                let shown: Vec<String> = lines(path, &text, LOOK).iter().map(|line| plain(line)).collect();
                let expected: Vec<&str> = text.lines().collect();
                prop_assert_eq!(shown, expected);
            }
        }
    }
}
