//! What a prompt is searched for besides itself: the names it spells as code does, then its other telling words.

use crate::parse::Parsed;

/// Searches cost time, and behind the eighth word of a prompt nothing new is found.
const MAX_KEYWORDS: usize = 8;
const MIN_LETTERS: usize = 3;

/// In the order of their weight: names first, each kind in the order of the prompt.
pub fn keywords(parsed: &Parsed) -> Vec<String> {
    let mut words = parsed.identifiers.clone();
    let whole: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    for term in parsed.content_terms() {
        let part_of_name = whole.iter().any(|name| name.contains(&term.token));
        if !term.stop && !part_of_name && term.token.chars().count() >= MIN_LETTERS {
            words.push(term.token.clone());
        }
    }
    words.truncate(MAX_KEYWORDS);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_first_and_grammar_never() {
        let parsed = Parsed::new("Why does the retry loop in parse_header ignore HTTPError and the limit?");
        assert_eq!(keywords(&parsed), ["parse_header", "HTTPError", "retry", "loop", "ignore", "limit"]);
        assert!(keywords(&Parsed::new("what is the of")).is_empty());
    }
}
