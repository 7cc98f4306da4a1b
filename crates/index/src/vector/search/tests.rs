//! The nearest vectors, compared with those that a plain sort finds.

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
            self.writer
                .add(ChunkId(row.label), PendingRow { doc: row.doc, ordinal: row.ordinal, scale, vector });
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
