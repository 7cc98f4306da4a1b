//! What kind of answer a question wants: a quantity, a count of things, and the thing that it asks for.
//!
//! A passage may hold every word of "How many employees does the company have?" and not answer it, because no number stands
//! by the employees. And where the question names what it asks for ("the recipe of the fish soup"), passages about the rest
//! of it are about something else.

use std::collections::HashSet;

use super::pieces::Kind;

/// The words behind "how" that ask for a number.
const MEASURES: &[&str] = &[
    "big", "deep", "far", "fast", "heavy", "high", "large", "late", "loud", "long", "many", "much", "old",
    "quick", "quickly", "soon", "tall", "thick", "warm", "wide",
];

/// Numbers and shares in words, and what says that there is none or nothing to pay.
#[rustfmt::skip]
const NUMBER_WORDS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty",
    "seventy", "eighty", "ninety", "hundred", "hundreds", "thousand", "thousands", "million", "billion", "dozen", "half",
    "third", "quarter", "tenth", "twice", "once", "double", "both", "no", "none", "nobody", "nothing", "free", "unlimited",
    "several", "all",
];

/// Words that may stand between the word that asks and what it asks for.
const DETERMINERS: &[&str] =
    &["a", "an", "the", "this", "that", "these", "those", "our", "your", "their", "its"];

/// Words behind which the name of what is asked for has ended.
#[rustfmt::skip]
const ENDS: &[&str] = &[
    "is", "are", "was", "were", "be", "been", "do", "does", "did", "has", "have", "had", "can", "could", "may", "might", "must",
    "shall", "should", "will", "would", "of", "in", "on", "at", "by", "for", "from", "to", "with", "without", "about", "after",
    "before", "between", "during", "into", "over", "per", "under", "when", "while", "if", "and", "or", "but", "that", "which",
    "who", "a", "an", "the", "this", "these", "those", "our", "your", "their", "its",
];

/// A number stands by what is counted if at most so many words are between them: before it ("70 of the new life jackets"), or
/// behind it ("the passengers were 340").
const BEFORE: usize = 3;
const BEHIND: usize = 2;

/// What a question wants.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Wanted {
    /// It asks for a number: how long, how much.
    pub(super) quantity: bool,
    /// The tokens of what is counted: how many days.
    pub(super) counted: HashSet<String>,
    /// The tokens of what is asked for: which *supplier*, the *price* of cod.
    pub(super) focus: HashSet<String>,
}

impl Wanted {
    pub(super) fn of(question: &str) -> Wanted {
        let words: Vec<String> = question
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
            .filter(|word| !word.is_empty())
            .collect();
        let mut wanted = Wanted::default();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).map_or("", String::as_str);
            match word.as_str() {
                "how" if MEASURES.contains(&next) => {
                    wanted.quantity = true;
                    if next == "many" {
                        wanted.counted = tokens(noun(&words[at + 2..]).first());
                    }
                    return wanted;
                }
                "cost" | "costs" if words[0] == "what" => wanted.quantity = true,
                "what" | "which" | "whose" if wanted.focus.is_empty() => {
                    let named = noun(&words[at + 1..]);
                    let is_be = ["is", "are", "was", "were"].contains(&next);
                    let named = if named.is_empty() && is_be { noun(&words[at + 2..]) } else { named };
                    wanted.focus = tokens(named);
                }
                _ => {}
            }
        }
        wanted
    }
}

/// The words up to the one that ends the name of a thing, without the article before them.
fn noun(words: &[String]) -> &[String] {
    let begins = words.iter().position(|word| !DETERMINERS.contains(&word.as_str())).unwrap_or(words.len());
    let words = &words[begins..];
    let ends = words.iter().position(|word| ENDS.contains(&word.as_str())).unwrap_or(words.len());
    &words[..ends.min(2)]
}

fn tokens<'a>(words: impl IntoIterator<Item = &'a String>) -> HashSet<String> {
    let mut found = HashSet::new();
    for word in words {
        index::tokens::index_tokens(word, &mut |token| {
            found.insert(token.to_owned());
        });
    }
    found
}

/// Whether a quotation holds a number, or a number by one of the words that `is_counted` knows, where it has such a word.
pub(super) fn holds_a_number(quote: &str, kind: Kind, is_counted: impl Fn(&str) -> bool) -> bool {
    let words: Vec<&str> = quote
        .split(|c: char| c.is_whitespace() || c == '|')
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    let counted: Vec<usize> = (0..words.len()).filter(|at| is_counted(words[*at])).collect();
    // In a row or a line of settings the word that is counted names the column or the key.
    if counted.is_empty() || kind != Kind::Sentence {
        return words.iter().any(|word| is_number(word));
    }
    counted.iter().any(|at| {
        let around = at.saturating_sub(BEFORE + 1)..(at + BEHIND + 2).min(words.len());
        words[around].iter().any(|word| is_number(word))
    })
}

fn is_number(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
        || word.split('-').any(|part| NUMBER_WORDS.contains(&part.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn focus(question: &str) -> Vec<String> {
        let mut focus = Vec::from_iter(Wanted::of(question).focus);
        focus.sort();
        focus
    }

    #[test]
    fn what_is_asked_for_is_read_from_the_question() {
        assert_eq!(focus("What is the recipe of the fish soup?"), ["recipe"]);
        assert_eq!(focus("Which pension fund manages the savings?"), ["fund", "pension"]);
        assert_eq!(focus("At what speed does she sail?"), ["speed"]);
        assert_eq!(focus("Who is the harbour master?"), [""; 0]);
        assert_eq!(focus("What does a lost jacket cost?"), [""; 0]);
    }

    #[test]
    fn quantities_and_counts_are_told_apart() {
        let counts = Wanted::of("Within how many hours must damage be reported?");
        assert!(counts.quantity && counts.counted.contains("hours"));
        let length = Wanted::of("How long is lost property kept?");
        assert!(length.quantity && length.counted.is_empty());
        assert!(Wanted::of("What does the tug cost an hour?").quantity);
        assert!(!Wanted::of("How is leave granted?").quantity);
    }

    #[test]
    fn a_count_stands_by_what_is_counted() {
        let holds = |quote: &str, kind| holds_a_number(quote, kind, |word| word == "employees");
        assert!(!holds("Since 1999 the company belongs to its employees.", Kind::Sentence));
        assert!(holds("Three of the new employees left.", Kind::Sentence));
        assert!(holds("It has 240 employees.", Kind::Sentence));
        assert!(holds("| employees | 240 |", Kind::Row));
        assert!(holds("There are forty-two of them.", Kind::Sentence));
        assert!(!holds("There are many of them.", Kind::Sentence));
    }
}
