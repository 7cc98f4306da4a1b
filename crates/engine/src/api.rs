//! What callers hand to the engine and get back: plain values, in no contract's words.

use std::sync::Arc;

use model::{Caller, Citation, DocStatus, DocType, Hit, IndexUsed, Progress, Span};
use tokio_util::sync::CancellationToken;

/// What every call brings along: who asks, by which tool, and how to stop it.
#[derive(Debug, Clone)]
pub struct Call {
    pub tool: &'static str,
    pub caller: Caller,
    pub cancel: CancellationToken,
}

impl Call {
    /// A call from the command line, which nobody cancels but the process itself.
    pub fn cli(tool: &'static str) -> Call {
        Call { tool, caller: Caller::cli(), cancel: CancellationToken::new() }
    }
}

#[derive(Debug, Clone)]
pub struct SearchAnswer {
    pub query: String,
    pub k: usize,
    pub index_used: IndexUsed,
    /// Shared by all who ask the same of the same generation.
    pub hits: Arc<[Hit]>,
    pub indexing_complete: bool,
}

#[derive(Debug, Clone)]
pub struct AskAnswer {
    pub question: String,
    /// Absent when the caller asked for hits only, or generation is switched off.
    pub answer: Option<String>,
    pub citations: Vec<Citation>,
    pub hits: Vec<Hit>,
    pub indexing_complete: bool,
}

#[derive(Debug, Clone)]
pub struct OpenRequest {
    /// As the caller wrote it; the engine checks it.
    pub rel_path: String,
    pub selection: Selection,
    pub max_chars: usize,
}

/// Which part of a document to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// The beginning: first characters, first page or start of the transcript.
    Start,
    Lines {
        start: u32,
        end: u32,
    },
    Page(u32),
    Time {
        start_ms: u64,
        end_ms: u64,
    },
}

#[derive(Debug, Clone)]
pub struct OpenedFile {
    pub rel_path: String,
    pub doc_type: DocType,
    /// What the content covers; absent for an empty file.
    pub span: Option<Span>,
    pub content: String,
    pub truncated: bool,
    /// The file is no longer what the index holds of it.
    pub changed_since_indexed: bool,
}

#[derive(Debug, Clone)]
pub struct ListRequest {
    pub path_prefix: Option<String>,
    pub glob: Option<String>,
    pub limit: usize,
    pub offset: usize,
}

#[derive(Debug, Clone)]
pub struct FileList {
    pub limit: usize,
    pub offset: usize,
    /// How many files match in all.
    pub total: u64,
    pub files: Vec<ListedFile>,
}

#[derive(Debug, Clone)]
pub struct ListedFile {
    pub rel_path: String,
    pub doc_type: DocType,
    pub size_bytes: u64,
    pub mtime_unix: i64,
    pub status: DocStatus,
    /// Why the file is not searchable, where it is not.
    pub reason: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Stats {
    pub root: String,
    pub state_dir: String,
    pub indexing: Progress,
    pub models: ModelNames,
}

/// The models in use, by the names that `corpus.json` and `dir2mcp.stats` show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelNames {
    pub embed_text: String,
    pub embed_code: String,
    pub ocr: String,
    pub stt_provider: String,
    pub stt_model: String,
    pub chat: String,
}
