//! Which texts say nearly the same as one before them.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use index::StoredChunk;

/// Texts that are compared line by line: those that may come to the top. Further down only equal ones count.
const COMPARED: usize = 40;
/// Shorter lines (brackets, `return`, `else`) are the same everywhere.
const SHORTEST_LINE: usize = 8;
/// Fewer lines are too few to say that two texts are the same but for a word.
const FEWEST_LINES: usize = 4;
/// The share of the lines of both that must be common, in tenths.
const SAME_TENTHS: usize = 9;

/// The texts met so far.
#[derive(Default)]
pub(crate) struct Texts {
    hashes: HashSet<[u8; 16]>,
    lines: Vec<HashSet<u64>>,
}

impl Texts {
    /// Whether an earlier text was nearly the same; this one counts as met from now on.
    pub(crate) fn has_nearly(&mut self, chunk: &StoredChunk) -> bool {
        if !self.hashes.insert(chunk.text_hash) {
            return true;
        }
        if self.lines.len() == COMPARED {
            return false;
        }
        let lines: HashSet<u64> = chunk
            .text
            .lines()
            .map(str::trim)
            .filter(|line| line.len() >= SHORTEST_LINE)
            .map(|line| {
                let mut hasher = DefaultHasher::new();
                line.hash(&mut hasher);
                hasher.finish()
            })
            .collect();
        let same = lines.len() >= FEWEST_LINES && self.lines.iter().any(|other| nearly_same(&lines, other));
        self.lines.push(lines);
        same
    }
}

fn nearly_same(one: &HashSet<u64>, other: &HashSet<u64>) -> bool {
    let (fewer, more) = if one.len() < other.len() { (one, other) } else { (other, one) };
    // Most pairs differ in size alone.
    if fewer.len() * 10 < more.len() * SAME_TENTHS {
        return false;
    }
    let common = fewer.intersection(more).count();
    common * 10 >= (fewer.len() + more.len() - common) * SAME_TENTHS
}
