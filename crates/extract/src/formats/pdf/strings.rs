//! Text strings of the file's structure, and the clean-up that shown text needs.

use super::right_to_left::{push_letters, runs_left};
use super::tables;

/// A string in UTF-16, UTF-8 or the encoding of the specification.
pub(super) fn text_string(bytes: &[u8]) -> String {
    match bytes {
        [0xFE, 0xFF, rest @ ..] => {
            let units: Vec<u16> =
                rest.chunks_exact(2).map(|two| u16::from_be_bytes([two[0], two[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        [0xFF, 0xFE, rest @ ..] => {
            let units: Vec<u16> =
                rest.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        other => {
            other.iter().map(|byte| tables::PDF_DOC[usize::from(*byte)]).filter(|c| *c != '\0').collect()
        }
    }
}

/// Adds the text of a glyph: ligatures as the letters they join, shapes as the letters they show.
pub(super) fn push_plain(out: &mut String, text: &str) {
    if text.is_ascii() {
        out.push_str(text);
        return;
    }
    if text.chars().any(runs_left) {
        return push_letters(out, text);
    }
    for character in text.chars() {
        match character {
            'ﬀ' => out.push_str("ff"),
            'ﬁ' => out.push_str("fi"),
            'ﬂ' => out.push_str("fl"),
            'ﬃ' => out.push_str("ffi"),
            'ﬄ' => out.push_str("ffl"),
            'ﬅ' | 'ﬆ' => out.push_str("st"),
            'Ĳ' => out.push_str("IJ"),
            'ĳ' => out.push_str("ij"),
            '\u{f6be}' => out.push('j'),
            other => out.push(other),
        }
    }
}

/// Adds a line to a text. A word that was cut at the end of the line before is one again.
pub(super) fn push_line(out: &mut String, line: &str) {
    let cut = out.strip_suffix(['-', '\u{2010}', '\u{ad}']).is_some_and(|before| {
        let mut back = before.chars().rev();
        back.next().is_some_and(char::is_alphabetic) && back.next().is_some_and(char::is_alphabetic)
    });
    if cut && line.starts_with(char::is_lowercase) {
        out.pop();
    } else if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::{push_line, push_plain, text_string};

    #[test]
    fn strings() {
        assert_eq!(text_string(b"\xFE\xFF\0A\x20\x14"), "A—");
        assert_eq!(text_string(b"caf\xE9 \x84"), "café —");
    }

    #[test]
    fn cut_words_and_ligatures() {
        let mut text = "the ex-".to_owned();
        push_line(&mut text, "ample of 1990-");
        push_line(&mut text, "ish A-");
        push_line(&mut text, "b");
        assert_eq!(text, "the example of 1990-\nish A-\nb");
        let mut plain = String::new();
        push_plain(&mut plain, "oﬃce ﬁt");
        assert_eq!(plain, "office fit");
    }
}
