//! `file_search`: candidates by words and by vectors, together with what is not indexed yet, ranked and cut.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use model::{ErrorCode, Failure, IndexKind, ProviderError, Reranker, TenantId, WallClock};
use retrieve::Weights;
use retrieve::parse::Parsed;

use super::backend::{FoundChunk, SearchBackend, SearchScope, UnindexedFile};
use super::ranking::{RankedPlace, RankedQuestion, ScoredCandidate, rank_candidates};
use super::words::{WordQuery, WordStatistics, query_tokens, weigh};
use crate::entry::StoreTime;
use crate::indexing::{
    ChunkBounds, ChunkEmbedder, ChunkWords, EmbedTask, ProviderSecret, chunks_of, kind_of_path,
};
use crate::path::StorePath;
use crate::project::{ProjectName, ProjectScope};

/// The keys `files.search.*`.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchSettings {
    pub enabled: bool,
    pub limit_default: usize,
    pub limit_max: usize,
    pub vector_candidates: usize,
    pub bm25_candidates: usize,
    pub rerank_timeout: Duration,
    pub semantic_weight: f32,
    pub lexical_weight: f32,
    /// How files that are not indexed yet are cut; the same as in the index.
    pub bounds: ChunkBounds,
}

impl Default for SearchSettings {
    fn default() -> SearchSettings {
        SearchSettings {
            enabled: true,
            limit_default: 5,
            limit_max: 20,
            vector_candidates: 30,
            bm25_candidates: 30,
            rerank_timeout: Duration::from_millis(6000),
            semantic_weight: 0.65,
            lexical_weight: 0.35,
            bounds: ChunkBounds::default(),
        }
    }
}

/// A question of one tenant.
pub struct StoreSearchRequest {
    pub tenant: TenantId,
    /// `None`: all projects of the tenant, which callers write `*`.
    pub project: Option<ProjectName>,
    pub query: String,
    pub path_prefix: String,
    /// The default, if none; cut to the largest.
    pub limit: Option<usize>,
    /// The caller's key, for a service that makes vectors.
    pub secret: Option<ProviderSecret>,
    /// Orders the candidates, with the caller's own key.
    pub reranker: Option<Arc<dyn Reranker>>,
}

/// A chunk that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    pub project: ProjectName,
    pub file_path: String,
    pub start: u64,
    pub end: u64,
    pub content: String,
    pub score: f32,
    /// The two parts of the score, each relative to the best candidate.
    pub semantic: f32,
    pub lexical: f32,
    /// The range is the whole file.
    pub is_full_file: bool,
}

/// What was found, and what went wrong on the way without preventing it.
#[derive(Debug, Default)]
pub struct SearchHits {
    /// Best first.
    pub hits: Vec<SearchHit>,
    pub vector_error: Option<Failure>,
    pub word_error: Option<Failure>,
    pub rerank_error: Option<String>,
}

/// Searches the files of tenants.
#[derive(Clone)]
pub struct FileSearch {
    pub backend: Arc<dyn SearchBackend>,
    pub embedder: Arc<dyn ChunkEmbedder>,
    pub clock: Arc<dyn WallClock>,
    pub settings: SearchSettings,
}

/// Files that are not indexed yet and are read by a search, at most: so many, and so many bytes.
const UNINDEXED_FILES: usize = 256;
const UNINDEXED_BYTES: u64 = 8 << 20;

/// A longer question is cut here.
const MAX_QUERY_BYTES: usize = 64 << 10;

impl FileSearch {
    pub async fn search(&self, request: &StoreSearchRequest) -> Result<SearchHits, Failure> {
        if !self.settings.enabled {
            return Err(Failure::new(ErrorCode::SearchBackendError, "search is switched off")
                .hint("The operator can set files.search.enabled."));
        }
        let query = request.query.trim();
        if query.is_empty() {
            return Err(Failure::new(ErrorCode::InvalidQuery, "query must not be empty"));
        }
        let query = &query[..query.floor_char_boundary(MAX_QUERY_BYTES)];
        let limit = request.limit.filter(|limit| *limit > 0).unwrap_or(self.settings.limit_default);
        let limit = limit.min(self.settings.limit_max);
        if !request.path_prefix.bytes().all(StorePath::has_byte) {
            // No path begins so, and databases refuse some of these bytes.
            return Ok(SearchHits::default());
        }
        let scope = SearchScope {
            tenant: request.tenant,
            project: request.project.clone(),
            path_prefix: request.path_prefix.clone(),
        };
        let parsed = Parsed::new(query);
        // Before the index is asked: what is indexed in between is then found there, and not missed by both.
        let unindexed = self.backend.unindexed(&scope, UNINDEXED_FILES, UNINDEXED_BYTES).await;
        let (by_words, by_vector) =
            futures::future::join(self.by_words(&scope, &parsed), self.by_vector(&scope, request, query))
                .await;
        let mut answer = SearchHits::default();
        let mut ids: Vec<i64> = Vec::new();
        let (word_query, has_words) = match by_words {
            Ok((word_query, found)) => {
                ids.extend(found);
                (word_query, true)
            }
            Err(failure) => {
                answer.word_error = Some(failure);
                (WordQuery::default(), false)
            }
        };
        let (vector, has_vectors) = match by_vector {
            Ok((vector, found)) => {
                let has_vectors = vector.is_some();
                ids.extend(found);
                (vector, has_vectors)
            }
            Err(failure) => {
                answer.vector_error = Some(failure);
                (None, false)
            }
        };
        if !has_words && !has_vectors {
            return Err(backend_error(answer.word_error.or(answer.vector_error)));
        }
        let mut seen = HashSet::new();
        ids.retain(|id| seen.insert(*id));
        let model = self.embedder.model();
        let (found, waiting) = futures::future::join(
            self.backend.chunks(&scope, &ids, model),
            self.waiting(unindexed, &word_query, vector.as_deref()),
        )
        .await;
        let found = found.map_err(|failure| backend_error(Some(failure)))?;
        let mut candidates = score(found, &word_query, vector.as_deref());
        match waiting {
            Ok(waiting) => {
                let known: HashSet<_> = candidates.iter().map(|each| place(&each.chunk)).collect();
                let new: Vec<_> =
                    waiting.into_iter().filter(|each| !known.contains(&place(&each.chunk))).collect();
                candidates.extend(new);
            }
            Err(failure) => answer.word_error = Some(failure),
        }
        let weights = (self.settings.semantic_weight.max(0.0), self.settings.lexical_weight.max(0.0));
        let sum = weights.0 + weights.1;
        let question = RankedQuestion {
            parsed: &parsed,
            vector: vector.as_deref(),
            embedder: self.embedder.local(),
            semantic_share: if sum > 0.0 { weights.0 / sum } else { 0.5 },
            names_projects: request.project.is_none(),
            path_prefix: &request.path_prefix,
        };
        let mut ranked = rank_candidates(&question, &candidates);
        if let Some(reranker) = &request.reranker
            && let Err(reason) = self.rerank(reranker.as_ref(), query, &candidates, &mut ranked).await
        {
            answer.rerank_error = Some(reason);
        }
        ranked.truncate(limit);
        self.note_served(&scope, &candidates, &ranked).await;
        answer.hits = ranked.iter().map(|place| hit(place, &candidates[place.candidate].chunk)).collect();
        Ok(answer)
    }

    async fn by_words(&self, scope: &SearchScope, parsed: &Parsed) -> Result<(WordQuery, Vec<i64>), Failure> {
        let tokens = query_tokens(parsed, &Weights::default());
        let names: Vec<String> = tokens.iter().map(|token| token.token.clone()).collect();
        let statistics = self.backend.word_statistics(scope, &names).await?;
        let query = weigh(&tokens, &statistics);
        let found = if query.tokens.is_empty() {
            Vec::new()
        } else {
            self.backend.by_words(scope, &query, self.settings.bm25_candidates).await?
        };
        if query.tokens.len() < tokens.len() {
            // A file that is not indexed yet may hold words that the index does not know.
            let holders = statistics.holders.iter().map(|holders| (*holders).max(1)).collect();
            let chunks = statistics.chunks.max(1);
            return Ok((weigh(&tokens, &WordStatistics { holders, chunks, ..statistics }), found));
        }
        Ok((query, found))
    }

    async fn by_vector(
        &self,
        scope: &SearchScope,
        request: &StoreSearchRequest,
        query: &str,
    ) -> Result<(Option<Vec<f32>>, Vec<i64>), Failure> {
        if self.embedder.dimensions() == 0 {
            return Ok((None, Vec::new()));
        }
        // A question belongs to no project; those that have one name it.
        let project = match &request.project {
            Some(project) => project.clone(),
            None => ProjectName::parse("all")?,
        };
        let asked = ProjectScope::new(request.tenant, project);
        let texts = [query];
        let task = EmbedTask {
            scope: &asked,
            kind: IndexKind::Text,
            secret: request.secret.as_ref(),
            texts: &texts,
        };
        let vector = self.embedder.embed_question(task).await.map_err(|error| provider_failure(&error))?;
        let Some(vector) = vector else { return Ok((None, Vec::new())) };
        let limit = self.settings.vector_candidates;
        let found = self.backend.by_vector(scope, self.embedder.model(), &vector, limit).await?;
        Ok((Some(vector), found))
    }

    /// The chunks of files that the index does not hold as they are now, as far as they hold a word of the question.
    async fn waiting(
        &self,
        files: Result<Vec<UnindexedFile>, Failure>,
        query: &WordQuery,
        vector: Option<&[f32]>,
    ) -> Result<Vec<ScoredCandidate>, Failure> {
        let files = files?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let (query, vector, bounds) = (query.clone(), vector.map(<[f32]>::to_vec), self.settings.bounds);
        let local = self.embedder.local().cloned();
        let scan = move || {
            let mut scored = Vec::new();
            for file in files {
                let kind = kind_of_path(&file.path);
                for chunk in chunks_of(&file.path, kind, &file.content, bounds) {
                    let lexical = query.score(&chunk.words) as f32;
                    if lexical <= 0.0 {
                        continue;
                    }
                    let cosine = match (&local, &vector) {
                        (Some(local), Some(vector)) => {
                            local.embed(kind, &[&chunk.text]).first().map(|own| cosine(own, vector))
                        }
                        _ => None,
                    };
                    let chunk = FoundChunk {
                        id: NOT_STORED,
                        project: file.project.clone(),
                        path: file.path.clone(),
                        index: chunk.index,
                        start: chunk.range.start,
                        end: chunk.range.end,
                        text: chunk.text,
                        content_hash: chunk.content_hash,
                        file_size: file.content.len() as u64,
                        vector: None,
                    };
                    scored.push(ScoredCandidate { chunk, lexical: Some(lexical), cosine });
                }
            }
            scored
        };
        let mut scored = tokio::task::spawn_blocking(scan).await.map_err(|error| {
            Failure::new(ErrorCode::InternalError, "reading files that are not indexed yet failed")
                .because(error)
        })?;
        // As many as the index offers.
        scored.sort_by(|a, b| {
            let place = |each: &ScoredCandidate| {
                (each.chunk.project.clone(), each.chunk.path.clone(), each.chunk.index)
            };
            b.lexical
                .unwrap_or(0.0)
                .total_cmp(&a.lexical.unwrap_or(0.0))
                .then_with(|| place(a).cmp(&place(b)))
        });
        scored.truncate(self.settings.bm25_candidates);
        Ok(scored)
    }

    /// Orders the candidates by a model that reads them. Where it fails, they stay as they are.
    async fn rerank(
        &self,
        reranker: &dyn Reranker,
        query: &str,
        candidates: &[ScoredCandidate],
        ranked: &mut [RankedPlace],
    ) -> Result<(), String> {
        if ranked.is_empty() {
            return Ok(());
        }
        let passages: Vec<&str> =
            ranked.iter().map(|place| candidates[place.candidate].chunk.text.as_str()).collect();
        let asked = tokio::time::timeout(self.settings.rerank_timeout, reranker.scores(query, &passages));
        let scores = match asked.await {
            Err(_) => return Err("no answer in time".to_owned()),
            Ok(Err(error)) => return Err(error.to_string()),
            Ok(Ok(scores)) => scores,
        };
        if scores.len() != ranked.len() || scores.iter().any(|score| !score.is_finite()) {
            return Err(format!("{} usable scores for {} passages", scores.len(), ranked.len()));
        }
        for (place, score) in ranked.iter_mut().zip(scores) {
            place.score = score;
        }
        // Stable: equals keep the order they had.
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(())
    }

    /// A failure to note it is none of the caller's concern.
    async fn note_served(&self, scope: &SearchScope, candidates: &[ScoredCandidate], ranked: &[RankedPlace]) {
        let ids: Vec<i64> = ranked
            .iter()
            .map(|place| candidates[place.candidate].chunk.id)
            .filter(|id| *id != NOT_STORED)
            .collect();
        if ids.is_empty() {
            return;
        }
        let now = StoreTime(i64::try_from(self.clock.since_1970().as_micros()).unwrap_or(i64::MAX));
        if let Err(failure) = self.backend.mark_served(scope.tenant, &ids, now).await {
            tracing::debug!(%failure, "served chunks could not be noted");
        }
    }
}

/// Where a chunk is: a file that was indexed while it was looked for is met twice.
fn place(chunk: &FoundChunk) -> (ProjectName, StorePath, u64, u64) {
    (chunk.project.clone(), chunk.path.clone(), chunk.start, chunk.end)
}

/// The id of a chunk that has no row.
const NOT_STORED: i64 = i64::MIN;

fn score(found: Vec<FoundChunk>, query: &WordQuery, vector: Option<&[f32]>) -> Vec<ScoredCandidate> {
    let scored = found.into_iter().map(|chunk| {
        let lexical = query.score(&ChunkWords::of(&chunk.path, &chunk.text)) as f32;
        let cosine = vector.and_then(|vector| chunk.vector.as_ref().map(|own| cosine(own, vector)));
        ScoredCandidate { lexical: (lexical > 0.0).then_some(lexical), cosine, chunk }
    });
    scored.collect()
}

fn hit(place: &RankedPlace, chunk: &FoundChunk) -> SearchHit {
    SearchHit {
        project: chunk.project.clone(),
        file_path: chunk.path.to_string(),
        start: chunk.start,
        end: chunk.end,
        content: chunk.text.clone(),
        score: place.score,
        semantic: place.semantic,
        lexical: place.lexical,
        is_full_file: chunk.start == 0 && chunk.end == chunk.file_size,
    }
}

/// The cosine of two vectors; 0 where one of them says nothing. Summed in eight lanes, which a compiler turns into one
/// instruction, and in a fixed order, so that every backend gets the same number.
pub(crate) fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let length = (dot(one, one) * dot(other, other)).sqrt();
    if length > 0.0 { dot(one, other) / length } else { 0.0 }
}

pub(crate) fn dot(one: &[f32], other: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (whole, rest) = one.as_chunks::<8>();
    let (other_whole, other_rest) = other.as_chunks::<8>();
    for (a, b) in whole.iter().zip(other_whole) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let tail: f32 = rest.iter().zip(other_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + tail
}

fn provider_failure(error: &ProviderError) -> Failure {
    Failure::new(ErrorCode::SearchBackendError, format!("the question could not be embedded: {error}"))
}

fn backend_error(cause: Option<Failure>) -> Failure {
    let failure = Failure::new(ErrorCode::SearchBackendError, "search does not work at the moment")
        .hint("Try again in a moment; file_read and file_list do not depend on it.");
    match cause {
        Some(cause) => failure.because(cause),
        None => failure,
    }
}
