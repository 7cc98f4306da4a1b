//! What a caller asks to be changed.

use model::{ContentHash, ErrorCode, Failure};

use crate::entry::StoreTime;
use crate::path::StorePath;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// At the end of the file; the offset is ignored.
    Append,
    /// From the offset on; what lies behind stays.
    Overwrite,
    /// The content becomes the whole file.
    Truncate,
}

impl WriteMode {
    pub fn parse(text: &str) -> Result<WriteMode, Failure> {
        [
            ("APPEND", WriteMode::Append),
            ("OVERWRITE", WriteMode::Overwrite),
            ("TRUNCATE", WriteMode::Truncate),
        ]
        .into_iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
        .map(|(_, mode)| mode)
        .ok_or_else(|| Failure::new(ErrorCode::InvalidOffset, "mode must be APPEND, OVERWRITE or TRUNCATE"))
    }
}

/// Chosen by the caller: a change that is sent again under the same key happens once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MutationKey(pub String);

/// What a change depends on, and how its repetition is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MutationGuard {
    pub key: Option<MutationKey>,
    /// The file has this content now, or the change fails with PRECONDITION_FAILED.
    pub expected: Option<ContentHash>,
    /// There is no file yet, or the change fails with PRECONDITION_FAILED.
    pub must_be_new: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRequest {
    pub path: StorePath,
    pub content: Vec<u8>,
    pub mode: WriteMode,
    pub offset: i64,
    pub guard: MutationGuard,
}

/// What a write left behind. `bytes_written` counts the content that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOutcome {
    pub bytes_written: u64,
    pub size: u64,
    pub updated_at: StoreTime,
    pub content_hash: ContentHash,
    pub is_new: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteRequest {
    pub path: StorePath,
    pub recursive: bool,
    pub guard: MutationGuard,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameRequest {
    pub from: StorePath,
    pub to: StorePath,
    pub overwrite: bool,
    pub guard: MutationGuard,
}

/// Makes a former content the present one; the present one becomes a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreRequest {
    pub path: StorePath,
    pub version: i64,
    pub guard: MutationGuard,
}
