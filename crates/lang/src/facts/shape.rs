//! What the head of a declaration says: modifiers and visibility; and how paths are written the same in every language.

use crate::Language;

/// Words in front of a name that say something about it.
const MODIFIERS: &[&str] = &[
    "abstract",
    "async",
    "const",
    "constexpr",
    "declare",
    "default",
    "export",
    "extern",
    "fileprivate",
    "final",
    "get",
    "inline",
    "internal",
    "lateinit",
    "mut",
    "native",
    "open",
    "operator",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "public",
    "readonly",
    "sealed",
    "set",
    "static",
    "strictfp",
    "suspend",
    "synchronized",
    "transient",
    "unsafe",
    "virtual",
    "volatile",
];

/// The modifiers in the text of a declaration up to its name.
pub(crate) fn modifiers(head: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = head;
    // A hostile head may be long; nobody writes many modifiers.
    while found.len() < 16 {
        rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() {
            let Some(next) = after.chars().next() else { break };
            rest = &after[next.len_utf8()..];
            continue;
        }
        rest = after;
        if !MODIFIERS.contains(&word) {
            continue;
        }
        // `pub(crate)` is one word.
        let inner = (word == "pub").then(|| after.strip_prefix('(')).flatten();
        let whole = match inner.and_then(|inner| inner.find(')').map(|end| (inner, end))) {
            Some((inner, end)) if end < 60 => {
                rest = &inner[end + 1..];
                format!("pub({})", &inner[..end])
            }
            _ => word.to_owned(),
        };
        if !found.contains(&whole) {
            found.push(whole);
        }
    }
    found
}

/// Where a declaration stands, as far as that decides who sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Around<'a> {
    /// The kind of the declaration that it is a member of, by the name of its symbol kind.
    pub(crate) kind: Option<&'a str>,
    /// It is in the implementation of a trait, whose visibility it has.
    pub(crate) in_trait: bool,
    /// It is in a function: nobody sees it from outside.
    pub(crate) in_function: bool,
}

/// Who sees a declaration, in the same four words for every language; `None` where the language does not say.
pub(crate) fn visibility(
    language: Language,
    name: &str,
    modifiers: &[String],
    around: Around<'_>,
) -> Option<&'static str> {
    let has = |word: &str| modifiers.iter().any(|modifier| modifier == word);
    let said = if has("public") || has("open") && language == Language::Swift {
        Some("public")
    } else if has("private") || has("fileprivate") {
        Some("private")
    } else if has("protected") {
        Some("protected")
    } else if has("internal") {
        Some("internal")
    } else {
        None
    };
    let in_interface = matches!(around.kind, Some("interface" | "protocol" | "trait"));
    let in_type = around.kind.is_some();
    match language {
        Language::Rust => Some(match modifiers.iter().find(|modifier| modifier.starts_with("pub")) {
            Some(word) if word == "pub" => "public",
            Some(word) if word == "pub(self)" => "private",
            Some(_) => "internal",
            None if around.in_trait || in_interface => "public",
            None => "private",
        }),
        Language::Go => Some(if name.starts_with(char::is_uppercase) { "public" } else { "private" }),
        Language::Java => said.or(Some(if in_interface { "public" } else { "internal" })),
        Language::CSharp => said.or(Some(match (in_interface, in_type) {
            (true, _) => "public",
            (false, true) => "private",
            (false, false) => "internal",
        })),
        Language::Kotlin | Language::Scala | Language::Php => said.or(Some("public")),
        Language::Swift => said.or(Some("internal")),
        Language::C => Some(if has("static") { "private" } else { "public" }),
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Python => {
            said.or_else(|| Some(by_name(name)))
        }
        _ => None,
    }
    .filter(|_| {
        !around.in_function || matches!(language, Language::JavaScript | Language::Python) || said.is_some()
    })
    .or(around.in_function.then_some("private"))
    .filter(|_| knows(language))
}

fn knows(language: Language) -> bool {
    use Language::{
        C, CSharp, Go, Java, JavaScript, Kotlin, Php, Python, Rust, Scala, Swift, Tsx, TypeScript,
    };
    matches!(
        language,
        C | CSharp | Go | Java | JavaScript | Kotlin | Php | Python | Rust | Scala | Swift | Tsx | TypeScript
    )
}

/// Python and JavaScript say it by the name: `#x` and `__x` are private, `_x` is protected, `__init__` is public.
pub(crate) fn by_name(name: &str) -> &'static str {
    let is_dunder = name.len() > 4 && name.starts_with("__") && name.ends_with("__");
    match name {
        _ if is_dunder => "public",
        _ if name.starts_with('#') || name.starts_with("__") => "private",
        _ if name.starts_with('_') => "protected",
        _ => "public",
    }
}

/// A path as written, with dots between its parts and `[]` for an element; `None` for what is no path.
pub(crate) fn path(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > 200 {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim_start_matches(['&', '*']);
    rest = rest.strip_prefix("mut ").unwrap_or(rest);
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match c {
            '?' | '!' if after.starts_with(['.', '[']) || after.starts_with("->") => rest = after,
            '-' if after.starts_with('>') => {
                out.push('.');
                rest = &after[1..];
            }
            ':' if after.starts_with(':') => {
                out.push('.');
                rest = &after[1..];
            }
            '.' => {
                // `a?.[0]` has no member between.
                if !after.starts_with('[') {
                    out.push('.');
                }
                rest = after;
            }
            '[' => {
                let end = closing(rest)?;
                out.push_str("[]");
                rest = &rest[end..];
            }
            c if c.is_whitespace() => rest = after,
            c if c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '#') => {
                out.push(c);
                rest = after;
            }
            _ => return None,
        }
    }
    let starts_well = out.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@' | '#'));
    (starts_well && !out.ends_with('.') && !out.contains("..")).then_some(out)
}

/// Where the bracket that opens this text is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_alike() {
        for (text, expected) in [
            ("req.body", Some("req.body")),
            ("a?.b", Some("a.b")),
            ("a?.[0].c", Some("a[].c")),
            ("p->next->value", Some("p.next.value")),
            ("std::fs::read", Some("std.fs.read")),
            ("&mut self.rows[i + x[1]]", Some("self.rows[]")),
            ("this.#count", Some("this.#count")),
            ("f(x).y", None),
            ("1", None),
            ("a + b", None),
            ("", None),
        ] {
            assert_eq!(path(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn modifiers_of_a_head() {
        assert_eq!(modifiers("pub(crate) async unsafe fn "), ["pub(crate)", "async", "unsafe"]);
        assert_eq!(modifiers("public static final int "), ["public", "static", "final"]);
        assert_eq!(modifiers("function "), Vec::<String>::new());
    }

    #[test]
    fn visibility_by_language() {
        let words = |text: &str| modifiers(text);
        let top = Around::default();
        let of = |language, name, text: &str, around| visibility(language, name, &words(text), around);
        assert_eq!(of(Language::Rust, "f", "pub fn", top), Some("public"));
        assert_eq!(of(Language::Rust, "f", "pub(crate) fn", top), Some("internal"));
        assert_eq!(of(Language::Rust, "f", "fn", top), Some("private"));
        assert_eq!(of(Language::Rust, "f", "fn", Around { in_trait: true, ..top }), Some("public"));
        assert_eq!(of(Language::Go, "Run", "func", top), Some("public"));
        assert_eq!(of(Language::Python, "__x", "", top), Some("private"));
        assert_eq!(of(Language::Python, "__init__", "", top), Some("public"));
        assert_eq!(of(Language::TypeScript, "x", "private", top), Some("private"));
        assert_eq!(of(Language::Java, "x", "", Around { kind: Some("interface"), ..top }), Some("public"));
        assert_eq!(of(Language::Bash, "x", "", top), None);
    }
}
