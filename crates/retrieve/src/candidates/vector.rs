//! Candidates by meaning: nearest neighbours of the embedded query.

use index::Snapshot;
use model::{ChunkId, IndexKind, Ranked};

use crate::filter::CompiledFilter;

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
