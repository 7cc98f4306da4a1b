//! Writing a vector file: new vectors are appended, dead ones stay until a rewrite is worth it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{ChunkId, IndexKind};

use super::file::{Damage, Expected, Rows, VectorFile};
use super::quantize::quantize;
use super::view::{Liveness, VectorView};
use crate::error::IndexError;
use crate::ids::{IdMap, IdSet};

/// Rewritten when this share of the rows is dead, and it is more than a handful.
const DEAD_SHARE: f64 = 0.3;
const FEW_DEAD: u64 = 256;
/// Single edits make small blocks; so many of them are put together.
const MANY_BLOCKS: usize = 512;
const ROWS_PER_BLOCK: usize = 16_384;
/// More vectors than this do not wait in memory for the next publication: with 256 dimensions they take 6 MB, and twice as
/// much again while they are written.
const MANY_PENDING: usize = ROWS_PER_BLOCK;

pub(crate) struct PendingRow {
    pub(crate) doc: u32,
    pub(crate) ordinal: u32,
    pub(crate) scale: f32,
    pub(crate) vector: Box<[u8]>,
}

impl PendingRow {
    /// The row of a chunk with this vector.
    pub(crate) fn new(doc_id: i64, ordinal: u32, vector: &[f32], stride: usize) -> PendingRow {
        let mut bytes = Vec::with_capacity(stride);
        let scale = quantize(vector, stride, &mut bytes);
        PendingRow { doc: doc_id as u32, ordinal, scale, vector: bytes.into_boxed_slice() }
    }
}

pub(crate) struct VectorWriter {
    path: PathBuf,
    expected: Expected,
    file: Option<VectorFile>,
    view: Arc<VectorView>,
    pending: IdMap<PendingRow>,
    /// Chunks that changed since the last commit, and where they live now.
    changes: IdMap<Option<IndexKind>>,
}

impl VectorWriter {
    /// A writer without a file; see [`VectorWriter::open`] and [`VectorWriter::start_over`].
    pub(crate) fn new(path: PathBuf, expected: Expected) -> VectorWriter {
        VectorWriter {
            path,
            expected,
            file: None,
            view: Arc::default(),
            pending: IdMap::default(),
            changes: IdMap::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is on disk, as of the last commit.
    pub(crate) fn view(&self) -> &Arc<VectorView> {
        &self.view
    }

    /// The commit of the catalog that the file holds.
    pub(crate) fn generation(&self) -> u64 {
        self.view.generation
    }

    /// Opens an existing file for writing.
    pub(crate) fn open(&mut self, dead: &IdSet, verify: bool) -> Result<(), Damage> {
        self.forget();
        self.file = None;
        let view = VectorView::load(&self.path, &self.expected, None, Liveness::AllBut(dead), verify)?;
        self.file = Some(VectorFile::open(&self.path, &self.expected)?);
        self.view = Arc::new(view);
        Ok(())
    }

    /// Begins an empty file, in the place of whatever is there.
    pub(crate) fn start_over(&mut self) -> Result<(), IndexError> {
        self.forget();
        let file = VectorFile::create(&self.path, &self.expected, 0, std::iter::empty())
            .map_err(|error| IndexError::io(&self.path, error))?;
        self.file = Some(file);
        self.reload(Liveness::AllBut(&IdSet::default()))
    }

    /// Checks every byte of the file.
    pub(crate) fn verify(&self) -> Result<(), Damage> {
        VectorView::load(&self.path, &self.expected, None, Liveness::AllBut(&IdSet::default()), true)
            .map(drop)
    }

    /// Takes the vector of a chunk that [`VectorWriter::change`] was told about.
    pub(crate) fn add(&mut self, id: ChunkId, row: PendingRow) {
        self.pending.insert(id.0, row);
    }

    /// Notes where a chunk lives now.
    pub(crate) fn change(&mut self, id: ChunkId, now: Option<IndexKind>) {
        if now != Some(self.expected.kind) {
            self.pending.remove(&id.0);
        }
        self.changes.insert(id.0, now);
    }

    /// Vectors that are not committed yet.
    pub(crate) fn pending(&self) -> u64 {
        self.pending.len() as u64
    }

    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= MANY_PENDING
    }

    /// Forgets what was not committed.
    pub(crate) fn forget(&mut self) {
        self.pending.clear();
        self.changes.clear();
        if let Some(file) = &mut self.file {
            file.roll_back();
        }
    }

    /// Makes everything so far durable, as the state of `generation`.
    pub(crate) fn commit(&mut self, generation: u64) -> Result<(), IndexError> {
        if self.pending.is_empty() && self.changes.is_empty() && generation == self.view.generation {
            return Ok(());
        }
        let mut moved_away = false;
        let mut kept = IdSet::default();
        let mut replaced = HashSet::new();
        let mut rows_now = Vec::new();
        if !self.changes.is_empty() {
            self.view.find(
                |label| self.changes.contains_key(&label),
                |block, row| {
                    let (label, number) = (block.labels[row], block.first + row as u32);
                    let now = self.changes.get(&label).copied().flatten();
                    rows_now.push((number, now == Some(self.expected.kind)));
                    moved_away |= now.is_some_and(|kind| kind != self.expected.kind);
                    if let Some(pending) = self.pending.get(&label) {
                        // A chunk that came back: its vector may be here still.
                        let data = &block.data;
                        let same = data.docs[row] == pending.doc
                            && data.ordinals[row] == pending.ordinal
                            && data.scales[row] == pending.scale
                            && *self.view.vector(block, row) == *pending.vector;
                        if same {
                            kept.insert(label);
                        } else {
                            replaced.insert(number);
                        }
                    }
                },
            );
        }
        let mut labels: Vec<i64> =
            self.pending.keys().copied().filter(|label| !kept.contains(label)).collect();
        labels.sort_unstable();
        let mut rows = Rows::default();
        for label in &labels {
            let row = &self.pending[label];
            rows.push(*label, row.doc, row.ordinal, row.scale, &row.vector);
        }
        if moved_away {
            // The catalog calls such a chunk alive, though not here: only the file itself can leave it out.
            let mut pieces = self.view.with_rows(&rows_now).live_rows(ROWS_PER_BLOCK, &replaced);
            pieces.push(rows);
            self.replace(generation, pieces)?;
        } else {
            rows.superseded = replaced.into_iter().collect();
            rows.superseded.sort_unstable();
            self.append(&rows, generation)?;
            self.reload(Liveness::Rows(&rows_now))?;
        }
        self.pending.clear();
        self.changes.clear();
        let dead = self.view.rows - self.view.live;
        if self.view.blocks.len() > MANY_BLOCKS
            || (dead > FEW_DEAD && dead as f64 > DEAD_SHARE * self.view.rows as f64)
        {
            self.rewrite(generation)?;
        }
        Ok(())
    }

    /// Writes the whole file again, without its dead rows.
    pub(crate) fn rewrite(&mut self, generation: u64) -> Result<(), IndexError> {
        let pieces = self.view.live_rows(ROWS_PER_BLOCK, &HashSet::new());
        self.replace(generation, pieces)
    }

    fn append(&mut self, rows: &Rows, generation: u64) -> Result<(), IndexError> {
        let Some(file) = &mut self.file else {
            return Err(IndexError::io(&self.path, std::io::Error::other("the file is not open")));
        };
        let appended = if rows.is_empty() { Ok(()) } else { file.append(rows, generation) };
        appended.and_then(|()| file.commit(generation)).map_err(|error| {
            // After a failed sync it is unknown what is on disk: it is written again next time.
            file.roll_back();
            IndexError::io(file.path(), error)
        })
    }

    fn replace(&mut self, generation: u64, mut pieces: Vec<Rows>) -> Result<(), IndexError> {
        pieces.retain(|piece| !piece.is_empty());
        let file = VectorFile::create(&self.path, &self.expected, generation, pieces.into_iter())
            .map_err(|error| IndexError::io(&self.path, error))?;
        self.file = Some(file);
        self.reload(Liveness::AllBut(&IdSet::default()))
    }

    fn reload(&mut self, liveness: Liveness<'_>) -> Result<(), IndexError> {
        let view = VectorView::load(&self.path, &self.expected, Some(&self.view), liveness, false)
            .map_err(|damage| IndexError::io(&self.path, std::io::Error::other(damage.to_string())))?;
        self.view = Arc::new(view);
        Ok(())
    }
}
