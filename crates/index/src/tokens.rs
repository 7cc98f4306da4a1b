//! The one tokenizer: what a text is cut into, at indexing and at query time alike.
//!
//! It knows code. A word is a run of letters, digits and underscores; it is emitted whole and lower-cased,
//! and, when it is made of several parts (`parseHTTPResponse2`, `max_file_bytes`), each part as well, so
//! that both the exact identifier and a word inside it are found. Scripts that are written without spaces
//! (Chinese, Japanese, Korean, Thai, Lao, Khmer, Myanmar, Tibetan) are cut into overlapping pairs of
//! characters. Latin accents are folded: `café` and `cafe` are one token.
//!
//! This runs on every byte that is indexed: ASCII has its own path, and nothing is allocated per token.

/// Changes whenever the same text gives other tokens; a lexical index made by another version is rebuilt.
pub const VERSION: u32 = 1;

/// Longer tokens are cut to this many bytes, so that a megabyte without a space costs one small term.
pub const MAX_TOKEN_BYTES: usize = 64;

/// A piece without underscores that has more parts than this is no identifier but a hash or base64, and its
/// parts would only be noise: it stays whole.
const MAX_PARTS: usize = 8;

/// No word is remembered beyond this; only words with non-ASCII letters are gathered at all.
const MAX_WORD_BYTES: usize = 1024;

/// Hands every token of `text` to `emit`, in order, repetitions included.
pub fn index_tokens(text: &str, emit: &mut dyn FnMut(&str)) {
    scan(text, &mut Scratch::default(), emit);
}

/// The distinct tokens of a query, in order of first appearance.
pub fn query_tokens(text: &str) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let mut tokens = Vec::new();
    scan(text, &mut Scratch::default(), &mut |token: &str| {
        if seen.insert(token.to_owned()) {
            tokens.push(token.to_owned());
        }
    });
    tokens
}

/// Buffers that are reused from word to word and from text to text.
#[derive(Default)]
pub(crate) struct Scratch {
    word: String,
    part: String,
    bounds: Vec<(usize, usize)>,
}

/// Appends every token of `text` to `out`, each followed by [`SEPARATOR`], and counts them.
pub(crate) fn join_tokens(text: &str, scratch: &mut Scratch, out: &mut String) -> u32 {
    let mut count = 0u32;
    scan(text, scratch, &mut |token: &str| {
        out.push_str(token);
        out.push(SEPARATOR);
        count = count.saturating_add(1);
    });
    count
}

/// The token of a whole name, without those of its parts.
pub fn name_token(name: &str) -> Option<String> {
    let mut token = None;
    index_tokens(name, &mut |each| {
        token.get_or_insert_with(|| each.to_owned());
    });
    token
}

/// Appends the token of a whole name to `out`, followed by [`SEPARATOR`].
pub(crate) fn push_name(name: &str, scratch: &mut Scratch, out: &mut String) {
    let mut is_first = true;
    scan(name, scratch, &mut |token: &str| {
        if is_first {
            out.push_str(token);
            out.push(SEPARATOR);
            is_first = false;
        }
    });
}

/// Ends each token in [`join_tokens`]; no token contains it.
pub(crate) const SEPARATOR: char = '\n';

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    Separator,
    Lower,
    Upper,
    Digit,
    Underscore,
    /// A letter without case.
    Other,
    /// The first byte of a character beyond ASCII.
    Wide,
}

static ASCII: [Class; 256] = {
    let mut table = [Class::Separator; 256];
    let mut byte = 0usize;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b'_' => Class::Underscore,
            0x80..=0xFF => Class::Wide,
            _ => Class::Separator,
        };
        byte += 1;
    }
    table
};

fn scan<F: FnMut(&str) + ?Sized>(text: &str, scratch: &mut Scratch, emit: &mut F) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match ASCII[bytes[at] as usize] {
            Class::Separator => at += 1,
            Class::Wide => at = wide(text, at, scratch, emit),
            _ => {
                let start = at;
                let mut seen = 0u8;
                while at < bytes.len() {
                    let class = ASCII[bytes[at] as usize];
                    if class == Class::Separator || class == Class::Wide {
                        break;
                    }
                    // Remembers which classes occurred after the first byte, to skip the search for parts.
                    seen |= if at == start && class == Class::Upper { 0 } else { 1 << class as u8 };
                    at += 1;
                }
                if at < bytes.len() && bytes[at] >= 0x80 && joins_word(first_char(text, at)) {
                    at = wide(text, start, scratch, emit);
                } else {
                    ascii_word(&text[start..at], seen, scratch, emit);
                }
            }
        }
    }
}

fn first_char(text: &str, at: usize) -> char {
    text[at..].chars().next().unwrap_or(' ')
}

/// One run of ASCII letters, digits and underscores.
fn ascii_word<F: FnMut(&str) + ?Sized>(word: &str, seen: u8, scratch: &mut Scratch, emit: &mut F) {
    let plain = seen.count_ones() <= 1 && seen & (1 << Class::Underscore as u8) == 0;
    if plain && (seen != 1 << Class::Digit as u8 || word.as_bytes()[0].is_ascii_digit()) {
        // Only lower case, only digits, only capitals, or a capital followed by one of lower case: one part.
        emit(lowered(word, &mut scratch.word));
        return;
    }
    let word = word.trim_matches('_');
    if word.is_empty() {
        return;
    }
    ascii_parts(word.as_bytes(), &mut scratch.bounds);
    emit(lowered(word, &mut scratch.word));
    if scratch.bounds.len() > 1 {
        for &(start, end) in &scratch.bounds {
            emit(lowered(&word[start..end], &mut scratch.part));
        }
    }
}

/// The first bytes of an ASCII word in lower case.
fn lowered<'a>(word: &str, buffer: &'a mut String) -> &'a str {
    buffer.clear();
    buffer.push_str(&word[..word.len().min(MAX_TOKEN_BYTES)]);
    buffer.make_ascii_lowercase();
    buffer
}

fn ascii_parts(word: &[u8], bounds: &mut Vec<(usize, usize)>) {
    let mut parts = Parts::new(bounds);
    for (at, &byte) in word.iter().enumerate() {
        parts.next(at, ASCII[byte as usize], byte == b's');
    }
    parts.finish(word.len());
}

/// Finds where a word falls apart, one character after the other.
struct Parts<'a> {
    bounds: &'a mut Vec<(usize, usize)>,
    /// Where the current part began; none right after an underscore.
    start: Option<usize>,
    /// How many parts were complete when the current piece between underscores began, and where it began.
    piece: (usize, usize),
    before: Class,
    /// Where the character before is, if it and the one before it are capitals.
    capital: Option<usize>,
    /// Where `s` follows two capitals or more: at the end it is a plural (`URLs`), not a new word.
    plural: Option<usize>,
}

impl<'a> Parts<'a> {
    fn new(bounds: &'a mut Vec<(usize, usize)>) -> Parts<'a> {
        bounds.clear();
        Parts { bounds, start: None, piece: (0, 0), before: Class::Underscore, capital: None, plural: None }
    }

    fn next(&mut self, at: usize, class: Class, is_s: bool) {
        if let Some(cut) = self.plural.take().filter(|_| class != Class::Underscore) {
            let start = self.start.replace(cut).unwrap_or(cut);
            self.bounds.push((start, cut));
        }
        if class == Class::Underscore {
            self.finish(at);
        } else if let Some(start) = self.start {
            let cut = match (self.before, class) {
                (Class::Lower, Class::Upper) => Some(at),
                (Class::Digit, other) if other != Class::Digit => Some(at),
                (other, Class::Digit) if other != Class::Digit => Some(at),
                // `HTTPResponse`: the last capital belongs to the word that follows.
                (Class::Upper, Class::Lower) if is_s => {
                    self.plural = self.capital;
                    None
                }
                (Class::Upper, Class::Lower) => self.capital,
                _ => None,
            };
            if let Some(cut) = cut {
                self.bounds.push((start, cut));
                self.start = Some(cut);
            }
        } else {
            self.start = Some(at);
            self.piece = (self.bounds.len(), at);
        }
        self.capital = (self.before == Class::Upper && class == Class::Upper).then_some(at);
        self.before = class;
    }

    /// Ends the piece between two underscores.
    fn finish(&mut self, at: usize) {
        if let Some(start) = self.start.take() {
            self.bounds.push((start, at));
            let (first, piece_start) = self.piece;
            if self.bounds.len() - first > MAX_PARTS {
                self.bounds.truncate(first);
                self.bounds.push((piece_start, at));
            }
        }
        self.before = Class::Underscore;
        self.capital = None;
        self.plural = None;
    }
}

/// A word or run with characters beyond ASCII, beginning at `at`. Returns where it ends.
fn wide<F: FnMut(&str) + ?Sized>(text: &str, at: usize, scratch: &mut Scratch, emit: &mut F) -> usize {
    let first = first_char(text, at);
    if is_spaceless(first) {
        return spaceless_run(text, at, emit);
    }
    if !joins_word(first) && !first.is_ascii_alphanumeric() && first != '_' {
        return at + first.len_utf8();
    }
    let Scratch { word, bounds, .. } = scratch;
    word.clear();
    let mut parts = Parts::new(bounds);
    let mut end = text.len();
    for (offset, c) in text[at..].char_indices() {
        let inside = if c.is_ascii() { c.is_ascii_alphanumeric() || c == '_' } else { joins_word(c) };
        if !inside {
            end = at + offset;
            break;
        }
        if word.len() >= MAX_WORD_BYTES || is_dropped(c) {
            continue;
        }
        let class = match c {
            '_' => Class::Underscore,
            _ if c.is_lowercase() => Class::Lower,
            _ if c.is_uppercase() => Class::Upper,
            _ if c.is_numeric() => Class::Digit,
            _ => Class::Other,
        };
        parts.next(word.len(), class, c == 's');
        push_folded(c, word);
    }
    parts.finish(word.len());
    let whole = word.trim_matches('_');
    if !whole.is_empty() {
        emit(cut(whole));
        if bounds.len() > 1 {
            for &(start, end) in bounds.iter() {
                if start < end {
                    emit(cut(&word[start..end]));
                }
            }
        }
    }
    end
}

/// The token's first bytes, cut between characters.
fn cut(token: &str) -> &str {
    if token.len() <= MAX_TOKEN_BYTES {
        return token;
    }
    let mut end = MAX_TOKEN_BYTES;
    while !token.is_char_boundary(end) {
        end -= 1;
    }
    &token[..end]
}

/// Overlapping pairs of characters; a single character is its own token.
fn spaceless_run<F: FnMut(&str) + ?Sized>(text: &str, at: usize, emit: &mut F) -> usize {
    let mut previous: Option<usize> = None;
    let mut pairs = 0usize;
    let mut end = text.len();
    for (offset, c) in text[at..].char_indices() {
        let here = at + offset;
        if !is_spaceless(c) {
            end = here;
            break;
        }
        if let Some(start) = previous {
            emit(&text[start..here + c.len_utf8()]);
            pairs += 1;
        }
        previous = Some(here);
    }
    if pairs == 0 {
        emit(&text[at..end]);
    }
    end
}

/// Characters of scripts that are written without spaces between words.
fn is_spaceless(c: char) -> bool {
    let c = c as u32;
    if c < 0x0E00 {
        return false;
    }
    matches!(c,
        0x0E01..=0x0E3A | 0x0E40..=0x0E4E                        // Thai
        | 0x0E81..=0x0EBD | 0x0EC0..=0x0ECE | 0x0EDC..=0x0EDF    // Lao
        | 0x0F40..=0x0FBC                                        // Tibetan
        | 0x1000..=0x103F | 0x1050..=0x108F | 0x109A..=0x109D    // Myanmar
        | 0x1100..=0x11FF | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0x3130..=0x318F // Hangul
        | 0x1780..=0x17D3 | 0x17D7 | 0x17DC..=0x17DD             // Khmer
        | 0x2E80..=0x2FDF | 0x3005..=0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF
        | 0x20000..=0x3FFFF                                      // Han
        | 0x3041..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F
        | 0x1B000..=0x1B16F                                      // Kana
        | 0x3105..=0x312F | 0x31A0..=0x31BF                      // Bopomofo
    )
}

/// Characters beyond ASCII that are part of a word: letters, digits and the marks that belong to them.
fn joins_word(c: char) -> bool {
    !is_spaceless(c) && (c.is_alphanumeric() || is_dropped(c) || is_kept_mark(c))
}

/// Marks that change nothing about which word it is: accents, vowel points, joiners, soft hyphens.
fn is_dropped(c: char) -> bool {
    matches!(c as u32,
        0x00AD | 0x0300..=0x036F | 0x0483..=0x0489 | 0x0591..=0x05BD | 0x05BF | 0x05C1..=0x05C2
        | 0x05C4..=0x05C5 | 0x05C7 | 0x0610..=0x061A | 0x0640 | 0x064B..=0x065F | 0x0670
        | 0x06D6..=0x06DC | 0x06DF..=0x06E4 | 0x06E7..=0x06E8 | 0x06EA..=0x06ED
        | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x200C..=0x200D | 0x2060 | 0x20D0..=0x20FF
        | 0xFE00..=0xFE0F | 0xFE20..=0xFE2F)
}

/// Signs of Indic scripts that Unicode does not count as letters though words contain them.
fn is_kept_mark(c: char) -> bool {
    matches!(c as u32, 0x0900..=0x0DFF) && !matches!(c as u32, 0x0964 | 0x0965 | 0x0970 | 0x0DF4)
}

fn push_folded(c: char, out: &mut String) {
    // Full-width forms of ASCII are the same letters.
    let c = match c as u32 {
        wide @ 0xFF01..=0xFF5E => char::from_u32(wide - 0xFEE0).unwrap_or(c),
        _ => c,
    };
    if c.is_ascii() {
        out.push(c.to_ascii_lowercase());
        return;
    }
    for lower in c.to_lowercase() {
        match base_letters(lower) {
            Some(base) => out.push_str(base),
            None if is_dropped(lower) => {}
            None => out.push(lower),
        }
    }
}

/// The ASCII letters that a lower-case Latin letter with an accent stands for.
fn base_letters(c: char) -> Option<&'static str> {
    let code = c as usize;
    let table = match code {
        0xC0..=0x24F => LATIN.get(code - 0xC0..code - 0xC0 + 1),
        0x1E00..=0x1EFF => LATIN_ADDITIONAL.get(code - 0x1E00..code - 0x1E00 + 1),
        _ => None,
    }?;
    match c {
        'ß' => Some("ss"),
        'æ' | 'ǽ' | 'ǣ' => Some("ae"),
        'œ' => Some("oe"),
        'þ' => Some("th"),
        'ĳ' => Some("ij"),
        _ => (table != ".").then_some(table),
    }
}

/// Base letters of U+00C0 to U+024F; a dot where the base is not one letter.
const LATIN: &str = "aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.yaaaaaaccccccccdd\
ddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkkkllllllllllnnnnnnn..oooooo..rrrrrrssssss\
ssttttttuuuuuuuuuuuuwwyyyzzzzzzsbb...............ff.....kkl...n.oo..pp.....ttt.u\
u..yyzz......................aaiioouuuuuuuuuu.aaaa....ggkkoooo..j...gg..nnaa....\
aaaaeeeeiiiioooorrrruuuusstt..hhn.....aaeeooooooooyy.........l.....b............";

/// Base letters of U+1E00 to U+1EFF.
const LATIN_ADDITIONAL: &str = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooo\
oooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwy.s....\
aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuu\
uuyyyyyyyy......";

#[cfg(test)]
mod tests {
    use super::{MAX_TOKEN_BYTES, index_tokens, query_tokens};
    use proptest::prelude::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        index_tokens(text, &mut |token| out.push(token.to_owned()));
        out
    }

    #[test]
    fn identifiers_are_kept_whole_and_in_parts() {
        assert_eq!(tokens("parseHTTPResponse2"), ["parsehttpresponse2", "parse", "http", "response", "2"]);
        assert_eq!(tokens("max_file_bytes"), ["max_file_bytes", "max", "file", "bytes"]);
        assert_eq!(tokens("__init__ _x"), ["init", "x"]);
        assert_eq!(tokens("Word WORD word 2024"), ["word", "word", "word", "2024"]);
        assert_eq!(tokens("utf8"), ["utf8", "utf", "8"]);
        assert_eq!(tokens("A1"), ["a1", "a", "1"]);
        assert_eq!(tokens("std::fmt.Display"), ["std", "fmt", "display"]);
        assert_eq!(tokens("getURL"), ["geturl", "get", "url"]);
        assert_eq!(tokens("IOError"), ["ioerror", "io", "error"]);
        assert_eq!(tokens("parseURLs IDs"), ["parseurls", "parse", "urls", "ids"]);
        assert_eq!(tokens("HTTPserver"), ["httpserver", "htt", "pserver"]);
        assert_eq!(tokens("_ __ ___"), [] as [&str; 0]);
    }

    #[test]
    fn hashes_are_not_torn_apart() {
        let hash = "a1b2c3d4e5f6a7b8c9d0";
        assert_eq!(tokens(hash), [hash]);
        assert_eq!(tokens(&format!("sum_{hash}")), [&format!("sum_{hash}"), "sum", hash]);
        let long = "test_that_the_parser_keeps_all_parts_of_a_long_snake_case_name";
        assert_eq!(tokens(long).len(), 1 + long.split('_').count());
    }

    #[test]
    fn accents_are_folded() {
        assert_eq!(
            tokens("Café crème Straße Ærø naïve Łódź"),
            ["cafe", "creme", "strasse", "aero", "naive", "lodz"]
        );
        assert_eq!(tokens("cafe\u{301}"), ["cafe"]);
        assert_eq!(tokens("été_Ünder"), ["ete_under", "ete", "under"]);
        assert_eq!(tokens("İstanbul tiếng Việt"), ["istanbul", "tieng", "viet"]);
        assert_eq!(tokens("ＦＵＬＬ"), ["full"]);
    }

    #[test]
    fn other_scripts_are_words_in_lower_case() {
        assert_eq!(tokens("Привет, МИР"), ["привет", "мир"]);
        assert_eq!(tokens("हिन्दी भाषा"), ["हिन्दी", "भाषा"]);
        assert_eq!(tokens("שָׁלוֹם"), ["שלום"]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(tokens("全文検索"), ["全文", "文検", "検索"]);
        assert_eq!(tokens("字 x"), ["字", "x"]);
        assert_eq!(tokens("한국어"), ["한국", "국어"]);
        assert_eq!(tokens("ไทย"), ["ไท", "ทย"]);
        assert_eq!(tokens("日本語text解析"), ["日本", "本語", "text", "解析"]);
        assert_eq!(tokens("カタカナ・テスト"), ["カタ", "タカ", "カナ", "テス", "スト"]);
    }

    #[test]
    fn long_tokens_are_cut() {
        let long = "x".repeat(5 << 20);
        assert_eq!(tokens(&long), ["x".repeat(MAX_TOKEN_BYTES)]);
        let wide = "ж".repeat(100_000);
        let cut = tokens(&wide);
        assert_eq!(cut.len(), 1);
        assert!(cut[0].len() <= MAX_TOKEN_BYTES);
    }

    #[test]
    fn queries_are_distinct_and_ordered() {
        assert_eq!(query_tokens("read file READ readFile"), ["read", "file", "readfile"]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in any::<String>()) {
            for token in tokens(&text) {
                prop_assert!(!token.is_empty() && token.len() <= MAX_TOKEN_BYTES, "{token:?}");
                prop_assert!(!token.contains(super::SEPARATOR));
            }
        }

        #[test]
        fn tokens_of_ascii_words_are_found_again(word in "[a-zA-Z0-9_]{1,80}") {
            // The whole identifier leads to itself.
            let first = tokens(&word).into_iter().next();
            if let Some(first) = first {
                prop_assert!(query_tokens(&word).contains(&first));
                prop_assert!(first.is_ascii());
            }
        }
    }
}
