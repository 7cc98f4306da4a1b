//! Which lines belong to a declaration: with the comments, attributes and decorators in front of it.

use lang::{Language, OutlineLimits, parse};

#[test]
fn comments_attributes_and_decorators_belong_to_their_declaration() {
    let source = "\
use std::fmt;

/// A service.
/// More of it.
#[derive(Debug)]
pub struct Service;

// Not about the impl.

impl Service {
    /// Runs.
    #[inline]
    pub fn run(&self) {}

    fn stop(&self) {}
}
";
    let parsed = parse(Language::Rust, source, &OutlineLimits::default());
    let rows: Vec<_> = parsed
        .symbols
        .iter()
        .map(|s| format!("{}-{} {} {} {}", s.lead_line, s.end_line, s.level, s.kind, s.qualified))
        .collect();
    assert_eq!(
        rows,
        [
            "3-6 0 struct Service",
            "10-16 0 impl Service",
            "11-13 1 method Service.run",
            "15-15 1 method Service.stop",
        ]
    );
}

#[test]
fn an_export_or_a_template_is_part_of_what_it_stands_around() {
    for (language, source, expected) in [
        (Language::TypeScript, "// a\n@dec()\nexport class A {\n  b() {}\n}\n", "1-5 A"),
        (Language::Cpp, "// a\ntemplate <class T>\nclass A {\n};\n", "1-4 A"),
        (Language::Python, "# a\n@b\ndef a():\n    pass\n", "1-4 a"),
        (Language::JavaScript, "// a\nexport const a = () => {\n};\n", "1-3 a"),
        (Language::Go, "package p\n\n// A is.\ntype A struct {\n}\n", "3-5 A"),
    ] {
        let parsed = parse(language, source, &OutlineLimits::default());
        let row = parsed.symbols.first().map(|s| format!("{}-{} {}", s.lead_line, s.end_line, s.qualified));
        assert_eq!(row.as_deref(), Some(expected), "{language}");
    }
}
