//! Candidates by meaning: nearest neighbours of the embedded query.

use index::Snapshot;
use model::{DocType, EmbedError, Embedder, IndexKind, Ranked};

use super::Admit;
use crate::filter::CompiledFilter;
use crate::parse::{MAX_QUERY_BYTES, cut};

pub(crate) fn candidates(
    snapshot: &Snapshot,
    embedder: &dyn Embedder,
    kind: IndexKind,
    text: &str,
    filter: &CompiledFilter,
    limit: usize,
) -> Result<Vec<Ranked>, EmbedError> {
    if limit == 0 || snapshot.live_chunks(kind) == 0 {
        return Ok(Vec::new());
    }
    let vectors = embedder.embed(kind, &[cut(text, MAX_QUERY_BYTES)])?;
    let Some(vector) = vectors.into_iter().next() else { return Ok(Vec::new()) };
    // A query without a word has the zero vector, to which everything is equally near.
    if vector.iter().all(|x| *x == 0.0) || vector.iter().any(|x| !x.is_finite()) {
        return Ok(Vec::new());
    }
    let admit = |path: &str, doc_type: DocType| filter.admits(path, doc_type);
    let admit: Admit<'_> = if filter.admits_everything() { None } else { Some(&admit) };
    let mut ranked = snapshot.vector(kind, &vector, limit, admit);
    ranked.retain(|each| each.score.is_finite());
    Ok(ranked)
}
