//! The best of many candidates: by score, then by path, then by position in the document.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::documents::Documents;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) score: f32,
    /// Where its index finds it again.
    pub(crate) row: u32,
}

/// The first `limit` candidates in the order of the answer. `place` says of a row which document it belongs to
/// and where in it; it and the paths are asked for only where scores are equal.
pub(crate) fn best(
    candidates: impl Iterator<Item = Candidate> + Clone,
    limit: usize,
    documents: &Documents,
    place: impl Fn(u32) -> (u32, u32),
) -> Vec<Candidate> {
    let threshold = threshold(candidates.clone(), limit);
    // Everything that ties with the last one is still in the race.
    let mut best: Vec<Candidate> =
        candidates.filter(|candidate| candidate.score.total_cmp(&threshold) != Ordering::Less).collect();
    let order = |a: &Candidate, b: &Candidate| {
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
        if limit == 0 {
            return Vec::new();
        }
        best.select_nth_unstable_by(limit - 1, order);
        best.truncate(limit);
    }
    best.sort_unstable_by(order);
    best
}

/// The score of the last candidate that can be among the first `limit`.
fn threshold(candidates: impl Iterator<Item = Candidate>, limit: usize) -> f32 {
    let mut top: BinaryHeap<Reverse<Score>> = BinaryHeap::with_capacity(limit.min(4096) + 1);
    let mut lowest = f32::NEG_INFINITY;
    for candidate in candidates {
        if top.len() < limit {
            top.push(Reverse(Score(candidate.score)));
        } else if candidate.score > lowest {
            top.push(Reverse(Score(candidate.score)));
            top.pop();
        } else {
            continue;
        }
        if top.len() == limit {
            lowest = top.peek().map_or(f32::NEG_INFINITY, |lowest| lowest.0.0);
        }
    }
    lowest
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
