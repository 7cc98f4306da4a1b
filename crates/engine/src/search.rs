//! Searching one root. For every contract a search is one [`SearchRequest`], and passages are found in one place.

use std::collections::HashMap;
use std::sync::Arc;

use index::Snapshot;
use model::{
    DocType, Failure, Filter, Hit, IndexChoice, IndexUsed, Pointer, ProviderError, Query, RelPath, Span, Stop,
};
use retrieve::windows::{LineHit, Windows};
use retrieve::{Breakdown, QueryVectors, RankOptions, RerankStage, View, Weights};

use crate::answers::RememberedHits;
use crate::call::Call;
use crate::engine::Engine;
use crate::files::shown_text;
use crate::model_text;
use crate::reranking::Reranking;
use crate::shared::SharedEngine;
use crate::view::FileView;

/// One question, the same for all contracts.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    pub text: String,
    /// Folders within the roots of the workspace, as absolute paths; none: all that is served. A search of one root
    /// looks at that root.
    pub roots: Vec<String>,
    /// The files that count at all; none: all that the policy lets be shown.
    pub scope: Option<Arc<FileView>>,
    pub retrieval: Retrieval,
    pub index: IndexChoice,
    pub filter: SearchFilter,
    pub page: ResultPage,
}

/// How passages are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retrieval {
    /// By their words alone: no vector is looked at.
    Words,
    /// By words and meaning.
    #[default]
    Hybrid,
    /// By meaning alone.
    Meaning,
}

/// What the caller wants to see of what there is.
#[derive(Debug, Clone, Default)]
pub struct SearchFilter {
    pub paths: Filter,
    /// Extensions, with or without their dots; absent, those that a question for files speaks of.
    pub exts: Option<Vec<String>>,
    /// Absent, those that a question for files speaks of.
    pub years: Option<Vec<String>>,
}

/// Which of the results to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultPage {
    pub offset: usize,
    pub limit: usize,
}

impl From<Query> for SearchRequest {
    fn from(query: Query) -> SearchRequest {
        SearchRequest {
            text: query.text,
            roots: Vec::new(),
            scope: None,
            retrieval: Retrieval::Hybrid,
            index: query.index,
            filter: SearchFilter { paths: query.filter, ..SearchFilter::default() },
            page: ResultPage { offset: 0, limit: query.k },
        }
    }
}

impl SearchRequest {
    /// The question for one root's passages.
    fn query(&self) -> Query {
        Query {
            text: self.text.clone(),
            k: self.page.limit,
            index: self.index,
            filter: self.filter.paths.clone(),
        }
    }
}

/// Passages, best first.
#[derive(Debug, Clone)]
pub struct SearchResults {
    pub query: String,
    pub k: usize,
    pub index_used: IndexUsed,
    /// Shared by all who ask the same of the same generation.
    pub hits: Arc<[Hit]>,
    pub indexing_complete: bool,
    /// What the caller should know: a provider that failed, and what was done without it.
    pub note: Option<String>,
}

/// Passages that are cited by their lines.
#[derive(Debug, Clone)]
pub struct LineHits {
    pub hits: Vec<LineHit>,
    /// Every file was indexed when this was asked.
    pub is_complete: bool,
}

impl Engine {
    pub async fn search(&self, call: &Call, request: SearchRequest) -> Result<SearchResults, Failure> {
        let (query, k) = (request.text.clone(), request.page.limit);
        let found = self.shared.find(call, request).await?;
        Ok(SearchResults {
            query,
            k,
            index_used: found.index_used,
            hits: Arc::clone(&found.hits),
            indexing_complete: !self.progress().running,
            note: found.note.clone(),
        })
    }

    /// Searches, and says of each hit how its score came about.
    pub async fn explain(
        &self,
        call: &Call,
        request: SearchRequest,
    ) -> Result<(SearchResults, Vec<Breakdown>), Failure> {
        let shared = Arc::clone(&self.shared);
        let (query, k) = (request.text.clone(), request.page.limit);
        let found = call
            .blocking(move |stop| {
                let snapshot = shared.index().snapshot();
                shared.passages(&snapshot, &request, stop)
            })
            .await?;
        let note = note(&found);
        let answer = SearchResults {
            query,
            k,
            index_used: found.index_used,
            hits: found.hits.into(),
            indexing_complete: !self.progress().running,
            note,
        };
        Ok((answer, found.breakdowns))
    }

    /// Passages by their lines, once the index is complete or the caller has waited long enough for it.
    pub async fn search_lines(
        &self,
        call: &Call,
        request: SearchRequest,
        view: &Arc<FileView>,
        windows: Windows,
    ) -> Result<LineHits, Failure> {
        let is_complete = self.settled(call).await?;
        let (shared, view) = (Arc::clone(&self.shared), Arc::clone(view));
        let request = SearchRequest { scope: Some(Arc::clone(&view)), ..request };
        let hits = call
            .blocking(move |stop| {
                // Several passages may lie in one window.
                let wanted = request.page.limit;
                let page = ResultPage { limit: wanted.saturating_mul(2), ..request.page };
                let found = line_hits(&shared, &view, &SearchRequest { page, ..request }, stop)?;
                stop.check()?;
                let is_code = |path: &RelPath| discover::classify(path, &[]) == DocType::Code;
                let text = |path: &RelPath| {
                    if stop.is_stopped() { None } else { shown_text(&shared, &view, path).ok() }
                };
                let mut hits = windows.cite(found, is_code, text);
                stop.check()?;
                hits.truncate(wanted);
                Ok(hits)
            })
            .await?;
        Ok(LineHits { hits, is_complete })
    }
}

impl SharedEngine {
    /// The model that judges passages, where the caller's contract may use one: a view is a contract's own, which promises
    /// not to ask any provider.
    fn rerank_stage(&self, request: &SearchRequest) -> Option<RerankStage> {
        let may = request.scope.is_none() && request.retrieval != Retrieval::Words;
        self.reranking.as_ref().filter(|_| may).map(Reranking::stage)
    }

    /// The hits, from memory where the same was asked of the same snapshot.
    async fn find(
        self: &Arc<Self>,
        call: &Call,
        request: SearchRequest,
    ) -> Result<Arc<RememberedHits>, Failure> {
        let snapshot = self.index().snapshot();
        // Scopes have no names by which they could be remembered.
        let remembered =
            (request.scope.is_none() && request.retrieval == Retrieval::Hybrid).then(|| request.query());
        if let Some(known) = remembered.as_ref().and_then(|query| self.answers.get(snapshot.id(), query)) {
            return Ok(known);
        }
        let shared = Arc::clone(self);
        call.blocking(move |stop| {
            let found = shared.passages(&snapshot, &request, stop)?;
            let has_failed = found.vector_error.is_some() || found.rerank_error.is_some();
            let note = note(&found);
            let hits =
                Arc::new(RememberedHits { index_used: found.index_used, hits: found.hits.into(), note });
            // The provider may be back for the next one who asks.
            if let (Some(query), false) = (remembered, has_failed) {
                shared.answers.put(snapshot.id(), query, Arc::clone(&hits));
            }
            Ok(hits)
        })
        .await
    }

    /// Searches under the current policy: what was indexed under another one is not shown.
    pub(crate) fn passages(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest,
        stop: &Stop,
    ) -> Result<retrieve::SearchAnswer, Failure> {
        let view = request.scope.clone().map(|scope| View::new(scope));
        let options = RankOptions {
            oversample: self.config.oversample,
            weights: weights(self.config.weights, request.retrieval),
            view,
            stop: stop.clone(),
            rerank: self.rerank_stage(request),
        };
        let query = request.query();
        let vectors = match request.retrieval {
            Retrieval::Words => QueryVectors::none(),
            Retrieval::Hybrid | Retrieval::Meaning => {
                self.query_vectors(&request.text, snapshot, retrieve::kinds_that_may_answer(&query))
            }
        };
        let answer = retrieve::search(snapshot, &vectors, &query, &options, &|path| self.allows(path))?;
        self.check_files()?;
        Ok(answer)
    }
}

/// What a service could not do for this answer, with what to do about it, where that is so.
pub(crate) fn note(found: &retrieve::SearchAnswer) -> Option<String> {
    let told = |error: &ProviderError, what: &str, instead: &str| {
        let remedy = model_text::failure_of(error).hint.unwrap_or_default();
        format!("{what} failed ({error}); {instead}. {remedy}").trim_end().to_owned()
    };
    let vectors = found
        .vector_error
        .as_ref()
        .map(|error| told(error, "Embedding the question", "these passages were found by their words alone"));
    let order = found
        .rerank_error
        .as_ref()
        .map(|error| told(error, "Reranking", "the order is that of the search alone"));
    let notes: Vec<String> = vectors.into_iter().chain(order).collect();
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// The hits that may be shown now by their lines: of files that are there, within the view and the policy.
pub(crate) fn line_hits(
    shared: &SharedEngine,
    view: &Arc<FileView>,
    request: &SearchRequest,
    stop: &Stop,
) -> Result<Vec<LineHit>, Failure> {
    let snapshot = shared.index().snapshot();
    let answer = shared.passages(&snapshot, request, stop)?;
    let mut states = HashMap::new();
    let mut hits = Vec::with_capacity(answer.hits.len());
    for (hit, matched_terms) in answer.hits.into_iter().zip(answer.matched) {
        stop.check()?;
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
        hits.push(LineHit {
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
fn state(shared: &SharedEngine, view: &FileView, path: &str) -> Result<Option<bool>, Failure> {
    let Ok(parsed) = RelPath::from_walk(path) else { return Ok(None) };
    let Ok(file) = shared.facts(&parsed) else { return Ok(None) };
    let Some(row) = shared.index().document(path)? else { return Ok(None) };
    if row.size > view.max_file_bytes || file.size > view.max_file_bytes {
        return Ok(None);
    }
    Ok(Some((file.size, file.mtime_ns) != (row.size, row.mtime_ns)))
}

fn weights(weights: Weights, retrieval: Retrieval) -> Weights {
    let share = match retrieval {
        Retrieval::Words => 0.0,
        Retrieval::Hybrid => return weights,
        Retrieval::Meaning => 1.0,
    };
    Weights { vector_share_text: share, vector_share_code: share, vector_share_symbol: share, ..weights }
}
