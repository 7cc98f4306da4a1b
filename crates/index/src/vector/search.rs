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
mod tests {
    use std::sync::Arc;

    use model::filter::{Admit, DocumentFacts, Verdict};
    use model::{DocType, IndexKind, Ranked};
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::Catalog;
    use crate::vector::quantize::quantize;
    use crate::vector::{Expected, PendingRow, VectorWriter};

    const DIMENSIONS: usize = 128;
    const DOCUMENTS: u32 = 400;

    /// Numbers that look random and are the same every time.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ mixed >> 31
        }

        /// A direction, with a bell curve for each number, roughly.
        fn direction(&mut self) -> Vec<f32> {
            let number = |bits: u64| (0..4).map(|n| (bits >> (16 * n) & 0xFFFF) as f32 / 65536.0 - 0.5).sum();
            (0..DIMENSIONS).map(|_| number(self.next())).collect()
        }
    }

    fn mixed(one: &[f32], other: &[f32], share: f32) -> Vec<f32> {
        one.iter().zip(other).map(|(one, other)| one + share * other).collect()
    }

    #[derive(Clone)]
    struct Row {
        label: i64,
        doc: u32,
        ordinal: u32,
        vector: Vec<f32>,
    }

    /// Vectors as texts have them: subjects, passages on a subject, and copies of passages. And questions, which are
    /// farther from all passages than these are from each other.
    fn corpus(rows: usize, seed: u64) -> (Vec<Row>, Vec<Vec<f32>>) {
        let mut numbers = Numbers(seed);
        let subjects: Vec<Vec<f32>> = (0..rows / 100 + 1).map(|_| numbers.direction()).collect();
        let mut found: Vec<Row> = Vec::with_capacity(rows);
        for row in 0..rows {
            let pick = numbers.next() as usize;
            let vector = if row > 0 && pick.is_multiple_of(20) {
                found[pick / 20 % row].vector.clone()
            } else {
                mixed(&subjects[pick % subjects.len()], &numbers.direction(), 1.2)
            };
            // Labels in no order, as digests are.
            let label = (numbers.next() >> 11) as i64;
            let doc = 1 + (row as u32 * 7) % DOCUMENTS;
            found.push(Row { label, doc, ordinal: row as u32, vector });
        }
        let questions =
            (0..40).map(|n| mixed(&subjects[n * 31 % subjects.len()], &numbers.direction(), 2.0)).collect();
        (found, questions)
    }

    struct Place {
        _folder: tempfile::TempDir,
        documents: Documents,
        writer: VectorWriter,
        generation: u64,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
            let catalog = Arc::new(Catalog::open_writer(folder.path(), "/corpus").unwrap());
            let paths = (1..=DOCUMENTS).map(|doc| (doc, format!("{}/{doc}.md", doc % 100)));
            let documents = Documents::of(catalog, paths);
            let expected = Expected::new(IndexKind::Text, DIMENSIONS, "model", "corpus");
            let mut writer = VectorWriter::new(folder.path().join("vectors_text.hnsw"), expected);
            writer.start_over().unwrap();
            Place { _folder: folder, documents, writer, generation: 0 }
        }

        fn with(rows: &[Row]) -> Place {
            let mut place = Place::new();
            place.put(rows);
            place
        }

        fn put(&mut self, rows: &[Row]) {
            for row in rows {
                let mut vector = Vec::new();
                let scale = quantize(&row.vector, stride(DIMENSIONS), &mut vector);
                let vector = vector.into_boxed_slice();
                self.writer.change(ChunkId(row.label), Some(IndexKind::Text));
                self.writer.add(
                    ChunkId(row.label),
                    PendingRow { doc: row.doc, ordinal: row.ordinal, scale, vector },
                );
            }
            self.commit();
        }

        fn remove(&mut self, rows: &[Row]) {
            rows.iter().for_each(|row| self.writer.change(ChunkId(row.label), None));
            self.commit();
        }

        fn commit(&mut self) {
            self.generation += 1;
            self.writer.commit(self.generation).unwrap();
        }

        fn search(
            &self,
            sifted: bool,
            query: &[f32],
            limit: usize,
            also: &[i64],
            admit: Option<&dyn Admit>,
        ) -> Vec<Ranked> {
            let admission = admit.map(|admit| Admission::new(&self.documents, admit, IndexKind::Text));
            let also = also.iter().copied().collect();
            self.writer.view().search_in(sifted, query, limit, &also, admission, &self.documents)
        }

        /// The share of the truly best that sifting finds.
        fn recall(&self, questions: &[Vec<f32>], limit: usize, admit: Option<&dyn Admit>) -> f64 {
            let (mut found, mut all) = (0, 0);
            for question in questions {
                let sifted = self.search(true, question, limit, &[], admit);
                let exact = self.search(false, question, limit, &[], admit);
                all += exact.len();
                found += exact.iter().filter(|hit| sifted.contains(hit)).count();
                assert_eq!(sifted.len(), exact.len());
            }
            found as f64 / all as f64
        }
    }

    /// Admits one folder in so many, of a hundred.
    struct OneIn(u32);

    impl Admit for OneIn {
        fn document(&self, facts: &DocumentFacts<'_>) -> Verdict {
            let folder: u32 = facts.path.split('/').next().unwrap().parse().unwrap();
            folder.is_multiple_of(self.0).into()
        }
    }

    #[test]
    fn sifting_finds_what_a_scan_finds() {
        let (rows, questions) = corpus(12_000, 1);
        let place = Place::with(&rows);
        for (limit, wanted) in [(10, 0.99), (100, 0.98), (400, 0.98)] {
            let recall = place.recall(&questions, limit, None);
            assert!(recall >= wanted, "{recall} of the best {limit}");
        }
        for share in [2, 5, 10, 50, 100] {
            let recall = place.recall(&questions, 10, Some(&OneIn(share)));
            assert!(recall >= 0.99, "{recall} of the best 10 with a filter for one in {share}");
            assert!(share < 20 || recall == 1.0, "few rows are looked at one by one");
        }
    }

    #[test]
    fn sifting_is_worth_it() {
        let (rows, questions) = corpus(12_000, 1);
        let place = Place::with(&rows);
        let view = place.writer.view();
        let looked_at: usize = questions
            .iter()
            .map(|question| {
                let query = QuantizedQuery::new(question, stride(DIMENSIONS)).unwrap();
                Search { view, query, dot: fastest(), admission: None }.sift(10).len()
            })
            .sum();
        assert!(looked_at < questions.len() * rows.len() / 10, "{looked_at}");
    }

    #[test]
    fn answers_do_not_depend_on_how_the_rows_came() {
        let (rows, questions) = corpus(6_000, 2);
        let at_once = Place::with(&rows);
        let mut piecemeal = Place::new();
        let (old, _) = corpus(900, 3);
        piecemeal.put(&rows[4_000..]);
        piecemeal.put(&old);
        // A vector that is replaced later.
        let mut other = rows[17].clone();
        other.vector = old[0].vector.clone();
        piecemeal.put(&[other]);
        for some in rows[..4_000].chunks(700) {
            piecemeal.put(some);
        }
        piecemeal.remove(&old);
        assert!(piecemeal.writer.view().live < piecemeal.writer.view().rows, "there are dead rows");
        for question in &questions {
            for limit in [1, 10, 300] {
                for admit in [None, Some(&OneIn(3) as &dyn Admit), Some(&OneIn(50))] {
                    let one = at_once.search(true, question, limit, &[], admit);
                    assert_eq!(piecemeal.search(true, question, limit, &[], admit), one);
                }
            }
        }
    }

    #[test]
    fn dead_rows_are_not_found() {
        let (rows, questions) = corpus(4_000, 4);
        let mut place = Place::with(&rows);
        let best = place.search(true, &questions[0], 50, &[], None);
        let dead: Vec<Row> =
            rows.iter().filter(|row| best.iter().any(|hit| hit.chunk.0 == row.label)).cloned().collect();
        place.remove(&dead);
        let labels: Vec<i64> = dead.iter().map(|row| row.label).collect();
        let after = place.search(true, &questions[0], 50, &labels, None);
        assert_eq!(after.len(), 50);
        assert!(after.iter().all(|hit| !labels.contains(&hit.chunk.0)));
        place.put(&dead);
        assert_eq!(place.search(true, &questions[0], 50, &labels, None), best);
    }

    #[test]
    fn rows_are_found_by_label_wherever_they_are() {
        let (rows, questions) = corpus(3_000, 5);
        let mut place = Place::with(&rows[..2_000]);
        let labels: Vec<i64> = rows.iter().step_by(13).map(|row| row.label).chain([-1, 5]).collect();
        let same = |place: &Place| {
            for (limit, admit) in [(0, None), (5, None), (5, Some(&OneIn(2) as &dyn Admit))] {
                let sifted = place.search(true, &questions[0], limit, &labels, admit);
                assert_eq!(sifted, place.search(false, &questions[0], limit, &labels, admit));
                assert!(!sifted.is_empty());
            }
        };
        same(&place);
        // A few that the table does not know; then so many that it is rebuilt.
        place.put(&rows[2_000..2_100]);
        same(&place);
        place.remove(&rows[..50]);
        place.put(&rows[2_100..]);
        same(&place);
    }

    #[test]
    fn as_many_as_there_are_and_equal_ones_by_path() {
        let (mut rows, questions) = corpus(300, 6);
        let place = Place::with(&rows);
        let all = place.search(true, &questions[0], 1_000, &[], None);
        assert_eq!(all.len(), 300);
        assert_eq!(all, place.search(false, &questions[0], 1_000, &[], None));
        let vector = rows[0].vector.clone();
        rows.iter_mut().skip(100).for_each(|row| row.vector = vector.clone());
        let place = Place::with(&rows);
        let sifted = place.search(true, &vector, 20, &[], None);
        assert_eq!(sifted, place.search(false, &vector, 20, &[], None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn a_filter_loses_no_hit(seed in 10u64..1_000, share in 1u32..40, limit in 1usize..120) {
            let (rows, questions) = corpus(2_500, seed);
            let place = Place::with(&rows);
            let admit = OneIn(share);
            let path = |hit: &Ranked| {
                let doc = rows.iter().find(|row| row.label == hit.chunk.0).unwrap().doc;
                place.documents.path(doc)
            };
            for question in &questions[..8] {
                let all = place.search(true, question, limit, &[], None);
                let filtered = place.search(true, question, limit, &[], Some(&admit));
                let last = filtered.last().map_or(f32::NEG_INFINITY, |hit| hit.score);
                for hit in all.iter().filter(|hit| {
                    let facts = DocumentFacts { path: path(hit), doc_type: DocType::Md };
                    admit.document(&facts) == Verdict::Admitted
                }) {
                    // Or else there are enough that are better.
                    prop_assert!(
                        filtered.contains(hit) || (filtered.len() == limit && hit.score <= last)
                    );
                }
            }
        }
    }
}
