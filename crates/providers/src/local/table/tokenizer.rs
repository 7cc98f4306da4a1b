//! Text to rows of the table, step by step as `models/README.md` numbers them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Runs are cut into at most this many parts before they are looked up whole; longer ones are no words.
const MAX_WHOLE: usize = 64;

pub(super) struct TokenVocabulary {
    ids: HashMap<&'static [u8], u32, BuildHasherDefault<Fnv>>,
    /// Pieces inside a word, without their mark.
    inner: HashMap<&'static [u8], u32, BuildHasherDefault<Fnv>>,
    longest_piece: usize,
    words: usize,
    hashed: u32,
    max_word: usize,
}

impl TokenVocabulary {
    pub(super) fn new(
        names: impl Iterator<Item = &'static str>,
        hashed: usize,
        max_word: usize,
    ) -> TokenVocabulary {
        let (mut ids, mut inner) = (HashMap::default(), HashMap::default());
        let mut words = 0;
        let mut longest_piece = 0;
        for name in names {
            let id = words as u32;
            words += 1;
            ids.insert(name.as_bytes(), id);
            let piece = name.strip_prefix("##");
            if let Some(piece) = piece {
                inner.insert(piece.as_bytes(), id);
            }
            longest_piece = longest_piece.max(piece.unwrap_or(name).len());
        }
        TokenVocabulary { ids, inner, longest_piece, words, hashed: hashed as u32, max_word }
    }

    pub(super) fn words(&self) -> usize {
        self.words
    }

    pub(super) fn tokens(&self, text: &str, limit: usize) -> Vec<u32> {
        let mut tokens = Vec::with_capacity((text.len() / 5).min(limit) + 8);
        let text = normalise(text);
        let mut rest = &*text;
        while tokens.len() < limit {
            let Some(start) = rest.find(char::is_alphanumeric) else { break };
            rest = &rest[start..];
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            rest = after;
            if run.is_ascii() {
                self.run(run.as_bytes(), &mut tokens);
            } else {
                self.foreign_run(run, &mut tokens);
            }
        }
        tokens.truncate(limit);
        tokens
    }

    /// Step 3: an identifier, whole if it is known, and its parts.
    fn run(&self, run: &[u8], tokens: &mut Vec<u32>) {
        let first = part_length(run);
        if first < run.len() && run.len() <= MAX_WHOLE {
            let mut lower = [0; MAX_WHOLE];
            let lower = lowered(run, &mut lower);
            tokens.extend(self.ids.get(lower));
        }
        let mut rest = run;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(part_length(rest));
            rest = after;
            if part.len() <= MAX_WHOLE {
                let mut lower = [0; MAX_WHOLE];
                self.word(lowered(part, &mut lower), tokens);
            }
        }
    }

    /// Step 4: a known word, or the longest known pieces of another.
    fn word(&self, word: &[u8], tokens: &mut Vec<u32>) {
        if let Some(id) = self.ids.get(word) {
            tokens.push(*id);
            return;
        }
        if word.len() > self.max_word {
            return;
        }
        let mut start = 0;
        while start < word.len() {
            let pieces = if start == 0 { &self.ids } else { &self.inner };
            let longest = word.len().min(start + self.longest_piece);
            let found = (start + 1..=longest)
                .rev()
                .find_map(|end| pieces.get(&word[start..end]).map(|id| (end, *id)));
            start = match found {
                Some((end, id)) => {
                    tokens.push(id);
                    end
                }
                None => start + 1,
            };
        }
    }

    /// Step 5: ideographs one by one and in pairs, the rest as words.
    fn foreign_run(&self, run: &str, tokens: &mut Vec<u32>) {
        let run = run.to_lowercase();
        let mut word_start = None;
        let mut previous: Option<usize> = None;
        for (at, c) in run.char_indices() {
            if !is_ideograph(c) {
                word_start.get_or_insert(at);
                previous = None;
                continue;
            }
            if let Some(start) = word_start.take() {
                self.foreign_word(&run[start..at], tokens);
            }
            let end = at + c.len_utf8();
            tokens.push(self.known_or_hashed(&run[at..end]));
            if let Some(previous) = previous {
                tokens.push(self.known_or_hashed(&run[previous..end]));
            }
            previous = Some(at);
        }
        if let Some(start) = word_start {
            self.foreign_word(&run[start..], tokens);
        }
    }

    fn foreign_word(&self, word: &str, tokens: &mut Vec<u32>) {
        if word.is_ascii() {
            return self.word(word.as_bytes(), tokens);
        }
        if let Some(id) = self.ids.get(word.as_bytes()) {
            tokens.push(*id);
            return;
        }
        let length = word.chars().count();
        if length > self.max_word {
            return;
        }
        tokens.push(self.hashed(word.as_bytes()));
        if length > 4
            && let Some((cut, _)) = word.char_indices().nth(4)
        {
            tokens.push(self.hashed(&[&word.as_bytes()[..cut], b"*"].concat()));
        }
    }

    fn known_or_hashed(&self, text: &str) -> u32 {
        self.ids.get(text.as_bytes()).copied().unwrap_or_else(|| self.hashed(text.as_bytes()))
    }

    /// Step 6: a row of those that many words share.
    fn hashed(&self, bytes: &[u8]) -> u32 {
        let mut hash = 0x811c_9dc5u32;
        for byte in bytes {
            hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
        self.words as u32 + hash % self.hashed
    }
}

/// Step 1: accents stripped, compatibility forms unified.
fn normalise(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkd().filter(|c| !is_combining_mark(*c)).nfc().collect())
}

/// How long the first part of an identifier is: digits, capitals, or a word.
fn part_length(run: &[u8]) -> usize {
    let count =
        |from: usize, class: fn(&u8) -> bool| run[from..].iter().take_while(|byte| class(byte)).count();
    let digits = count(0, u8::is_ascii_digit);
    if digits > 0 {
        return digits;
    }
    let small = |at: usize| run.get(at).is_some_and(u8::is_ascii_lowercase);
    let capitals = count(0, u8::is_ascii_uppercase);
    match capitals {
        0 | 1 => capitals + count(capitals, u8::is_ascii_lowercase),
        // `URLs` keeps its plural; of `HTTPServer` the last capital begins the next part.
        _ if run.get(capitals) == Some(&b's') && !small(capitals + 1) => capitals + 1,
        _ if small(capitals) => capitals - 1,
        _ => capitals,
    }
}

fn lowered<'a>(bytes: &[u8], space: &'a mut [u8; MAX_WHOLE]) -> &'a [u8] {
    let space = &mut space[..bytes.len()];
    space.copy_from_slice(bytes);
    space.make_ascii_lowercase();
    space
}

/// Scripts written without spaces: each character is a word.
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}'
        | '\u{e00}'..='\u{e7f}')
}

/// Short keys that nobody can choose: speed is all that matters.
#[derive(Default)]
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        // The map takes the upper bits too.
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last) ^ ((rest.len() as u64) << 56));
    }

    fn write_usize(&mut self, length: usize) {
        self.add(length as u64);
    }
}

impl Fnv {
    fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(run: &str) -> Vec<&str> {
        let mut rest = run;
        let mut parts = Vec::new();
        while !rest.is_empty() {
            let (part, after) = rest.split_at(part_length(rest.as_bytes()));
            parts.push(part);
            rest = after;
        }
        parts
    }

    #[test]
    fn identifiers_are_cut_where_people_see_words() {
        assert_eq!(parts("HTTPServer2"), ["HTTP", "Server", "2"]);
        assert_eq!(parts("URLs"), ["URLs"]);
        assert_eq!(parts("URLsafe"), ["UR", "Lsafe"]);
        assert_eq!(parts("parseURLsNow"), ["parse", "URLs", "Now"]);
        assert_eq!(parts("x86Flags"), ["x", "86", "Flags"]);
        assert_eq!(parts("A"), ["A"]);
    }

    #[test]
    fn pieces_are_the_longest_that_are_known() {
        let vocabulary = TokenVocabulary::new(["re", "ret", "##r", "##ry", "##x"].into_iter(), 4, 10);
        assert_eq!(vocabulary.tokens("retry", 9), [1, 3]);
        assert_eq!(vocabulary.tokens("retryx rex", 2), [1, 3]);
        assert!(vocabulary.tokens("retrretrretr", 9).is_empty(), "longer than a word may be");
    }
}
