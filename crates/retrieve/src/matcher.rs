//! Finds the words of a query in a text, as the tokenizer would, at the speed of a substring search.
//!
//! Tokenizing every candidate again would cost more than the search that found it. One automaton over the
//! query's tokens reads the text once; a hit counts where a token begins and ends by the tokenizer's rules
//! (case and digit changes split words, CJK has no word limits).

use aho_corasick::{AhoCorasick, MatchKind};

/// A place where a term stands in a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Position of the term in the list that the matcher was made from.
    pub term: usize,
    pub start: usize,
    /// The end of the whole word, endings like the plural `s` included.
    pub end: usize,
}

#[derive(Debug, Clone, Default)]
pub struct Matcher {
    automaton: Option<AhoCorasick>,
    /// The term of each pattern: a term has several patterns where its capitals are not ASCII.
    term_of: Vec<usize>,
}

/// No text is searched for more than this many places; the rest of a text that repeats a word this often
/// adds nothing.
const MAX_FOUND: usize = 5_000;

impl Matcher {
    pub fn new<'a>(tokens: impl IntoIterator<Item = &'a str>) -> Matcher {
        let mut patterns: Vec<String> = Vec::new();
        let mut term_of = Vec::new();
        for (term, token) in tokens.into_iter().enumerate() {
            if token.is_empty() {
                continue;
            }
            for form in forms(token) {
                patterns.push(form);
                term_of.push(term);
            }
        }
        let automaton = (!patterns.is_empty())
            .then(|| {
                AhoCorasick::builder()
                    .ascii_case_insensitive(true)
                    .match_kind(MatchKind::Standard)
                    .build(&patterns)
                    .ok()
            })
            .flatten();
        Matcher { automaton, term_of }
    }

    /// Every place, in order of its end.
    pub fn find(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        let Some(automaton) = &self.automaton else { return found };
        for hit in automaton.find_overlapping_iter(text) {
            let (start, end) = (hit.start(), hit.end());
            // A pattern is valid UTF-8, so its match begins and ends between characters.
            if !starts_word(text, start) {
                continue;
            }
            let Some(end) = word_end(text, start, end) else { continue };
            found.push(Found { term: self.term_of[hit.pattern().as_usize()], start, end });
            if found.len() >= MAX_FOUND {
                break;
            }
        }
        found
    }
}

/// The token as it is and, where ASCII folding does not reach, with capitals.
fn forms(token: &str) -> Vec<String> {
    let mut forms = vec![token.to_owned()];
    if !token.is_ascii() {
        let mut rest = token.chars();
        let title: String =
            rest.next().into_iter().flat_map(char::to_uppercase).chain(rest.as_str().chars()).collect();
        for form in [title, token.to_uppercase()] {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}

fn starts_word(text: &str, at: usize) -> bool {
    let Some(before) = text[..at].chars().next_back() else { return true };
    let mut here = text[at..].chars();
    let (Some(first), second) = (here.next(), here.next()) else { return false };
    is_limit(before, first) || (first.is_uppercase() && second.is_some_and(char::is_lowercase))
}

/// Where the word that has `start..end` at its front ends, if the rest of it is only an ending.
fn word_end(text: &str, start: usize, end: usize) -> Option<usize> {
    let last = text[start..end].chars().next_back()?;
    let rest = &text[end..];
    let Some(next) = rest.chars().next() else { return Some(end) };
    if is_limit(last, next) {
        return Some(end);
    }
    // `HTTPServer`: the capital that begins the next word.
    if next.is_uppercase() && rest.chars().nth(1).is_some_and(char::is_lowercase) {
        return Some(end);
    }
    let mut length = 0;
    let mut previous = last;
    for c in rest.chars() {
        if is_limit(previous, c) {
            break;
        }
        length += c.len_utf8();
        previous = c;
        if length > LONGEST_ENDING {
            return None;
        }
    }
    is_ending(&rest[..length]).then_some(end + length)
}

/// Whether a word may end after `before` and another begin with `after`.
fn is_limit(before: char, after: char) -> bool {
    if !before.is_alphanumeric() || !after.is_alphanumeric() {
        return true;
    }
    (before.is_lowercase() && after.is_uppercase())
        || before.is_numeric() != after.is_numeric()
        || has_no_word_limits(before)
        || has_no_word_limits(after)
}

/// Scripts written without spaces, which are indexed by pairs of characters.
fn has_no_word_limits(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// What may follow a term within its word: the index folds these endings away.
const ENDINGS: &[&str] = &["s", "es", "ed", "d", "ing"];
const LONGEST_ENDING: usize = 3;

fn is_ending(rest: &str) -> bool {
    ENDINGS.iter().any(|ending| ending.eq_ignore_ascii_case(rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(tokens: &[&str], text: &str) -> Vec<String> {
        let matcher = Matcher::new(tokens.iter().copied());
        matcher.find(text).into_iter().map(|f| text[f.start..f.end].to_owned()).collect()
    }

    #[test]
    fn words_are_found_where_tokens_begin_and_end() {
        assert_eq!(found(&["server"], "HTTPServer server_name observer servers"), ["Server", "server", "servers"]);
        assert_eq!(found(&["http"], "HTTPServer http2 https"), ["HTTP", "http", "https"]);
        assert_eq!(found(&["user"], "getUserName GETUSERNAME userland"), ["User"]);
        assert_eq!(found(&["cat"], "concat category Cat"), ["Cat"]);
    }

    #[test]
    fn capitals_beyond_ascii() {
        assert_eq!(found(&["straße"], "Straße"), ["Straße"]);
        assert_eq!(found(&["мост"], "Мост МОСТ мост"), ["Мост", "МОСТ", "мост"]);
        assert_eq!(found(&["検索"], "全文検索は"), ["検索"]);
    }

    proptest! {
        #[test]
        fn places_are_inside_the_text(tokens in prop::collection::vec(any::<String>(), 0..4), text in any::<String>()) {
            let matcher = Matcher::new(tokens.iter().map(String::as_str));
            for place in matcher.find(&text) {
                prop_assert!(place.term < tokens.len());
                prop_assert!(text.get(place.start..place.end).is_some());
            }
        }
    }
}
