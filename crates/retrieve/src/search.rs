//! One question, answered: route, gather, rank, cut snippets.

use std::sync::{Mutex, PoisonError};

use index::tokens::name_token;
use index::{Snapshot, StoredChunk};
use model::{ErrorCode, Failure, Hit, IndexKind, IndexUsed, ProviderError, Query, Stop};

use crate::breakdown::Breakdown;
use crate::candidates::{Candidate, Leads, Question, choose, gather, look_up};
use crate::caption::captioned;
use crate::filter::{CompiledFilter, View};
use crate::fuse::{Scored, TermWeights, rank, words_at};
use crate::matcher::Matcher;
use crate::operators::Operators;
use crate::parse::{Parsed, Vocabulary};
use crate::prescore::{Lead, PreScore, Scale};
use crate::query_vector::QueryVectors;
use crate::rerank::{RerankStage, rerank};
use crate::route::{Reason, Routed, route};
use crate::snippet::{cut_out, room};
use crate::verbatim::{holds_name, required_name};
use crate::weights::{self, Weights};

/// What may be tuned from outside.
#[derive(Debug, Clone)]
pub struct RankOptions {
    /// Candidates of each ranking for each of [`weights::HITS`] hits (`rag.oversample_factor`), from 1 to 100.
    pub oversample: usize,
    pub weights: Weights,
    /// What may be found at all; everything, if none.
    pub view: Option<View>,
    /// Asked between the phases of the work.
    pub stop: Stop,
    /// Judges the best passages, where a model for that is configured.
    pub rerank: Option<RerankStage>,
}

impl Default for RankOptions {
    fn default() -> RankOptions {
        RankOptions {
            oversample: 5,
            weights: Weights::default(),
            view: None,
            stop: Stop::never(),
            rerank: None,
        }
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
    /// Why the query could not be embedded: the hits were found by words alone.
    pub vector_error: Option<ProviderError>,
    /// Why the passages could not be judged by a model: they are in the order without it.
    pub rerank_error: Option<ProviderError>,
}

/// Answers from one snapshot. `vectors` are those of the query's text ([`crate::QueryEmbedder`]). `allows` has the last word on every path: the policy may have changed since it was
/// indexed.
///
/// The order of the hits does not depend on how many are wanted: the hits for `k` are the first of those for any larger
/// number.
pub fn search(
    snapshot: &Snapshot,
    vectors: &QueryVectors,
    query: &Query,
    options: &RankOptions,
    allows: &(dyn Fn(&str) -> bool + Sync),
) -> Result<SearchAnswer, Failure> {
    let RankOptions { weights, stop, .. } = options;
    stop.check()?;
    let operators = Operators::read(&query.text);
    let filter = CompiledFilter::new(&query.filter)?.within(options.view.as_ref()).with(&operators)?;
    let words = Vocabulary { knows: &|token| snapshot.knows(token), near: &|token| snapshot.near(token) };
    let parsed = Parsed::with_forms(&operators.text, &words);
    let routed = route(&operators.text, query.index, &query.filter);
    let matcher = Matcher::of_terms(parsed.content_terms());
    let unwanted = operators.unwanted();
    let required = required_name(&parsed).filter(|name| name_token(name).is_some_and(|t| snapshot.knows(&t)));
    let question = Question {
        snapshot,
        vectors,
        parsed: &parsed,
        matcher: &matcher,
        unwanted: unwanted.as_ref(),
        filter: &filter,
        allows,
        limit: pool_size(options.oversample),
        // What a text holds or must not hold only the text tells.
        reads_all: unwanted.is_some() || required.is_some() || !parsed.phrases.is_empty(),
        weights,
        stop,
    };

    let kinds: &[IndexKind] =
        if routed.is_open() { &[IndexKind::Text, IndexKind::Code] } else { routed.kinds() };
    let in_parallel = kinds.iter().all(|kind| snapshot.live_chunks(*kind) >= LARGE);
    let leads = each(kinds.iter().copied(), in_parallel, |kind| gather(&question, kind))?;
    stop.check()?;
    let in_code = kinds.iter().zip(&leads).any(|(kind, leads)| *kind == IndexKind::Code && !leads.is_empty());
    let most_held = leads.iter().map(|leads| leads.held).fold(0.0_f32, f32::max);
    let nearness = leads.iter().map(|leads| leads.asked_cosine).fold(0.0_f32, f32::max);
    let best_cosine = leads.iter().map(|leads| leads.best_cosine).fold(0.0_f32, f32::max);
    let scale = |leads: &Leads<'_>| Scale {
        lexical: if most_held > 0.0 { leads.held / most_held } else { 1.0 },
        // Short texts are near to everything, so the nearest of each index counts as 1 unless it is far behind.
        cosine: leads.best_cosine.max(weights.far_behind * best_cosine),
    };
    let pools = each(kinds.iter().copied().zip(leads), in_parallel, |(kind, leads)| {
        let scale = scale(&leads);
        choose(&question, kind, leads, scale)
    })?;
    let (candidates, rests): (Vec<_>, Vec<_>) =
        pools.into_iter().map(|pool| (pool.candidates, pool.rest)).unzip();
    let candidates: Vec<Candidate> = candidates.into_iter().flatten().collect();

    stop.check()?;
    let terms = TermWeights::new(&parsed, &matcher, candidates.iter());
    let balance = Balance::of(snapshot, &parsed, routed, in_code, weights);
    let mut ranked =
        rank(&parsed, &terms, candidates, &|kind| balance.factor(kind), filter.prefix(), weights);
    require(&mut ranked, &parsed, required);
    let index_used = settle(routed, balance, &mut ranked, weights);
    if nearness < NEAR {
        lower_chance_hits(&parsed, &matcher, &mut ranked);
    }
    let stage = options.rerank.as_ref();
    let rerank_error = stage.and_then(|stage| rerank(&mut ranked, &parsed, &operators.text, stage));
    stop.check()?;
    ranked.extend(further(&question, &ranked, rests, index_used, query.k)?);
    ranked.truncate(query.k);
    let matched = ranked.iter().map(|scored| words_at(&parsed, &scored.places)).collect();
    let shown = ranked.into_iter().enumerate().map(|(rank, scored)| show(scored, rank, &terms));
    let (hits, breakdowns) = shown.unzip();
    let query_truncated = parsed.truncated;
    let vector_error = vectors.error().cloned();
    Ok(SearchAnswer { index_used, hits, breakdowns, matched, query_truncated, vector_error, rerank_error })
}

/// The same work for each index. Two large ones are asked at the same time: neither needs the other's answer, and together
/// they are most of a search.
fn each<T: Send, R: Send>(
    items: impl Iterator<Item = T>,
    in_parallel: bool,
    work: impl Fn(T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let mut items: Vec<T> = items.collect();
    if !in_parallel || items.len() != 2 {
        return items.into_iter().map(work).collect();
    }
    let second = Mutex::new(items.pop());
    let other = || second.lock().unwrap_or_else(PoisonError::into_inner).take().map(&work);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, other);
        let mut done: Vec<R> = items.into_iter().map(&work).collect::<Result<_, _>>()?;
        let gone =
            |_| Some(Err(Failure::new(ErrorCode::InternalError, "a part of the search ended abnormally")));
        let second = match thread {
            Ok(thread) => thread.join().unwrap_or_else(gone),
            // The system grants no thread.
            Err(_) => other(),
        };
        done.extend(second.transpose()?);
        Ok(done)
    })
}

/// From so many chunks on a thread costs less than it saves.
const LARGE: u64 = 10_000;

fn pool_size(oversample: usize) -> usize {
    weights::HITS.saturating_mul(oversample.clamp(1, 100)).min(weights::MAX_CANDIDATES)
}

/// What prose and code count beside each other.
#[derive(Clone, Copy)]
struct Balance {
    text: f32,
    code: f32,
    /// The index that the query speaks for, if it speaks for one.
    preferred: Option<IndexKind>,
}

impl Balance {
    /// In a corpus that is mostly code its few README files speak of everything, and its code is what is asked about; in one
    /// that is mostly prose it is the other way round. In between neither is preferred.
    fn of(snapshot: &Snapshot, parsed: &Parsed, routed: Routed, in_code: bool, weights: &Weights) -> Balance {
        let (text, code) = (snapshot.live_tokens(IndexKind::Text), snapshot.live_tokens(IndexKind::Code));
        let share = code as f32 / (text + code).max(1) as f32;
        // In steps: one more file does not move what it has nothing to do with.
        let side = match share {
            share if share < 1.0 / 3.0 => 0.0,
            share if share > 2.0 / 3.0 => 1.0,
            _ => 0.5,
        };
        let towards = |weight: f32, side: f32| 1.0 - (1.0 - weight) * side;
        let (text, code) = match routed.reason {
            _ if in_code && parsed.is_symbol => (weights.prose_for_symbol, 1.0),
            Reason::CodeLikeQuery => (weights.prose_beside_code, 1.0),
            _ => (towards(weights.prose_beside_code, side), towards(weights.code_beside_prose, 1.0 - side)),
        };
        let preferred = match (routed.is_open(), routed.reason) {
            (true, Reason::CodeLikeQuery) => Some(IndexKind::Code),
            (true, Reason::Default) => Some(IndexKind::Text),
            _ => None,
        };
        Balance { text, code, preferred }
    }

    fn factor(&self, kind: IndexKind) -> f32 {
        match kind {
            IndexKind::Text => self.text,
            IndexKind::Code => self.code,
        }
    }
}

/// Keeps what holds the quoted phrases, or the name that is the whole query, where anything does.
fn require(ranked: &mut Vec<Scored>, parsed: &Parsed, name: Option<&str>) {
    if !parsed.phrases.is_empty() && ranked.iter().any(|scored| scored.has_quoted) {
        ranked.retain(|scored| scored.has_quoted);
    }
    if let Some(name) = name {
        let holds = |scored: &Scored| {
            holds_name(&scored.chunk.text, name) || holds_name(&scored.chunk.rel_path, name)
        };
        if ranked.iter().any(holds) {
            ranked.retain(holds);
        }
    }
}

/// Where the hits come from: the index that was chosen, or both. What the other one offers stays where it is an answer
/// beside the best one.
fn settle(routed: Routed, balance: Balance, ranked: &mut Vec<Scored>, weights: &Weights) -> IndexUsed {
    if !routed.is_open() {
        return routed.index;
    }
    let has = |ranked: &[Scored], kind: IndexKind| ranked.iter().any(|scored| scored.chunk.kind == kind);
    if let Some(preferred) = balance.preferred {
        let floor = if has(ranked, preferred) { weights.other_index_floor } else { 0.0 };
        let answers = |scored: &Scored| {
            let Breakdown { coverage, cosine, .. } = scored.breakdown;
            let is_about_it = match preferred {
                // A query that is written like code is meant word for word.
                IndexKind::Code => coverage >= MOST_WORDS,
                // A word such as `and` alone is no answer.
                IndexKind::Text => coverage > 0.0 || cosine >= weights.vector_floor,
            };
            scored.score >= floor && is_about_it
        };
        ranked.retain(|scored| scored.chunk.kind == preferred || answers(scored));
    }
    let is_elsewhere = |kind: IndexKind| !covers(routed.index, kind) && has(ranked, kind);
    if [IndexKind::Text, IndexKind::Code].into_iter().any(is_elsewhere) {
        IndexUsed::Both
    } else {
        routed.index
    }
}

/// The share of a query's words, by their rarity, that is most of them.
const MOST_WORDS: f32 = 0.5;

/// Scores are relative to the best hit. Where a long query, such as a pasted error, meets only a stray word of it and nothing
/// is near in meaning, the best hit is no answer: the scores then say what share of the query it holds. The order stays.
fn lower_chance_hits(parsed: &Parsed, matcher: &Matcher, ranked: &mut [Scored]) {
    let content = parsed.content_terms();
    if content.len() < LONG_QUERY {
        return;
    }
    let all: f32 = content.iter().map(|term| term.weight).sum();
    let held = |scored: &Scored| {
        let Breakdown { definition, verbatim, .. } = scored.breakdown;
        if definition > 0.0 || verbatim > 0.0 {
            return 1.0;
        }
        let StoredChunk { rel_path, heading, kind, text, .. } = &scored.chunk;
        let beside = matcher.find(&format!("{rel_path} {}", heading.words_beside(*kind, text)));
        let mut terms: Vec<usize> = scored.places.iter().chain(&beside).map(|found| found.term).collect();
        terms.sort_unstable();
        terms.dedup();
        terms.iter().map(|term| content[*term].weight).sum::<f32>() / all
    };
    let most = ranked.iter().map(held).fold(0.0, f32::max);
    if most < FEW_WORDS {
        for scored in ranked {
            scored.score *= most;
        }
    }
}

/// The cosine from which on a passage may say what is asked in other words.
const NEAR: f32 = 0.6;

/// Words from which on a query says enough to see that a hit holds hardly any of it.
const LONG_QUERY: usize = 5;

/// The share of a query's words below which a hit holds them by chance.
const FEW_WORDS: f32 = 0.25;

/// Hits beyond those that were ranked by their texts, for callers that want so many: in the order in which they would have
/// been read.
fn further(
    question: &Question<'_>,
    ranked: &[Scored],
    rests: Vec<Vec<(Lead<'_>, PreScore)>>,
    used: IndexUsed,
    k: usize,
) -> Result<Vec<Scored>, Failure> {
    let missing = k.saturating_sub(ranked.len());
    if missing == 0 || ranked.is_empty() {
        return Ok(Vec::new());
    }
    let last = ranked.last().map_or(0.0, |scored| scored.score);
    let mut rest: Vec<(Lead<'_>, PreScore)> = Vec::new();
    let mut lists: Vec<_> = rests.into_iter().map(Vec::into_iter).collect();
    // In turns: their orders do not compare.
    loop {
        let before = rest.len();
        rest.extend(lists.iter_mut().filter_map(Iterator::next));
        if rest.len() == before {
            break;
        }
    }
    let mut found = Vec::new();
    let all = rest.len() as f32;
    for (at, one) in rest.iter().enumerate() {
        if found.len() == missing {
            break;
        }
        for candidate in look_up(question, std::slice::from_ref(one))? {
            if covers(used, candidate.chunk.kind) {
                let Candidate { chunk, places, .. } = candidate;
                let score = last * (1.0 - (at + 1) as f32 / (all + 1.0));
                found.push(Scored {
                    chunk,
                    places,
                    score,
                    breakdown: Breakdown::default(),
                    has_quoted: false,
                });
            }
        }
    }
    Ok(found)
}

fn covers(used: IndexUsed, kind: IndexKind) -> bool {
    match used {
        IndexUsed::Both => true,
        IndexUsed::Text => kind == IndexKind::Text,
        IndexUsed::Code => kind == IndexKind::Code,
    }
}

fn show(scored: Scored, rank: usize, terms: &TermWeights<'_>) -> (Hit, Breakdown) {
    let Scored { chunk, places, score, breakdown, .. } = scored;
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
