//! Words to numbers as BERT counts them: lower case, accents dropped, punctuation apart, unknown words in known pieces.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longer words are unknown.
const MAX_WORD: usize = 100;

pub(super) struct PassageVocabulary {
    ids: HashMap<String, i32>,
    unknown: i32,
    begin: i32,
    end: i32,
}

impl PassageVocabulary {
    /// One piece per line; pieces inside a word begin with `##`.
    pub(super) fn read(lines: &[u8]) -> Result<PassageVocabulary, String> {
        let lines = std::str::from_utf8(lines).map_err(|error| format!("vocabulary.txt: {error}"))?;
        let ids: HashMap<String, i32> =
            lines.lines().enumerate().map(|(at, piece)| (piece.to_owned(), at as i32)).collect();
        let special =
            |name: &str| ids.get(name).copied().ok_or_else(|| format!("vocabulary.txt: there is no {name}"));
        Ok(PassageVocabulary {
            unknown: special("[UNK]")?,
            begin: special("[CLS]")?,
            end: special("[SEP]")?,
            ids,
        })
    }

    /// The tokens of a text between a begin and an end, at most `limit` of them.
    pub(super) fn tokens(&self, text: &str, limit: usize) -> Vec<i32> {
        let mut tokens = vec![self.begin];
        let mut word = String::new();
        for letter in text.nfd() {
            // Enough is enough: passages can be long.
            if tokens.len() >= limit {
                break;
            }
            if is_combining_mark(letter)
                || (letter.is_control() && !letter.is_whitespace())
                || letter == '\u{FFFD}'
            {
                continue;
            }
            if letter.is_whitespace() {
                self.word(&mut word, &mut tokens);
            } else if is_alone(letter) {
                self.word(&mut word, &mut tokens);
                word.extend(letter.to_lowercase());
                self.word(&mut word, &mut tokens);
            } else {
                word.extend(letter.to_lowercase());
            }
        }
        self.word(&mut word, &mut tokens);
        tokens.truncate(limit.saturating_sub(1));
        tokens.push(self.end);
        tokens
    }

    /// The longest known pieces of a word, from left to right.
    fn word(&self, word: &mut String, tokens: &mut Vec<i32>) {
        if word.is_empty() {
            return;
        }
        let before = tokens.len();
        let is_known = word.chars().count() <= MAX_WORD && self.pieces(word, tokens);
        if !is_known {
            tokens.truncate(before);
            tokens.push(self.unknown);
        }
        word.clear();
    }

    fn pieces(&self, word: &str, tokens: &mut Vec<i32>) -> bool {
        let mut rest = word;
        let mut piece = String::new();
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8()).rev();
            let mut found = None;
            for end in ends {
                piece.clear();
                if rest.len() < word.len() {
                    piece.push_str("##");
                }
                piece.push_str(&rest[..end]);
                if let Some(id) = self.ids.get(&piece) {
                    found = Some((end, *id));
                    break;
                }
            }
            let Some((end, id)) = found else { return false };
            tokens.push(id);
            rest = &rest[end..];
        }
        true
    }
}

/// Punctuation and ideographs are words of their own.
fn is_alone(letter: char) -> bool {
    letter.is_ascii_punctuation()
        || (!letter.is_alphanumeric() && !letter.is_ascii() && is_punctuation(letter))
        || matches!(u32::from(letter), 0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2CEAF | 0xF900..=0xFAFF)
}

/// The punctuation that texts have beyond ASCII. Symbols such as currency signs are not punctuation.
fn is_punctuation(letter: char) -> bool {
    matches!(u32::from(letter),
        0xA1 | 0xA7 | 0xAB | 0xB6 | 0xB7 | 0xBB | 0xBF | 0x37E | 0x387 | 0x55A..=0x55F | 0x589 | 0x58A | 0x5BE
        | 0x5C0 | 0x5C3 | 0x5C6 | 0x5F3 | 0x5F4 | 0x60C | 0x60D | 0x61B | 0x61E | 0x61F | 0x66A..=0x66D | 0x6D4
        | 0x964 | 0x965 | 0x970 | 0x2010..=0x2027 | 0x2030..=0x2043 | 0x2045..=0x2051 | 0x2053..=0x205E
        | 0x207D | 0x207E | 0x208D | 0x208E | 0x2308..=0x230B | 0x2329 | 0x232A | 0x2768..=0x2775
        | 0x3001..=0x3003 | 0x3008..=0x3011 | 0x3014..=0x301F | 0x3030 | 0x303D | 0x30A0 | 0x30FB
        | 0xFE10..=0xFE19 | 0xFE30..=0xFE52 | 0xFE54..=0xFE61 | 0xFF01..=0xFF03 | 0xFF05..=0xFF0A
        | 0xFF0C..=0xFF0F | 0xFF1A | 0xFF1B | 0xFF1F | 0xFF20 | 0xFF3B..=0xFF3D | 0xFF3F | 0xFF5B | 0xFF5D
        | 0xFF5F..=0xFF65)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        let pieces = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nlight\n##house\n##keeper\nkeep\n##er\n,\n.\n'\ns\ncafe\n灯\n塔\n“\n-\n5";
        let vocabulary = PassageVocabulary::read(pieces.as_bytes()).unwrap();
        let pieces: Vec<&str> = pieces.lines().collect();
        vocabulary.tokens(text, 64).into_iter().map(|token| pieces[token as usize].to_owned()).collect()
    }

    #[test]
    fn words_become_pieces() {
        let all = |text: &str| tokens(text).join(" ");
        assert_eq!(all("Lighthouse"), "[CLS] light ##house [SEP]");
        assert_eq!(all("lighthousekeeper"), "[CLS] light ##house ##keeper [SEP]");
        assert_eq!(all("The keeper's café, 5."), "[CLS] [UNK] keep ##er ' s cafe , 5 . [SEP]");
        assert_eq!(all("灯塔“light-house”"), "[CLS] 灯 塔 “ light - [UNK] [UNK] [SEP]");
        assert_eq!(all("  \u{0}\n "), "[CLS] [SEP]");
        assert_eq!(all(&"x".repeat(101)), "[CLS] [UNK] [SEP]");
    }

    #[test]
    fn long_texts_are_cut() {
        let pieces = b"[UNK]\n[CLS]\n[SEP]\na";
        let vocabulary = PassageVocabulary::read(pieces).unwrap();
        assert_eq!(vocabulary.tokens(&"a ".repeat(50), 6), [1, 3, 3, 3, 3, 2]);
        assert!(PassageVocabulary::read(b"a\nb").is_err());
    }
}
