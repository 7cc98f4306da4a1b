//! From files to the index: what changed, what it says, where to cut it, and one durable batch after another.
//!
//! ```text
//! discover ─▶ plan ─▶ represent (all cores) ─▶ commit (one writer) ─▶ index
//! ```

mod budget;
mod change;
pub mod chunk;
mod commit;
mod counters;
mod documents;
mod embed;
mod extracted;
mod left_out;
mod members;
mod outcome;
mod outlet;
mod outline;
mod plan;
mod represent;
mod rules;
mod scan;
mod text;
mod text_pages;

pub use chunk::ChunkOptions;
pub use counters::Counters;
pub use documents::{
    Archive, ContentKind, DocumentProcesses, DocumentReader, DocumentText, Extractor, InProcess,
    serve_documents, unread,
};
pub use embed::{EmbedReport, embed_pending};
pub use outline::{extensions, languages, outline_all, structure, summary};
pub use rules::IngestRules;
pub use scan::{Ingest, IngestError, IngestEvent, IngestOptions, has_finished, is_current};
pub use text::{FileText, Unshown, read_text};
pub use text_pages::TextPages;
