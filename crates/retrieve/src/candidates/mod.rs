//! The candidates of one index: what the words find and what the vectors find, looked up once.

mod lexical;
mod vector;

use std::collections::HashMap;

use index::{Snapshot, StoredChunk};
use model::{ChunkId, DocType, EmbedError, Embedder, Failure, IndexKind};

use crate::filter::CompiledFilter;
use crate::parse::Parsed;
use crate::weights;

/// A chunk that may be a hit, with its score in each ranking that found it.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub chunk: StoredChunk,
    /// BM25, above zero.
    pub lexical: Option<f32>,
    /// Cosine, from -1 to 1.
    pub cosine: Option<f32>,
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

/// Asks both rankings of one index for their best `limit` chunks.
pub(crate) fn gather(
    snapshot: &Snapshot,
    embedder: &dyn Embedder,
    kind: IndexKind,
    text: &str,
    parsed: &Parsed,
    filter: &CompiledFilter,
    limit: usize,
) -> Result<Pool, Failure> {
    let by_words = lexical::candidates(snapshot, kind, parsed, filter, limit);
    let (by_vector, vector_error) = match vector::candidates(snapshot, embedder, kind, text, filter, limit) {
        Ok(ranked) => (ranked, None),
        Err(error) => (Vec::new(), Some(error)),
    };

    let mut scores: HashMap<ChunkId, (Option<f32>, Option<f32>)> = HashMap::new();
    let mut order = Vec::with_capacity(by_words.len() + by_vector.len());
    for ranked in &by_words {
        order.push(ranked.chunk);
        scores.insert(ranked.chunk, (Some(ranked.score), None));
    }
    for ranked in &by_vector {
        match scores.get_mut(&ranked.chunk) {
            Some(known) => known.1 = Some(ranked.score),
            // Looking a chunk up costs more than all the arithmetic on it, so the far ones are left at once.
            None if ranked.score >= weights::VECTOR_FLOOR => {
                order.push(ranked.chunk);
                scores.insert(ranked.chunk, (None, Some(ranked.score)));
            }
            None => {}
        }
    }
    let candidates = snapshot
        .chunks(&order)
        .map_err(Failure::from)?
        .into_iter()
        .map(|chunk| {
            let (lexical, cosine) = scores.get(&chunk.id).copied().unwrap_or_default();
            Candidate { chunk, lexical, cosine }
        })
        .collect();
    Ok(Pool { candidates, vector_error })
}
