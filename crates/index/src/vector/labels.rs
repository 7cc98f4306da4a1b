//! Finds the rows of a label without looking at all of them.

use super::view::{SUPERSEDED, VectorView};
use crate::ids::IdSet;

/// A hash table of row numbers. It holds the rows that a view had when it was made: those that came later are few,
/// and looked through.
pub(super) struct Labels {
    /// A row's number and one, or zero.
    slots: Vec<u32>,
    rows: u64,
}

impl Labels {
    pub(super) fn new(view: &VectorView) -> Labels {
        // Half empty at least, so that a search ends soon.
        let size = (2 * view.rows as usize).next_power_of_two().max(2);
        let mut labels = Labels { slots: vec![0; size], rows: view.rows };
        for block in &view.blocks {
            for (row, label) in block.labels.iter().enumerate() {
                if *label != SUPERSEDED {
                    let mut slot = labels.first(*label);
                    while labels.slots[slot] != 0 {
                        slot = labels.next(slot);
                    }
                    labels.slots[slot] = block.first + row as u32 + 1;
                }
            }
        }
        labels
    }

    /// True if so many of a view's rows are not in it that it should be rebuilt.
    pub(super) fn is_outgrown(&self, rows: u64) -> bool {
        rows > self.rows + self.rows / 8
    }

    /// The rows that have these labels now, in their order.
    pub(super) fn rows(&self, view: &VectorView, wanted: &IdSet) -> Vec<u32> {
        let mut found = Vec::with_capacity(wanted.len());
        for label in wanted.iter().filter(|label| **label != SUPERSEDED) {
            let mut slot = self.first(*label);
            while let Some(row) = self.slots[slot].checked_sub(1) {
                let (block, place) = view.locate(row);
                // A later view may have made the table: rows of its own are not here.
                if block.labels.get(place) == Some(label) {
                    found.push(row);
                }
                slot = self.next(slot);
            }
        }
        for block in view.blocks.iter().filter(|block| u64::from(block.first) >= self.rows) {
            let later = block.labels.iter().enumerate().filter(|(_, label)| wanted.contains(label));
            found.extend(later.map(|(row, _)| block.first + row as u32));
        }
        found.sort_unstable();
        found
    }

    fn first(&self, label: i64) -> usize {
        let hash = (label as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }
}
