//! The façade every caller uses, one file per capability: search, files, symbols, bundles, refresh. An [`Engine`] is one
//! root, a [`Workspace`] all that a process serves.
//!
//! Every method takes a [`Call`]: who asks, until when, and how to stop the work. Every call of a tool is entered in the
//! book of [`Calls`], which counts it and writes its audit line.

mod annotate;
mod annotation;
mod answers;
mod ask;
mod audit;
mod bundle;
mod call;
mod calls;
mod clock;
mod code_search;
mod corpus;
mod document_text;
mod document_view;
mod embedding;
mod engine;
mod files;
mod folders;
mod lock;
mod metrics;
mod model_text;
mod open_file;
mod origin;
mod outliner;
mod place;
mod presence;
mod preview;
mod provider_thread;
mod published;
mod recognition;
mod refresh;
mod refresh_queue;
mod reranking;
mod roots;
mod search;
mod search_files;
mod seen;
mod shared;
mod speak;
pub mod state;
pub mod state_dir;
mod status;
mod suggest;
mod summaries;
mod symbols;
mod tenant_files;
mod transcribe;
mod view;
mod worker;
mod workspace;

pub use annotate::{AnnotateRequest, Annotated, StepSink, Violations};
pub use annotation::{NewAnnotation, StoredAnnotation};
pub use ask::{AnswerSettings, AskAnswer, AskRequest, TextSink};
pub use audit::{AuditLog, AuditRecord, AuditWait};
pub use bundle::{BundleAnswer, BundleRequest, KeepBundle};
pub use call::{Call, Deadline};
pub use calls::{AuditNote, AuditTrail, AuditVerdict, CallSink, Calls, EndedCall};
pub use clock::SystemClock;
pub use code_search::{
    CodeFacts, CodeParts, CodeSearchHit, CodeSearchRequest, CodeSearchResults, FactsOfFile,
};
pub use corpus::{Corpus, ModelNames, read_corpus};
pub use document_text::{DocumentPart, WholeDocument};
pub use document_view::{DocumentView, RawDocument, ViewedText, ViewedUnit, outline_of};
pub use engine::{Engine, EngineConfig, EngineError, IndexingOutcome};
pub use extract::archive::Mode as ArchiveMode;
pub use files::{
    DiskListRequest, FileList, LinesRequest, ListRequest, ListedFile, ListedPath, OpenRequest, OpenedFile,
    OpenedLines,
};
pub use filestore::indexing::{IndexSettings, LocalChunkEmbedder, StoreIndexWorker};
pub use filestore::search::{FileSearch, SearchHit as StoreHit, SearchSettings};
pub use filestore::{
    CallFilter, CallRecord, FileEntry, FileListing, FileSlice, FileVersion, KeyRecord, MutationGuard,
    MutationKey, PathState, ProjectSummary, RateRule, StoreLimits, StoreMetrics, StoreTime, VersionContent,
    WriteOutcome,
};
pub use folders::{
    CountedDocuments, CountedReason, DocumentsRequest, FolderEntry, FolderListRequest, FolderListing,
};
pub use index::{IndexError, survive_cut_files};
pub use ingest::{
    ChunkOptions, DocumentProcesses, DocumentReader, InProcess, IngestError, IngestRules, serve_documents,
};
pub use lang::{COLOURS, ColouredPiece, Language, MAX_COLOURED_BYTES, colour};
pub use lock::writer_of;
pub use place::OpenSelection;
pub use policy::{invisible, visible};
pub use presence::holds;
pub use preview::{Preview, PreviewRequest};
pub use published::{
    LeftUnpublished, PUBLISHED_FORMAT, PublishEvent, PublishReport, PublishRequest, PublishedFeed,
    PublishedProject, StoreFeed,
};
pub use refresh::{FolderReport, FolderRequest, IndexedFolder, Priority, Refreshed};
pub use retrieve::code;
pub use retrieve::summary::{GivenResult, SummaryStyle};
pub use retrieve::symbols::{SymbolDefinition, SymbolUse};
pub use retrieve::windows::{LineHit, Windows};
pub use retrieve::{
    Breakdown, Bundle, Selection as BundleSelection, Skipped as BundleSkipped, Task as BundleTask, Weights,
};
pub use roots::FurtherRoot;
pub use search::{LineHits, ResultPage, Retrieval, SearchFilter, SearchRequest, SearchResults};
pub use search_files::{FoundFiles, MatchingFile, PreviewRules};
pub use speak::SpeakRequest;
pub use status::{IndexStatus, Stats};
pub use summaries::{RewrittenQuery, Summarized, SummaryRequest};
pub use symbols::{Definitions, FileStructure, References, SymbolRequest};
pub use tenant_files::{
    FileChange, FileChangeKind, FileChangeSink, OpenedStore, RerankerMaker, StoreOpener, TenantFiles,
    TenantFilesConfig, WriteIntent, now,
};
pub use transcribe::{TranscribeProgress, TranscribeReport, TranscribeRequest};
pub use view::{FileView, ViewError, outlined_extensions};
pub use worker::{EngineEvent, EventSink};
pub use workspace::Workspace;
