//! Parts of a query that must occur in a text word for word: quoted phrases, numbers such as `CVE-2025-31337`, pasted messages.
//!
//! Only words are compared and the characters between them are ignored, so a message matches even if the source code splits
//! it over two strings.

use std::collections::HashMap;

use crate::parse::{Parsed, is_stop_word};

/// The words of a query that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verbatim {
    /// Between quotes: a quoted phrase is meant word for word.
    pub quoted: Vec<Vec<String>>,
    /// Written without a space, with a number in it or as an option: `CVE-2025-31337`, `--no-verify`.
    pub joined: Vec<Vec<String>>,
    /// All words, where they are enough to be a message.
    message: Vec<String>,
}

/// What a text has of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Occurrence {
    /// Every quoted phrase; true where nothing is quoted.
    pub(crate) has_quoted: bool,
    /// From 0 to 1.
    pub(crate) share: f32,
}

/// What the words of the query weigh, all together 1.
pub(crate) type WeightOf<'a> = &'a dyn Fn(&str) -> f32;

/// Fewer words in a row are chance.
const SHORTEST_RUN: usize = 4;
/// So many words in a row are no chance, however many others the query has.
const LONG_RUN: usize = 8;
/// A shorter run counts where it is this much of the query.
const MOST: f32 = 0.75;
/// Words of a message that are compared.
const MAX_WORDS: usize = 256;
const MAX_PHRASES: usize = 8;

impl Verbatim {
    /// `quoted` are the texts between quotes.
    pub(crate) fn of(text: &str, quoted: &[String]) -> Verbatim {
        let quoted: Vec<Vec<String>> =
            quoted.iter().map(|phrase| words(phrase)).filter(|words| !words.is_empty()).collect();
        let joined = text
            .split(|c: char| c.is_whitespace() || "\"`()[]{}<>,;".contains(c))
            .filter(|written| written.starts_with('-') || written.contains(|c: char| c.is_ascii_digit()))
            .map(words)
            .filter(|words| words.len() > 1)
            .take(MAX_PHRASES)
            .collect();
        let mut message = words(text);
        message.truncate(MAX_WORDS);
        if message.len() < SHORTEST_RUN {
            message.clear();
        }
        Verbatim { quoted, joined, message }
    }

    /// Everything that must occur together, for the search for candidates.
    pub(crate) fn phrases(&self) -> impl Iterator<Item = &Vec<String>> {
        self.quoted.iter().chain(&self.joined)
    }

    /// How much of it occurs in the text. `covered` is the share of the query's words that do: below half of them there is
    /// no message to look for.
    pub(crate) fn occurrence_in(&self, text: &str, covered: f32, weight_of: WeightOf<'_>) -> Occurrence {
        let seeks_message = !self.message.is_empty() && covered >= 0.5;
        if self.quoted.is_empty() && self.joined.is_empty() && !seeks_message {
            return Occurrence { has_quoted: true, share: 0.0 };
        }
        let known = Known::of(self);
        let numbers = known.numbers(text);
        let holds = |phrase: &Vec<String>| {
            let phrase: Vec<u32> = phrase.iter().map(|word| known.number(word)).collect();
            numbers.windows(phrase.len()).any(|window| window == phrase)
        };
        let quoted = self.quoted.iter().filter(|phrase| holds(phrase)).count();
        // `utf-8` beside other words says little, a number that is the whole query everything.
        let joined = self.joined.iter().filter(|phrase| holds(phrase)).flatten();
        let mut share = joined.fold(0.0, |sum, word| sum + weight_of(word)).min(1.0);
        if !self.quoted.is_empty() {
            share = share.max(quoted as f32 / self.quoted.len() as f32);
        }
        if seeks_message {
            share = share.max(self.run(&known, &numbers));
        }
        Occurrence { has_quoted: quoted == self.quoted.len(), share }
    }

    /// What the longest run of the message's words in a text is worth.
    fn run(&self, known: &Known<'_>, numbers: &[u32]) -> f32 {
        let message: Vec<u32> = self.message.iter().map(|word| known.number(word)).collect();
        let mut longest = (0, 0);
        let mut before = vec![0usize; message.len() + 1];
        for number in numbers {
            // From the end, so that each sees what the word before left.
            for at in (0..message.len()).rev() {
                before[at + 1] = if message[at] == *number { before[at] + 1 } else { 0 };
                if before[at + 1] > longest.0 {
                    longest = (before[at + 1], at + 1);
                }
            }
        }
        let (length, end) = longest;
        let run = &self.message[end - length..end];
        let telling = run.iter().filter(|word| !is_stop_word(word)).count();
        let share = length as f32 / self.message.len() as f32;
        let counts = length >= SHORTEST_RUN && telling >= 2 && (share >= MOST || length >= LONG_RUN);
        if counts { share.max(0.5) } else { 0.0 }
    }
}

/// The words that are looked for, numbered.
struct Known<'a> {
    numbers: HashMap<&'a str, u32>,
}

impl<'a> Known<'a> {
    fn of(verbatim: &'a Verbatim) -> Known<'a> {
        let mut numbers = HashMap::new();
        for word in verbatim.phrases().flatten().chain(&verbatim.message) {
            let next = numbers.len() as u32 + 1;
            numbers.entry(word.as_str()).or_insert(next);
        }
        Known { numbers }
    }

    fn number(&self, word: &str) -> u32 {
        self.numbers.get(word).copied().unwrap_or(0)
    }

    /// The words of a text by number; 0 for those that are not looked for.
    fn numbers(&self, text: &str) -> Vec<u32> {
        let mut lower = String::new();
        let mut numbers = Vec::new();
        each_word(text, &mut |word| {
            lower.clear();
            if word.is_ascii() {
                lower.push_str(word);
                lower.make_ascii_lowercase();
            } else {
                lower.extend(word.chars().flat_map(char::to_lowercase));
            }
            numbers.push(self.number(&lower));
        });
        numbers
    }
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, &mut |word| words.push(word.to_lowercase()));
    words
}

/// Runs of letters, digits and underscores; a character of a script without spaces is a word.
fn each_word(text: &str, each: &mut dyn FnMut(&str)) {
    let mut start = None;
    for (at, c) in text.char_indices() {
        let alone = crate::matcher::has_no_word_limits(c);
        let inside = !alone && (c.is_alphanumeric() || c == '_');
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                each(&text[from..at]);
                start = None;
            }
            _ => {}
        }
        if alone {
            each(&text[at..at + c.len_utf8()]);
        }
    }
    if let Some(from) = start {
        each(&text[from..]);
    }
}

/// Whether a text holds the letters of a name, whatever is around or between them: `HTTPConnectionPool` and
/// `connection_pool` hold `ConnectionPool`.
pub(crate) fn holds_name(text: &str, name: &str) -> bool {
    let wanted: Vec<char> = letters(name).collect();
    let Some(first) = wanted.first() else { return true };
    text.char_indices().any(|(at, c)| {
        c.to_lowercase().next() == Some(*first) && {
            let mut here = letters_of_name(&text[at..]);
            wanted.iter().all(|letter| here.next() == Some(*letter))
        }
    })
}

fn letters(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// The letters up to the end of the name.
fn letters_of_name(text: &str) -> impl Iterator<Item = char> + '_ {
    let name = text.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    name.filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// The name that every hit must hold: the query is one name that is spelled as code spells names.
pub(crate) fn required_name(parsed: &Parsed) -> Option<&str> {
    match parsed.identifiers.as_slice() {
        [only] if parsed.is_symbol && crate::parse::has_inner_case(only) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrence_in(query: &str, text: &str) -> Occurrence {
        let parsed = Parsed::new(query);
        let words = parsed.content_terms().len() as f32;
        parsed.verbatim.occurrence_in(text, 1.0, &|_| 1.0 / words)
    }

    #[test]
    fn phrases_stand_word_for_word() {
        assert!(occurrence_in("\"exact words\"", "The Exact\n   Words").has_quoted);
        assert!(!occurrence_in("\"exact words\"", "words exact, exact and words").has_quoted);
        assert!(occurrence_in("CVE-2025-31337", "see CVE-2025-31337.").share > 0.9);
        assert_eq!(occurrence_in("a key-value store", "key-value").share, 0.0);
        assert!(occurrence_in("commit --no-verify", "git commit --no-verify").share > 0.5);
        assert_eq!(occurrence_in("CVE-2025-31337", "CVE-2025-1234, CVE-2024-31337").share, 0.0);
        assert_eq!(occurrence_in("\"全文検索\"", "日本語の全文検索です").share, 1.0);
    }

    #[test]
    fn a_pasted_message_is_found_in_the_source() {
        let source = "panic!(\"there is no reactor running, \\\n    must be called from the context of a Tokio 1.x runtime\")";
        let pasted = "thread 'main' panicked at src/main.rs:5:3: there is no reactor running, must be called from the context";
        assert!(occurrence_in(pasted, source).share >= 0.5);
        assert!(occurrence_in("there is no reactor running", source).share == 1.0);
        assert_eq!(occurrence_in("where is the reactor of the runtime", source).share, 0.0);
        assert_eq!(
            occurrence_in("how to be called from the context of a task", "called from the context of a")
                .share,
            0.0
        );
    }

    #[test]
    fn a_name_inside_another() {
        assert!(holds_name("class HTTPConnectionPool:", "ConnectionPool"));
        assert!(holds_name("def connection_pool():", "ConnectionPool"));
        assert!(!holds_name("a connection of the pool", "ConnectionPool"));
    }
}
