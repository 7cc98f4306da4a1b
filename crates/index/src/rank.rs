//! The best of many candidates: by score, then by path, then by position in the document.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::documents::Documents;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankedCandidate {
    pub(crate) score: f32,
    /// Where its index finds it again.
    pub(crate) row: u32,
}

/// The candidates that can still be among the first `limit`, while they come.
pub(crate) struct Race {
    limit: usize,
    top: BinaryHeap<Reverse<Score>>,
    /// The score of the last one that is among the first so far.
    lowest: f32,
    running: Vec<RankedCandidate>,
}

impl Race {
    pub(crate) fn new(limit: usize) -> Race {
        let top = BinaryHeap::with_capacity(limit.min(4096) + 1);
        Race { limit, top, lowest: f32::NEG_INFINITY, running: Vec::new() }
    }

    #[inline]
    pub(crate) fn enter(&mut self, candidate: RankedCandidate) {
        if candidate.score >= self.lowest {
            self.admit(candidate);
        }
    }

    #[inline(never)]
    fn admit(&mut self, candidate: RankedCandidate) {
        // Everything that ties with the last one is still in the race.
        self.running.push(candidate);
        if self.top.len() < self.limit {
            self.top.push(Reverse(Score(candidate.score)));
        } else if let Some(mut last) = self.top.peek_mut()
            && candidate.score > last.0.0
        {
            *last = Reverse(Score(candidate.score));
        }
        if self.top.len() == self.limit
            && let Some(last) = self.top.peek()
        {
            self.lowest = last.0.0;
        }
    }

    /// Those that are left, in no order.
    pub(crate) fn finish(mut self) -> Vec<RankedCandidate> {
        self.running.retain(|candidate| candidate.score.total_cmp(&self.lowest) != Ordering::Less);
        self.running
    }
}

/// The first `limit` candidates in the order of the answer. `place` says of a row which document it belongs to
/// and where in it; it and the paths are asked for only where scores are equal.
pub(crate) fn best(
    candidates: impl Iterator<Item = RankedCandidate>,
    limit: usize,
    documents: &Documents,
    place: impl Fn(u32) -> (u32, u32),
) -> Vec<RankedCandidate> {
    if limit == 0 {
        return Vec::new();
    }
    let mut race = Race::new(limit);
    candidates.for_each(|candidate| race.enter(candidate));
    let mut best = race.finish();
    let order = |a: &RankedCandidate, b: &RankedCandidate| {
        b.score.total_cmp(&a.score).then_with(|| {
            let ((doc_a, ordinal_a), (doc_b, ordinal_b)) = (place(a.row), place(b.row));
            let paths = if doc_a == doc_b {
                Ordering::Equal
            } else {
                documents.path(doc_a).cmp(documents.path(doc_b))
            };
            paths.then(ordinal_a.cmp(&ordinal_b)).then(a.row.cmp(&b.row))
        })
    };
    if best.len() > limit {
        best.select_nth_unstable_by(limit - 1, order);
        best.truncate(limit);
    }
    best.sort_unstable_by(order);
    best
}

/// A score that can be ordered.
#[derive(PartialEq)]
pub(crate) struct Score(pub(crate) f32);

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Score) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Score) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}
