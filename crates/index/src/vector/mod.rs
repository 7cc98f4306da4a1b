//! The vector indices, `vectors_text.hnsw` and `vectors_code.hnsw`: one vector per chunk, labelled by its id.
//!
//! The search is an exact scan. Below some hundred thousand vectors it beats a graph: nothing to build, nothing
//! to keep consistent, the same answer always. The file has room for a graph over the same rows, for the day
//! when an index is larger than that (see [`file`]).

mod dot;
mod file;
mod map;
mod quantize;
mod view;
mod writer;

pub(crate) use file::{Damage, Expected};
pub(crate) use quantize::{quantize, stride};
pub(crate) use view::{Liveness, VectorView};
pub(crate) use writer::{PendingRow, VectorWriter};

use model::IndexKind;

pub(crate) fn file_name(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::Text => "vectors_text.hnsw",
        IndexKind::Code => "vectors_code.hnsw",
    }
}
