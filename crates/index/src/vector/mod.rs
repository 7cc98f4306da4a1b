//! The vector indices, `vectors_text.hnsw` and `vectors_code.hnsw`: one vector per chunk, labelled by its id.
//!
//! A search compares the query with every vector, exactly. In a large index it looks at a sketch of each vector first,
//! and compares only those that can be among the best ([`search`], [`sketch`]). The names of the files are those of the
//! specification; there is no graph in them.
//!
//! What was measured instead, over chunks of source code with questions of a few words, which lie farther from all
//! chunks than these from each other:
//!
//! - HNSW (16 links, 100 candidates) took 166 s of CPU time to build over 300,000 vectors, and found 0.94 of the best
//!   ten in 0.8 ms, 0.97 in 5.7 ms. It needs a file of its own that can be behind or damaged, its answers depend on the order
//!   of insertion, and a filter makes it lose hits.
//! - Lists by k-means (1,024 over 356,000 vectors) had to be read to 30 % for 0.985 of the best ten.
//! - Sketches find more than 0.99 of the best 10, 50 and 400. At a million vectors the best 50 take a fifth of a scan's
//!   time. They cost 36 bytes of memory a row, and nothing on disk.

mod dot;
mod file;
mod labels;
mod map;
mod quantize;
mod search;
mod sketch;
mod view;
mod writer;

pub(crate) use file::{Damage, Expected};
pub(crate) use quantize::stride;
pub(crate) use view::{Liveness, VectorView};
pub(crate) use writer::{PendingRow, VectorWriter};

use model::IndexKind;

pub(crate) fn file_name(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::Text => "vectors_text.hnsw",
        IndexKind::Code => "vectors_code.hnsw",
    }
}
