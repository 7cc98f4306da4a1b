//! Which pages have words that the text layer does not hold: scans, outlines, characters without a meaning.

use super::content::{Glyph, Matrix, Shown};

/// A page without letters is worth looking at if images cover this share of it.
const LEAST_COVER: f64 = 0.01;
/// So many drawn pieces may be letters as outlines; a frame or a few rules have fewer.
const LEAST_STROKES: u32 = 50;
/// Images that cover this share of the page are what the page is about.
const SCAN: f64 = 0.6;
/// Fewer letters than this over a scan are a stamp, a page number or a notice. A page of a book has 1,500 and more.
const STAMP: usize = 200;
/// An image that covers less is a logo, and no scan that text could lie under.
const LOGO: f64 = 0.05;
/// Fewer characters are too few to judge by.
const LEAST_SAMPLE: usize = 50;
/// A text layer with this share of characters without a meaning is not worth reading.
const MOST_STRANGE: f64 = 0.3;
/// Letters and digits among the characters of a readable text: 0.97 of English prose, 0.45 of dense code.
const LEAST_LETTERS: f64 = 0.4;
/// Words of Latin letters with a vowel among them; of English words 0.99 have one, of shifted alphabets about 0.6.
const LEAST_VOWELS: f64 = 0.7;
/// Fewer words are too few to judge by.
const LEAST_WORDS: usize = 30;

/// Whether the words of a page have to be recognised.
pub(super) fn is_unread(shown: &Shown, area: [f64; 4]) -> bool {
    let visible = shown.text.chars().filter(|character| !character.is_whitespace()).count();
    let letters = letters(shown, |_| true);
    let cover: f64 = shown.images.iter().map(|image| cover(&image.matrix, area)).sum();
    if letters == 0 {
        return cover >= LEAST_COVER || shown.strokes >= LEAST_STROKES || shown.unknown > 0 || visible > 0;
    }
    is_garbage(shown) || (cover >= SCAN && letters < STAMP && !has_recognised_text(shown, area))
}

/// Whether the text layer is no text.
pub(super) fn is_garbage(shown: &Shown) -> bool {
    let visible = shown.text.chars().filter(|character| !character.is_whitespace());
    let (mut all, mut strange, mut letters, mut other) = (0usize, shown.unknown as usize, 0usize, 0usize);
    for character in visible {
        all += 1;
        match character {
            // What fonts without names for their glyphs give.
            '\u{e000}'..='\u{f8ff}' | '\u{fffd}' | '\u{f0000}'.. => strange += 1,
            _ if character.is_control() => strange += 1,
            // Leaders, rules and frames of tables say nothing either way.
            '.' | '-' | '_' | '=' | '|' | '*' | '#' | '·' | '…' | '\u{2500}'..='\u{259f}' => {}
            _ if character.is_alphanumeric() => letters += 1,
            _ => other += 1,
        }
    }
    let all = all + shown.unknown as usize;
    if all < LEAST_SAMPLE {
        return false;
    }
    strange as f64 > all as f64 * MOST_STRANGE
        || (letters + other >= LEAST_SAMPLE && (letters as f64) < (letters + other) as f64 * LEAST_LETTERS)
        || lacks_vowels(&shown.text)
}

/// The share of the page that an image covers.
pub(super) fn cover(matrix: &Matrix, [left, bottom, right, top]: [f64; 4]) -> f64 {
    let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)].map(|(x, y)| matrix.apply(x, y));
    let span = |of: fn(&(f64, f64)) -> f64, low: f64, high: f64| {
        let least = corners.iter().map(of).fold(f64::INFINITY, f64::min);
        let most = corners.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        (most.min(high) - least.max(low)).max(0.0)
    };
    let covered = span(|corner| corner.0, left, right) * span(|corner| corner.1, bottom, top);
    // A matrix that is not of numbers covers nothing.
    let share = covered / ((right - left) * (top - bottom));
    if share.is_finite() { share } else { 0.0 }
}

/// Letters and digits of the glyphs that are wanted.
pub(super) fn letters(shown: &Shown, wanted: impl Fn(&Glyph) -> bool) -> usize {
    let of = |glyph: &Glyph| shown.part(glyph).chars().filter(|one| one.is_alphanumeric()).count();
    shown.glyphs.iter().filter(|glyph| wanted(glyph)).map(of).sum()
}

/// Text that is hidden, or lies under the images, was put there by a recogniser.
fn has_recognised_text(shown: &Shown, area: [f64; 4]) -> bool {
    let large = shown.images.iter().filter(|image| cover(&image.matrix, area) >= LOGO);
    let before = large.map(|image| image.text_before).max().unwrap_or(0);
    letters(shown, |glyph| glyph.hidden || glyph.text.start < before) > 0
}

/// Fonts that are embedded in part, with codes of their own and no map, give words such as `Wkh txlfn`.
fn lacks_vowels(text: &str) -> bool {
    let is_word = |word: &&str| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let has_vowel = |word: &&str| word.bytes().any(|byte| b"aeiouyAEIOUY".contains(&byte));
    // Abbreviations are capitals and have no vowels.
    let is_lower = |word: &&str| word.bytes().skip(1).any(|byte| byte.is_ascii_lowercase());
    let words = || text.split(|one: char| !one.is_alphanumeric()).filter(is_word).filter(is_lower);
    let count = words().count();
    count >= LEAST_WORDS && (words().filter(has_vowel).count() as f64) < count as f64 * LEAST_VOWELS
}

#[cfg(test)]
mod tests {
    use super::{cover, is_garbage};
    use crate::formats::pdf::content::{Matrix, Shown};

    fn shown(text: &str) -> Shown {
        Shown { text: text.to_owned(), ..Shown::default() }
    }

    const PROSE: &str = "The keeper of the lighthouse writes a line each night. When the lamp is lit and the sea is \
        still he counts the ships that pass, and for each of them he makes a mark beside the date in the long book.";

    #[test]
    fn prose_code_and_tables_are_text() {
        assert!(!is_garbage(&shown(PROSE)));
        assert!(!is_garbage(&shown("Keeper ................ 12\nLamp .................. 47\n")));
        let code =
            "if (x[i] != y[j]) { *p++ = &q->next; } else { return -1; } // {{{ }}} ;;; (a && b) || !c\n";
        assert!(!is_garbage(&shown(&code.repeat(3))));
        let abbreviations = "HTTP TLS DNS SMTP SSH TCP HTML CSS ".repeat(10);
        assert!(!is_garbage(&shown(&abbreviations)));
        let numbers = "12.50  14,000  -3.25  99%  (17)\n".repeat(10);
        assert!(!is_garbage(&shown(&numbers)));
        assert!(!is_garbage(&shown(&"灯台守は毎晩一行を書く。".repeat(10))));
        assert!(!is_garbage(&shown("")));
    }

    #[test]
    fn characters_without_a_meaning_are_garbage() {
        assert!(is_garbage(&shown(&"\u{f041}\u{f042} \u{f043}".repeat(20))));
        assert!(is_garbage(&Shown { unknown: 200, ..shown("Page 1 of 7, printed on Monday") }));
        assert!(!is_garbage(&Shown { unknown: 2, ..shown(PROSE) }));
        // Numbers of glyphs taken for characters.
        assert!(is_garbage(&shown(&"!\"#$ %&'( )*+, /:;< ".repeat(10))));
        // Codes that are three letters on.
        let shift = |one: char| match one {
            'a'..='z' => char::from((one as u8 - b'a' + 3) % 26 + b'a'),
            other => other,
        };
        let shifted: String = PROSE.chars().map(shift).collect();
        assert!(is_garbage(&shown(&shifted)), "{shifted}");
    }

    #[test]
    fn shares_of_a_page() {
        let page = [0.0, 0.0, 100.0, 200.0];
        let at = |matrix| cover(&Matrix(matrix), page);
        assert!((at([100.0, 0.0, 0.0, 200.0, 0.0, 0.0]) - 1.0).abs() < 1e-9);
        assert!((at([50.0, 0.0, 0.0, 100.0, 75.0, 0.0]) - 0.125).abs() < 1e-9, "half of it is outside");
        assert!((at([0.0, 200.0, -100.0, 0.0, 100.0, 0.0]) - 1.0).abs() < 1e-9, "turned");
        assert_eq!(at([f64::NAN; 6]), 0.0);
        assert_eq!(at([1.0, 0.0, 0.0, 1.0, 500.0, 0.0]), 0.0);
    }
}
