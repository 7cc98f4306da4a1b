//! What the indexing pipeline asks of the index, and what it gets back.

use model::{Chunk, ContentHash, DocId, DocStatus, DocType, Generation, RepType, SourceType};

/// Changes that become durable together or not at all.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub changes: Vec<DocChange>,
}

#[derive(Debug, Clone)]
pub enum DocChange {
    /// This is the document now, whatever was known of the path before.
    Put {
        path: String,
        source: SourceType,
        doc_type: DocType,
        size: u64,
        mtime_ns: i64,
        inode: u64,
        content_hash: Option<ContentHash>,
        status: DocStatus,
        error: Option<String>,
        /// The document's text, cut into chunks. Without one, what it had is tombstoned.
        rep: Option<NewRep>,
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

#[derive(Debug, Clone)]
pub struct NewRep {
    pub rep_type: RepType,
    /// Equal hashes mean equal chunks: they are then not even looked at.
    pub rep_hash: ContentHash,
    pub meta_json: String,
    pub chunks: Vec<Chunk>,
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

/// A document as the last scan left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub doc_id: DocId,
    pub size: u64,
    pub mtime_ns: i64,
    pub inode: u64,
    pub content_hash: Option<ContentHash>,
    pub status: DocStatus,
}
