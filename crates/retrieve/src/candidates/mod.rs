//! The candidates of one index: what the words find and what the vectors find, looked up once.

mod lexical;
mod vector;

use std::collections::HashMap;

use index::{QueryTerm, Snapshot, StoredChunk};
use model::{ChunkId, DocType, EmbedError, Embedder, Failure, IndexKind};

use crate::feedback;
use crate::filter::CompiledFilter;
use crate::parse::Parsed;
use crate::weights::Weights;

/// A chunk that may be a hit, with its score in each ranking that found it.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub chunk: StoredChunk,
    /// BM25, above zero.
    pub lexical: Option<f32>,
    /// Cosine, from -1 to 1.
    pub cosine: Option<f32>,
    /// The same for the end of its path.
    pub path_cosine: f32,
}

/// What one index offers for a query.
#[derive(Debug, Default)]
pub struct Pool {
    pub candidates: Vec<Candidate>,
    /// The query could not be embedded, so that only words were searched.
    pub vector_error: Option<EmbedError>,
}

/// What the index asks about each document; none where everything is admitted.
type Admit<'a> = Option<&'a dyn Fn(&str, DocType) -> bool>;

/// What is asked of each index.
pub(crate) struct Question<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) embedder: &'a dyn Embedder,
    pub(crate) text: &'a str,
    pub(crate) parsed: &'a Parsed,
    pub(crate) filter: &'a CompiledFilter,
    /// How many chunks each ranking may offer.
    pub(crate) limit: usize,
    pub(crate) weights: &'a Weights,
}

/// Asks both rankings of one index for their best chunks.
pub(crate) fn gather(question: &Question<'_>, kind: IndexKind) -> Result<Pool, Failure> {
    let Question { snapshot, embedder, text, parsed, filter, limit, weights } = *question;
    if limit == 0 || snapshot.live_chunks(kind) == 0 {
        return Ok(Pool::default());
    }
    let (vector, vector_error) = match vector::of_query(embedder, kind, text) {
        Ok(vector) => (vector, None),
        Err(error) => (None, Some(error)),
    };
    let mut gathered = Gathered { snapshot, kind, filter, limit, vector, known: HashMap::new() };
    let terms = parsed.query_terms(weights);
    let mut candidates = gathered.round(&terms, limit, weights)?;
    if kind == IndexKind::Text && weights.feedback > 0.0 && feedback::helps(parsed) {
        let best = best_passages(&candidates, weights);
        let terms = feedback::expanded(snapshot, parsed, &best, weights);
        let nearest = match gathered.vector.as_mut().filter(|_| !embedder.is_costly()) {
            Some(vector) => {
                feedback::lean(vector, embedder, kind, &best, weights);
                limit
            }
            None => 0,
        };
        let more = gathered.round(&terms, nearest, weights)?;
        for candidate in &mut candidates {
            let (words, cosine) = gathered.known.get(&candidate.chunk.id).copied().unwrap_or_default();
            // What only the first round found was still found by words.
            candidate.lexical = words.or(candidate.lexical.map(|_| 0.0));
            candidate.cosine = cosine;
        }
        candidates.extend(more);
    }
    if let Some(vector) = gathered.vector.as_ref().filter(|_| !embedder.is_costly()) {
        name_files(&mut candidates, embedder, kind, vector);
    }
    Ok(Pool { candidates, vector_error })
}

/// Compares the query with what the files are called.
fn name_files(candidates: &mut [Candidate], embedder: &dyn Embedder, kind: IndexKind, vector: &[f32]) {
    let mut by_path: HashMap<String, f32> = HashMap::new();
    for candidate in candidates {
        let path = &candidate.chunk.rel_path;
        candidate.path_cosine = *by_path.entry(path.clone()).or_insert_with(|| {
            let folder = path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
            let end = path.rfind('.').filter(|at| *at > folder).unwrap_or(path.len());
            if !has_word(&path[folder..end]) {
                return 0.0;
            }
            let named = embedder.embed(kind, &[&path[folder..end]]).unwrap_or_default();
            named.iter().flatten().zip(vector).fold(0.0, |sum, (x, y)| sum + x * y)
        });
    }
}

/// Whether a name is more than a number or a letter: what `c17` and `2024/03` mean is chance.
fn has_word(name: &str) -> bool {
    name.chars().zip(name.chars().skip(1)).any(|(one, next)| one.is_alphabetic() && next.is_alphabetic())
}

/// What was asked of one index so far.
struct Gathered<'a> {
    snapshot: &'a Snapshot,
    kind: IndexKind,
    filter: &'a CompiledFilter,
    limit: usize,
    vector: Option<Vec<f32>>,
    /// What was met in any round, with its scores by words and by vector in the last.
    known: HashMap<ChunkId, (Option<f32>, Option<f32>)>,
}

impl Gathered<'_> {
    /// The chunks that the terms find, and the `nearest` ones, without those that an earlier round gave.
    fn round(
        &mut self,
        terms: &[QueryTerm],
        nearest: usize,
        weights: &Weights,
    ) -> Result<Vec<Candidate>, Failure> {
        let by_words = lexical::candidates(self.snapshot, self.kind, terms, self.filter, self.limit);
        self.known.values_mut().for_each(|scores| *scores = (None, None));
        let mut order = Vec::with_capacity(by_words.len() + nearest);
        for ranked in &by_words {
            if !self.known.contains_key(&ranked.chunk) {
                order.push(ranked.chunk);
            }
            self.known.entry(ranked.chunk).or_default().0 = Some(ranked.score);
        }
        // What the words found is wanted with its cosine, however far down the vectors have it.
        if let Some(vector) = &self.vector {
            let known: Vec<ChunkId> = self.known.keys().copied().collect();
            for ranked in vector::candidates(self.snapshot, self.kind, vector, self.filter, nearest, &known) {
                match self.known.get_mut(&ranked.chunk) {
                    Some(known) => known.1 = Some(ranked.score),
                    // Looking a chunk up costs more than all the arithmetic on it, so the far ones are left at once.
                    None if ranked.score >= weights.vector_floor => {
                        order.push(ranked.chunk);
                        self.known.insert(ranked.chunk, (None, Some(ranked.score)));
                    }
                    None => {}
                }
            }
        }
        let chunks = self.snapshot.chunks(&order).map_err(Failure::from)?;
        Ok(chunks
            .into_iter()
            .map(|chunk| {
                let (lexical, cosine) = self.known.get(&chunk.id).copied().unwrap_or_default();
                Candidate { chunk, lexical, cosine, path_cosine: 0.0 }
            })
            .collect())
    }
}

/// The passages to believe: the best by words and vectors together.
fn best_passages<'a>(candidates: &'a [Candidate], weights: &Weights) -> Vec<(f32, &'a StoredChunk)> {
    let best = |score: fn(&Candidate) -> Option<f32>| {
        candidates.iter().filter_map(score).fold(f32::MIN_POSITIVE, f32::max)
    };
    let (words, cosine) = (best(|c| c.lexical), best(|c| c.cosine));
    let share = weights.vector_share_text;
    let mut scored: Vec<(f32, &StoredChunk)> = candidates
        .iter()
        .map(|c| {
            let by_words = c.lexical.unwrap_or(0.0) / words;
            let by_vector = c.cosine.unwrap_or(0.0).max(0.0) / cosine;
            (by_words * (1.0 - share) + by_vector * share, &c.chunk)
        })
        .collect();
    scored.sort_by(|(a, one), (b, other)| {
        let place = |c: &StoredChunk| (c.ordinal, c.id);
        b.total_cmp(a)
            .then_with(|| one.rel_path.cmp(&other.rel_path))
            .then_with(|| place(one).cmp(&place(other)))
    });
    scored.truncate(feedback::PASSAGES);
    scored
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn numbers_and_letters_are_no_names() {
        assert!(["io", "src/retry", "v2/db", "café"].iter().all(|name| has_word(name)));
        assert!(!["c17", "184", "2024/03", "a_b", ""].iter().any(|name| has_word(name)));
    }
}
