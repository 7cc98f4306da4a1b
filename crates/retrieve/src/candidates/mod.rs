//! The candidates of one index: what the words find and what the vectors find; of the best of them, the texts.

mod lexical;
mod names;
mod vector;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use index::{QueryTerm, Snapshot, StoredChunk};
use model::{ChunkId, DocType, EmbedError, Embedder, Failure, IndexKind, Ranked};

use crate::feedback;
use crate::filter::CompiledFilter;
use crate::matcher::{Found, Matcher};
use crate::parse::Parsed;
use crate::standing::{Lead, Standing, shortlist, stand};
use crate::weights::{self, Weights};

/// A chunk that may be a hit, read.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub chunk: StoredChunk,
    pub standing: Standing,
    /// Where the query's words stand in its text, found once for all that ask.
    pub places: Vec<Found>,
}

/// What one index offers for a query.
#[derive(Debug, Default)]
pub struct Pool {
    pub candidates: Vec<Candidate>,
    /// The query could not be embedded, so that only words were searched.
    pub vector_error: Option<EmbedError>,
}

/// What the index asks about each document; none where everything is admitted.
type Admit<'a> = Option<&'a dyn Fn(&str, DocType) -> bool>;

/// What is asked of each index.
pub(crate) struct Question<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) embedder: &'a dyn Embedder,
    pub(crate) text: &'a str,
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
    /// How many chunks are read.
    pub(crate) read: usize,
    pub(crate) weights: &'a Weights,
}

/// Asks both rankings of one index for their best chunks, and reads the best of those.
pub(crate) fn gather(question: &Question<'_>, kind: IndexKind) -> Result<Pool, Failure> {
    let Question { snapshot, embedder, parsed, weights, .. } = *question;
    if question.limit == 0 || snapshot.live_chunks(kind) == 0 {
        return Ok(Pool::default());
    }
    let (vector, vector_error) = match vector::of_query(embedder, kind, question.text) {
        Ok(vector) => (vector, None),
        Err(error) => (None, Some(error)),
    };
    let share = match kind {
        _ if parsed.is_symbol => weights.vector_share_symbol,
        IndexKind::Code => weights.vector_share_code,
        IndexKind::Text => weights.vector_share_text,
    };
    let mut gathered = Gathered { question, kind, vector, known: HashMap::new(), paths: HashMap::new() };
    let terms = parsed.query_terms(weights);
    if kind == IndexKind::Text && weights.feedback > 0.0 && feedback::helps(parsed) {
        let limit = question.limit * weights::FEEDBACK_POOL_FACTOR;
        gathered.find(&terms, limit);
        gathered.once_more(limit)?;
        // As many as both rankings would have offered.
        let kept: HashSet<ChunkId> =
            gathered.best(2 * question.limit).into_iter().map(|(_, id)| id).collect();
        gathered.known.retain(|id, _| kept.contains(id));
    } else {
        gathered.find(&terms, question.limit);
    }
    let mut leads: Vec<Lead<'_>> = gathered.known.into_values().collect();
    if let Some(vector) = gathered.vector.as_ref().filter(|_| !embedder.is_costly()) {
        names::compare(&mut leads, embedder, kind, vector);
    }
    let standings = stand(leads, share, parsed, weights);
    // What a text must not hold only the text tells.
    let read = if question.unwanted.is_some() { standings.len() } else { question.read };
    let shares = rarity(snapshot, kind, parsed);
    let words = (question.matcher, shares.as_slice());
    let chosen = shortlist(standings, read, words, parsed, question.filter.prefix(), weights);
    Ok(Pool { candidates: look_up(question, &chosen)?, vector_error })
}

/// What each of the words that carry the meaning weighs by its rarity in the index; all together 1.
fn rarity(snapshot: &Snapshot, kind: IndexKind, parsed: &Parsed) -> Vec<f32> {
    let chunks = snapshot.live_chunks(kind) as f32;
    let mut shares: Vec<f32> = parsed
        .content_terms()
        .iter()
        .map(|term| {
            let forms = term.variants.iter().chain([&term.token]);
            let holders = forms.map(|form| snapshot.holders(kind, form)).sum::<u64>() as f32;
            if holders == 0.0 {
                return 0.0;
            }
            let holders = holders.min(chunks);
            term.weight * (1.0 + (chunks - holders + 0.5) / (holders + 0.5)).ln()
        })
        .collect();
    let sum: f32 = shares.iter().sum();
    if sum > 0.0 {
        shares.iter_mut().for_each(|share| *share /= sum);
    }
    shares
}

/// Reads the chunks, and finds the query's words in them.
fn look_up(question: &Question<'_>, chosen: &[(Lead<'_>, Standing)]) -> Result<Vec<Candidate>, Failure> {
    let ids: Vec<ChunkId> = chosen.iter().map(|(lead, _)| lead.id).collect();
    let chunks = question.snapshot.chunks(&ids).map_err(Failure::from)?;
    // They come in the order asked for, but some may be gone.
    let mut standings = chosen.iter();
    let mut candidates = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let Some((_, standing)) = standings.find(|(lead, _)| lead.id == chunk.id) else { break };
        if question.unwanted.is_some_and(|words| !words.find(&chunk.text).is_empty()) {
            continue;
        }
        let places = question.matcher.find(&chunk.text);
        candidates.push(Candidate { chunk, standing: *standing, places });
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
    /// Meets the chunks that hold one of the terms and those near in meaning.
    fn find(&mut self, terms: &[QueryTerm], limit: usize) {
        let Question { snapshot, filter, weights, .. } = *self.question;
        for ranked in lexical::candidates(snapshot, self.kind, terms, filter, limit) {
            if let Some(lead) = self.meet(&ranked) {
                lead.lexical = Some(ranked.score);
            }
        }
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
    fn once_more(&mut self, limit: usize) -> Result<(), Failure> {
        let Question { snapshot, embedder, parsed, filter, weights, .. } = *self.question;
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
        if let Some(vector) = self.vector.as_mut().filter(|_| !embedder.is_costly()) {
            feedback::lean(vector, embedder, self.kind, &passages, weights);
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
        match self.known.entry(ranked.chunk) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(unknown) => {
                let Question { snapshot, allows, .. } = *self.question;
                let path = self.paths.entry(ranked.document).or_insert_with(|| {
                    snapshot.document(ranked.document).map(|(path, _)| path).filter(|path| allows(path))
                });
                Some(unknown.insert(Lead {
                    id: ranked.chunk,
                    path: (*path)?,
                    ordinal: ranked.ordinal,
                    lexical: None,
                    cosine: None,
                    called: 0.0,
                }))
            }
        }
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
