use std::time::{Duration, Instant};

use lang::{Language, Limits, Shortfall, parse};

/// Long enough for a debug build on a busy machine, far from endless.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_hundred_thousand_brackets() {
    for language in Language::ALL {
        for (open, close) in [("(", ")"), ("([{", "}])"), ("{(", "")] {
            let source = format!("{}{}\n", open.repeat(100_000), close.repeat(100_000));
            let parsed = parse(*language, &source, &Limits::default());
            assert!(matches!(parsed.shortfall, Some(Shortfall::TooNested { .. })), "{language} {open}");
        }
    }
}

/// What the limit on brackets lets through, and nesting by other means, neither overflows the stack nor takes long.
#[test]
fn nesting_that_no_bracket_shows() {
    let limits = Limits { max_time: Duration::from_millis(500), ..Limits::default() };
    for language in Language::ALL {
        for unit in ["([{", "- ", "not ", "a=", "x?y:", "<div>", "> "] {
            let count = if unit == "([{" { 330 } else { 4000 };
            let started = Instant::now();
            parse(*language, &unit.repeat(count), &limits);
            assert!(started.elapsed() < PATIENCE, "{language} {unit}");
        }
    }
}

#[test]
fn declarations_nested_without_end() {
    for (language, open) in [
        (Language::JavaScript, "class A{m(){"),
        (Language::Java, "class A{"),
        (Language::Rust, "mod a{"),
        (Language::Cpp, "namespace a{"),
        (Language::CSharp, "class A{"),
        (Language::Ruby, "module A\n"),
        (Language::Json, "{\"a\":"),
        (Language::Css, "a{"),
    ] {
        let source = open.repeat(20_000);
        let limits = Limits { max_time: Duration::from_secs(2), ..Limits::default() };
        let parsed = parse(language, &source, &limits);
        let longest = parsed.symbols.iter().map(|symbol| symbol.qualified.len()).max().unwrap_or(0);
        assert!(longest < 2000, "{language}: {longest}");
        assert!(parsed.shortfall.is_some(), "{language}");
    }
}

#[test]
fn ten_megabytes_of_minified_javascript() {
    let source = "function a(b){return b?c(b):d[b]}var e=1;".repeat(250_000);
    let parsed = parse(Language::JavaScript, &source, &Limits::default());
    assert!(matches!(parsed.shortfall, Some(Shortfall::TooLarge { .. })), "{:?}", parsed.shortfall);
    assert!(parsed.symbols.is_empty());
}

#[test]
fn a_megabyte_on_one_line_is_read() {
    let source = "function a(b){return b?c(b):d[b]}var e=1;".repeat(25_000);
    let parsed = parse(Language::JavaScript, &source, &Limits::default());
    assert_eq!(
        parsed.shortfall.as_ref().map(|s| s.is_total()),
        None.or(Some(false)).filter(|_| parsed.shortfall.is_some())
    );
    assert!(parsed.symbols.len() >= 25_000);
    assert!(parsed.symbols.iter().all(|symbol| symbol.end_line == 1));
}

#[test]
fn nul_bytes_and_mojibake() {
    let latin_1: String = b"def f\xe9():\n    '\xfcber'\n".iter().map(|byte| char::from(*byte)).collect();
    let replaced = String::from_utf8_lossy(b"int \xff\xfe main(void) { \x80 }").into_owned();
    let nul = "fn a() {}\0\0\nfn b() {}\n\0";
    for language in Language::ALL {
        for source in [latin_1.as_str(), replaced.as_str(), nul, "\u{feff}x", "\0"] {
            parse(*language, source, &Limits::default());
        }
    }
    let parsed = parse(Language::Rust, nul, &Limits::default());
    assert!(parsed.symbols.iter().any(|symbol| symbol.name == "a"), "{:?}", parsed.symbols);
}

#[test]
fn the_limit_on_references_is_kept_and_noted() {
    let source = "f();\n".repeat(1000);
    let limits = Limits { max_references: 10, ..Limits::default() };
    let parsed = parse(Language::JavaScript, &source, &limits);
    assert_eq!(parsed.references.len(), 10);
    assert_eq!(parsed.shortfall, Some(Shortfall::TooMany { what: "references", limit: 10 }));
}
