//! Candidates by meaning: nearest neighbours of the embedded query.

use index::Snapshot;
use model::{ChunkId, EmbedError, Embedder, IndexKind, Ranked};

use crate::filter::CompiledFilter;
use crate::parse::{MAX_QUERY_BYTES, cut};

/// The query's vector; none for a query without a word, to which everything would be equally near.
pub(crate) fn of_query(
    embedder: &dyn Embedder,
    kind: IndexKind,
    text: &str,
) -> Result<Option<Vec<f32>>, EmbedError> {
    let vector = embedder.embed_query(kind, cut(text, MAX_QUERY_BYTES))?;
    let usable = vector.iter().any(|x| *x != 0.0) && vector.iter().all(|x| x.is_finite());
    Ok(usable.then_some(vector))
}

/// The nearest chunks, and those of `also` wherever they are.
pub(crate) fn candidates(
    snapshot: &Snapshot,
    kind: IndexKind,
    vector: &[f32],
    filter: &CompiledFilter,
    limit: usize,
    also: &[ChunkId],
) -> Vec<Ranked> {
    let mut ranked = snapshot.vector(kind, vector, limit, also, filter.asked());
    ranked.retain(|each| each.score.is_finite());
    ranked
}
