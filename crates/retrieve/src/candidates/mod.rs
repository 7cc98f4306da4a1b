//! Gathers the candidates of one index: those found by words, those found by vectors, and definitions and phrases that come
//! first in any ranking. The texts of the best candidates are read.
//!
//! The number of candidates does not depend on how many hits the caller wants, so a longer answer begins with the hits of a
//! shorter one.

mod lexical;
mod names;
mod sought;
mod vector;

pub use names::compare_paths;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use index::{QueryTerm, Snapshot, StoredChunk};
use model::{ChunkId, Failure, IndexKind, Ranked, Stop};

use crate::feedback;
use crate::filter::CompiledFilter;
use crate::matcher::{Matcher, WordMatch};
use crate::parse::{Parsed, Term, temper};
use crate::prescore::{Lead, PreScore, Scale, prescore, shortlist};
use crate::query_vector::QueryVectors;
use crate::rarity::rarity;
use crate::weights::{self, Weights};

/// A chunk that may be a hit, read.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub chunk: StoredChunk,
    pub prescore: PreScore,
    /// Where the query's words occur in its text, found once for all that ask.
    pub places: Vec<WordMatch>,
    /// Neither its words nor its meaning made it a candidate: it is one only if it holds what was sought.
    pub is_only_sought: bool,
}

/// What one index offers for a query.
#[derive(Debug, Default)]
pub(crate) struct Pool<'a> {
    pub(crate) candidates: Vec<Candidate>,
    /// Those that were not read, the best first.
    pub(crate) rest: Vec<(Lead<'a>, PreScore)>,
}

/// What is asked of each index.
pub(crate) struct Question<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) vectors: &'a QueryVectors,
    pub(crate) parsed: &'a Parsed,
    /// Finds the words that carry the meaning.
    pub(crate) matcher: &'a Matcher,
    /// Finds the words that no hit may hold.
    pub(crate) unwanted: Option<&'a Matcher>,
    pub(crate) filter: &'a CompiledFilter,
    /// Whether a path may be shown now.
    pub(crate) allows: &'a (dyn Fn(&str) -> bool + Sync),
    /// How many chunks each ranking may offer.
    pub(crate) limit: usize,
    /// Every candidate is read.
    pub(crate) reads_all: bool,
    pub(crate) weights: &'a Weights,
    pub(crate) stop: &'a Stop,
}

/// What one index found, before any text is read.
#[derive(Debug, Default)]
pub(crate) struct Leads<'a> {
    leads: Vec<Lead<'a>>,
    /// The share of the query, by the rarity of its words, that the best candidate by words holds.
    pub(crate) held: f32,
    pub(crate) best_cosine: f32,
    /// The same of the question as it was asked, without the meaning of the best passages.
    pub(crate) asked_cosine: f32,
    /// What each of the words that carry the meaning weighs by its rarity in the index; all together 1.
    shares: Vec<f32>,
}

impl Leads<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.leads.is_empty()
    }
}

/// Asks both rankings of one index for their best chunks.
pub(crate) fn gather<'a>(question: &'a Question<'a>, kind: IndexKind) -> Result<Leads<'a>, Failure> {
    let Question { snapshot, vectors, parsed, weights, .. } = *question;
    if question.limit == 0 || snapshot.live_chunks(kind) == 0 {
        return Ok(Leads::default());
    }
    let vector = vectors.of(kind).map(<[f32]>::to_vec);
    question.stop.check()?;
    let mut gathered = Gathered { question, kind, vector, known: HashMap::new(), paths: HashMap::new() };
    let terms = tempered(snapshot, kind, parsed, parsed.query_terms(weights));
    let (shares, whole) = term_shares(snapshot, kind, parsed);
    let (best_lexical, asked_cosine);
    if kind == IndexKind::Text && weights.feedback > 0.0 && feedback::helps(parsed) {
        let limit = question.limit * weights::FEEDBACK_POOL_FACTOR;
        gathered.find(&terms, limit);
        (best_lexical, asked_cosine) = (gathered.best_lexical(), gathered.best_cosine());
        question.stop.check()?;
        gathered.rerank_with_feedback(limit)?;
        // As many as both rankings would have offered.
        let kept: HashSet<ChunkId> =
            gathered.best(2 * question.limit).into_iter().map(|(_, id)| id).collect();
        gathered.known.retain(|id, lead| lead.is_sought || kept.contains(id));
    } else {
        gathered.find(&terms, question.limit);
        (best_lexical, asked_cosine) = (gathered.best_lexical(), gathered.best_cosine());
    }
    let mut leads: Vec<Lead<'a>> = gathered.known.into_values().collect();
    if let (Some(vector), Some(embedder)) = (&gathered.vector, vectors.embedder(kind)) {
        names::compare_paths(&mut leads, embedder, kind, vector);
    }
    let best_cosine = leads.iter().filter_map(|lead| lead.cosine).fold(0.0_f32, f32::max);
    let held = if whole > 0.0 { best_lexical / whole } else { 0.0 };
    Ok(Leads { leads, held, best_cosine, asked_cosine, shares })
}

/// Puts what was found into its order, and reads the best of it.
pub(crate) fn choose<'a>(
    question: &'a Question<'a>,
    kind: IndexKind,
    found: Leads<'a>,
    scale: Scale,
) -> Result<Pool<'a>, Failure> {
    let Question { parsed, weights, .. } = *question;
    let share = match kind {
        _ if parsed.is_symbol => weights.vector_share_symbol,
        IndexKind::Code => weights.vector_share_code,
        IndexKind::Text => weights.vector_share_text,
    };
    let prescores = prescore(found.leads, share, scale, parsed, weights);
    let read = if question.reads_all { prescores.len() } else { weights.read as usize };
    let words = (question.matcher, found.shares.as_slice());
    let (chosen, rest) = shortlist(prescores, read, words, parsed, question.filter.prefix(), weights);
    Ok(Pool { candidates: look_up(question, &chosen)?, rest })
}

/// How telling a word is in the index, in all its forms; 0 where it does not occur, with what it would be worth.
fn telling(snapshot: &Snapshot, kind: IndexKind, term: &Term) -> (f32, f32) {
    let chunks = snapshot.live_chunks(kind) as f32;
    let forms = term.variants.iter().chain([&term.token]);
    let holders = forms.map(|form| snapshot.holders(kind, form)).sum::<u64>() as f32;
    let holders = holders.min(chunks);
    let weight = rarity(chunks, holders);
    (if holders == 0.0 { 0.0 } else { weight }, weight)
}

/// The terms with the weights of side words cut down to less than what the subject weighs.
fn tempered(
    snapshot: &Snapshot,
    kind: IndexKind,
    parsed: &Parsed,
    mut terms: Vec<QueryTerm>,
) -> Vec<QueryTerm> {
    if parsed.terms.iter().any(|term| term.side) {
        let rare: Vec<f32> = parsed.terms.iter().map(|term| telling(snapshot, kind, term).0).collect();
        let mut raw: Vec<f32> =
            parsed.terms.iter().zip(&rare).map(|(term, rare)| term.weight * rare).collect();
        temper(parsed.terms.iter(), &mut raw);
        for ((term, raw), rare) in terms.iter_mut().zip(raw).zip(rare).filter(|((_, _), rare)| *rare > 0.0) {
            term.weight = raw / rare;
        }
    }
    terms
}

/// What each of the words that carry the meaning weighs by its rarity in the index, all together 1; and what a chunk with
/// all of them would score about.
fn term_shares(snapshot: &Snapshot, kind: IndexKind, parsed: &Parsed) -> (Vec<f32>, f32) {
    let terms = parsed.content_terms();
    let mut whole = 0.0;
    let mut shares: Vec<f32> = terms
        .iter()
        .map(|term| {
            let (rare, possible) = telling(snapshot, kind, term);
            whole += term.weight * possible;
            term.weight * rare
        })
        .collect();
    temper(terms.iter().copied(), &mut shares);
    let sum: f32 = shares.iter().sum();
    if sum > 0.0 {
        shares.iter_mut().for_each(|share| *share /= sum);
    }
    (shares, whole)
}

/// Reads the chunks, and finds the query's words in them.
pub(crate) fn look_up(
    question: &Question<'_>,
    chosen: &[(Lead<'_>, PreScore)],
) -> Result<Vec<Candidate>, Failure> {
    question.stop.check()?;
    let ids: Vec<ChunkId> = chosen.iter().map(|(lead, _)| lead.id).collect();
    let chunks = question.snapshot.chunks(&ids).map_err(Failure::from)?;
    // They come in the order asked for, but some may be gone.
    let mut prescores = chosen.iter();
    let mut candidates = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        question.stop.check()?;
        let Some((lead, prescore)) = prescores.find(|(lead, _)| lead.id == chunk.id) else { break };
        if question.unwanted.is_some_and(|words| !words.find(&chunk.text).is_empty()) {
            continue;
        }
        let places = question.matcher.find(&chunk.text);
        let is_near = prescore.cosine >= question.weights.vector_floor;
        let is_only_sought = lead.is_sought && lead.lexical.is_none() && !is_near;
        candidates.push(Candidate { chunk, prescore: *prescore, places, is_only_sought });
    }
    Ok(candidates)
}

/// What was asked of one index so far.
struct Gathered<'a> {
    question: &'a Question<'a>,
    kind: IndexKind,
    vector: Option<Vec<f32>>,
    /// What the question itself found, with its scores in the last round.
    known: HashMap<ChunkId, Lead<'a>>,
    /// The paths of the documents that were met; none where it may not be shown.
    paths: HashMap<u32, Option<&'a str>>,
}

impl<'a> Gathered<'a> {
    /// Meets the chunks that hold one of the terms, those that hold what is sought, and those near in meaning.
    fn find(&mut self, terms: &[QueryTerm], limit: usize) {
        let Question { snapshot, filter, weights, .. } = *self.question;
        for ranked in lexical::candidates(snapshot, self.kind, terms, filter, limit) {
            if let Some(lead) = self.meet(&ranked) {
                lead.lexical = Some(ranked.score);
            }
        }
        self.seek();
        for ranked in self.nearest(limit) {
            // The far ones are left at once.
            let is_near = ranked.score >= weights.vector_floor;
            if (is_near || self.known.contains_key(&ranked.chunk))
                && let Some(lead) = self.meet(&ranked)
            {
                lead.cosine = Some(ranked.score);
            }
        }
    }

    /// The nearest chunks, and what the words found, however far down the vectors have it.
    fn nearest(&self, limit: usize) -> Vec<Ranked> {
        let Question { snapshot, filter, .. } = *self.question;
        let Some(vector) = &self.vector else { return Vec::new() };
        let known: Vec<ChunkId> = self.known.keys().copied().collect();
        vector::candidates(snapshot, self.kind, vector, filter, limit, &known)
    }

    /// Scores what was found again, with the words and the meaning of the best passages. What only they would find is no
    /// hit: it has nothing of the question, and a filter that hides the passages would lose it.
    fn rerank_with_feedback(&mut self, limit: usize) -> Result<(), Failure> {
        let Question { snapshot, vectors, parsed, filter, weights, .. } = *self.question;
        let best = self.best(feedback::PASSAGES);
        let ids: Vec<ChunkId> = best.iter().map(|(_, id)| *id).collect();
        let chunks = snapshot.chunks(&ids).map_err(Failure::from)?;
        let score =
            |chunk: &StoredChunk| best.iter().find(|(_, id)| *id == chunk.id).map(|(score, _)| *score);
        let passages: Vec<(f32, &StoredChunk)> =
            chunks.iter().filter_map(|chunk| Some((score(chunk)?, chunk))).collect();
        let terms = feedback::expanded(snapshot, parsed, &passages, weights);
        // What is too far down now was still found by words.
        self.known.values_mut().for_each(|lead| lead.lexical = lead.lexical.map(|_| 0.0));
        for ranked in lexical::candidates(snapshot, self.kind, &terms, filter, limit) {
            if let Some(lead) = self.known.get_mut(&ranked.chunk) {
                lead.lexical = Some(ranked.score);
            }
        }
        if let (Some(vector), Some(embedder)) = (self.vector.as_mut(), vectors.embedder(self.kind)) {
            feedback::shift_toward(vector, embedder, self.kind, &passages, weights);
            for ranked in self.nearest(0) {
                if let Some(lead) = self.known.get_mut(&ranked.chunk) {
                    lead.cosine = Some(ranked.score);
                }
            }
        }
        Ok(())
    }

    /// The lead of a chunk; none if it may not be shown.
    fn meet(&mut self, ranked: &Ranked) -> Option<&mut Lead<'a>> {
        let path = self.path(ranked.document)?;
        match self.known.entry(ranked.chunk) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(unknown) => Some(unknown.insert(Lead::new(ranked.chunk, path, ranked.ordinal))),
        }
    }

    /// The path of a document; none if it may not be shown.
    fn path(&mut self, document: u32) -> Option<&'a str> {
        let Question { snapshot, allows, .. } = *self.question;
        *self
            .paths
            .entry(document)
            .or_insert_with(|| snapshot.document(document).map(|(path, _)| path).filter(|path| allows(path)))
    }

    fn best_lexical(&self) -> f32 {
        self.known.values().filter_map(|lead| lead.lexical).fold(0.0_f32, f32::max)
    }

    fn best_cosine(&self) -> f32 {
        self.known.values().filter_map(|lead| lead.cosine).fold(0.0_f32, f32::max)
    }

    /// The best so far, by words and vectors together.
    fn best(&self, count: usize) -> Vec<(f32, ChunkId)> {
        let best = |score: fn(&Lead<'_>) -> Option<f32>| {
            self.known.values().filter_map(score).fold(f32::MIN_POSITIVE, f32::max)
        };
        let (words, cosine) = (best(|lead| lead.lexical), best(|lead| lead.cosine));
        let share = self.question.weights.vector_share_text;
        let mut scored: Vec<(f32, &Lead<'_>)> = self
            .known
            .values()
            .map(|lead| {
                let by_words = lead.lexical.unwrap_or(0.0) / words;
                let by_vector = lead.cosine.unwrap_or(0.0).max(0.0) / cosine;
                (by_words * (1.0 - share) + by_vector * share, lead)
            })
            .collect();
        scored.sort_unstable_by(|(a, one), (b, other)| {
            let place = |lead: &Lead<'a>| (lead.path, lead.ordinal, lead.id);
            b.total_cmp(a).then_with(|| place(one).cmp(&place(other)))
        });
        scored.truncate(count);
        scored.into_iter().map(|(score, lead)| (score, lead.id)).collect()
    }
}
