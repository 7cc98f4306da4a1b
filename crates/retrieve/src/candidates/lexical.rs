//! Candidates by words: BM25 over the weighted terms of the query.

use index::{LexicalQuery, QueryTerm, Snapshot};
use model::{DocType, IndexKind, Ranked};

use super::Admit;
use crate::filter::CompiledFilter;

pub(crate) fn candidates(
    snapshot: &Snapshot,
    kind: IndexKind,
    terms: &[QueryTerm],
    filter: &CompiledFilter,
    limit: usize,
) -> Vec<Ranked> {
    if terms.is_empty() || limit == 0 {
        return Vec::new();
    }
    let admit = |path: &str, doc_type: DocType| filter.admits(path, doc_type);
    let admit: Admit<'_> = if filter.admits_everything() { None } else { Some(&admit) };
    let mut ranked = snapshot.lexical(&LexicalQuery { terms, kind: Some(kind), admit, limit });
    ranked.retain(|each| each.score.is_finite() && each.score > 0.0);
    ranked
}
