//! Candidates by meaning: nearest neighbours of the embedded query.

use index::Snapshot;
use model::{ChunkId, DocType, IndexKind, Ranked};

use super::Admit;
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
    let admit = |path: &str, doc_type: DocType| filter.admits(path, doc_type);
    let admit: Admit<'_> = if filter.admits_everything() { None } else { Some(&admit) };
    let mut ranked = snapshot.vector(kind, vector, limit, also, admit);
    ranked.retain(|each| each.score.is_finite());
    ranked
}
