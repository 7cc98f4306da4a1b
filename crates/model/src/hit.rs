//! What a search finds.

use serde::{Deserialize, Serialize};

use crate::{ChunkId, Citation, DocType, Pointer, RepType, Span};

/// A chunk and its score in one ranking, before it is looked up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    pub chunk: ChunkId,
    pub score: f32,
    /// The number of its document in the index, and its place there.
    pub document: u32,
    pub ordinal: u32,
}

/// A hit in the JSON shape of the dir2mcp specification, section 15.1.2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    pub chunk_id: ChunkId,
    pub rel_path: String,
    pub doc_type: DocType,
    pub rep_type: RepType,
    /// Between 0 and 1, comparable within one answer only.
    pub score: f32,
    pub snippet: String,
    pub span: Span,
    /// For the contracts that say more than lines, pages and times; not part of this shape.
    #[serde(skip)]
    pub pointer: Option<Pointer>,
}

impl Hit {
    pub fn citation(&self) -> Citation {
        Citation { chunk_id: self.chunk_id, rel_path: self.rel_path.clone(), span: self.span }
    }
}
