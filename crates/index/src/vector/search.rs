//! The nearest rows: by a scan of all vectors, or in a large index by sifting them with their sketches first.
//!
//! Either way the answer depends only on the live rows, the query and the filter: not on the order in which the rows
//! were written, nor on what was there before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::{ChunkId, Ranked};

use super::dot::{Dot, fastest};
use super::labels::Labels;
use super::quantize::{QuantizedQuery, stride};
use super::sketch::{SketchOutline, bound_below, level};
use super::view::{Block, VectorView};
use crate::documents::{Admission, Documents};
use crate::ids::IdSet;
use crate::rank::{Race, RankedCandidate, Score, best};

/// From so many live rows on, rows are sifted.
///
/// Measured against a scan (`benches/src/vectors.rs`): here it takes 0.4 of the time for the best 50, which is what a
/// search usually asks for, and 1.15 for the best 400; at 100,000 rows 0.3 and 0.7, at a million 0.2 and 0.3.
const MANY_ROWS: u64 = 50_000;

/// Where no more than so many are wanted, they are sifted from so many live rows on.
const SOME_WANTED: usize = 100;
const SOME_ROWS: u64 = 20_000;

/// Sketches of fewer numbers say too little.
const MANY_DIMENSIONS: usize = 128;

/// Where a filter admits less than one row in so many, the admitted ones are looked at one by one.
const FEW_ADMITTED: u64 = 16;

/// From so many rows on, those that are asked for by their labels are found in a table, which takes eight to sixteen
/// bytes per row. A table of fewer would save nothing that can be measured.
const MANY_LABELS: u64 = 4_096;

/// Rows that a sifting looks at first.
const FIRST_LOOK: usize = 1024;

impl VectorView {
    /// The best live rows by cosine, and after them those of `also` that are not among the best.
    pub(crate) fn search(
        &self,
        query: &[f32],
        limit: usize,
        also: &IdSet,
        admission: Option<Admission<'_>>,
        documents: &Documents,
    ) -> Vec<Ranked> {
        self.search_in(self.is_large(limit), query, limit, also, admission, documents)
    }

    /// The same by looking at every vector.
    pub(crate) fn search_exactly(
        &self,
        query: &[f32],
        limit: usize,
        also: &IdSet,
        admission: Option<Admission<'_>>,
        documents: &Documents,
    ) -> Vec<Ranked> {
        self.search_in(false, query, limit, also, admission, documents)
    }

    /// Makes what a search would have to wait for.
    pub(crate) fn warm(&self) {
        if self.is_large(SOME_WANTED) {
            for block in &self.blocks {
                self.sketch(block);
            }
        }
        if self.rows >= MANY_LABELS {
            self.labels();
        }
    }

    fn is_large(&self, wanted: usize) -> bool {
        let many = if wanted <= SOME_WANTED { SOME_ROWS } else { MANY_ROWS };
        self.live >= many && self.dimensions >= MANY_DIMENSIONS
    }

    fn search_in(
        &self,
        is_large: bool,
        query: &[f32],
        limit: usize,
        also: &IdSet,
        admission: Option<Admission<'_>>,
        documents: &Documents,
    ) -> Vec<Ranked> {
        if query.len() != self.dimensions || (limit == 0 && also.is_empty()) {
            return Vec::new();
        }
        let Some(query) = QuantizedQuery::new(query, stride(self.dimensions)) else { return Vec::new() };
        let mut search = Search { view: self, query, dot: fastest(), admission };
        let candidates = if is_large { search.sift(limit) } else { search.scan(limit) };
        let asked = search.ask(also);
        let place = |row: u32| {
            let (block, row) = self.locate(row);
            (block.data.docs[row], block.data.ordinals[row])
        };
        let ranked = |candidate: RankedCandidate| {
            let (block, row) = self.locate(candidate.row);
            Ranked {
                chunk: ChunkId(block.labels[row]),
                score: candidate.score,
                document: block.data.docs[row],
                ordinal: block.data.ordinals[row],
            }
        };
        let mut found: Vec<Ranked> =
            best(candidates.iter().copied(), limit, documents, place).into_iter().map(ranked).collect();
        let among: IdSet = found.iter().map(|ranked| ranked.chunk.0).collect();
        found.extend(asked.into_iter().map(ranked).filter(|ranked| !among.contains(&ranked.chunk.0)));
        found
    }

    fn labels(&self) -> &Labels {
        self.labels.get_or_init(|| Labels::new(self))
    }
}

struct Search<'a> {
    view: &'a VectorView,
    query: QuantizedQuery,
    dot: Dot,
    admission: Option<Admission<'a>>,
}

impl Search<'_> {
    /// Of all rows those that can be among the best.
    fn scan(&mut self, limit: usize) -> Vec<RankedCandidate> {
        if limit == 0 {
            return Vec::new();
        }
        let mut race = Race::new(limit);
        for block in &self.view.blocks {
            for row in 0..block.labels.len() {
                if self.admits(block, row) {
                    race.enter(self.candidate(block, row));
                }
            }
        }
        race.finish()
    }

    /// The rows that have these labels.
    fn ask(&mut self, also: &IdSet) -> Vec<RankedCandidate> {
        if also.is_empty() {
            return Vec::new();
        }
        let mut asked = Vec::with_capacity(also.len());
        if self.view.rows < MANY_LABELS {
            for block in &self.view.blocks {
                for row in 0..block.labels.len() {
                    if also.contains(&block.labels[row]) && self.admits(block, row) {
                        asked.push(self.candidate(block, row));
                    }
                }
            }
            return asked;
        }
        for number in self.view.labels().rows(self.view, also) {
            let (block, row) = self.view.locate(number);
            if self.admits(block, row) {
                asked.push(self.candidate(block, row));
            }
        }
        asked
    }

    /// Rows among which the best are: visits them in the order of their bounds, until no bound is as high as the
    /// score of the last row that is wanted.
    ///
    /// A filter loses nothing that a search without it finds: it can only lower that score, so that more is visited.
    fn sift(&mut self, limit: usize) -> Vec<RankedCandidate> {
        if limit == 0 {
            return Vec::new();
        }
        if let Some(few) = self.few() {
            return few;
        }
        let outline = SketchOutline::new(&self.query, self.view.dimensions);
        let mut levels = Vec::with_capacity(self.view.rows as usize);
        for block in &self.view.blocks {
            outline.levels(self.view.sketch(block), &mut levels);
        }
        let counts = count(&levels);
        let mut candidates = Vec::new();
        let mut wanted: BinaryHeap<Reverse<Score>> = BinaryHeap::with_capacity(limit.min(FIRST_LOOK) + 1);
        // The lowest level that was visited, and how many rows there are from it on.
        let (mut lowest, mut visited) = (256, 0);
        while lowest > 0 {
            let mut floor = lowest - 1;
            match wanted.peek() {
                Some(last) if wanted.len() == limit => floor = floor.min(usize::from(level(last.0.0))),
                _ => {
                    let mut rows = visited + counts[floor];
                    while floor > 0 && rows < FIRST_LOOK.max(2 * limit).max(2 * visited) {
                        floor -= 1;
                        rows += counts[floor];
                    }
                }
            }
            let rows = rows_by_level(&levels, &counts, floor..lowest);
            let mut rows = rows.as_slice();
            while lowest > floor {
                lowest -= 1;
                visited += counts[lowest];
                let of_level;
                (of_level, rows) = rows.split_at(counts[lowest]);
                for number in of_level {
                    let (block, row) = self.view.locate(*number);
                    if !self.admits(block, row) {
                        continue;
                    }
                    let candidate = self.candidate(block, row);
                    candidates.push(candidate);
                    if wanted.len() < limit {
                        wanted.push(Reverse(Score(candidate.score)));
                    } else if let Some(mut last) = wanted.peek_mut()
                        && candidate.score > last.0.0
                    {
                        *last = Reverse(Score(candidate.score));
                    }
                }
                let last = wanted.peek().filter(|_| wanted.len() == limit);
                if last.is_some_and(|last| bound_below(lowest as u8) <= last.0.0) {
                    return candidates;
                }
            }
        }
        candidates
    }

    /// All rows that the filter admits, if they are few.
    fn few(&mut self) -> Option<Vec<RankedCandidate>> {
        self.admission.as_ref()?;
        let many = self.view.live / FEW_ADMITTED;
        let mut rows = Vec::new();
        for block in &self.view.blocks {
            for row in 0..block.labels.len() {
                if self.admits(block, row) {
                    rows.push((block, row));
                }
            }
            if rows.len() as u64 > many {
                return None;
            }
        }
        Some(rows.into_iter().map(|(block, row)| self.candidate(block, row)).collect())
    }

    fn admits(&mut self, block: &Block, row: usize) -> bool {
        block.counts(row)
            && self.admission.as_mut().is_none_or(|admission| admission.admits(block.data.docs[row]))
    }

    fn candidate(&self, block: &Block, row: usize) -> RankedCandidate {
        let product = f64::from((self.dot)(&self.query.numbers, self.view.vector(block, row)));
        let score = (product * self.query.scale * f64::from(block.data.scales[row])) as f32;
        RankedCandidate { score, row: block.first + row as u32 }
    }
}

fn count(levels: &[u8]) -> [usize; 256] {
    // Neighbours often have the same level: in one table, each would wait for the other's count.
    let mut counts = [[0usize; 256]; 4];
    let (fours, rest) = levels.as_chunks::<4>();
    for four in fours {
        for (counts, level) in counts.iter_mut().zip(four) {
            counts[usize::from(*level)] += 1;
        }
    }
    for level in rest {
        counts[0][usize::from(*level)] += 1;
    }
    std::array::from_fn(|level| counts.iter().map(|counts| counts[level]).sum())
}

/// The rows of some levels, those of the highest first.
fn rows_by_level(levels: &[u8], counts: &[usize; 256], wanted: std::ops::Range<usize>) -> Vec<u32> {
    const STRETCH: usize = 64;
    let mut next = [0; 256];
    let mut rows = 0;
    for level in wanted.clone().rev() {
        next[level] = rows;
        rows += counts[level];
    }
    let mut order = vec![0; rows];
    for (number, some) in levels.chunks(STRETCH).enumerate() {
        // Nearly always there is nothing.
        if usize::from(some.iter().fold(0, |highest, level| highest.max(*level))) < wanted.start {
            continue;
        }
        for (row, level) in some.iter().map(|level| usize::from(*level)).enumerate() {
            if wanted.contains(&level) {
                order[next[level]] = (number * STRETCH + row) as u32;
                next[level] += 1;
            }
        }
    }
    order
}

#[cfg(test)]
mod tests;
