//! Writing to the catalog: a batch is one transaction.

use std::sync::atomic::Ordering;

use model::{ChunkId, IndexKind};
use rusqlite::{Transaction, TransactionBehavior};

use super::Catalog;
use super::document::DocumentWriter;
use super::text::Packer;
use super::{bought, produced};
use crate::batch::{Batch, DocChange};
use crate::error::IndexError;

/// What a batch did, in enough detail to bring the derived indices along.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) generation: u64,
    pub(crate) reps: u64,
    pub(crate) added: Vec<Added>,
    pub(crate) removed: Vec<(ChunkId, IndexKind)>,
}

/// A chunk that the derived indices do not have yet, by its place in the batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Added {
    pub(crate) change: usize,
    pub(crate) representation: usize,
    pub(crate) chunk: usize,
    /// Not always the chunk's own id: see [`DocumentWriter::place`].
    pub(crate) id: ChunkId,
    pub(crate) doc_id: i64,
    /// It was live before the change too, but with another text or elsewhere in its document.
    pub(crate) replaces: bool,
}

impl Catalog {
    /// Applies all changes, or none. `embedding_status` is what new chunks of each kind are marked with.
    ///
    /// It is `ok` where a local embedder makes the vector right after the commit, and again in the next replay if a
    /// crash comes between, so that no second update of every row is needed. It is `pending` where vectors are bought
    /// later, or not made at all.
    pub(crate) fn apply(&self, batch: &Batch, embedding_status: [&str; 2]) -> Result<Outcome, IndexError> {
        let mut guard = self.writer()?;
        let writer = &mut *guard;
        let generation = self.generation() + 1;
        let applied = writer
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|tx| {
                apply_in(&tx, &mut writer.packer, batch, generation, embedding_status).map(|done| (tx, done))
            })
            .and_then(|(tx, (outcome, changed))| {
                let content = !outcome.added.is_empty() || !outcome.removed.is_empty();
                if changed {
                    set_number(&tx, "generation", generation)?;
                }
                if content {
                    set_number(&tx, "content_generation", generation)?;
                }
                tx.commit()?;
                Ok((outcome, changed, content))
            });
        let (mut outcome, changed, content) = match applied {
            Ok(done) => done,
            Err(error) => {
                // The packer may hold a dictionary that was rolled back.
                if let Ok(packer) = Packer::load(&writer.conn) {
                    writer.packer = packer;
                }
                return Err(self.error(error));
            }
        };
        if changed {
            self.generation.store(generation, Ordering::Release);
        }
        if content {
            self.content_generation.store(generation, Ordering::Release);
        }
        outcome.generation = self.generation();
        drop(guard);
        self.trim_log();
        Ok(outcome)
    }

    /// Removes all tombstones. Only when no derived index knows the chunks any more.
    pub(crate) fn purge(&self) -> Result<u64, IndexError> {
        let mut purged = 0;
        let generation = self.generation();
        self.update(|tx, _| {
            tx.execute(
                "DELETE FROM spans WHERE chunk_id IN (SELECT chunk_id FROM chunks WHERE deleted = 1)",
                [],
            )?;
            purged = tx.execute("DELETE FROM chunks WHERE deleted = 1", [])? as u64;
            produced::purge(tx)?;
            tx.execute("DELETE FROM representations WHERE deleted = 1", [])?;
            tx.execute(
                "DELETE FROM outlines WHERE doc_id IN (SELECT doc_id FROM documents WHERE deleted = 1)",
                [],
            )?;
            // Made only where somebody asks for it.
            let has_facts = tx
                .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'facts'")?
                .exists([])?;
            if has_facts {
                tx.execute(
                    "DELETE FROM facts WHERE doc_id IN (SELECT doc_id FROM documents WHERE deleted = 1)",
                    [],
                )?;
            }
            tx.execute(
                "DELETE FROM unread_parts WHERE doc_id IN (SELECT doc_id FROM documents WHERE deleted = 1)",
                [],
            )?;
            tx.execute("DELETE FROM documents WHERE deleted = 1", [])?;
            bought::purge(tx)?;
            set_number(tx, "purged_generation", generation)
        })?;
        Ok(purged)
    }

    /// A transaction that counts as a change of content.
    pub(super) fn update(
        &self,
        change: impl FnOnce(&Transaction<'_>, u64) -> rusqlite::Result<()>,
    ) -> Result<u64, IndexError> {
        let mut writer = self.writer()?;
        let generation = self.generation() + 1;
        writer
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|tx| {
                change(&tx, generation)?;
                set_number(&tx, "generation", generation)?;
                set_number(&tx, "content_generation", generation)?;
                tx.commit()
            })
            .map_err(|error| self.error(error))?;
        self.generation.store(generation, Ordering::Release);
        self.content_generation.store(generation, Ordering::Release);
        Ok(generation)
    }
}

pub(super) fn set_number(tx: &Transaction<'_>, key: &str, value: u64) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE settings SET value = ?2 WHERE key = ?1")?.execute((key, value.to_string()))?;
    Ok(())
}

fn apply_in(
    tx: &Transaction<'_>,
    packer: &mut Packer,
    batch: &Batch,
    generation: u64,
    embedding_status: [&str; 2],
) -> rusqlite::Result<(Outcome, bool)> {
    for change in &batch.changes {
        if let DocChange::Put { representations, .. } = change {
            let chunks = representations.iter().flat_map(|rep| &rep.chunks);
            chunks.for_each(|chunk| packer.observe(&chunk.text));
        }
    }
    packer.make_dictionary(tx)?;
    let mut documents = DocumentWriter {
        tx,
        packer,
        generation: generation as i64,
        embedding_status,
        outcome: Outcome::default(),
        changed: false,
    };
    for (number, change) in batch.changes.iter().enumerate() {
        match change {
            DocChange::Put { document, representations } => {
                documents.put(number, document, representations)?
            }
            DocChange::Touch { path, size, mtime_ns, inode } => {
                documents.touch(path, *size, *mtime_ns, *inode)?;
            }
            DocChange::Delete { path } => documents.delete(path)?,
        }
    }
    Ok((documents.outcome, documents.changed))
}
