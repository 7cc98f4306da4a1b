//! Which parts of a source text are comments, keywords, names and so on, for whoever shows it in colours.
//!
//! The grammars bring the queries that say so. Like everything here this never fails: a text that is too large, too deeply nested or
//! takes too long is shown without colours.

mod python;
mod queries;

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;

use tree_sitter_highlight::{HighlightConfiguration, HighlightEvent, Highlighter};

use crate::Language;
use crate::languages::COUNT;
use crate::parse::{is_minified, is_too_nested, with_stack};

/// What a piece of text can be. Its place in this list is the number that a [`ColouredPiece`] has.
pub const COLOURS: &[&str] = &[
    "attribute",
    "comment",
    "constant",
    "constructor",
    "escape",
    "function",
    "keyword",
    "label",
    "module",
    "number",
    "operator",
    "property",
    "punctuation",
    "string",
    "tag",
    "type",
    "variable",
    "heading",
    "link",
    "literal",
];

/// A piece of the text, in bytes, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColouredPiece {
    pub start: usize,
    pub end: usize,
    /// An index into [`COLOURS`].
    pub colour: u8,
}

/// Longer texts are not coloured.
pub const MAX_COLOURED_BYTES: usize = 1024 * 1024;

/// A text of that size has at most about so many; more come from texts that nobody wrote.
const MAX_PIECES: usize = 300_000;

/// How the queries name what they find, and the colour of each. A longer name is found before its beginning.
const NAMES: &[(&str, &str)] = &[
    ("attribute", "attribute"),
    ("boolean", "constant"),
    ("character", "string"),
    ("comment", "comment"),
    ("conditional", "keyword"),
    ("constant", "constant"),
    ("constructor", "constructor"),
    ("delimiter", "punctuation"),
    ("escape", "escape"),
    ("exception", "keyword"),
    ("field", "property"),
    ("float", "number"),
    ("function", "function"),
    ("function.macro", "function"),
    ("import", "keyword"),
    ("include", "keyword"),
    ("keyword", "keyword"),
    ("label", "label"),
    ("method", "function"),
    ("module", "module"),
    ("namespace", "module"),
    ("number", "number"),
    ("operator", "operator"),
    ("parameter", "variable"),
    ("preproc", "keyword"),
    ("property", "property"),
    ("punctuation", "punctuation"),
    ("repeat", "keyword"),
    ("storageclass", "keyword"),
    ("string", "string"),
    ("string.escape", "escape"),
    ("tag", "tag"),
    ("tag.attribute", "attribute"),
    ("text.literal", "literal"),
    ("text.reference", "link"),
    ("text.title", "heading"),
    ("text.uri", "link"),
    ("type", "type"),
    ("variable.builtin", "constant"),
    ("variable.member", "property"),
    ("variable.parameter", "variable"),
];

/// The coloured pieces of a text in their order; none overlaps another. `None` where there are no colours to be had, or once `stop` is
/// not zero any more.
pub fn colour(language: Language, source: &str, stop: &AtomicUsize) -> Option<Vec<ColouredPiece>> {
    if source.len() > MAX_COLOURED_BYTES || is_too_nested(language, source) || is_minified(source) {
        return None;
    }
    if language == Language::Python {
        return python::pieces(source);
    }
    let rules = configuration(language)?;
    with_stack(source.len(), || pieces(rules, source, stop))
}

fn pieces(rules: &HighlightConfiguration, source: &str, stop: &AtomicUsize) -> Option<Vec<ColouredPiece>> {
    let mut highlighter = Highlighter::new();
    // Other languages inside of this one, such as the code in a page of Markdown.
    let embedded = |name: &str| Language::from_name(name).and_then(configuration);
    let events = highlighter.highlight(rules, source.as_bytes(), None, Some(stop), embedded).ok()?;
    let mut open: Vec<u8> = Vec::new();
    let mut found = Pieces::default();
    for event in events {
        match event.ok()? {
            HighlightEvent::HighlightStart(name) => open.push(colour_of(NAMES.get(name.0)?.1)),
            HighlightEvent::HighlightEnd => {
                open.pop();
            }
            HighlightEvent::Source { start, end } => {
                if let Some(colour) = open.last() {
                    found.push(start, end, *colour);
                }
            }
        }
        if found.all.len() > MAX_PIECES {
            return None;
        }
    }
    Some(found.all)
}

/// Joins what touches and has one colour.
#[derive(Default)]
struct Pieces {
    all: Vec<ColouredPiece>,
}

impl Pieces {
    fn push(&mut self, start: usize, end: usize, colour: u8) {
        match self.all.last_mut() {
            Some(last) if last.end == start && last.colour == colour => last.end = end,
            _ if start < end => self.all.push(ColouredPiece { start, end, colour }),
            _ => {}
        }
    }
}

fn colour_of(name: &str) -> u8 {
    COLOURS.iter().position(|known| *known == name).unwrap_or_default() as u8
}

/// The query of a language, compiled when it is first needed.
fn configuration(language: Language) -> Option<&'static HighlightConfiguration> {
    static ALL: [OnceLock<Option<HighlightConfiguration>>; COUNT] = [const { OnceLock::new() }; COUNT];
    let made = ALL[language as usize].get_or_init(|| {
        let query = queries::of(language)?;
        let grammar = language.table().grammar.clone();
        let mut made =
            HighlightConfiguration::new(grammar, language.name(), &query.colours, query.embedded, "").ok()?;
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        made.configure(&names);
        Some(made)
    });
    made.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(language: Language, source: &str) -> Vec<(&str, &'static str)> {
        let never = AtomicUsize::new(0);
        let pieces = colour(language, source, &never).unwrap_or_default();
        pieces
            .iter()
            .map(|piece| (&source[piece.start..piece.end], COLOURS[usize::from(piece.colour)]))
            .collect()
    }

    #[test]
    fn every_language_has_colours() {
        for language in Language::ALL.iter().filter(|language| **language != Language::Python) {
            assert!(configuration(*language).is_some(), "the query of {language} does not fit its grammar");
        }
        for (_, colour) in NAMES {
            assert!(COLOURS.contains(colour), "{colour}");
        }
    }

    #[test]
    fn sources_in_colours() {
        let rust = shown(Language::Rust, "/// Über\npub fn renew(lease: u32) -> bool { true } // \"x\"\n");
        for expected in [
            ("/// Über\n", "comment"),
            ("pub", "keyword"),
            ("fn", "keyword"),
            ("renew", "function"),
            ("u32", "type"),
        ] {
            assert!(rust.contains(&expected), "{expected:?} in {rust:?}");
        }
        let kotlin = shown(Language::Kotlin, "// hm\nfun main() { val x = \"a\" + 1 }\n");
        for expected in [("// hm", "comment"), ("fun", "keyword"), ("main", "function"), ("1", "number")] {
            assert!(kotlin.contains(&expected), "{expected:?} in {kotlin:?}");
        }
        let typescript = shown(Language::TypeScript, "interface A { b: number }\nconst c = () => 'x';\n");
        for expected in
            [("interface", "keyword"), ("number", "type"), ("const", "keyword"), ("'x'", "string")]
        {
            assert!(typescript.contains(&expected), "{expected:?} in {typescript:?}");
        }
        let page = shown(Language::Markdown, "# Title\n\n```rust\nfn a() {}\n```\n");
        for expected in [("Title", "heading"), ("fn", "keyword")] {
            assert!(page.contains(&expected), "{expected:?} in {page:?}");
        }
    }

    #[test]
    fn pieces_are_in_order_and_do_not_overlap() {
        for (language, source) in [
            (Language::JavaScript, "const a = `x ${1 + 1} y`; // z\nclass B extends C {}\n"),
            (Language::Html, "<p class=\"a\">x</p><script>let a = 1;</script>"),
            (Language::Yaml, "a: [1, 'x']\nb: &c true\n"),
            (Language::Python, "@a\nclass B:\n    def c(self): return f'{d}' # e\n"),
        ] {
            let never = AtomicUsize::new(0);
            let pieces = colour(language, source, &never).unwrap();
            assert!(!pieces.is_empty(), "{language}");
            for pair in pieces.windows(2) {
                assert!(pair[0].end <= pair[1].start, "{language}: {pair:?}");
            }
            for piece in pieces {
                assert!(source.get(piece.start..piece.end).is_some_and(|text| !text.is_empty()));
            }
        }
    }

    #[test]
    fn hostile_texts_have_no_colours_and_cost_little() {
        let never = AtomicUsize::new(0);
        assert_eq!(colour(Language::Rust, &"(".repeat(500_000), &never), None);
        assert_eq!(colour(Language::JavaScript, &"a;".repeat(100_000), &never), None);
        assert_eq!(colour(Language::Json, &" ".repeat(MAX_COLOURED_BYTES + 1), &never), None);
    }

    #[test]
    fn a_text_that_takes_too_long_is_left() {
        let stopped = AtomicUsize::new(1);
        let source = "fn a() { let b = 1; }\n".repeat(2000);
        assert_eq!(colour(Language::Rust, &source, &stopped), None);
    }
}
