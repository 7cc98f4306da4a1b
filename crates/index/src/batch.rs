//! What the indexing pipeline asks of the index, and what it gets back.

use model::{ContentHash, DocId, DocStatus, Document, Generation, Representation};

/// Changes that become durable together or not at all.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub changes: Vec<DocChange>,
}

#[derive(Debug, Clone)]
pub enum DocChange {
    /// This is the document now, whatever was known of its path before.
    Put {
        document: Document,
        /// All its texts, of different types. What it had of other types is tombstoned.
        representations: Vec<Representation>,
    },
    /// Only the file's metadata moved: the content is the same.
    Touch {
        path: String,
        size: u64,
        mtime_ns: i64,
        inode: u64,
    },
    Delete {
        path: String,
    },
}

impl DocChange {
    pub fn path(&self) -> &str {
        match self {
            DocChange::Put { document, .. } => &document.path,
            DocChange::Touch { path, .. } | DocChange::Delete { path } => path,
        }
    }
}

/// What a batch changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// The generation that holds the batch; unchanged when there was nothing to do.
    pub generation: Generation,
    /// Representations written or replaced.
    pub reps: u64,
    pub chunks_added: u64,
    pub chunks_removed: u64,
    /// Vectors computed (or found again) for the chunks added.
    pub embedded: u64,
}

/// As much of a document as a scan compares with the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDocument {
    pub doc_id: DocId,
    pub size: u64,
    pub mtime_ns: i64,
    pub inode: u64,
    pub content_hash: Option<ContentHash>,
    pub status: DocStatus,
}
