//! What a question asks for: its telling words, what each of them weighs, and how much of that a text holds.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use index::StoredChunk;
use index::definitions::{Family, definition_at};
use model::IndexKind;

use super::pieces::Kind;
use super::wanted::{Wanted, holds_a_number};
use crate::fuse::name_around;
use crate::matcher::Matcher;
use crate::operators::Operators;
use crate::parse::{Parsed, Term, Vocabulary};
use crate::rarity::rarity;

/// What finding a word counts that is only spelled nearly like the one that was asked for; less where that is a name:
/// Mongolian letters say nothing about Mongolia.
const GUESSED: f32 = 0.75;
const GUESSED_NAME: f32 = 0.4;

/// What a word counts that stands in the headings above a piece or in its path, and elsewhere in its chunk.
const IN_HEADING: f32 = 0.9;
const NEARBY: f32 = 0.5;

/// What a name or a number of the question counts, compared with another word, and what a word that only asks counts.
const NAMED: f32 = 1.6;
const ASKING: f32 = 0.25;

/// What a passage counts that has no number where the question asks for one, and one that has nothing of what it asks for. On the
/// labelled questions of `eval/answers` these two take the silence from 40 of 50 to 45, and no answer is lost.
const WITHOUT_NUMBER: f32 = 0.45;
const WITHOUT_FOCUS: f32 = 0.75;

/// Words of questions that a text which answers need not hold.
const ASKING_WORDS: &[&str] = &[
    "already",
    "answer",
    "anymore",
    "big",
    "called",
    "describe",
    "details",
    "else",
    "ever",
    "exactly",
    "explain",
    "find",
    "get",
    "give",
    "happen",
    "happens",
    "know",
    "large",
    "let",
    "list",
    "look",
    "long",
    "many",
    "may",
    "mean",
    "means",
    "mention",
    "might",
    "mentioned",
    "much",
    "must",
    "name",
    "need",
    "now",
    "often",
    "please",
    "say",
    "says",
    "shall",
    "show",
    "still",
    "tell",
    "use",
    "used",
    "uses",
    "using",
    "want",
    "work",
    "works",
];

/// What a question asks for.
pub(super) struct Asked {
    matcher: Matcher,
    /// One for each term of the matcher; they add up to 1.
    shares: Vec<f32>,
    /// What finding the term counts: less where only a word spelled nearly so was found.
    certain: Vec<f32>,
    /// The question asks for a number.
    quantity: bool,
    /// Whether a term is what the question wants counted.
    counted: Vec<bool>,
    /// The terms of what it asks for.
    focus: Vec<usize>,
}

impl Asked {
    pub(super) fn new(question: &str, chunks: &[StoredChunk], near: &dyn Fn(&str) -> Vec<String>) -> Asked {
        let operators = Operators::read(question);
        let held = held_by_all(chunks);
        let knows = |token: &str| held.contains_key(token);
        let parsed = Parsed::with_forms(&operators.text, &Vocabulary { knows: &knows, near });
        let terms = parsed.content_terms();
        let exact = Parsed::with_forms(&operators.text, &Vocabulary { knows: &knows, near: &|_| Vec::new() });
        let is_guessed = |token: &str| {
            let known = exact.terms.iter().find(|term| term.token == token);
            !knows(token) && known.is_none_or(|term| term.variants.is_empty())
        };
        let named = names(&operators.text);
        let wanted = Wanted::of(&operators.text);
        let certain = terms
            .iter()
            .map(|term| match (is_guessed(&term.token), named.contains(&term.token)) {
                (true, true) => GUESSED_NAME,
                (true, false) => GUESSED,
                (false, _) => 1.0,
            })
            .collect();
        let total = chunks.len() as f32;
        let mut shares: Vec<f32> = terms
            .iter()
            .map(|term| {
                let forms = term.variants.iter().chain([&term.token]);
                let holders = forms.filter_map(|form| held.get(form)).copied().max().unwrap_or(0) as f32;
                // What no hit holds is what the question is about and the folder is not: it weighs most.
                let telling = rarity(total, holders).clamp(0.2, 2.0);
                let asking = ASKING_WORDS.contains(&term.token.as_str());
                let factor = match (asking, named.contains(&term.token)) {
                    (true, _) => ASKING,
                    (false, true) => NAMED,
                    (false, false) => 1.0,
                };
                term.weight * telling * factor
            })
            .collect();
        let sum: f32 = shares.iter().sum();
        if sum > 0.0 {
            shares.iter_mut().for_each(|share| *share /= sum);
        }
        let counted = terms.iter().map(|term| wanted.counted.contains(&term.token)).collect();
        let is_focus =
            |term: &Term| wanted.focus.contains(&term.token) && !ASKING_WORDS.contains(&term.token.as_str());
        let focus = (0..terms.len()).filter(|at| is_focus(terms[*at])).collect();
        let quantity = wanted.quantity;
        let matcher = Matcher::of_terms(terms);
        Asked { matcher, shares, certain, quantity, counted, focus }
    }

    /// What a quotation counts: less where the question asks for a number and it has none, and where nothing of the thing
    /// that is asked for stands in it, above it or near it.
    pub(super) fn fit(&self, quote: &str, kind: Kind, held: [&[bool]; 3]) -> f32 {
        let is_counted = |word: &str| self.matcher.find(word).iter().any(|found| self.counted[found.term]);
        let lacks_number = self.quantity && !holds_a_number(quote, kind, is_counted);
        let lacks_focus =
            !self.focus.is_empty() && !self.focus.iter().any(|term| held.iter().any(|place| place[*term]));
        (if lacks_number { WITHOUT_NUMBER } else { 1.0 }) * (if lacks_focus { WITHOUT_FOCUS } else { 1.0 })
    }

    pub(super) fn held_by(&self, text: &str) -> Vec<bool> {
        let mut held = vec![false; self.shares.len()];
        self.matcher.find(text).iter().for_each(|found| held[found.term] = true);
        held
    }

    /// The share of what is asked for that a piece has, from 0 to 1. Words of its own count most, then those above it and in
    /// its path, then those elsewhere in its chunk.
    pub(super) fn share(&self, own: &[bool], above: &[bool], nearby: &[bool]) -> f32 {
        (0..self.shares.len()).fold(0.0, |sum, term| {
            let counts = match (own[term], above[term], nearby[term]) {
                (true, ..) => 1.0,
                (_, true, _) => IN_HEADING,
                (_, _, true) => NEARBY,
                _ => 0.0,
            };
            sum + self.shares[term] * self.certain[term] * counts
        })
    }

    /// The share that these words are of the question.
    pub(super) fn own_share(&self, held: &[bool]) -> f32 {
        self.shares.iter().zip(held).filter(|(_, held)| **held).map(|(share, _)| share).sum()
    }

    /// Whether a name of the question is declared in the first line of a stretch of code.
    pub(super) fn is_defined_in(&self, text: &str, bytes: Range<usize>) -> bool {
        let line = text[bytes.clone()].lines().next().unwrap_or_default();
        let places = self.matcher.find(line);
        places.iter().any(|place| {
            let (start, end) = name_around(text, bytes.start + place.start, bytes.start + place.end);
            let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
            definition_at(text, line, Family::Other)
                .is_some_and(|found| (found.start, found.end) == (start, end))
        })
    }
}

/// How many of the chunks hold each token, in their text, their path or the headings above them.
fn held_by_all(chunks: &[StoredChunk]) -> HashMap<String, usize> {
    let mut held: HashMap<String, usize> = HashMap::new();
    for chunk in chunks {
        let mut own: HashSet<String> = HashSet::new();
        let mut note = |token: &str| {
            own.insert(token.to_owned());
        };
        index::tokens::index_tokens(&chunk.text, &mut note);
        index::tokens::index_tokens(&chunk.rel_path, &mut note);
        index::tokens::index_tokens(&chunk.heading.words_beside(IndexKind::Text, ""), &mut note);
        own.into_iter().for_each(|token| *held.entry(token).or_default() += 1);
    }
    held
}

/// The tokens of the question that are names or numbers: spelled with a capital within a sentence, or with digits.
fn names(question: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut begins = true;
    for word in question.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name =
            bare.chars().any(char::is_uppercase) && !begins || bare.chars().any(|c| c.is_ascii_digit());
        if is_name {
            index::tokens::index_tokens(bare, &mut |token| {
                found.insert(token.to_owned());
            });
        }
        begins = word.ends_with(['.', '?', '!', ':']);
    }
    found
}
