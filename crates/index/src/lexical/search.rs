//! Scoring: BM25 over live chunks, term after term, in an order and arithmetic that never vary.

use model::{DocType, IndexKind, Ranked};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{InvertedIndexReader, Term};

use super::view::{ALIVE, CODE, LENGTH_SHIFT, LexicalView, SegmentView, kind_index, unpanicked};
use crate::documents::{Admission, Documents};
use crate::rank::{Candidate, best};

/// A question to the lexical index.
pub struct LexicalQuery<'a> {
    /// Tokens as [`crate::tokens::query_tokens`] makes them. Their order is part of the question: scores are
    /// added up in it.
    pub terms: &'a [QueryTerm],
    /// Restricts hits and statistics to one kind of chunk.
    pub kind: Option<IndexKind>,
    /// Restricts hits, but not the statistics, to documents by path and type.
    pub admit: Option<&'a dyn Fn(&str, DocType) -> bool>,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    pub token: String,
    /// Multiplies what the term adds to a score; at zero or below the term is ignored.
    pub weight: f32,
}

/// The parameters of the ranking function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    pub k1: f32,
    pub b: f32,
    /// What a term in a chunk's path counts, compared with one in its text.
    pub path_weight: f32,
}

impl Default for Bm25 {
    fn default() -> Bm25 {
        Bm25 { k1: 1.2, b: 0.75, path_weight: 0.5 }
    }
}

/// Memory that searches reuse: one score per entry of the index, all zero between searches.
#[derive(Default)]
pub(crate) struct Scratch {
    scores: Vec<f32>,
    touched: Vec<u32>,
    postings: Vec<Posting>,
}

#[derive(Clone, Copy)]
struct Posting {
    /// The entry's number over all segments.
    entry: u32,
    frequency: u32,
    length: u32,
}

/// What a search found, and whether it met damage on the way.
pub(crate) struct Found {
    pub(crate) hits: Vec<Ranked>,
    pub(crate) damaged: bool,
}

pub(crate) fn search(
    view: &LexicalView,
    documents: &Documents,
    query: &LexicalQuery<'_>,
    bm25: &Bm25,
    scratch: &mut Scratch,
) -> Found {
    let mut found = Found { hits: Vec::new(), damaged: false };
    let scope = Scope::new(view, query.kind);
    if scope.chunks == 0 || query.limit == 0 {
        return found;
    }
    if scratch.scores.len() < view.entries {
        scratch.scores.resize(view.entries, 0.0);
    }
    let mut admission = query.admit.map(|admit| Admission::new(documents, admit));
    let average = scope.tokens as f64 / scope.chunks as f64;
    // score = idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / average))
    let flat = bm25.k1 * (1.0 - bm25.b);
    let slope = if average > 0.0 { (f64::from(bm25.k1 * bm25.b) / average) as f32 } else { 0.0 };

    for term in query.terms.iter().filter(|term| term.weight > 0.0) {
        let body = gather(view, &scope, &term.token, Part::Body, &mut admission, scratch, &mut found.damaged);
        let weight = term.weight * scope.idf(body) * (bm25.k1 + 1.0);
        let Scratch { scores, touched, postings } = scratch;
        for posting in &*postings {
            let frequency = posting.frequency as f32;
            let norm = flat + slope * posting.length as f32;
            add(scores, touched, posting.entry, weight * (frequency / (frequency + norm)));
        }
        if bm25.path_weight > 0.0 {
            let path =
                gather(view, &scope, &term.token, Part::Path, &mut admission, scratch, &mut found.damaged);
            let weight = term.weight * scope.idf(path) * bm25.path_weight;
            let Scratch { scores, touched, postings } = scratch;
            for posting in &*postings {
                add(scores, touched, posting.entry, weight);
            }
        }
    }

    let Scratch { scores, touched, .. } = scratch;
    let candidates = touched.iter().map(|&entry| Candidate { score: scores[entry as usize], row: entry });
    let place = Places::new(view);
    let best = best(candidates, query.limit, documents, |row| place.of(row));
    found.hits = best
        .into_iter()
        .filter_map(|candidate| {
            let (segment, entry) = place.locate(candidate.row)?;
            let chunk = segment.chunks.get_val(entry) as i64;
            Some(Ranked { chunk: model::ChunkId(chunk), score: candidate.score })
        })
        .collect();
    for &entry in &*touched {
        scores[entry as usize] = 0.0;
    }
    touched.clear();
    found
}

fn add(scores: &mut [f32], touched: &mut Vec<u32>, entry: u32, score: f32) {
    let sum = &mut scores[entry as usize];
    if *sum == 0.0 {
        touched.push(entry);
    }
    *sum += score;
}

/// The chunks that a query is about, and their statistics.
struct Scope {
    /// An entry belongs if these bits of it ...
    mask: u32,
    /// ... are these.
    bits: u32,
    chunks: u64,
    tokens: u64,
}

impl Scope {
    fn new(view: &LexicalView, kind: Option<IndexKind>) -> Scope {
        match kind {
            Some(kind) => {
                let live = view.live[kind_index(kind)];
                let bits = ALIVE | if kind == IndexKind::Code { CODE } else { 0 };
                Scope { mask: ALIVE | CODE, bits, chunks: live.chunks, tokens: live.tokens }
            }
            None => Scope {
                mask: ALIVE,
                bits: ALIVE,
                chunks: view.live.iter().map(|live| live.chunks).sum(),
                tokens: view.live.iter().map(|live| live.tokens).sum(),
            },
        }
    }

    /// How telling a term is that `matching` chunks have.
    fn idf(&self, matching: u64) -> f32 {
        let (all, matching) = (self.chunks as f64, matching as f64);
        (1.0 + (all - matching + 0.5) / (matching + 0.5)).ln() as f32
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Body,
    Path,
}

/// Collects a term's postings in the scope, and counts all of them: the ones that are not admitted count as
/// well, so that a filter does not change the scores of what it lets through.
fn gather(
    view: &LexicalView,
    scope: &Scope,
    token: &str,
    part: Part,
    admission: &mut Option<Admission<'_>>,
    scratch: &mut Scratch,
    damaged: &mut bool,
) -> u64 {
    let postings = &mut scratch.postings;
    postings.clear();
    let mut matching = 0;
    let mut base = 0u32;
    for segment in &view.segments {
        let before = (postings.len(), matching);
        let read = unpanicked(|| {
            gather_segment(segment, base, scope, token, part, admission, postings, &mut matching)?;
            Ok(())
        });
        if let Err(error) = read {
            // The rest of the index still answers.
            tracing::warn!(%error, "a segment of the lexical index cannot be read");
            *damaged = true;
            postings.truncate(before.0);
            matching = before.1;
        }
        base += segment.packed.len() as u32;
    }
    matching
}

#[expect(
    clippy::too_many_arguments,
    reason = "the inner loop of a search, split off so that a panic in it can be caught"
)]
fn gather_segment(
    segment: &SegmentView,
    base: u32,
    scope: &Scope,
    token: &str,
    part: Part,
    admission: &mut Option<Admission<'_>>,
    postings: &mut Vec<Posting>,
    matching: &mut u64,
) -> std::io::Result<()> {
    let (reader, option): (&InvertedIndexReader, _) = match part {
        Part::Body => (&segment.body, IndexRecordOption::WithFreqs),
        Part::Path => (&segment.path, IndexRecordOption::Basic),
    };
    // Only the bytes of the term are looked at, so any field does.
    let term = Term::from_field_text(Field::from_field_id(0), token);
    let Some(mut blocks) = reader.read_block_postings(&term, option)? else { return Ok(()) };
    loop {
        let entries = blocks.docs();
        if entries.is_empty() {
            return Ok(());
        }
        for (offset, &entry) in entries.iter().enumerate() {
            let packed = segment.packed[entry as usize];
            if packed & scope.mask != scope.bits {
                continue;
            }
            *matching += 1;
            if let Some(admission) = admission
                && !admission.admits(segment.docs[entry as usize])
            {
                continue;
            }
            let frequency = if part == Part::Body { blocks.freq(offset) } else { 1 };
            postings.push(Posting { entry: base + entry, frequency, length: packed >> LENGTH_SHIFT });
        }
        blocks.advance();
    }
}

/// Finds segments by entry numbers that run over all of them.
struct Places<'a> {
    view: &'a LexicalView,
    starts: Vec<u32>,
}

impl<'a> Places<'a> {
    fn new(view: &'a LexicalView) -> Places<'a> {
        let mut start = 0;
        let starts = view
            .segments
            .iter()
            .map(|segment| {
                let this = start;
                start += segment.packed.len() as u32;
                this
            })
            .collect();
        Places { view, starts }
    }

    fn locate(&self, row: u32) -> Option<(&'a SegmentView, u32)> {
        let number = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        Some((self.view.segments[number].as_ref(), row - self.starts[number]))
    }

    /// What ties are broken by: the document, and the place in it.
    fn of(&self, row: u32) -> (u32, u32) {
        match self.locate(row) {
            Some((segment, entry)) => (segment.docs[entry as usize], segment.ordinals.get_val(entry) as u32),
            None => (u32::MAX, row),
        }
    }
}
