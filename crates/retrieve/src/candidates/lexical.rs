//! Candidates by words: BM25 over the weighted terms of the query.

use index::{LexicalQuery, QueryTerm, Snapshot};
use model::{DocType, IndexKind, Ranked};

use super::Admit;
use crate::filter::CompiledFilter;
use crate::parse::Parsed;
use crate::weights;

pub(crate) fn candidates(
    snapshot: &Snapshot,
    kind: IndexKind,
    parsed: &Parsed,
    filter: &CompiledFilter,
    limit: usize,
) -> Vec<Ranked> {
    if parsed.terms.is_empty() || limit == 0 {
        return Vec::new();
    }
    let terms: Vec<QueryTerm> = parsed
        .terms
        .iter()
        .flat_map(|term| {
            let whole = QueryTerm { token: term.token.clone(), weight: term.weight };
            let forms = term
                .variants
                .iter()
                .map(|variant| QueryTerm { token: variant.clone(), weight: term.weight * weights::VARIANT });
            std::iter::once(whole).chain(forms)
        })
        .collect();
    let admit = |path: &str, doc_type: DocType| filter.admits(path, doc_type);
    let admit: Admit<'_> = if filter.admits_everything() { None } else { Some(&admit) };
    let mut ranked = snapshot.lexical(&LexicalQuery { terms: &terms, kind: Some(kind), admit, limit });
    ranked.retain(|each| each.score.is_finite() && each.score > 0.0);
    ranked
}
