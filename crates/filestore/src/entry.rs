//! What is told of files: states, listings, slices, versions.

use model::ContentHash;

use crate::path::StorePath;
use crate::project::ProjectName;

/// Microseconds since 1970 in UTC, the precision that PostgreSQL keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreTime(pub i64);

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathState {
    Nothing,
    File {
        size: u64,
        created_at: StoreTime,
        updated_at: StoreTime,
        content_hash: ContentHash,
    },
    /// `updated_at` is that of its newest file; the root of an empty project has none.
    Directory {
        updated_at: Option<StoreTime>,
    },
}

/// A file or a synthesised directory of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    pub path: StorePath,
    /// Of a file: when it was made. Directories have no time of their own.
    pub created_at: Option<StoreTime>,
    pub updated_at: Option<StoreTime>,
    pub size: u64,
    pub is_directory: bool,
}

/// Entries in the byte order of their paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileListing {
    pub entries: Vec<FileEntry>,
    pub has_more: bool,
}

/// Bytes of a file, from the asked offset on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSlice {
    pub bytes: Vec<u8>,
    /// Of the whole file.
    pub size: u64,
    pub updated_at: StoreTime,
    /// BLAKE3 of the whole file: the entity tag of the HTTP API.
    pub content_hash: ContentHash,
}

/// A former content of a file. Ids are unique within a store and only valid for their tenant, project and path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    pub id: i64,
    pub size: u64,
    /// When this content was replaced or deleted.
    pub created_at: StoreTime,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionContent {
    pub version: FileVersion,
    pub bytes: Vec<u8>,
}

/// A project as its tenant sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSummary {
    pub project: ProjectName,
    pub files: u64,
    pub bytes: u64,
    pub updated_at: Option<StoreTime>,
}
