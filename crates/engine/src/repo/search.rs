//! Search by words over the view; by meaning too where that was switched on and asked for.

use std::collections::HashMap;
use std::sync::Arc;

use model::{DocType, ErrorCode, Failure, Pointer, Query, RelPath, Span};
use retrieve::{QueryVectors, RankOptions, View, Weights};

use super::Repo;
use super::files::shown;
use super::view::RepoView;
use super::windows::Windows;
use crate::api::Call;
use crate::engine::{Shared, blocking};

/// How passages are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retrieval {
    /// By their words alone: no vector is looked at.
    Words,
    /// By words and meaning.
    Hybrid,
    /// By meaning alone.
    Meaning,
}

#[derive(Debug, Clone)]
pub struct RepoHits {
    pub hits: Vec<RepoHit>,
    /// Every file was indexed when this was asked.
    pub is_complete: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RepoHit {
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    pub snippet: String,
    pub score: f32,
    /// Sorted.
    pub matched_terms: Vec<String>,
    /// The same for the same lines of the same file with the same text.
    pub chunk_id: String,
    /// The file is no longer what was indexed.
    pub is_changed: bool,
}

impl Repo {
    pub async fn search(&self, call: &Call, query: Query, retrieval: Retrieval) -> Result<RepoHits, Failure> {
        self.engine
            .audited(call, async {
                self.permitted(retrieval)?;
                let is_complete = self.settled(call).await?;
                let (shared, view) = (self.shared(), Arc::clone(&self.config.view));
                let windows = Windows::new(self.config.chunk_lines, self.config.chunk_overlap);
                let hits = blocking(call, move || {
                    // Several passages may stand in one window.
                    let wanted = query.k;
                    let query = Query { k: wanted.saturating_mul(2), ..query };
                    let found = find(&shared, &view, &query, retrieval)?;
                    let mut hits = windows.cite(found, |path| shown(&shared, &view, path).ok());
                    hits.truncate(wanted);
                    Ok(hits)
                })
                .await?;
                Ok(RepoHits { hits, is_complete })
            })
            .await
    }

    pub(super) fn permitted(&self, retrieval: Retrieval) -> Result<(), Failure> {
        if retrieval == Retrieval::Words || self.config.semantic {
            return Ok(());
        }
        Err(Failure::new(
            ErrorCode::SemanticNotAvailable,
            "search by meaning is switched off; set semantic.enabled = true in repo_mcp.toml, start with --semantic, or \
             use mode bm25",
        ))
    }
}

/// The hits that may be shown now: of files that are there, within the view and the policy.
pub(super) fn find(
    shared: &Shared,
    view: &Arc<RepoView>,
    query: &Query,
    retrieval: Retrieval,
) -> Result<Vec<RepoHit>, Failure> {
    let snapshot = shared.index().snapshot();
    let shows = Arc::clone(view);
    let options = RankOptions {
        oversample: shared.config.oversample,
        weights: weights(shared.config.weights, retrieval),
        view: Some(View::new(move |path| RelPath::from_walk(path).is_ok_and(|path| shows.shows(&path)))),
    };
    let vectors = match retrieval {
        Retrieval::Words => QueryVectors::none(),
        Retrieval::Hybrid | Retrieval::Meaning => shared.query_vectors(&query.text),
    };
    let answer = retrieve::search(&snapshot, &vectors, query, &options, &|path| shared.allows(path))?;
    shared.check_files()?;
    let mut states = HashMap::new();
    let mut hits = Vec::with_capacity(answer.hits.len());
    for (hit, matched_terms) in answer.hits.into_iter().zip(answer.matched) {
        let (start_line, end_line) = match (hit.span, &hit.pointer) {
            (Span::Lines { start_line, end_line }, _) => (start_line, end_line),
            // A piece of a long line, which is cited by its page elsewhere.
            (Span::Page { .. }, Some(Pointer::Lines { start_line, end_line })) => (*start_line, *end_line),
            _ => continue,
        };
        // Pages of HTML are opened by the lines they were written in, which are not those of their text.
        if hit.doc_type == DocType::Html && hit.pointer.is_some() {
            continue;
        }
        let state = match states.get(&hit.rel_path) {
            Some(state) => *state,
            None => {
                let state = state(shared, view, &hit.rel_path)?;
                states.insert(hit.rel_path.clone(), state);
                state
            }
        };
        let Some(is_changed) = state else { continue };
        hits.push(RepoHit {
            path: hit.rel_path,
            start_line,
            end_line,
            snippet: hit.snippet,
            score: hit.score,
            matched_terms,
            chunk_id: format!("{:014x}", hit.chunk_id.0),
            is_changed,
        });
    }
    hits.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| (&a.path, a.start_line).cmp(&(&b.path, b.start_line)))
    });
    Ok(hits)
}

/// Whether a file that was indexed has changed since; `None` where it may not be shown any more. A file that was
/// renamed onto a forbidden name is gone from its old one, and with it everything that was known of it.
fn state(shared: &Shared, view: &RepoView, path: &str) -> Result<Option<bool>, Failure> {
    let Ok(parsed) = RelPath::from_walk(path) else { return Ok(None) };
    let Ok(file) = shared.guard.open(&parsed) else { return Ok(None) };
    let Some(row) = shared.index().document(path)? else { return Ok(None) };
    if row.size > view.max_file_bytes || file.size() > view.max_file_bytes {
        return Ok(None);
    }
    Ok(Some((file.size(), file.mtime_ns()) != (row.size, row.mtime_ns)))
}

fn weights(weights: Weights, retrieval: Retrieval) -> Weights {
    let share = match retrieval {
        Retrieval::Words => 0.0,
        Retrieval::Hybrid => return weights,
        Retrieval::Meaning => 1.0,
    };
    Weights { vector_share_text: share, vector_share_code: share, vector_share_symbol: share, ..weights }
}
