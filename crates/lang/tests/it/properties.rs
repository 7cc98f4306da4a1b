use lang::{Language, OutlineLimits, parse};
use proptest::prelude::*;

/// Words that grammars act on, so that random texts get somewhere.
const WORDS: &[&str] = &[
    "class ",
    "def ",
    "fn ",
    "function ",
    "struct ",
    "enum ",
    "impl ",
    "if ",
    "else",
    "for ",
    "import ",
    "from ",
    "use ",
    "A",
    "b",
    "é",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ":",
    ";",
    ",",
    ".",
    "=",
    "=>",
    "->",
    "\n",
    "\n    ",
    " ",
    "\"",
    "'",
    "`",
    "#",
    "//",
    "/*",
    "*/",
    "--",
    "@",
    "$",
    "\\",
    "0",
    "\u{0}",
    "\t",
    "<?php ",
    "# ",
    "---\n",
    "end",
    "do ",
    "where ",
    "let ",
    "const ",
    "template",
    "namespace ",
    "*",
    "&",
    "|",
    "\r\n",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(proptest::sample::select(WORDS), 0..80).prop_map(|words| words.concat()),
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Any text in any language: lines are in the file and in order, members are in their parents, and a second
    /// reading gives the same.
    #[test]
    fn any_text_in_any_language(source in text(), index in 0..Language::ALL.len()) {
        let language = Language::ALL[index];
        let limits = OutlineLimits::default();
        let parsed = parse(language, &source, &limits);
        let lines = source.matches('\n').count() as u32 + 1;
        for symbol in &parsed.symbols {
            prop_assert!(symbol.lead_line >= 1);
            prop_assert!(symbol.lead_line <= symbol.start_line);
            prop_assert!(symbol.start_line <= symbol.end_line);
            prop_assert!(symbol.end_line <= lines, "{language} {symbol:?}");
            prop_assert!(!symbol.name.is_empty());
            prop_assert!(symbol.qualified.ends_with(&symbol.name));
        }
        for reference in &parsed.references {
            prop_assert!(reference.line >= 1 && reference.line <= lines);
            if let Some(within) = reference.within {
                let symbol = &parsed.symbols[within as usize];
                prop_assert!(symbol.lead_line <= reference.line && reference.line <= symbol.end_line);
            }
        }
        prop_assert_eq!(parse(language, &source, &limits), parsed);
    }
}
