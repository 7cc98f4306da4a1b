//! What the best passages talk about, as further words to look for.
//!
//! A question about prose names its subject in one way; passages that answer it use the words of the field. The words
//! that are frequent in the best few passages and rare elsewhere are added to the query (the relevance model of
//! Lavrenko and Croft, as in RM3).

use std::collections::HashMap;

use index::{QueryTerm, Snapshot, StoredChunk};
use model::{IndexKind, LocalEmbedder};
use rust_stemmers::{Algorithm, Stemmer};

use crate::parse::{Parsed, is_stop_word};
use crate::rarity::rarity;
use crate::weights::Weights;

/// Passages that are believed.
pub(crate) const PASSAGES: usize = 5;
/// Passages that the vector is moved toward: the mean of more has no particular meaning.
const SHIFTED_TOWARD: usize = 3;
/// Words taken from them.
const WORDS: usize = 20;
/// Words whose rarity is looked up, the most frequent first.
const LOOKED_UP: usize = 80;
/// A query with fewer words names something; one with more names enough.
const QUERY_WORDS: std::ops::RangeInclusive<usize> = 3..=48;

/// Whether the query is a question that further words may help.
pub(crate) fn helps(parsed: &Parsed) -> bool {
    let words = parsed.terms.iter().filter(|term| !term.stop).count();
    !parsed.is_symbol && parsed.phrases.is_empty() && QUERY_WORDS.contains(&words)
}

/// The query's terms and those of the passages, each with its share of belief.
pub(crate) fn expanded(
    snapshot: &Snapshot,
    parsed: &Parsed,
    passages: &[(f32, &StoredChunk)],
    weights: &Weights,
) -> Vec<QueryTerm> {
    let kind = IndexKind::Text;
    let total = snapshot.live_chunks(kind) as f32;
    let believed: f32 = passages.iter().map(|(score, _)| score).sum();
    let own: f32 = parsed.terms.iter().map(|term| term.weight).sum();
    let mut terms: Vec<QueryTerm> = parsed
        .terms
        .iter()
        .map(|term| QueryTerm {
            token: term.token.clone(),
            weight: (1.0 - weights.feedback) * term.weight / own,
            forms: term.variants.clone(),
            form_weight: weights.variant,
        })
        .collect();
    if believed <= 0.0 {
        return terms;
    }

    let stemmer = Stemmer::create(Algorithm::English);
    let mut by_stem: HashMap<String, Word> = HashMap::new();
    for (score, chunk) in passages {
        let mut total = 0usize;
        let mut tokens: HashMap<String, u32> = HashMap::new();
        index::tokens::index_tokens(&chunk.text, &mut |token| {
            total += 1;
            match tokens.get_mut(token) {
                Some(count) => *count += 1,
                None => drop(tokens.insert(token.to_owned(), 1)),
            }
        });
        let share = score / believed / total.max(1) as f32;
        for (token, count) in tokens {
            if token.chars().count() < 3 || is_stop_word(&token) || token.bytes().all(|b| b.is_ascii_digit())
            {
                continue;
            }
            let word = by_stem.entry(stemmer.stem(&token).into_owned()).or_default();
            // One by one: the sum of a passage must not depend on which of a word's forms comes first.
            (0..count).for_each(|_| word.share += share);
            *word.forms.entry(token).or_default() += count;
        }
    }
    let mut words: Vec<(String, Word)> = by_stem.into_iter().collect();
    words.sort_by(|(a, one), (b, other)| other.share.total_cmp(&one.share).then_with(|| a.cmp(b)));
    words.truncate(LOOKED_UP);
    let mut told: Vec<(f32, Vec<String>)> = words
        .into_iter()
        .map(|(_, word)| {
            let forms = word.forms();
            let holders: u64 = forms.iter().map(|form| snapshot.holders(kind, form)).sum();
            let holders = (holders as f32).min(total);
            (word.share * rarity(total, holders), forms)
        })
        .collect();
    told.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
    told.truncate(WORDS);
    let sum: f32 = told.iter().map(|(weight, _)| weight).sum();
    for (weight, mut forms) in told {
        let weight = weights.feedback * weight / sum;
        // A word of the query's own grows; nothing is looked for twice.
        match terms.iter_mut().find(|term| forms.iter().any(|f| *f == term.token || term.forms.contains(f))) {
            Some(term) => term.weight += weight,
            None => {
                let token = forms.remove(0);
                terms.push(QueryTerm { token, weight, forms, form_weight: weights.variant });
            }
        }
    }
    terms
}

/// Moves the query's vector a little toward those of the passages.
pub(crate) fn shift_toward(
    vector: &mut [f32],
    embedder: &dyn LocalEmbedder,
    kind: IndexKind,
    passages: &[(f32, &StoredChunk)],
    weights: &Weights,
) {
    let passages = &passages[..passages.len().min(SHIFTED_TOWARD)];
    let believed: f32 = passages.iter().map(|(score, _)| score).sum();
    let texts: Vec<&str> = passages.iter().map(|(_, chunk)| chunk.text.as_str()).collect();
    for ((score, _), passage) in passages.iter().zip(embedder.embed(kind, &texts)) {
        let share = weights.lean * score / believed.max(f32::MIN_POSITIVE);
        for (sum, value) in vector.iter_mut().zip(passage) {
            *sum += share * value;
        }
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|value| *value /= length.max(f32::MIN_POSITIVE));
}

/// A word in all the forms that were met.
#[derive(Default)]
struct Word {
    share: f32,
    forms: HashMap<String, u32>,
}

impl Word {
    /// The most frequent first.
    fn forms(&self) -> Vec<String> {
        let mut forms: Vec<(&String, &u32)> = self.forms.iter().collect();
        forms.sort_by(|(a, one), (b, other)| other.cmp(one).then_with(|| a.cmp(b)));
        forms.into_iter().map(|(form, _)| form.clone()).collect()
    }
}
