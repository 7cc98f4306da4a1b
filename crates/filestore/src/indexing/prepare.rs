//! Makes the chunks of a file's content, with their words: the part of indexing that needs no store.

use model::{ContentHash, IndexKind};

use super::chunker::{CHUNKER_VERSION, ChunkBounds, chunk_ranges, chunk_text};
use super::job::{IndexedMark, NewChunk};
use super::words::{ChunkWords, tokenizer_name};
use crate::path::StorePath;

/// What is recorded of a content that was indexed in the present way.
pub fn mark_of(content: &[u8]) -> IndexedMark {
    IndexedMark { content_hash: hash_bytes(content), chunker: CHUNKER_VERSION, tokenizer: tokenizer_name() }
}

/// The chunks of a content, without vectors.
pub fn chunks_of(path: &StorePath, kind: IndexKind, content: &[u8], bounds: ChunkBounds) -> Vec<NewChunk> {
    let ranges = chunk_ranges(content, bounds.of(kind));
    let chunks = ranges.into_iter().enumerate().map(|(index, range)| {
        let bytes = &content[range.clone()];
        let text = chunk_text(bytes);
        NewChunk {
            index: index as u32,
            range: range.start as u64..range.end as u64,
            words: ChunkWords::of(path, &text),
            content_hash: hash_bytes(bytes),
            text,
            vector: None,
        }
    });
    chunks.collect()
}

pub(crate) fn hash_bytes(bytes: &[u8]) -> ContentHash {
    ContentHash(*blake3::hash(bytes).as_bytes())
}
