//! Accents that a page shows as glyphs of their own, over or under a letter.

use unicode_normalization::char::compose;

/// The letter with the accent, if both are one character.
pub(super) fn accented(letter: &str, accent: &str) -> Option<char> {
    let letter = match only(letter)? {
        // The letters without dots are there to carry accents.
        'ı' => 'i',
        'ȷ' => 'j',
        other => other,
    };
    compose(letter, mark(only(accent)?)?)
}

/// Whether a glyph is an accent.
pub(super) fn is_accent(text: &str) -> bool {
    only(text).and_then(mark).is_some()
}

fn only(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// The mark that goes with a letter, for an accent without a letter.
fn mark(accent: char) -> Option<char> {
    Some(match accent {
        '`' | '\u{2cb}' => '\u{300}',
        '´' | '\u{2ca}' => '\u{301}',
        'ˆ' => '\u{302}',
        '˜' => '\u{303}',
        '¯' | '\u{2c9}' => '\u{304}',
        '˘' => '\u{306}',
        '˙' => '\u{307}',
        '¨' => '\u{308}',
        '˚' => '\u{30a}',
        '˝' => '\u{30b}',
        'ˇ' => '\u{30c}',
        '¸' => '\u{327}',
        '˛' => '\u{328}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{accented, is_accent};

    #[test]
    fn letters_with_accents() {
        assert_eq!(accented("a", "¨"), Some('ä'));
        assert_eq!(accented("ı", "´"), Some('í'));
        assert_eq!(accented("c", "¸"), Some('ç'));
        assert_eq!(accented("Z", "ˇ"), Some('Ž'));
        assert_eq!(accented("x", "ˆ"), None);
        assert_eq!(accented("ab", "¨"), None);
        assert!(is_accent("`") && !is_accent("'") && !is_accent("a"));
    }
}
