//! Which texts say nearly the same as one before them.

use std::collections::HashSet;

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
    /// The numbers of each text's lines, sorted.
    lines: Vec<Vec<u64>>,
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
        let mut lines: Vec<u64> = chunk
            .text
            .lines()
            .map(str::trim)
            .filter(|line| line.len() >= SHORTEST_LINE)
            .map(number)
            .collect();
        lines.sort_unstable();
        lines.dedup();
        let same = lines.len() >= FEWEST_LINES && self.lines.iter().any(|other| nearly_same(&lines, other));
        self.lines.push(lines);
        same
    }
}

fn nearly_same(one: &[u64], other: &[u64]) -> bool {
    let (fewer, more) = if one.len() < other.len() { (one, other) } else { (other, one) };
    // Most pairs differ in size alone.
    if fewer.len() * 10 < more.len() * SAME_TENTHS {
        return false;
    }
    let mut rest = more;
    let mut common = 0;
    for line in fewer {
        let before = rest.iter().take_while(|other| *other < line).count();
        rest = &rest[before..];
        common += usize::from(rest.first() == Some(line));
    }
    common * 10 >= (fewer.len() + more.len() - common) * SAME_TENTHS
}

/// A number that tells lines apart. Nobody gains by making two lines collide, so it need not be a hash that resists.
fn number(line: &str) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let (words, rest) = line.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mut number = line.len() as u64;
    for word in words.iter().chain([&last]) {
        let mixed = u128::from(number ^ u64::from_le_bytes(*word)) * u128::from(ODD);
        number = (mixed as u64 ^ (mixed >> 64) as u64).wrapping_add(ODD);
    }
    number
}
