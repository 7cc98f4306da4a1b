//! How far indexing got: the counters of the progress line, `corpus.json` and `dir2mcp.stats`.

use serde::{Deserialize, Serialize};

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
}
