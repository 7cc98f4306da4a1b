//! Vectors that are bought later: which chunks wait for one, and taking it up.
//!
//! The index never asks a remote embedder. Words are published without vectors; a worker outside takes
//! [`Index::pending_chunks`] and returns what it bought by [`Index::store_vectors`].

use std::sync::atomic::Ordering;

use model::{ChunkId, IndexKind};

use crate::catalog::{NewVector, PendingChunk};
use crate::error::IndexError;
use crate::index::Index;

/// Chunks whose vectors are copied from another index in one transaction.
const ADOPTED_TOGETHER: usize = 512;

impl Index {
    /// Live chunks of a kind that wait for a vector, after one of them, in the order of their ids.
    pub fn pending_chunks(
        &self,
        kind: IndexKind,
        after: ChunkId,
        limit: usize,
    ) -> Result<Vec<PendingChunk>, IndexError> {
        let mut pending = self.catalog.pending_chunks(kind, self.embedding.model(kind), after, limit)?;
        let dimensions = self.embedding.dimensions(kind);
        for chunk in &mut pending {
            // A provider may serve another size under the same name.
            chunk.bought = chunk.bought.take().filter(|vector| vector.len() == dimensions);
        }
        Ok(pending)
    }

    /// How many live chunks of a kind wait for a vector.
    pub fn pending_count(&self, kind: IndexKind) -> Result<u64, IndexError> {
        self.catalog.pending_count(kind)
    }

    /// Keeps vectors for good. When this returns, they survive a power cut; searches see them after the next
    /// [`Index::publish`]. Returns how many chunks have a vector now: one whose text has changed meanwhile stays pending,
    /// though its vector is kept.
    pub fn store_vectors(&self, kind: IndexKind, vectors: &[NewVector]) -> Result<u64, IndexError> {
        if vectors.is_empty() {
            return Ok(0);
        }
        // Held while the catalog is written, so that no publication comes between the two.
        let mut derived = self.derived()?;
        if derived.is_retired() {
            return Err(IndexError::ReadOnly);
        }
        // Before the catalog has them, so that nobody counts a vector that searches do not see.
        self.unpublished_vectors.fetch_add(vectors.len() as u64, Ordering::SeqCst);
        let stored = self.catalog.store_vectors(kind, self.embedding.model(kind), vectors);
        if let Ok(stored) = &stored {
            derived.add_vectors(kind, stored, self.catalog.generation());
        }
        self.unpublished_vectors.store(derived.pending_vectors(), Ordering::SeqCst);
        Ok(stored?.len() as u64)
    }

    /// Takes over the vectors that another index bought for the same texts and models: an index that is built again must
    /// not pay for them twice. What cannot be read there stays pending here.
    pub fn adopt_vectors(&self, other: &Index) -> Result<u64, IndexError> {
        let mut adopted = 0;
        for kind in crate::derive::KINDS {
            let (model, dimensions) = (self.embedding.model(kind), self.embedding.dimensions(kind));
            let mut after = ChunkId(0);
            loop {
                let pending = self.pending_chunks(kind, after, ADOPTED_TOGETHER)?;
                let Some(last) = pending.last() else { break };
                after = last.id;
                let vectors: Vec<NewVector> = pending
                    .into_iter()
                    .filter_map(|chunk| {
                        let bought = other.catalog.bought_vector(model, &chunk.text_hash).ok().flatten();
                        let vector = bought.filter(|vector| vector.len() == dimensions)?;
                        Some(NewVector { id: chunk.id, text_hash: chunk.text_hash, vector: Ok(vector) })
                    })
                    .collect();
                adopted += self.store_vectors(kind, &vectors)?;
            }
        }
        Ok(adopted)
    }
}
