//! Candidates by words: BM25 over the weighted terms of the query.

use index::{LexicalQuery, QueryTerm, Snapshot};
use model::{IndexKind, Ranked};

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
    let query = LexicalQuery { terms, kind: Some(kind), admit: filter.asked(), limit };
    let mut ranked = snapshot.lexical(&query);
    ranked.retain(|each| each.score.is_finite() && each.score > 0.0);
    ranked
}
