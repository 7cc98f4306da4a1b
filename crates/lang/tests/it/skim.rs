//! Without uses, the insides of functions are not parsed; the outline is the same.

use lang::{Language, OutlineLimits, ParsedSource, parse};

fn outline(language: Language, source: &str) -> ParsedSource {
    parse(language, source, &OutlineLimits { max_references: 0, ..OutlineLimits::default() })
}

/// Each text has what may not be left out, and what has to be understood to find where a function ends.
#[test]
fn the_outline_is_the_same_with_and_without_uses() {
    let cases = [
        (Language::C, include_str!("skim/sample.c")),
        (Language::Cpp, include_str!("skim/sample.cpp")),
        (Language::Java, include_str!("skim/sample.java")),
        (Language::CSharp, include_str!("skim/sample.cs")),
        (Language::Php, include_str!("skim/sample.php")),
        (Language::Go, include_str!("skim/sample.go")),
        (Language::Rust, include_str!("skim/sample.rs.txt")),
        (Language::JavaScript, include_str!("skim/sample.js")),
        (Language::TypeScript, include_str!("skim/sample.ts")),
    ];
    for (language, source) in cases {
        let whole = parse(language, source, &OutlineLimits::default());
        let short = outline(language, source);
        assert_eq!(whole.shortfall, None, "{language}");
        assert_eq!(short.symbols, whole.symbols, "{language}");
        assert_eq!(short.imports, whole.imports, "{language}");
        assert!(short.references.is_empty(), "{language}");
        assert!(whole.symbols.len() >= 6, "{language}");
    }
}

/// What is wrong inside a function is not seen, and so does no harm to what stands around it.
#[test]
fn an_error_inside_a_function_is_not_seen() {
    let source =
        "void a(int b) {\n    MACRO(b) if else ) (;\n    more of it here;\n}\nint c(void) { return 1; }\n";
    let names = |parsed: ParsedSource| parsed.symbols.into_iter().map(|s| s.name).collect::<Vec<_>>();
    // Brackets that do not match are not understood, and the text is read whole.
    assert!(outline(Language::C, source).shortfall.is_some());
    let source = source.replace(") (", "");
    assert!(parse(Language::C, &source, &OutlineLimits::default()).shortfall.is_some());
    let parsed = outline(Language::C, &source);
    assert_eq!(parsed.shortfall, None);
    assert_eq!(names(parsed), ["a", "c"]);
}
