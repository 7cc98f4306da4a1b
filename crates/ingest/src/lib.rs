//! From files to the index: what changed, what it says, where to cut it, and one durable batch after another.
//!
//! ```text
//! discover ─▶ plan ─▶ represent (all cores) ─▶ commit (one writer) ─▶ index
//! ```

mod budget;
pub mod chunk;
mod commit;
mod counters;
mod plan;
mod represent;
mod scan;

pub use chunk::ChunkOptions;
pub use counters::Counters;
pub use scan::{Ingest, IngestError, IngestEvent, IngestOptions};
