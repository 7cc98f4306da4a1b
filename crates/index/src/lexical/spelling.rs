//! Words that a misspelt one may have meant, found by walking the dictionaries with an automaton: only the branches are
//! followed that can still end in a word near enough.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use model::spelling::edits;
use tantivy_fst::Automaton;

use super::gather::Part;
use super::holding::knows;
use super::view::{LexicalView, unpanicked};

/// Spellings offered for one word.
const NEAR: usize = 4;

/// Tokens that a misspelt one may have meant: those of live texts with the same first letter and few edits, nearest
/// first. Short tokens are their own spelling.
pub(crate) fn near(view: &LexicalView, token: &str) -> Vec<String> {
    let Some(allowed) = allowed(token) else { return Vec::new() };
    let first = token.chars().next();
    let mut found = BTreeSet::new();
    for segment in &view.segments {
        let looked = unpanicked(|| {
            let automaton = Nearly(builder(allowed).build_dfa(token));
            let mut stream = segment.reader(Part::Body).terms().search(automaton).into_stream()?;
            while stream.advance() {
                if let Ok(other) = std::str::from_utf8(stream.key())
                    && other.chars().next() == first
                {
                    let edits = edits(token, other);
                    if edits <= usize::from(allowed) {
                        found.insert((edits, other.to_owned()));
                    }
                }
            }
            Ok(())
        });
        if let Err(error) = looked {
            tracing::warn!(%error, "a segment of the lexical index cannot be read");
        }
    }
    found.into_iter().map(|(_, token)| token).filter(|token| knows(view, token)).take(NEAR).collect()
}

/// Edits that a word of this length may have. Pasted lines are no words.
fn allowed(token: &str) -> Option<u8> {
    match token.chars().count() {
        5..=8 => Some(1),
        9..=64 => Some(2),
        _ => None,
    }
}

/// The tables that automata are made from: some milliseconds of work, done once.
fn builder(allowed: u8) -> &'static LevenshteinAutomatonBuilder {
    static ONE: OnceLock<LevenshteinAutomatonBuilder> = OnceLock::new();
    static TWO: OnceLock<LevenshteinAutomatonBuilder> = OnceLock::new();
    let (cell, edits) = if allowed == 1 { (&ONE, 1) } else { (&TWO, 2) };
    cell.get_or_init(|| LevenshteinAutomatonBuilder::new(edits, true))
}

/// Accepts every word within the automaton's number of edits.
struct Nearly(DFA);

impl Automaton for Nearly {
    type State = u32;

    fn start(&self) -> u32 {
        self.0.initial_state()
    }

    fn is_match(&self, state: &u32) -> bool {
        matches!(self.0.distance(*state), Distance::Exact(_))
    }

    fn can_match(&self, state: &u32) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &u32, byte: u8) -> u32 {
        self.0.transition(*state, byte)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn accepts(token: &str, allowed: u8, other: &str) -> bool {
        let automaton = Nearly(builder(allowed).build_dfa(token));
        let end = other.bytes().fold(automaton.start(), |state, byte| automaton.accept(&state, byte));
        automaton.is_match(&end)
    }

    proptest! {
        #[test]
        fn the_automaton_accepts_just_what_is_near(
            token in "[a-eé漢]{1,12}", other in "[a-eé漢]{1,14}", allowed in 1u8..=2,
        ) {
            prop_assert_eq!(accepts(&token, allowed, &other), edits(&token, &other) <= usize::from(allowed));
        }
    }
}
