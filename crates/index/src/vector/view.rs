//! A vector file as one search sees it.

#![allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;

use super::file::{BLOCKS_OFFSET, Damage, Expected, Rows, decode, read_head};
use super::labels::Labels;
use super::map::map;
use super::quantize::stride;
use super::sketch::Sketch;
use crate::ids::{IdMap, IdSet};

/// The label of a row that a later row has replaced.
pub(super) const SUPERSEDED: i64 = -1;

/// Which rows are alive: the catalog knows, the file does not.
pub(crate) enum Liveness<'a> {
    /// For a file that was not loaded before: all but these.
    AllBut(&'a IdSet),
    /// For one that was: as before, but for these.
    Changed(&'a IdMap<bool>),
    /// The same by the numbers of the rows.
    Rows(&'a [(u32, bool)]),
}

#[derive(Clone, Default)]
pub(crate) struct VectorView {
    pub(super) dimensions: usize,
    pub(super) file_id: [u8; 16],
    /// How much of the file is loaded.
    length: u64,
    /// The commit of the catalog that the file holds.
    pub(crate) generation: u64,
    pub(super) blocks: Vec<Block>,
    pub(crate) rows: u64,
    pub(crate) live: u64,
    /// Made by the first search that needs it.
    pub(super) labels: Arc<OnceLock<Labels>>,
}

#[derive(Clone)]
pub(super) struct Block {
    /// The number of its first row.
    pub(super) first: u32,
    pub(super) labels: Arc<Vec<i64>>,
    live: Arc<Vec<u64>>,
    live_rows: u64,
    pub(super) data: Arc<BlockData>,
}

pub(super) struct BlockData {
    map: Arc<Mmap>,
    vectors: usize,
    pub(super) docs: Vec<u32>,
    pub(super) ordinals: Vec<u32>,
    pub(super) scales: Vec<f32>,
    /// Made by the first search that needs it.
    sketch: OnceLock<Sketch>,
}

impl VectorView {
    /// Loads the valid part of a file; what `before` has of the same file is shared with it.
    pub(crate) fn load(
        path: &Path,
        expected: &Expected,
        before: Option<&VectorView>,
        liveness: Liveness<'_>,
        verify: bool,
    ) -> Result<VectorView, Damage> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Damage::Missing),
            other => other?,
        };
        let head = read_head(&file, expected)?;
        let known =
            before.filter(|before| before.file_id == head.file_id && before.length <= head.stamp.length);
        let mut view = match known {
            Some(before) => before.clone(),
            None => {
                VectorView { dimensions: expected.dimensions, length: BLOCKS_OFFSET, ..VectorView::default() }
            }
        };
        view.file_id = head.file_id;
        view.generation = head.stamp.generation;
        view.map_blocks(&file, head.stamp.length, expected, verify)?;
        if view.rows != head.stamp.rows {
            return Err(Damage::Corrupt("it has another number of rows than it says"));
        }
        match (known, liveness) {
            (None, Liveness::Changed(_) | Liveness::Rows(_)) => {
                return Err(Damage::Corrupt("it was replaced"));
            }
            (_, Liveness::AllBut(dead)) => view.set_live(|label| Some(!dead.contains(&label))),
            (Some(_), Liveness::Rows(rows)) => {
                for (number, alive) in rows {
                    view.set_row(*number, *alive);
                }
            }
            (Some(_), Liveness::Changed(changed)) => {
                if !changed.is_empty() {
                    view.set_live(|label| changed.get(&label).copied());
                }
            }
        }
        view.live = view.blocks.iter().map(|block| block.live_rows).sum();
        if view.labels.get().is_some_and(|labels| labels.is_outgrown(view.rows)) {
            view.labels = Arc::default();
        }
        Ok(view)
    }

    /// True if this is the present state of the file at `path`.
    pub(crate) fn is_current(&self, path: &Path, expected: &Expected) -> bool {
        let head = File::open(path).map_err(Damage::from).and_then(|file| read_head(&file, expected));
        head.is_ok_and(|head| {
            head.file_id == self.file_id
                && head.stamp.length == self.length
                && head.stamp.generation == self.generation
        })
    }

    /// The same with these rows alive or dead.
    pub(super) fn with_rows(&self, rows: &[(u32, bool)]) -> VectorView {
        let mut view = self.clone();
        rows.iter().for_each(|(number, alive)| view.set_row(*number, *alive));
        view
    }

    /// The live rows without those in `skip`, in pieces of at most `size` rows.
    pub(super) fn live_rows(&self, size: usize, skip: &HashSet<u32>) -> Vec<Rows> {
        let stride = stride(self.dimensions);
        let mut pieces = vec![Rows::default()];
        for block in &self.blocks {
            for row in 0..block.labels.len() {
                let number = block.first + row as u32;
                if block.live[row / 64] & (1 << (row % 64)) == 0 || skip.contains(&number) {
                    continue;
                }
                if pieces.last().is_none_or(|piece| piece.labels.len() >= size) {
                    pieces.push(Rows::default());
                }
                if let Some(piece) = pieces.last_mut() {
                    let data = &*block.data;
                    let vector = &data.map[data.vectors + row * stride..data.vectors + (row + 1) * stride];
                    piece.push(
                        block.labels[row],
                        data.docs[row],
                        data.ordinals[row],
                        data.scales[row],
                        vector,
                    );
                }
            }
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    /// Finds the rows of labels that `wanted` knows.
    pub(super) fn find(&self, wanted: impl Fn(i64) -> bool, mut found: impl FnMut(&Block, usize)) {
        for block in &self.blocks {
            for (row, label) in block.labels.iter().enumerate() {
                if wanted(*label) {
                    found(block, row);
                }
            }
        }
    }

    /// The bytes of a row's vector.
    pub(super) fn vector<'a>(&self, block: &'a Block, row: usize) -> &'a [u8] {
        let stride = stride(self.dimensions);
        let start = block.data.vectors + row * stride;
        &block.data.map[start..start + stride]
    }

    /// The bytes of all vectors of a block.
    pub(super) fn vectors<'a>(&self, block: &'a Block) -> &'a [u8] {
        &block.data.map[block.data.vectors..][..block.labels.len() * stride(self.dimensions)]
    }

    pub(super) fn sketch<'a>(&self, block: &'a Block) -> &'a Sketch {
        let make = || Sketch::new(self.vectors(block), self.dimensions, stride(self.dimensions));
        block.data.sketch.get_or_init(make)
    }

    /// The block of a row, and its number there.
    pub(super) fn locate(&self, row: u32) -> (&Block, usize) {
        let block = &self.blocks[self.blocks.partition_point(|block| block.first <= row) - 1];
        (block, (row - block.first) as usize)
    }

    /// Maps and decodes the blocks between what is loaded and `length`.
    fn map_blocks(
        &mut self,
        file: &File,
        length: u64,
        expected: &Expected,
        verify: bool,
    ) -> Result<(), Damage> {
        let bytes = usize::try_from(length - self.length).map_err(|_| Damage::Corrupt("it is too large"))?;
        if bytes == 0 {
            return Ok(());
        }
        let map = Arc::new(map(file, self.length, bytes)?);
        let mut at = 0;
        while at < bytes {
            let parts = decode(&map[at..], expected, verify)?;
            let first = u32::try_from(self.rows).map_err(|_| Damage::Corrupt("it has too many rows"))?;
            let rows = parts.labels.len();
            for number in parts.superseded {
                self.supersede(number);
            }
            self.blocks.push(Block {
                first,
                labels: Arc::new(parts.labels),
                live: Arc::new(all_ones(rows)),
                live_rows: rows as u64,
                data: Arc::new(BlockData {
                    map: map.clone(),
                    vectors: at + parts.vectors,
                    docs: parts.docs,
                    ordinals: parts.ordinals,
                    scales: parts.scales,
                    sketch: OnceLock::new(),
                }),
            });
            self.rows += rows as u64;
            at += parts.length;
        }
        self.length = length;
        Ok(())
    }

    fn supersede(&mut self, number: u32) {
        if let Some((block, row)) = self.locate_mut(number) {
            Arc::make_mut(&mut block.labels)[row] = SUPERSEDED;
            block.set(row, false);
        }
    }

    fn set_row(&mut self, number: u32, alive: bool) {
        if let Some((block, row)) = self.locate_mut(number)
            && block.labels[row] != SUPERSEDED
        {
            block.set(row, alive);
        }
    }

    fn locate_mut(&mut self, number: u32) -> Option<(&mut Block, usize)> {
        let block = self.blocks.partition_point(|block| block.first <= number).checked_sub(1)?;
        let block = self.blocks.get_mut(block)?;
        let row = (number - block.first) as usize;
        (row < block.labels.len()).then_some((block, row))
    }

    /// Sets rows alive or dead; where `alive` says nothing they stay as they are.
    fn set_live(&mut self, alive: impl Fn(i64) -> Option<bool>) {
        for block in &mut self.blocks {
            for row in 0..block.labels.len() {
                let label = block.labels[row];
                if label != SUPERSEDED
                    && let Some(alive) = alive(label)
                {
                    block.set(row, alive);
                }
            }
        }
    }
}

impl Block {
    /// True if a search may find the row.
    pub(super) fn counts(&self, row: usize) -> bool {
        self.live[row / 64] & (1 << (row % 64)) != 0 && self.data.scales[row] > 0.0
    }

    fn set(&mut self, row: usize, alive: bool) {
        let bit = 1u64 << (row % 64);
        let was = self.live[row / 64] & bit != 0;
        if was != alive {
            Arc::make_mut(&mut self.live)[row / 64] ^= bit;
            self.live_rows = if alive { self.live_rows + 1 } else { self.live_rows - 1 };
        }
    }
}

fn all_ones(rows: usize) -> Vec<u64> {
    let mut words = vec![u64::MAX; rows.div_ceil(64)];
    if let (Some(last), rest @ 1..) = (words.last_mut(), rows % 64) {
        *last = (1 << rest) - 1;
    }
    words
}
