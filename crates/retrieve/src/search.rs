//! One question, answered: route, gather, rank, widen where the first choice of index was poor, cut snippets.

use index::Snapshot;
use model::{EmbedError, Embedder, ErrorCode, Failure, Hit, IndexKind, IndexUsed, Query};

use crate::breakdown::Breakdown;
use crate::candidates::{Pool, Question, gather};
use crate::caption::captioned;
use crate::filter::{CompiledFilter, View};
use crate::fuse::{Ranking, Scored, TermWeights, merge, rank, words_at};
use crate::matcher::Matcher;
use crate::operators::Operators;
use crate::parse::{Parsed, Vocabulary};
use crate::route::{Reason, Routed, route};
use crate::snippet::{cut_out, room};
use crate::weights::{self, Weights};

/// What may be tuned from outside.
#[derive(Debug, Clone)]
pub struct RankOptions {
    /// Candidates per hit (`rag.oversample_factor`), from 1 to 100.
    pub oversample: usize,
    pub weights: Weights,
    /// What may be found at all; everything, if none.
    pub view: Option<View>,
}

impl Default for RankOptions {
    fn default() -> RankOptions {
        RankOptions { oversample: 5, weights: Weights::default(), view: None }
    }
}

#[derive(Debug, Clone)]
pub struct SearchAnswer {
    /// Where it looked, whatever was asked for.
    pub index_used: IndexUsed,
    /// Best first.
    pub hits: Vec<Hit>,
    /// For each hit, how its score came about.
    pub breakdowns: Vec<Breakdown>,
    /// For each hit, the words of the query that stand in it, sorted.
    pub matched: Vec<Vec<String>>,
    /// Only the beginning of the query was used: it was longer than [`crate::parse::MAX_QUERY_BYTES`] or had
    /// more words than are searched for.
    pub query_truncated: bool,
    /// The query could not be embedded; the hits were found by words alone.
    pub vector_error: Option<EmbedError>,
}

/// Answers from one snapshot. `allows` has the last word on every path: the policy may have changed since it was
/// indexed.
pub fn search(
    snapshot: &Snapshot,
    embedder: &dyn Embedder,
    query: &Query,
    options: &RankOptions,
    allows: &(dyn Fn(&str) -> bool + Sync),
) -> Result<SearchAnswer, Failure> {
    let operators = Operators::read(&query.text);
    let filter = CompiledFilter::new(&query.filter)?.within(options.view.as_ref()).with(&operators);
    let words = Vocabulary { knows: &|token| snapshot.knows(token), near: &|token| snapshot.near(token) };
    let parsed = Parsed::with_forms(&operators.text, &words);
    let routed = route(&operators.text, query.index, &query.filter);
    let matcher = Matcher::of_terms(parsed.content_terms());
    let unwanted = operators.unwanted();
    let question = Question {
        snapshot,
        embedder,
        text: &operators.text,
        parsed: &parsed,
        matcher: &matcher,
        unwanted: unwanted.as_ref(),
        filter: &filter,
        allows,
        limit: pool_size(query.k, options.oversample, parsed.is_symbol),
        read: (query.k as f32 * options.weights.read.max(1.0)) as usize,
        weights: &options.weights,
    };

    let kinds: &[IndexKind] =
        if routed.may_widen() { &[IndexKind::Text, IndexKind::Code] } else { routed.kinds() };
    let mut vector_error = None;
    let mut pools: Vec<(IndexKind, Pool)> = Vec::with_capacity(kinds.len());
    for (kind, pool) in kinds.iter().zip(gather_all(&question, kinds)) {
        let mut pool = pool?;
        vector_error = vector_error.or(pool.vector_error.take());
        pools.push((*kind, pool));
    }

    let terms = TermWeights::new(&parsed, &matcher, pools.iter().flat_map(|(_, pool)| &pool.candidates));
    let mut rankings: Vec<(IndexKind, Ranking)> = pools
        .into_iter()
        .map(|(kind, pool)| (kind, rank(&parsed, &terms, pool.candidates, filter.prefix(), &options.weights)))
        .collect();

    let mostly_code = snapshot.live_tokens(IndexKind::Code) > snapshot.live_tokens(IndexKind::Text);
    let prefer_code = mostly_code || parsed.is_symbol;
    let index_used = settle(routed, &rankings, prefer_code, &options.weights);
    rankings.retain(|(kind, _)| covers(index_used, *kind));
    let in_code =
        rankings.iter().any(|(kind, ranking)| *kind == IndexKind::Code && !ranking.scored.is_empty());
    let prose = match (in_code, parsed.is_symbol) {
        (true, true) => options.weights.prose_for_symbol,
        (true, false) if mostly_code && index_used == IndexUsed::Both => options.weights.prose_beside_code,
        _ => 1.0,
    };
    for (_, ranking) in rankings.iter_mut().filter(|(kind, _)| *kind == IndexKind::Text) {
        ranking.strength *= prose;
    }
    let best = merge(rankings, query.k);
    let matched = best.iter().map(|scored| words_at(&parsed, &scored.places)).collect();
    let shown = best.into_iter().enumerate().map(|(rank, scored)| show(scored, rank, &terms));
    let (hits, breakdowns) = shown.unzip();
    let query_truncated = parsed.truncated;
    Ok(SearchAnswer { index_used, hits, breakdowns, matched, query_truncated, vector_error })
}

/// What each index offers, in the order of the kinds. Two large ones are asked at the same time: neither needs the other's
/// answer, and together they are most of a search.
fn gather_all(question: &Question<'_>, kinds: &[IndexKind]) -> Vec<Result<Pool, Failure>> {
    let large = |kind: &IndexKind| question.snapshot.live_chunks(*kind) >= LARGE;
    match kinds {
        [first, second] if large(first) && large(second) => std::thread::scope(|scope| {
            let other = std::thread::Builder::new().spawn_scoped(scope, || gather(question, *second));
            let one = gather(question, *first);
            let gone =
                |_| Err(Failure::new(ErrorCode::InternalError, "a part of the search ended abnormally"));
            let other = match other {
                Ok(thread) => thread.join().unwrap_or_else(gone),
                // The system grants no thread.
                Err(_) => gather(question, *second),
            };
            vec![one, other]
        }),
        kinds => kinds.iter().map(|kind| gather(question, *kind)).collect(),
    }
}

/// From so many chunks on a thread costs less than it saves.
const LARGE: u64 = 10_000;

fn pool_size(k: usize, oversample: usize, is_symbol: bool) -> usize {
    let wanted = k.saturating_mul(oversample.clamp(1, 100)).max(weights::MIN_CANDIDATES);
    let wanted = if is_symbol { wanted * weights::SYMBOL_POOL_FACTOR } else { wanted };
    // Never fewer than can be asked for.
    wanted.min(weights::MAX_CANDIDATES.max(k))
}

/// The index that answers. An automatic choice is widened to both indices
/// - when the chosen one found nothing and the other did, or
/// - when nothing but the default spoke for text, and the code covers the words of the question clearly
///   better than the text does. In a corpus that is mostly code little is enough: its few README files and tables of
///   data speak of everything, and its code is what is asked about.
fn settle(
    routed: Routed,
    rankings: &[(IndexKind, Ranking)],
    prefer_code: bool,
    weights: &Weights,
) -> IndexUsed {
    if !routed.may_widen() {
        return routed.index;
    }
    let of = |kind: IndexKind| rankings.iter().find(|(k, _)| *k == kind).map(|(_, ranking)| ranking);
    let (Some(text), Some(code)) = (of(IndexKind::Text), of(IndexKind::Code)) else { return routed.index };
    let (chosen, other) = if routed.index == IndexUsed::Code { (code, text) } else { (text, code) };
    if chosen.scored.is_empty() && !other.scored.is_empty() {
        return IndexUsed::Both;
    }
    let (chosen, other) = (chosen.strength, other.strength);
    let better = if prefer_code {
        other > chosen || other >= weights.widen_to_code
    } else {
        other >= weights.widen_floor && other >= chosen + weights.widen_margin
    };
    if routed.reason == Reason::Default && better { IndexUsed::Both } else { routed.index }
}

fn covers(used: IndexUsed, kind: IndexKind) -> bool {
    match used {
        IndexUsed::Both => true,
        IndexUsed::Text => kind == IndexKind::Text,
        IndexUsed::Code => kind == IndexKind::Code,
    }
}

fn show(scored: Scored, rank: usize, terms: &TermWeights<'_>) -> (Hit, Breakdown) {
    let Scored { chunk, places, score, breakdown } = scored;
    let snippet = cut_out(&chunk.text, &places, terms.shares(), room(rank));
    let snippet = captioned(&chunk, snippet);
    let hit = Hit {
        chunk_id: chunk.id,
        rel_path: chunk.rel_path,
        doc_type: chunk.doc_type,
        rep_type: chunk.rep_type,
        score,
        snippet,
        span: chunk.span,
        pointer: chunk.pointer,
    };
    (hit, breakdown)
}
