//! Text from files and callers, made harmless for a terminal and for the eye: no escape sequences, no text
//! that runs backwards, nothing invisible.

use std::borrow::Cow;

/// One line: line ends and tabs are escaped too. For names, paths and messages.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Several lines: line ends and tabs stay. For snippets and answers.
pub(crate) fn safe_text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// Escapes the same characters inside JSON text, which stays the same JSON: they can only stand in strings.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(|c| is_unsafe(c) && c != '\n') {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 16);
    let mut units = [0u16; 2];
    for c in json.chars() {
        if is_unsafe(c) && c != '\n' {
            for unit in c.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text)
}

/// True for what a terminal obeys and for what is not seen. Stricter than the tools: a terminal shows no joiners, and the
/// selectors, which can carry hidden text, are needed for emoji only (the last one of the first block).
pub(crate) fn is_unsafe(c: char) -> bool {
    policy::is_hidden(c)
        || (policy::is_modifier(c) && c != '\u{fe0f}')
        || matches!(c, '\n' | '\t' | '\u{ad}' | '\u{34f}')
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c: char| is_unsafe(c) && !keep(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' if bad(c) => escaped.push_str("\\n"),
            '\t' if bad(c) => escaped.push_str("\\t"),
            '\r' => escaped.push_str("\\r"),
            c if bad(c) => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn m25_terminal_and_invisible_text_is_escaped() {
        let cases = [
            ("plain ünïcode ❤\u{fe0f} 漢字", "plain ünïcode ❤\u{fe0f} 漢字"),
            ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
            ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "\\u{1b}]8;;http://x\\u{7}link\\u{1b}]8;;\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("x\u{202e}txt.exe", "x\\u{202e}txt.exe"),
            ("a\u{200b}b\u{feff}c\u{2066}d", "a\\u{200b}b\\u{feff}c\\u{2066}d"),
            ("\u{e0041}\u{e0042}", "\\u{e0041}\\u{e0042}"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ];
        for (text, expected) in cases {
            assert_eq!(safe(text), expected);
        }
        assert_eq!(safe_text("a\n\tb\r\x1b"), "a\n\tb\\r\\u{1b}");
        assert!(matches!(safe("nothing to do"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(text in any::<String>()) {
            prop_assert!(!safe(&text).contains(is_unsafe));
            prop_assert!(!safe_text(&text).contains(|c| is_unsafe(c) && c != '\n' && c != '\t'));
        }

        #[test]
        fn json_keeps_its_meaning(text in any::<String>()) {
            let value = serde_json::json!({ text.as_str(): [text.as_str(), "\u{e0041}\u{9b}"] });
            let json = serde_json::to_string(&value).unwrap();
            let escaped = escape_json(&json);
            prop_assert!(!escaped.contains(is_unsafe));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        }
    }
}
