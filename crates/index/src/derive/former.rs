//! Vectors of the model that was in use before. They answer while those of the present model are made, and lose what is
//! removed meanwhile; what is new has no vector among them and is found by its words.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{ChunkId, EmbeddingProvider, IndexKind};

use super::expected;
use crate::ids::IdSet;
use crate::vector::{VectorView, VectorWriter};

pub(super) struct FormerVectors {
    embedding: EmbeddingProvider,
    writer: VectorWriter,
    /// They could not be written, so that what they hold may be dead.
    is_lost: bool,
}

impl FormerVectors {
    /// Gives a file of another model the name under which it answers on.
    pub(super) fn set_aside(path: &Path) {
        if let Err(error) = std::fs::rename(path, former_path(path)) {
            tracing::warn!(%error, "the vectors of the former model cannot answer any longer");
        }
    }

    /// Opens the vectors of a former model, if one of `former` made them. Otherwise nobody could ask them, and they are
    /// removed.
    pub(super) fn open(
        path: &Path,
        kind: IndexKind,
        former: &[EmbeddingProvider],
        corpus: &str,
        dead: &IdSet,
    ) -> Option<FormerVectors> {
        let path = former_path(path);
        if !path.exists() {
            return None;
        }
        for embedding in former {
            let mut writer = VectorWriter::new(path.clone(), expected(embedding, kind, corpus));
            if writer.open(dead, true).is_ok() {
                return Some(FormerVectors { embedding: embedding.clone(), writer, is_lost: false });
            }
        }
        let _ = std::fs::remove_file(&path);
        None
    }

    pub(super) fn embedding(&self) -> &EmbeddingProvider {
        &self.embedding
    }

    pub(super) fn view(&self) -> &Arc<VectorView> {
        self.writer.view()
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Notes that a chunk is gone, or has another text.
    pub(super) fn change(&mut self, id: ChunkId, now: Option<IndexKind>) {
        self.writer.change(id, now);
    }

    pub(super) fn commit(&mut self, generation: u64) {
        if let Err(error) = self.writer.commit(generation) {
            tracing::warn!(%error, "the vectors of the former model are given up");
            self.is_lost = true;
        }
    }

    /// Writes the file without its dead rows: nothing says afterwards that they are dead.
    pub(super) fn compact(&mut self, generation: u64) {
        if self.writer.view().live < self.writer.view().rows
            && let Err(error) = self.writer.rewrite(generation)
        {
            tracing::warn!(%error, "the vectors of the former model are given up");
            self.is_lost = true;
        }
    }

    pub(super) fn remove(self) {
        let path = self.writer.path().to_owned();
        drop(self);
        let _ = std::fs::remove_file(path);
    }
}

fn former_path(path: &Path) -> PathBuf {
    path.with_extension("former.hnsw")
}
