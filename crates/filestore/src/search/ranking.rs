//! Puts candidates into their order: semantic and lexical scores added by weight, then the cheap signals that the directory
//! index ranks by, so that the same question over the same files is answered alike.

use std::sync::Arc;

use index::StoredChunk;
use model::{ChunkId, DocType, Heading, IndexKind, LocalEmbedder, RepType, Span};
use retrieve::Weights;
use retrieve::candidates::{Candidate, compare_paths};
use retrieve::fuse::{TermWeights, rank};
use retrieve::matcher::Matcher;
use retrieve::parse::Parsed;
use retrieve::prescore::{Lead, Scale, prescore};

use super::backend::FoundChunk;
use crate::indexing::kind_of_path;

/// A candidate with what each way of searching says of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScoredCandidate {
    pub(crate) chunk: FoundChunk,
    /// BM25; none if it holds no word of the query.
    pub(crate) lexical: Option<f32>,
    /// None if it has no vector.
    pub(crate) cosine: Option<f32>,
}

/// Where a chunk came out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankedPlace {
    /// Among the candidates.
    pub(crate) candidate: usize,
    /// From 0 to 1; the best has 1.
    pub(crate) score: f32,
    /// The two parts of the score, each relative to the best candidate.
    pub(crate) semantic: f32,
    pub(crate) lexical: f32,
}

/// What the question is, for ranking.
pub(crate) struct RankedQuestion<'a> {
    pub(crate) parsed: &'a Parsed,
    pub(crate) vector: Option<&'a [f32]>,
    pub(crate) embedder: Option<&'a Arc<dyn LocalEmbedder>>,
    /// How much of the score the vectors decide, from 0 to 1.
    pub(crate) semantic_share: f32,
    /// Projects are part of the paths.
    pub(crate) names_projects: bool,
    pub(crate) path_prefix: &'a str,
}

/// The best first. Candidates without a word of the question that are far from it are left out.
pub(crate) fn rank_candidates(
    question: &RankedQuestion<'_>,
    candidates: &[ScoredCandidate],
) -> Vec<RankedPlace> {
    let weights = Weights::default();
    let parsed = question.parsed;
    let matcher = Matcher::of_terms(parsed.content_terms());
    let paths: Vec<String> = candidates.iter().map(|each| shown_path(question, &each.chunk)).collect();
    let best_cosine = candidates.iter().filter_map(|each| each.cosine).fold(0.0_f32, f32::max);
    // Without words, only what is near enough is an answer.
    let is_answer = |each: &ScoredCandidate| {
        each.lexical.is_some() || each.cosine.is_some_and(|cosine| cosine >= weights.vector_floor)
    };
    // Chunks without vectors are not behind: where none has one, the words decide alone.
    let share = if best_cosine > 0.0 { question.semantic_share } else { 0.0 };
    let mut read = Vec::new();
    for kind in [IndexKind::Text, IndexKind::Code] {
        let of_kind = (0..candidates.len())
            .filter(|at| kind_of_path(&candidates[*at].chunk.path) == kind && is_answer(&candidates[*at]));
        let mut leads: Vec<Lead<'_>> = of_kind
            .map(|at| {
                let ScoredCandidate { chunk, lexical, cosine } = &candidates[at];
                let mut lead = Lead::new(ChunkId(at as i64), &paths[at], chunk.index);
                (lead.lexical, lead.cosine) = (*lexical, *cosine);
                lead
            })
            .collect();
        if let (Some(embedder), Some(vector)) = (question.embedder, question.vector) {
            compare_paths(&mut leads, embedder.as_ref(), kind, vector);
        }
        let best_lexical_here = leads.iter().filter_map(|lead| lead.lexical).fold(0.0_f32, f32::max);
        let best_lexical = candidates.iter().filter_map(|each| each.lexical).fold(0.0_f32, f32::max);
        let cosine_here = leads.iter().filter_map(|lead| lead.cosine).fold(0.0_f32, f32::max);
        let scale = Scale {
            lexical: if best_lexical > 0.0 { best_lexical_here / best_lexical } else { 1.0 },
            cosine: cosine_here.max(weights.far_behind * best_cosine),
        };
        for (lead, prescore) in prescore(leads, share, scale, parsed, &weights) {
            let at = lead.id.0 as usize;
            let chunk = stored(at, &paths[at], &candidates[at].chunk, kind);
            let places = matcher.find(&chunk.text);
            read.push(Candidate { chunk, prescore, places, is_only_sought: false });
        }
    }
    let terms = TermWeights::new(parsed, &matcher, read.iter());
    let factor = balance(parsed, &read, &weights);
    let prefix = question.path_prefix.trim_start_matches('/');
    let ranked = rank(parsed, &terms, read, &factor, prefix, &weights);
    let place = |scored: retrieve::fuse::Scored| RankedPlace {
        candidate: scored.chunk.id.0 as usize,
        score: scored.score,
        semantic: scored.breakdown.vector,
        lexical: scored.breakdown.lexical,
    };
    ranked.into_iter().map(place).collect()
}

/// What prose and code count beside each other: among candidates that are mostly code, prose speaks of everything.
fn balance(parsed: &Parsed, read: &[Candidate], weights: &Weights) -> impl Fn(IndexKind) -> f32 + use<> {
    let code = read.iter().filter(|each| each.chunk.kind == IndexKind::Code).count();
    let share = code as f32 / read.len().max(1) as f32;
    let (text, code) = match share {
        _ if code > 0 && parsed.is_symbol => (weights.prose_for_symbol, 1.0),
        share if share > 2.0 / 3.0 => (weights.prose_beside_code, 1.0),
        share if share < 1.0 / 3.0 => (1.0, weights.code_beside_prose),
        _ => (1.0, 1.0),
    };
    move |kind| if kind == IndexKind::Code { code } else { text }
}

fn shown_path(question: &RankedQuestion<'_>, chunk: &FoundChunk) -> String {
    if question.names_projects {
        format!("{}{}", chunk.project, chunk.path)
    } else {
        chunk.path.as_str().trim_start_matches('/').to_owned()
    }
}

fn stored(at: usize, path: &str, chunk: &FoundChunk, kind: IndexKind) -> StoredChunk {
    let mut text_hash = [0; 16];
    text_hash.copy_from_slice(&chunk.content_hash.0[..16]);
    StoredChunk {
        id: ChunkId(at as i64),
        rel_path: path.to_owned(),
        doc_type: if kind == IndexKind::Code { DocType::Code } else { DocType::Text },
        rep_type: RepType::RawText,
        ordinal: chunk.index,
        span: Span::Lines { start_line: 1, end_line: 1 },
        pointer: None,
        heading: Heading::default(),
        kind,
        text_hash,
        text: chunk.text.clone(),
    }
}
