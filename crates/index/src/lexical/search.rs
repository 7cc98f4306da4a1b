//! Scoring: BM25 over live chunks, term after term, in an order and arithmetic that never vary.

use model::filter::Admit;
use model::{IndexKind, Ranked};

use super::gather::{Counts, Gather, Norm, Scope, Scratch};
use super::view::{LexicalView, SegmentView};
use crate::documents::{Admission, Documents};
use crate::rank::{RankedCandidate, best};

/// A question to the lexical index.
pub struct LexicalQuery<'a> {
    /// Tokens as [`crate::tokens::query_tokens`] makes them. Their order is part of the question: scores are
    /// added up in it.
    pub terms: &'a [QueryTerm],
    /// Restricts hits and statistics to one kind of chunk.
    pub kind: Option<IndexKind>,
    /// Restricts hits, but not the statistics.
    pub admit: Option<&'a dyn Admit>,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    pub token: String,
    /// Multiplies what the term adds to a score; at zero or below the term is ignored.
    pub weight: f32,
    /// Other tokens that count as this one, each so much of an occurrence. They share one rarity: that of all of
    /// them together.
    pub forms: Vec<String>,
    pub form_weight: f32,
}

impl QueryTerm {
    pub fn new(token: impl Into<String>, weight: f32) -> QueryTerm {
        QueryTerm { token: token.into(), weight, forms: Vec::new(), form_weight: 0.0 }
    }
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

/// What a search found, and whether it met damage on the way.
pub(crate) struct Found {
    pub(crate) hits: Vec<Ranked>,
    pub(crate) damaged: bool,
}

/// The best chunks. A term that hardly counts is looked up only for the chunks that can still be among the best: with
/// it, no other comes near them.
pub(crate) fn search(
    view: &LexicalView,
    documents: &Documents,
    query: &LexicalQuery<'_>,
    bm25: &Bm25,
    counts: Counts<'_>,
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
    let kind = query.kind.unwrap_or(IndexKind::Text);
    let admission = query.admit.map(|admit| Admission::new(documents, admit, kind));
    let mut gather = Gather::new(view, &scope, admission, Norm::new(bm25, &scope));
    let clauses = gather.clauses(query, bm25, &scope, counts, scratch);
    // Beyond this many postings it is cheaper to look at every score than to list the ones that are not zero.
    let dense_from = view.entries / 4;
    let mut postings = 0;
    let mut rest: f32 = clauses.iter().map(|clause| clause.bound).sum();
    let mut unread: u64 = clauses.iter().map(|clause| clause.postings).sum();
    // The entries that can still be among the best, once they are few.
    let mut running: Option<Vec<u32>> = None;
    for clause in &clauses {
        if running.is_none() && unread > FEW_POSTINGS.max(postings as u64 / 4) {
            let dense = postings > dense_from;
            running = scratch.running(if dense { Some(view.entries) } else { None }, query.limit, rest);
        }
        rest -= clause.bound;
        unread -= clause.postings;
        match &running {
            Some(running) if (running.len() as u64) < clause.postings / WORTH_SEEKING => {
                gather.seek(clause, running, scratch);
            }
            _ => {
                gather.group(clause.term, clause.part, scratch);
                scratch.add(clause.weight, &mut postings, dense_from);
            }
        }
    }
    found.damaged = gather.damaged;

    let place = Places { view };
    let Scratch { scores, touched, .. } = scratch;
    let best = if postings > dense_from {
        let all = scores[..view.entries].iter().enumerate().filter(|(_, score)| **score > 0.0);
        let all = all.map(|(entry, score)| RankedCandidate { score: *score, row: entry as u32 });
        best(all, query.limit, documents, |row| place.of(row))
    } else {
        let all = touched.iter().map(|&entry| RankedCandidate { score: scores[entry as usize], row: entry });
        best(all, query.limit, documents, |row| place.of(row))
    };
    found.hits = best
        .into_iter()
        .filter_map(|candidate| {
            let (segment, entry) = place.locate(candidate.row)?;
            Some(Ranked {
                chunk: model::ChunkId(segment.chunks.get_val(entry) as i64),
                score: candidate.score,
                document: segment.docs[entry as usize],
                ordinal: segment.ordinals.get_val(entry) as u32,
            })
        })
        .collect();
    if postings > dense_from {
        scores[..view.entries].fill(0.0);
    } else {
        touched.iter().for_each(|&entry| scores[entry as usize] = 0.0);
    }
    touched.clear();
    found
}

/// With fewer postings left to read there is nothing to save.
const FEW_POSTINGS: u64 = 2_000;
/// Looking one entry up costs as much as reading so many.
const WORTH_SEEKING: u64 = 16;

impl Scratch {
    /// The entries that can still be among the first `limit` where no score grows by more than `rest`, in order; none as
    /// long as an entry without any score can. `dense` is the number of entries where they are not listed.
    fn running(&self, dense: Option<usize>, limit: usize, rest: f32) -> Option<Vec<u32>> {
        let scores = || {
            let listed = self.touched.iter().filter(move |_| dense.is_none());
            let listed = listed.map(|&entry| (entry, self.scores[entry as usize]));
            let all = self.scores[..dense.unwrap_or(0)].iter().enumerate();
            listed.chain(all.map(|(entry, score)| (entry as u32, *score)))
        };
        // Nothing was read that could be as much.
        let mut last = Vec::with_capacity(limit + 1);
        let mut lowest = rest;
        for (_, score) in scores() {
            if score > lowest {
                last.push(score);
                if last.len() >= 2 * limit {
                    last.select_nth_unstable_by(limit - 1, |a, b| b.total_cmp(a));
                    last.truncate(limit);
                    lowest = last[limit - 1].max(lowest);
                }
            }
        }
        if last.len() < limit {
            return None;
        }
        last.select_nth_unstable_by(limit - 1, |a, b| b.total_cmp(a));
        // Sums are rounded; what is nearly as good runs on.
        let needed = (last[limit - 1] - rest) * (1.0 - 1e-4);
        let mut running: Vec<u32> =
            scores().filter(|(_, score)| *score >= needed && *score > 0.0).map(|(entry, _)| entry).collect();
        running.sort_unstable();
        Some(running)
    }

    /// Adds what the gathered postings get.
    fn add(&mut self, weight: f32, postings: &mut usize, dense_from: usize) {
        *postings += self.entries.len();
        if *postings > dense_from {
            for (&entry, &part) in self.entries.iter().zip(&self.parts) {
                self.scores[entry as usize] += weight * part;
            }
            return;
        }
        for (&entry, &part) in self.entries.iter().zip(&self.parts) {
            let score = &mut self.scores[entry as usize];
            if *score == 0.0 {
                self.touched.push(entry);
            }
            *score += weight * part;
        }
    }
}

/// Finds segments by entry numbers that run over all of them.
struct Places<'a> {
    view: &'a LexicalView,
}

impl<'a> Places<'a> {
    fn locate(&self, row: u32) -> Option<(&'a SegmentView, u32)> {
        let number = self.view.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        Some((self.view.segments[number].as_ref(), row - self.view.starts[number]))
    }

    /// What ties are broken by: the document, and the place in it.
    fn of(&self, row: u32) -> (u32, u32) {
        match self.locate(row) {
            Some((segment, entry)) => (segment.docs[entry as usize], segment.ordinals.get_val(entry) as u32),
            None => (u32::MAX, row),
        }
    }
}
