//! How far indexing got: the counters of the progress line, `corpus.json` and `dir2mcp.stats`.

use serde::{Deserialize, Serialize};

use crate::Ignored;

crate::document::named!(
    IndexMode {
        Incremental = "incremental",
        Full = "full",
    }
);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub job_id: String,
    pub running: bool,
    pub mode: IndexMode,
    /// Files seen by the scan.
    pub scanned: u64,
    /// Documents (re)indexed by this job.
    pub indexed: u64,
    /// Files left out or unchanged.
    pub skipped: u64,
    pub deleted: u64,
    pub representations: u64,
    pub chunks_total: u64,
    pub embedded_ok: u64,
    pub errors: u64,
    /// Files that were indexed before and have not changed; they are among the skipped ones.
    #[serde(default)]
    pub unchanged: u64,
    /// Documents of the whole index that a search can find.
    #[serde(default)]
    pub searchable: u64,
    /// Documents of the whole index that no search finds, each with its reason.
    #[serde(default)]
    pub not_searchable: u64,
    /// Pages and pictures of the whole index whose text was recognised.
    #[serde(default)]
    pub recognized_pages: u64,
    /// Recordings of the whole index that were transcribed.
    #[serde(default)]
    pub transcripts: u64,
    /// Documents of the whole index in which something is still unread.
    #[serde(default)]
    pub unread: u64,
    /// Files that this job has read so far.
    #[serde(skip)]
    pub read: u64,
    /// Files that this job has to read, known once the whole folder has been walked.
    #[serde(skip)]
    pub to_read: Option<u64>,
    /// What the last walk of the whole tree left out by a rule, which has no row; none of it is among the scanned.
    #[serde(default)]
    pub ignored: Vec<Ignored>,
    /// What the owner of the files should know about what was left out.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Progress {
    /// Before anything was done.
    pub fn nothing() -> Progress {
        Progress {
            job_id: String::new(),
            running: false,
            mode: IndexMode::Incremental,
            scanned: 0,
            indexed: 0,
            skipped: 0,
            deleted: 0,
            representations: 0,
            chunks_total: 0,
            embedded_ok: 0,
            errors: 0,
            unchanged: 0,
            searchable: 0,
            not_searchable: 0,
            recognized_pages: 0,
            transcripts: 0,
            unread: 0,
            read: 0,
            to_read: Some(0),
            ignored: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Files and folders that a rule left out.
    pub fn ignored_total(&self) -> u64 {
        self.ignored.iter().map(|ignored| ignored.files + ignored.folders).sum()
    }

    /// Together with another: running while either is.
    #[must_use]
    pub fn with(self, other: &Progress) -> Progress {
        Progress {
            running: self.running || other.running,
            scanned: self.scanned + other.scanned,
            indexed: self.indexed + other.indexed,
            skipped: self.skipped + other.skipped,
            deleted: self.deleted + other.deleted,
            representations: self.representations + other.representations,
            chunks_total: self.chunks_total + other.chunks_total,
            embedded_ok: self.embedded_ok + other.embedded_ok,
            errors: self.errors + other.errors,
            unchanged: self.unchanged + other.unchanged,
            searchable: self.searchable + other.searchable,
            not_searchable: self.not_searchable + other.not_searchable,
            recognized_pages: self.recognized_pages + other.recognized_pages,
            transcripts: self.transcripts + other.transcripts,
            unread: self.unread + other.unread,
            read: self.read + other.read,
            to_read: self.to_read.zip(other.to_read).map(|(own, others)| own + others),
            ignored: self.ignored.iter().chain(&other.ignored).cloned().collect(),
            notes: self.notes.iter().chain(&other.notes).cloned().collect(),
            ..self
        }
    }
}
