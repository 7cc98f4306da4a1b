//! The piece of a representation that is indexed, found and cited.

use serde::{Deserialize, Serialize};

use crate::{ChunkId, ContentHash, Heading, Pointer, Span};

crate::document::named!(
    /// Which of the two vector indices a chunk belongs to.
    IndexKind {
        Text = "text",
        Code = "code",
    }
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub id: ChunkId,
    /// Position within the representation, from 0.
    pub ordinal: u32,
    pub span: Span,
    /// The place as people say it, where lines do not: a page, a slide, rows of a sheet, a section.
    pub pointer: Option<Pointer>,
    /// What stands above its first line; empty where nothing does.
    pub heading: Heading,
    pub kind: IndexKind,
    pub text: String,
    pub text_hash: ContentHash,
    /// A rough count of model tokens (four bytes each).
    pub tokens_est: u32,
}
