//! Rows as a store has them, before anything is taken for granted about them.

use crate::record::KeyRecord;

/// Whose file it is and where, in the order of the tables' indices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKey {
    /// 64 hexadecimal digits, as the column `apikey_hash` holds them.
    pub tenant: String,
    pub project: String,
    pub path: String,
}

impl FileKey {
    /// For people: the tenant shortened, as everywhere.
    pub(super) fn shown(&self) -> String {
        let tenant = self.tenant.get(..12).unwrap_or(&self.tenant);
        format!("{tenant} {} {}", self.project, self.path)
    }
}

/// An active file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    pub id: i64,
    pub key: FileKey,
    pub content: Vec<u8>,
    pub size: i64,
    pub created_at: i64,
    pub updated_at: i64,
    /// The digest that is kept beside the file; `None` where it is missing.
    pub content_hash: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRow {
    pub id: i64,
    pub key: FileKey,
    pub index: i64,
    pub start: i64,
    pub end: i64,
    pub text: String,
    pub content_hash: String,
    pub has_vector: bool,
    pub has_words: bool,
}

/// A job that is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    pub id: i64,
    pub key: FileKey,
    pub operation: String,
    pub status: String,
    pub available_at: i64,
    /// When the lease of its worker ends; `None` if no worker has it.
    pub leased_until: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRow {
    pub id: i64,
    pub key: FileKey,
    pub size: i64,
    pub created_at: i64,
    pub content: Vec<u8>,
}

/// The sums of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRow {
    pub tenant: String,
    pub project: String,
    pub files: i64,
    pub bytes: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrphanCounts {
    pub vectors: u64,
    pub words: u64,
    pub leases: u64,
}

/// A row of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadedRow {
    File { key: FileKey, content: Vec<u8>, created_at: i64, updated_at: i64 },
    Version { key: FileKey, content: Vec<u8>, created_at: i64 },
    Key(KeyRecord),
}
