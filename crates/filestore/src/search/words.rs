//! BM25 over the words of chunks: what each word of a query is worth, and what a chunk scores. The same arithmetic for every
//! backend, with the statistics of the searched projects of one tenant and of nothing else.

use std::collections::HashSet;

use index::Bm25;
use retrieve::Weights;
use retrieve::parse::Parsed;

use crate::indexing::{ChunkWords, PATH_MARK};

/// What is known of the searched projects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WordStatistics {
    pub chunks: u64,
    /// All their tokens, repetitions included.
    pub tokens: u64,
    /// For each token that was asked about, how many chunks hold it.
    pub holders: Vec<u64>,
}

/// A token and what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedToken {
    pub token: String,
    pub weight: f64,
}

/// The words of a query, weighed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WordQuery {
    pub tokens: Vec<WeightedToken>,
    /// The part of `tf / (tf + flat + slope * length)` that does not depend on the chunk …
    pub flat: f64,
    /// … and what each of its tokens adds.
    pub slope: f64,
}

/// A token of a query before it is weighed: what it counts, and which tokens share its rarity.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QueryToken {
    pub token: String,
    factor: f64,
    group: usize,
}

/// Tokens beyond these are looked up by nobody: a pasted page is found by its first words.
const MAX_TOKENS: usize = 400;

/// The tokens to look up, each once, in the order of the query.
pub(super) fn query_tokens(parsed: &Parsed, weights: &Weights) -> Vec<QueryToken> {
    let bm25 = Bm25::default();
    let mut seen = HashSet::new();
    let mut tokens = Vec::new();
    for (number, term) in parsed.query_terms(weights).into_iter().enumerate() {
        let forms = term.forms.iter().map(|form| (form, term.form_weight));
        for (form, share) in [(&term.token, 1.0)].into_iter().chain(forms) {
            let counts = f64::from(term.weight) * f64::from(share);
            for (token, factor, group) in [
                (form.clone(), counts * (f64::from(bm25.k1) + 1.0), 2 * number),
                (format!("{PATH_MARK}{form}"), counts * f64::from(bm25.path_weight), 2 * number + 1),
            ] {
                if factor > 0.0 && tokens.len() < MAX_TOKENS && seen.insert(token.clone()) {
                    tokens.push(QueryToken { token, factor, group });
                }
            }
        }
    }
    tokens
}

/// Weighs the tokens by their rarity.
pub(super) fn weigh(tokens: &[QueryToken], statistics: &WordStatistics) -> WordQuery {
    let bm25 = Bm25::default();
    let all = statistics.chunks as f64;
    let mean = (statistics.tokens as f64 / all.max(1.0)).max(1.0);
    let holders_of = |group: usize| -> u64 {
        let same = tokens.iter().zip(&statistics.holders).filter(|(token, _)| token.group == group);
        same.map(|(_, holders)| *holders).sum()
    };
    let weighted = tokens.iter().zip(&statistics.holders).filter(|(_, holders)| **holders > 0);
    let tokens = weighted.map(|(token, _)| {
        let holders = (holders_of(token.group) as f64).min(all);
        let rarity = (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln();
        WeightedToken { token: token.token.clone(), weight: token.factor * rarity }
    });
    let (k1, b) = (f64::from(bm25.k1), f64::from(bm25.b));
    WordQuery { tokens: tokens.collect(), flat: k1 * (1.0 - b), slope: k1 * b / mean }
}

impl WordQuery {
    /// What one occurrence of a token adds to the score of a chunk.
    pub fn part(&self, token: &WeightedToken, count: u32, length: u32) -> f64 {
        if token.token.starts_with(PATH_MARK) {
            return token.weight;
        }
        let count = f64::from(count);
        token.weight * (count / (count + self.flat + self.slope * f64::from(length)))
    }

    /// The score of a chunk; 0 if it holds no word of the query.
    pub fn score(&self, words: &ChunkWords) -> f64 {
        let mut score = 0.0;
        for token in &self.tokens {
            if let Some(count) = words.counts.get(&token.token) {
                score += self.part(token, *count, words.length);
            }
        }
        score
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::StorePath;

    #[test]
    fn rare_words_and_short_chunks_win() {
        let parsed = Parsed::new("common needle");
        let tokens = query_tokens(&parsed, &Weights::default());
        let holders = |token: &QueryToken| match token.token.as_str() {
            "common" => 90,
            "needle" => 2,
            _ => 0,
        };
        let statistics =
            WordStatistics { chunks: 100, tokens: 1000, holders: tokens.iter().map(holders).collect() };
        let query = weigh(&tokens, &statistics);
        let path = StorePath::parse("/x").unwrap();
        let score = |text: &str| query.score(&ChunkWords::of(&path, text));
        assert!(score("needle") > score("common common common"));
        assert!(score("needle") > score(&format!("needle {}", "filler ".repeat(50))));
        assert_eq!(score("nothing"), 0.0);
    }
}
