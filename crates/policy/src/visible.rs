//! Text from files, made harmless for a terminal and for a reader who cannot see everything: no escape sequences, no text
//! that runs backwards, no hidden message.

use std::borrow::Cow;

/// The text with every character spelled out that a terminal obeys or an eye cannot see: `\u{1b}[2J`. Line ends and tabs
/// stay, and so do the joiners and selectors of scripts and emoji, one at a time.
pub fn visible(text: &str) -> Cow<'_, str> {
    let Some(first) = hidden(text).next() else { return Cow::Borrowed(text) };
    let mut shown = String::with_capacity(text.len() + 16);
    let mut copied = 0;
    for (at, c) in std::iter::once(first).chain(hidden(text).skip(1)) {
        shown.push_str(&text[copied..at]);
        shown.extend(c.escape_unicode());
        copied = at + c.len_utf8();
    }
    shown.push_str(&text[copied..]);
    Cow::Owned(shown)
}

/// The text without hidden characters, for a reader that could decode what is spelled out: a language model.
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    let mut left = String::new();
    let mut copied = 0;
    for (at, c) in hidden(text) {
        left.push_str(&text[copied..at]);
        copied = at + c.len_utf8();
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    left.push_str(&text[copied..]);
    Cow::Owned(left)
}

/// What [`visible`] spelled out, as it was: for a name that a caller gives back as it was shown.
pub fn invisible(text: &str) -> Cow<'_, str> {
    const START: &str = "\\u{";
    if !text.contains(START) {
        return Cow::Borrowed(text);
    }
    let mut raw = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(START) {
        let (before, escape) = rest.split_at(at);
        raw.push_str(before);
        let code = escape[START.len()..].split_once('}').filter(|(code, _)| code.len() <= 6);
        let spelled = code.and_then(|(code, after)| {
            let c = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
            (is_hidden(c) || is_modifier(c)).then_some((c, after))
        });
        rest = match spelled {
            Some((c, after)) => {
                raw.push(c);
                after
            }
            None => {
                raw.push_str(START);
                &escape[START.len()..]
            }
        };
    }
    raw.push_str(rest);
    Cow::Owned(raw)
}

/// Never seen, and never needed to read a text: control codes, marks of direction, spaces without width, tags.
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Arabic letter mark, Hangul fillers, Mongolian separator.
        '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}' => true,
        // Zero width, marks of direction, separators of lines and paragraphs, embeddings and overrides.
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        // Word joiner, invisible operators, isolates; marks of annotations.
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // Shorthand and musical formatting, tags.
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}' => true,
        other => other.is_control(),
    }
}

/// Persian, Indic scripts, Chinese names and emoji are written with these. A run of them is a hidden message.
pub fn is_modifier(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> {
    // A joiner may follow a selector (`❤️‍🔥`), nothing else of the kind may follow another.
    let mut before = ' ';
    text.char_indices().filter(move |&(_, c)| {
        let last = std::mem::replace(&mut before, c);
        let after_selector = c == '\u{200d}' && last == '\u{fe0f}';
        is_hidden(c) || (is_modifier(c) && !after_selector && (last.is_ascii() || is_modifier(last)))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hidden_characters_are_spelled_out() {
        for (text, shown) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("\u{1b}]8;;http://x\u{7}", "\\u{1b}]8;;http://x\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\rb", "a\\u{d}b"),
            ("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}"),
            ("a\u{e0041}b", "a\\u{e0041}b"),
            ("👩\u{200d}💻 ❤\u{fe0f} ❤\u{fe0f}\u{200d}🔥", "👩\u{200d}💻 ❤\u{fe0f} ❤\u{fe0f}\u{200d}🔥"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("😀\u{fe01}\u{fe02}", "😀\u{fe01}\\u{fe02}"),
            ("a\u{200d}b", "a\\u{200d}b"),
        ] {
            assert_eq!(visible(text), shown);
            assert_eq!(invisible(shown), text);
            assert!(!without_hidden(text).contains(is_hidden));
        }
        assert_eq!(without_hidden("i\u{200b}gno\u{e0041}re\r\n"), "ignore\n");
        assert!(matches!(visible("nothing to do"), Cow::Borrowed(_)));
        assert_eq!(invisible("C:\\u{x} \\u{41} \\u{"), "C:\\u{x} \\u{41} \\u{");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            let shown = visible(&text).into_owned();
            prop_assert!(!shown.contains(is_hidden));
            prop_assert_eq!(visible(&shown), shown.as_str());
        }

        #[test]
        fn a_name_leads_back(text in "[a-z./\u{1b}\u{202e}\u{9b}\u{200d}\u{e0041}é]{0,30}") {
            let shown = visible(&text);
            prop_assert_eq!(invisible(&shown), text.as_str());
        }
    }
}
