//! The façade every caller uses: one object, one method per capability. It checks the caller's request, keeps the
//! clock and the cancellation, runs the work off the async threads, and writes one audit line per call.

mod answers;
pub mod api;
mod audit;
mod corpus;
mod document_processes;
mod embedding;
mod engine;
mod lock;
mod metrics;
mod open_file;
mod outliner;
mod presence;
pub mod repo;
mod seen;
pub mod smart;
pub mod state;
pub mod state_dir;
mod suggest;
mod worker;

pub use api::{
    AskAnswer, Call, FileList, ListRequest, ListedFile, ModelNames, OpenRequest, OpenedFile, SearchAnswer,
    Selection, Stats,
};
pub use audit::{AuditLog, AuditRecord};
pub use corpus::{Corpus, read_corpus};
pub use document_processes::{DocumentProcesses, serve_documents};
pub use engine::{Engine, EngineConfig, EngineError, IndexingOutcome};
pub use index::{IndexError, survive_cut_files};
pub use ingest::{ArchiveMode, ChunkOptions, DocumentReader, InProcess, IngestError, IngestRules};
pub use lock::writer_of;
pub use metrics::{Metrics, metrics_page};
pub use policy::{invisible, visible};
pub use presence::holds;
pub use retrieve::{
    Breakdown, Bundle, Selection as BundleSelection, Skipped as BundleSkipped, Task as BundleTask, Weights,
};
pub use worker::{Event, EventSink};
