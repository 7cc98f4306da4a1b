//! Ranks repetitions lower: further chunks of the same file, and files whose best passage is nearly a copy of one above them.

use std::collections::{HashMap, HashSet};

use index::StoredChunk;

use crate::fuse::Scored;
use crate::weights::Weights;

/// Texts that are compared word by word: those that may come to the top. Further down only equal ones count.
const COMPARED: usize = 40;
/// Words in a row that are compared: wherever lines break, they are the same.
const ROW: usize = 4;
/// Fewer rows are too few to say that two texts are the same but for a word.
const FEWEST_ROWS: usize = 12;
/// The share of the rows of both that must be common, in hundredths.
const SAME_HUNDREDTHS: usize = 75;

/// Takes the hits best first. A file is shown by its best passage: where that is nearly what a better file says, the whole
/// file goes down, not the passage alone, or a worse passage would stand for the file.
pub(crate) fn lower_repetitions(scored: &mut [Scored], weights: &Weights) {
    struct File {
        chunks: i32,
        factor: f32,
    }
    let mut files: HashMap<String, File> = HashMap::new();
    let mut texts = Texts::default();
    for each in scored.iter_mut() {
        let is_copy = texts.has_nearly(&each.chunk);
        let copied = if is_copy { weights.copy } else { 1.0 };
        let file = files.entry(each.chunk.rel_path.clone()).or_insert(File { chunks: 0, factor: copied });
        file.chunks += 1;
        let factor = file.factor.min(copied) * weights.saturation.powi(file.chunks - 1);
        each.breakdown.repetition = factor;
        each.score *= factor;
    }
}

/// The texts met so far.
#[derive(Default)]
struct Texts {
    /// By the file that has it.
    hashes: HashSet<[u8; 16]>,
    /// The numbers of each text's rows of words, sorted.
    rows: Vec<Vec<u32>>,
}

impl Texts {
    /// Whether an earlier text was nearly the same; this one counts as met from now on.
    fn has_nearly(&mut self, chunk: &StoredChunk) -> bool {
        if !self.hashes.insert(chunk.text_hash) {
            return true;
        }
        if self.rows.len() == COMPARED {
            return false;
        }
        let rows = rows(&chunk.text);
        let same = rows.len() >= FEWEST_ROWS && self.rows.iter().any(|other| nearly_same(&rows, other));
        self.rows.push(rows);
        same
    }
}

fn nearly_same(one: &[u32], other: &[u32]) -> bool {
    let (fewer, more) = if one.len() < other.len() { (one, other) } else { (other, one) };
    // Most pairs differ in size alone.
    if fewer.len() * 100 < more.len() * SAME_HUNDREDTHS {
        return false;
    }
    let mut rest = more;
    let mut common = 0;
    for row in fewer {
        let before = rest.iter().take_while(|other| *other < row).count();
        rest = &rest[before..];
        common += usize::from(rest.first() == Some(row));
    }
    common * 100 >= (fewer.len() + more.len() - common) * SAME_HUNDREDTHS
}

/// A number for every row of words, sorted, each once. Nobody gains by making two rows collide, so it need not be a hash
/// that resists.
fn rows(text: &str) -> Vec<u32> {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut last = [0u64; ROW];
    let mut words = 0;
    let mut rows = Vec::with_capacity(text.len() / 6);
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut number = word.len() as u64;
        for byte in word.bytes() {
            number = (number ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(ODD).rotate_left(23);
        }
        last[words % ROW] = number;
        words += 1;
        if words >= ROW {
            // The words in their order, whatever their places in the ring.
            let row = (0..ROW)
                .fold(0u64, |row, at| (row ^ last[(words + at) % ROW]).wrapping_mul(ODD).rotate_left(29));
            rows.push((row >> 32) as u32);
        }
    }
    rows.sort_unstable();
    rows.dedup();
    rows
}
