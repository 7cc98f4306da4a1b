//! Writing the index: batches are applied to the catalog, then made visible to searches.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use model::{EmbeddingProvider, Generation};

use crate::batch::{Applied, Batch};
use crate::catalog;
use crate::derive::{Compacted, Derived, KINDS, RepairReport, embeds_now};
use crate::error::IndexError;
use crate::faults;
use crate::index::Index;
use crate::lexical::LexicalView;
use crate::snapshot::{self, Counted, Snapshot};
use crate::vector::VectorView;

impl Index {
    /// Applies all changes of a batch, or none: when this returns, they survive a power cut. They can be found
    /// after the next [`Index::publish`].
    pub fn apply(&self, batch: &Batch) -> Result<Applied, IndexError> {
        let mut derived = self.derived()?;
        let status = KINDS.map(|kind| if embeds_now(&self.embedding, kind) { "ok" } else { "pending" });
        let outcome = self.catalog.apply(batch, status)?;
        let embedded = derived.follow(batch, &outcome);
        self.unpublished_vectors.store(derived.pending_vectors(), Ordering::SeqCst);
        let replaced = outcome.added.iter().filter(|added| added.replaces).count();
        Ok(Applied {
            generation: Generation(outcome.generation),
            reps: outcome.reps,
            chunks_added: (outcome.added.len() - replaced) as u64,
            chunks_removed: outcome.removed.len() as u64,
            embedded,
        })
    }

    /// Makes everything applied or stored so far visible to searches. Replays or rebuilds first what has to be. Never waits
    /// for a vector.
    pub fn publish(&self) -> Result<(), IndexError> {
        self.commit(false, &|_, _| {}).map(drop)
    }

    /// Checks the derived files byte by byte, and mends what is missing, behind or damaged. Searches go on
    /// meanwhile, on what there is. `progress` is told how many chunks of how many are done.
    pub fn repair(&self, progress: &dyn Fn(u64, u64)) -> Result<RepairReport, IndexError> {
        let faults = faults::count();
        let report = self.commit(true, progress)?;
        self.shared.damaged.store(false, Ordering::Release);
        self.faults.store(faults, Ordering::Release);
        self.snapshot().warm();
        Ok(report)
    }

    /// Removes tombstones for good, when there are many.
    pub fn compact(&self) -> Result<Compacted, IndexError> {
        let mut derived = self.derived()?;
        let result = derived.compact();
        self.show(&derived);
        drop(derived);
        match &result {
            Ok(Compacted { chunks: 1.. }) => self.catalog.empty_log(),
            _ => self.catalog.trim_log(),
        }
        // Complete again: the one that could not be read is of no more use.
        let _ = std::fs::remove_file(self.dir.join(catalog::DAMAGED));
        result
    }

    fn commit(&self, verify: bool, progress: &dyn Fn(u64, u64)) -> Result<RepairReport, IndexError> {
        let mut derived = self.derived()?;
        if verify {
            derived.verify();
        }
        let report = derived.commit(progress);
        // Also after a failure: what could be brought along is shown.
        self.show(&derived);
        drop(derived);
        self.catalog.trim_log();
        report
    }

    /// Gives searches a new snapshot.
    fn show(&self, derived: &Derived) {
        let (lexical, vectors, embedding) = derived.views();
        self.swap(lexical, vectors, embedding);
        self.unpublished_vectors.store(derived.pending_vectors(), Ordering::SeqCst);
    }

    pub(crate) fn swap(
        &self,
        lexical: LexicalView,
        vectors: [Arc<VectorView>; 2],
        embedding: [EmbeddingProvider; 2],
    ) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let next = Snapshot {
            id: snapshot::next_id(),
            generation: self.catalog.generation(),
            catalog: self.catalog.clone(),
            lexical,
            vectors,
            embedding,
            documents: current.documents.advanced(),
            shared: self.shared.clone(),
            counted: Counted::default(),
        };
        *current = Arc::new(next);
    }
}
