//! Index jobs: what a change of a file leaves to be done, and the lease under which a worker does it.

use std::ops::Range;

use model::ContentHash;

use super::words::ChunkWords;
use crate::entry::StoreTime;
use crate::path::StorePath;
use crate::project::ProjectScope;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobOperation {
    Upsert,
    Delete,
}

impl JobOperation {
    /// As the column `operation` holds it.
    pub fn as_str(self) -> &'static str {
        match self {
            JobOperation::Upsert => "UPSERT",
            JobOperation::Delete => "DELETE",
        }
    }

    pub fn parse(text: &str) -> JobOperation {
        if text == "DELETE" { JobOperation::Delete } else { JobOperation::Upsert }
    }
}

/// The proof that a worker holds a job. A job that was claimed again has another token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobLease {
    pub bucket: u32,
    pub job: i64,
    pub token: i64,
}

/// A claimed job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexJob {
    pub lease: JobLease,
    pub scope: ProjectScope,
    pub path: StorePath,
    pub operation: JobOperation,
    /// The state of the file that the job was written for.
    pub file_updated_at: Option<StoreTime>,
    /// Attempts that failed or whose worker vanished.
    pub retry_count: u32,
    pub created_at: StoreTime,
}

/// How jobs are claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobClaim {
    pub worker: String,
    pub now: StoreTime,
    pub lease_until: StoreTime,
    /// No job is due and no lease ends later than this: what is was written before the clock was set back, and counts as due.
    pub horizon: StoreTime,
    pub batch: usize,
    /// A job whose workers vanished more often than this fails.
    pub retry_max: u32,
}

/// The latest state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestFile {
    pub content: Vec<u8>,
    pub updated_at: StoreTime,
    /// What the index holds of it, if anything.
    pub indexed: Option<IndexedMark>,
}

/// Which content the chunks of a file were made of, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedMark {
    pub content_hash: ContentHash,
    pub chunker: u32,
    pub tokenizer: String,
}

/// A chunk as it is to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChunk {
    pub index: u32,
    pub range: Range<u64>,
    pub text: String,
    pub content_hash: ContentHash,
    pub words: ChunkWords,
    pub vector: Option<Vec<f32>>,
}

/// All chunks of the latest state of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChunks {
    pub file_updated_at: StoreTime,
    pub mark: IndexedMark,
    /// Whose vectors the chunks carry.
    pub model: String,
    pub chunks: Vec<NewChunk>,
    pub now: StoreTime,
}

/// What became of an attempt to store something under a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeasedWrite {
    Written,
    /// Another worker has the job now.
    LeaseLost,
    /// The file is not what it was when it was loaded; a later job has the present state.
    FileChanged,
}

/// A chunk without a vector of the wanted model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkWithoutVector {
    pub id: i64,
    pub text: String,
    pub content_hash: ContentHash,
}

/// A vector for a chunk, if it still has the same text.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkVector {
    pub id: i64,
    pub content_hash: ContentHash,
    pub vector: Vec<f32>,
}

/// How much is waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexQueue {
    pub pending: u64,
    pub processing: u64,
    pub failed: u64,
    /// When the oldest job was written that is not done.
    pub oldest: Option<StoreTime>,
}
