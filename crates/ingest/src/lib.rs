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
mod facts;
mod kept;
mod left_out;
mod members;
mod outcome;
mod outlet;
mod outline;
mod pace;
mod plan;
mod recognize;
mod represent;
mod rules;
mod scan;
mod source;
mod text;
mod text_pages;
mod texts;

pub use chunk::ChunkOptions;
pub use counters::Counters;
pub use documents::{
    Archive, ContentKind, DocumentProcesses, DocumentReader, DocumentText, Extractor, InProcess,
    serve_documents, unread,
};
pub use embed::{EmbedReport, embed_pending};
pub use facts::{facts_all, facts_of};
pub use kept::{Annotation, KeptPage, KeptTexts};
pub use outline::{ReadText, extensions, languages, outline_all, structure, summary};
pub use recognize::{
    DocumentDesk, LoadedDocument, ReadEvent, ReadReport, TranscribeWish, Turns, recognize_pending,
    transcribe, transcribe_pending,
};
pub use represent::lacking;
pub use rules::IngestRules;
pub use scan::{Ingest, IngestError, IngestEvent, IngestOptions, has_finished, is_current, set_finished};
pub use source::DocumentSource;
pub use text::{FileText, Unshown, read_text};
pub use text_pages::TextPages;
pub use texts::{DocumentTexts, TextLayer};
