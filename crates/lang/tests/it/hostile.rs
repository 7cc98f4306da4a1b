//! Sources that are broken, enormous or made to hurt: an answer in bounded time, and the reason with it.

use std::time::{Duration, Instant};

use lang::{Language, OutlineLimits, Shortfall, parse};

/// Long enough for a debug build on a busy machine, far from endless.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_hundred_thousand_brackets() {
    for language in Language::ALL {
        for (open, close) in [("(", ")"), ("([{", "}])"), ("{(", "")] {
            let source = format!("{}{}\n", open.repeat(100_000), close.repeat(100_000));
            let parsed = parse(*language, &source, &OutlineLimits::default());
            assert!(matches!(parsed.shortfall, Some(Shortfall::TooNested { .. })), "{language} {open}");
        }
    }
}

/// What the limit on brackets lets through, and nesting by other means, neither overflows the stack nor takes long.
#[test]
fn nesting_that_no_bracket_shows() {
    let limits = OutlineLimits { max_time: Duration::from_millis(500), ..OutlineLimits::default() };
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
        let limits = OutlineLimits { max_time: Duration::from_secs(2), ..OutlineLimits::default() };
        let parsed = parse(language, &source, &limits);
        let longest = parsed.symbols.iter().map(|symbol| symbol.qualified.len()).max().unwrap_or(0);
        assert!(longest < 2000, "{language}: {longest}");
        assert!(parsed.shortfall.is_some(), "{language}");
    }
}

#[test]
fn ten_megabytes_of_minified_javascript() {
    let source = "function a(b){return b?c(b):d[b]}var e=1;".repeat(250_000);
    let parsed = parse(Language::JavaScript, &source, &OutlineLimits::default());
    assert!(matches!(parsed.shortfall, Some(Shortfall::TooLarge { .. })), "{:?}", parsed.shortfall);
    assert!(parsed.symbols.is_empty());
}

/// What is looked at before the grammar must not look at the same bytes again and again: each of these would take
/// minutes.
#[test]
fn many_of_the_same_signs() {
    let limits = OutlineLimits { max_references: 0, ..OutlineLimits::default() };
    let many = |part: &str| part.repeat((1 << 18) / part.len());
    for part in [
        "\n",
        " ",
        "\n  <",
        "*/\n  <",
        "/*a*/ in b,",
        "in ",
        "$",
        "@$\"",
        "<<<A\n",
        "\"{$",
        "$\"{",
        "import('",
    ] {
        for language in [Language::TypeScript, Language::CSharp, Language::Php] {
            let _ = parse(language, &many(part), &limits);
        }
    }
}

/// What is open is kept at every `#if`, but not without end: these would be gigabytes.
#[test]
fn many_branches_inside_many_blocks() {
    let limits = OutlineLimits { max_references: 0, ..OutlineLimits::default() };
    for directives in ["#if a\n", "#if a\n#endif\n", "#else\n"] {
        let source = format!("{}\n#if b\n{}", "void f(){".repeat(400), directives.repeat(20_000));
        for language in [Language::C, Language::CSharp] {
            let _ = parse(language, &source, &limits);
        }
    }
}

/// Where everything is on one line, a line is no place; the reason is told.
#[test]
fn a_minified_script_has_no_outline() {
    let source = "function a(b){return b?c(b):d[b]}var e=1;".repeat(1_000);
    let minified = parse(Language::JavaScript, &source, &OutlineLimits::default());
    assert!(matches!(minified.shortfall, Some(Shortfall::Minified { .. })), "{:?}", minified.shortfall);
    assert!(minified.symbols.is_empty() && minified.references.is_empty());
    let written = source.replace('}', "}\n");
    let written = parse(Language::JavaScript, &written, &OutlineLimits::default());
    assert_eq!(written.shortfall, None);
    assert_eq!(written.symbols.len(), 2_000);
    let short = parse(Language::JavaScript, &source[..8_000], &OutlineLimits::default());
    assert!(!short.symbols.is_empty());
}

/// Whatever the language, what is beyond the limit is refused before a parser sees it.
#[test]
fn ten_megabytes_in_any_language() {
    let source = "a{b:c}/*d*/;(e)=[f]\n".repeat(550_000);
    for language in Language::ALL {
        let started = Instant::now();
        let parsed = parse(*language, &source, &OutlineLimits::default());
        let expected = Shortfall::TooLarge { bytes: source.len(), limit: OutlineLimits::default().max_bytes };
        assert_eq!(parsed.shortfall, Some(expected), "{language}");
        assert!(parsed.symbols.is_empty() && parsed.references.is_empty(), "{language}");
        assert!(started.elapsed() < Duration::from_secs(5), "{language}");
    }
}

/// A thousand blocks in each other by indentation alone, by blanks and by tabs.
#[test]
fn deep_indentation() {
    let limits = OutlineLimits { max_time: Duration::from_secs(2), ..OutlineLimits::default() };
    for (language, head) in [
        (Language::Python, "if a:"),
        (Language::Python, "def a():"),
        (Language::Yaml, "a:"),
        (Language::Haskell, "a = do"),
        (Language::Scala, "object A:"),
        (Language::Markdown, "- a"),
        (Language::Ruby, "if a"),
        (Language::Elixir, "if a do"),
        (Language::JavaScript, "if (a) b: for (;;)"),
    ] {
        for blank in [" ", "\t"] {
            let mut source = String::new();
            for depth in 0..1000 {
                source.push_str(&blank.repeat(depth));
                source.push_str(head);
                source.push('\n');
            }
            let started = Instant::now();
            let parsed = parse(language, &source, &limits);
            assert!(started.elapsed() < PATIENCE, "{language} {head}");
            let longest = parsed.symbols.iter().map(|symbol| symbol.qualified.len()).max().unwrap_or(0);
            assert!(longest < 2000, "{language}: {longest}");
        }
    }
}

/// Nesting in Python by every means that the syntax has, each deeper than a thread's stack would bear.
#[test]
fn python_nested_by_operators() {
    for unit in [
        "a+",
        "a**",
        "a.",
        "not ",
        "~",
        "await ",
        "lambda:",
        "lambda a,b:",
        "a if b else ",
        "a()",
        "a[0]",
        "*",
        "yield ",
        "if a:",
        "a:=",
        "a=",
        "a,",
        "f'{",
        "(a,",
        "[",
        "{a:",
        "x<",
        "a or b and ",
        "@",
        "async ",
        "a\\\n+",
        "from ",
        "in ",
        "case a:",
        "try:",
        "class A(",
        "def f():",
    ] {
        for size in [100, 3_000, 40_000, 400_000] {
            let source = format!("def f(): pass\nx = {}1\n", unit.repeat(size / unit.len()));
            let started = Instant::now();
            let parsed = parse(Language::Python, &source, &OutlineLimits::default());
            assert!(started.elapsed() < PATIENCE, "{unit} {size}");
            assert_eq!(parsed.symbols.is_empty(), parsed.shortfall.is_some_and(|s| s.is_total()), "{unit}");
        }
    }
}

/// Python refuses what is indented a hundred times, and so has no outline of it.
#[test]
fn python_has_no_hundred_levels() {
    for (levels, symbols) in [(98, 1), (99, 1), (100, 0), (150, 0)] {
        let mut source = String::from("def a():\n");
        for depth in 1..levels {
            source.push_str(&" ".repeat(depth));
            source.push_str("if a:\n");
        }
        source.push_str(&" ".repeat(levels));
        source.push_str("pass\n");
        let parsed = parse(Language::Python, &source, &OutlineLimits::default());
        assert_eq!(parsed.symbols.len(), symbols, "{levels}");
    }
}

#[test]
fn a_megabyte_on_one_line_is_read() {
    let source = "function a(b){return b?c(b):d[b]}var e=1;".repeat(25_000);
    let parsed = parse(Language::TypeScript, &source, &OutlineLimits::default());
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
            parse(*language, source, &OutlineLimits::default());
        }
    }
    for source in ["def a(): pass\n\0", "\0def a(): pass\n", "def a(): '\0'\n"] {
        let parsed = parse(Language::Python, source, &OutlineLimits::default());
        assert!(parsed.symbols.is_empty(), "{source:?}");
        assert_eq!(parsed.shortfall.as_ref().map(Shortfall::code), Some("SYNTAX_ERROR"), "{source:?}");
    }
    let parsed = parse(Language::Python, &latin_1, &OutlineLimits::default());
    assert_eq!(parsed.symbols.first().map(|symbol| symbol.name.as_str()), Some("fé"));
    let parsed = parse(Language::Rust, nul, &OutlineLimits::default());
    assert!(parsed.symbols.iter().any(|symbol| symbol.name == "a"), "{:?}", parsed.symbols);
}

/// Uses are the most numerous of what is kept: a name for every other byte stays within the limit, and is noted.
#[test]
fn a_megabyte_of_names() {
    for (language, source) in [
        (Language::Python, "a+".repeat(500_000) + "a\n"),
        (Language::JavaScript, "a,".repeat(500_000) + "a"),
        (Language::Ruby, "a\n".repeat(500_000)),
        (Language::C, "int a=".to_owned() + &"b|".repeat(500_000) + "b;"),
    ] {
        let limits = OutlineLimits { max_time: Duration::from_secs(5), ..OutlineLimits::default() };
        let started = Instant::now();
        let parsed = parse(language, &source, &limits);
        assert!(started.elapsed() < PATIENCE, "{language}");
        assert!(parsed.references.len() <= limits.max_references, "{language}");
        assert!(parsed.shortfall.is_some(), "{language}");
    }
}

#[test]
fn the_limit_on_references_is_kept_and_noted() {
    let source = "f();\n".repeat(1000);
    let limits = OutlineLimits { max_references: 10, ..OutlineLimits::default() };
    let parsed = parse(Language::JavaScript, &source, &limits);
    assert_eq!(parsed.references.len(), 10);
    assert_eq!(parsed.shortfall, Some(Shortfall::TooMany { what: "references", limit: 10 }));
}

#[test]
fn a_declaration_without_a_name_is_none() {
    let parsed = parse(Language::Haskell, "class );class ;\n---\n", &OutlineLimits::default());
    assert!(parsed.symbols.iter().all(|symbol| !symbol.name.is_empty()), "{:?}", parsed.symbols);
}
