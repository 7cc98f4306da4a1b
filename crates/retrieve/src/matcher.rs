//! Finds the words of a query in a text, as the tokenizer would, at the speed of a substring search.
//!
//! Tokenizing every candidate again would cost more than the search that found it. One automaton over the
//! query's tokens reads the text once; a hit counts where a token begins and ends by the tokenizer's rules
//! (case and digit changes split names, scripts without spaces have no word limits). Only words with
//! letters beyond ASCII, whose accents the tokenizer folds, are handed to the tokenizer itself.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::parse::Term;

/// A place where a term occurs in a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordMatch {
    /// Position of the term in the list that the matcher was made from.
    pub term: usize,
    pub start: usize,
    pub end: usize,
}

#[derive(Debug, Clone, Default)]
pub struct Matcher {
    automaton: Option<AhoCorasick>,
    /// The term of each pattern.
    term_of: Vec<usize>,
    by_token: HashMap<String, usize>,
}

/// No text is searched for more than this many places; a text that repeats a word this often says nothing
/// new with it.
const MAX_FOUND: usize = 5_000;

const MAX_TABLE_LETTERS: usize = 2_000;

impl Matcher {
    /// Each term with its variants.
    pub fn of_terms<'a>(terms: impl IntoIterator<Item = &'a Term>) -> Matcher {
        let mut tokens = Vec::new();
        for (at, term) in terms.into_iter().enumerate() {
            tokens.push((term.token.as_str(), at));
            tokens.extend(term.variants.iter().map(|variant| (variant.as_str(), at)));
        }
        Matcher::build(tokens)
    }

    /// Each token for itself.
    pub fn of_tokens<'a>(tokens: impl IntoIterator<Item = &'a str>) -> Matcher {
        Matcher::build(tokens.into_iter().enumerate().map(|(at, token)| (token, at)).collect())
    }

    fn build(mut tokens: Vec<(&str, usize)>) -> Matcher {
        tokens.retain(|(token, _)| !token.is_empty());
        // The tables of a full automaton are made in microseconds for a question's few words and read twice
        // as fast; for a pasted page they would be megabytes.
        let letters: usize = tokens.iter().map(|(token, _)| token.len()).sum();
        let kind = (letters <= MAX_TABLE_LETTERS).then_some(AhoCorasickKind::DFA);
        let automaton = (!tokens.is_empty())
            .then(|| {
                AhoCorasick::builder()
                    .ascii_case_insensitive(true)
                    .match_kind(MatchKind::Standard)
                    .kind(kind)
                    .build(tokens.iter().map(|(token, _)| token))
                    .ok()
            })
            .flatten();
        let term_of = tokens.iter().map(|(_, term)| *term).collect();
        let mut by_token = HashMap::new();
        for (token, term) in tokens {
            by_token.entry(token.to_owned()).or_insert(term);
        }
        Matcher { automaton, term_of, by_token }
    }

    /// Every place. A name that is a term and consists of terms gives several.
    pub fn find(&self, text: &str) -> Vec<WordMatch> {
        let mut found = Vec::new();
        let Some(automaton) = &self.automaton else { return found };
        for hit in automaton.find_overlapping_iter(text) {
            // A pattern is valid UTF-8, so its match begins and ends between characters.
            let (start, end) = (hit.start(), hit.end());
            if starts_token(text, start, end) && ends_token(text, start, end) {
                found.push(WordMatch { term: self.term_of[hit.pattern().as_usize()], start, end });
                if found.len() >= MAX_FOUND {
                    return found;
                }
            }
        }
        if !text.is_ascii() {
            self.find_folded(text, &mut found);
        }
        found
    }

    /// Words with letters beyond ASCII, as the tokenizer reads them.
    fn find_folded(&self, text: &str, found: &mut Vec<WordMatch>) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || !c.is_ascii() && !c.is_whitespace();
        let mut at = 0;
        for word in text.split(|c: char| !is_word(c)) {
            let start = at;
            at += word.len();
            at += text[at..].chars().next().map_or(0, char::len_utf8);
            if word.is_ascii() || found.len() >= MAX_FOUND {
                continue;
            }
            let mut terms: Vec<usize> = Vec::new();
            index::tokens::index_tokens(word, &mut |token| {
                if let Some(term) = self.by_token.get(token) {
                    terms.push(*term);
                }
            });
            terms.sort_unstable();
            terms.dedup();
            for term in terms {
                let end = start + word.len();
                let known =
                    found.iter().rev().take(64).any(|f| f.term == term && start <= f.start && f.end <= end);
                if !known {
                    found.push(WordMatch { term, start, end });
                }
            }
        }
    }
}

fn starts_token(text: &str, start: usize, end: usize) -> bool {
    let Some(before) = text[..start].chars().next_back() else { return true };
    let mut here = text[start..end].chars();
    let Some(first) = here.next() else { return false };
    if is_limit(before, first) {
        return true;
    }
    // `HTTPServer`: the last of several capitals begins the next word. Within a one-letter token the letter
    // that follows decides.
    let second = here.next().or_else(|| text[end..].chars().next());
    first.is_uppercase() && second.is_some_and(char::is_lowercase)
}

fn ends_token(text: &str, start: usize, end: usize) -> bool {
    let mut rest = text[end..].chars();
    let (Some(last), Some(next)) = (text[start..end].chars().next_back(), rest.next()) else { return true };
    is_limit(last, next)
        || (last.is_uppercase() && next.is_uppercase() && rest.next().is_some_and(char::is_lowercase))
}

/// Whether a token may end after `before` and another begin with `after`.
fn is_limit(before: char, after: char) -> bool {
    if !before.is_alphanumeric() || !after.is_alphanumeric() {
        return true;
    }
    (before.is_lowercase() && after.is_uppercase())
        || before.is_numeric() != after.is_numeric()
        || has_no_word_limits(before)
        || has_no_word_limits(after)
}

/// The common scripts written without spaces, which are indexed by pairs of characters.
pub(crate) fn has_no_word_limits(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{1b000}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(tokens: &[&str], text: &str) -> Vec<String> {
        let matcher = Matcher::of_tokens(tokens.iter().copied());
        matcher.find(text).into_iter().map(|f| text[f.start..f.end].to_owned()).collect()
    }

    #[test]
    fn words_are_found_where_tokens_begin_and_end() {
        assert_eq!(found(&["server"], "HTTPServer server_name observer servers"), ["Server", "server"]);
        assert_eq!(found(&["http"], "HTTPServer http2 https"), ["HTTP", "http"]);
        assert_eq!(found(&["user"], "getUserName GETUSERNAME userland"), ["User"]);
        assert_eq!(found(&["cat"], "concat category Cat"), ["Cat"]);
        assert_eq!(found(&["max_file_bytes"], "MAX_FILE_BYTES = 1"), ["MAX_FILE_BYTES"]);
    }

    #[test]
    fn letters_beyond_ascii() {
        assert_eq!(found(&["strasse", "cafe"], "Die Straße zum Café."), ["Straße", "Café"]);
        assert_eq!(found(&["мост"], "Мост МОСТ мост"), ["мост", "Мост", "МОСТ"]);
        assert_eq!(found(&["検索"], "全文検索は"), ["検索"]);
    }

    #[test]
    fn variants_are_the_term() {
        let parsed = crate::parse::Parsed::new("retry");
        let places = Matcher::of_terms(&parsed.terms).find("retries and retry");
        assert_eq!(places.iter().map(|f| f.term).collect::<Vec<_>>(), [0, 0]);
    }

    proptest! {
        #[test]
        fn places_are_inside_the_text(tokens in prop::collection::vec(any::<String>(), 0..4), text in any::<String>()) {
            let matcher = Matcher::of_tokens(tokens.iter().map(String::as_str));
            for place in matcher.find(&text) {
                prop_assert!(place.term < tokens.len());
                prop_assert!(text.get(place.start..place.end).is_some());
            }
        }

        /// What the tokenizer finds in ASCII text, the matcher finds.
        #[test]
        fn agrees_with_the_tokenizer(text in "[a-cA-C_ 1]{0,30}") {
            let mut tokens = Vec::new();
            index::tokens::index_tokens(&text, &mut |token| tokens.push(token.to_owned()));
            for token in tokens {
                let matcher = Matcher::of_tokens([token.as_str()]);
                prop_assert!(!matcher.find(&text).is_empty(), "{} in {}", token, text);
            }
        }
    }
}
