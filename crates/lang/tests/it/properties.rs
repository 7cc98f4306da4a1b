use lang::{Language, OutlineLimits, facts, parse};
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

    /// Facts of any text in any language: in the file, in order, one inside the other or apart, and the same again.
    #[test]
    fn facts_of_any_text(source in text(), index in 0..Language::ALL.len()) {
        let language = Language::ALL[index];
        let limits = OutlineLimits::default();
        let found = facts(language, &source, &limits);
        prop_assert!(found.declarations[0].is_module());
        let lines = source.matches('\n').count() as u32 + 1;
        for (at, each) in found.declarations.iter().enumerate() {
            prop_assert!(each.lines.0 >= 1 && each.lines.0 <= each.lines.1 && each.lines.1 <= lines, "{language} {each:?}");
            prop_assert!(each.bytes.0 <= each.bytes.1 && each.bytes.1 as usize <= source.len());
            let text = source.get(each.bytes.0 as usize..each.bytes.1 as usize);
            prop_assert!(text.is_some(), "{language} {each:?}");
            if at > 1 {
                prop_assert!(found.declarations[at - 1].bytes.0 <= each.bytes.0);
            }
        }
        for comment in &found.comments {
            prop_assert!(comment.end as usize <= source.len() && comment.start_line <= comment.end_line);
        }
        let packed = serde_json::to_string(&found).unwrap();
        prop_assert_eq!(serde_json::from_str::<model::FileFacts>(&packed).unwrap(), found.clone());
        prop_assert_eq!(facts(language, &source, &limits), found);
    }
}
