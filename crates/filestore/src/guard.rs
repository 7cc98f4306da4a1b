//! What a change depends on, and how its repetition is recognised; the same for every backend.

use model::{ContentHash, ErrorCode, Failure};
use serde_json::{Value, json};

use crate::entry::StoreTime;
use crate::mutation::{
    DeleteRequest, MutationGuard, RenameRequest, RestoreRequest, WriteMode, WriteOutcome, WriteRequest,
};

/// Whether the file is the one that the caller expects. A move expects it at its source, and nothing new at its end.
pub fn check_guard(
    guard: &MutationGuard,
    present: Option<ContentHash>,
    would_be_new: bool,
) -> Result<(), Failure> {
    let refused = |message| Err(Failure::new(ErrorCode::PreconditionFailed, message));
    if guard.expected.is_some_and(|expected| present != Some(expected)) {
        return refused("the file is not the one that was expected: it has changed, or is gone");
    }
    if guard.must_be_new && !would_be_new {
        return refused("there is a file already");
    }
    Ok(())
}

/// What was asked, in 32 bytes: a key that comes again has to come with the same request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestDigest([u8; 32]);

impl RequestDigest {
    pub fn of_write(request: &WriteRequest) -> RequestDigest {
        let mode = match request.mode {
            WriteMode::Append => "APPEND",
            WriteMode::Overwrite => "OVERWRITE",
            WriteMode::Truncate => "TRUNCATE",
        };
        let offset = request.offset.to_string();
        let parts: [&[u8]; 4] =
            [request.path.as_str().as_bytes(), mode.as_bytes(), offset.as_bytes(), &request.content];
        RequestDigest::of("write", &request.guard, &parts)
    }

    pub fn of_delete(request: &DeleteRequest) -> RequestDigest {
        let recursive: &[u8] = if request.recursive { b"recursive" } else { b"" };
        RequestDigest::of("delete", &request.guard, &[request.path.as_str().as_bytes(), recursive])
    }

    pub fn of_rename(request: &RenameRequest) -> RequestDigest {
        let overwrite: &[u8] = if request.overwrite { b"overwrite" } else { b"" };
        let parts = [request.from.as_str().as_bytes(), request.to.as_str().as_bytes(), overwrite];
        RequestDigest::of("rename", &request.guard, &parts)
    }

    pub fn of_restore(request: &RestoreRequest) -> RequestDigest {
        let version = request.version.to_string();
        RequestDigest::of("restore", &request.guard, &[request.path.as_str().as_bytes(), version.as_bytes()])
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Every part is preceded by its length, so that no two lists of parts look alike.
    fn of(operation: &str, guard: &MutationGuard, parts: &[&[u8]]) -> RequestDigest {
        let mut hasher = blake3::Hasher::new();
        let expected: &[u8] = guard.expected.as_ref().map_or(b"", |hash| &hash.0);
        let is_new: &[u8] = if guard.must_be_new { b"new" } else { b"" };
        for part in [operation.as_bytes(), expected, is_new].iter().chain(parts) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        RequestDigest(*hasher.finalize().as_bytes())
    }
}

/// What is remembered of a change under its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MutationOutcome {
    Written(WriteOutcome),
    /// How many files were deleted or moved.
    Counted(u64),
}

impl MutationOutcome {
    pub fn to_json(&self) -> Value {
        match self {
            MutationOutcome::Counted(count) => json!({ "count": count }),
            MutationOutcome::Written(outcome) => json!({
                "bytes_written": outcome.bytes_written,
                "size": outcome.size,
                "updated_at": outcome.updated_at.0,
                "content_hash": outcome.content_hash.to_hex(),
                "is_new": outcome.is_new,
            }),
        }
    }

    /// Reads what [`MutationOutcome::to_json`] wrote.
    pub fn from_json(value: &Value) -> Option<MutationOutcome> {
        if let Some(count) = value.get("count") {
            return count.as_u64().map(MutationOutcome::Counted);
        }
        Some(MutationOutcome::Written(WriteOutcome {
            bytes_written: value.get("bytes_written")?.as_u64()?,
            size: value.get("size")?.as_u64()?,
            updated_at: StoreTime(value.get("updated_at")?.as_i64()?),
            content_hash: ContentHash::from_hex(value.get("content_hash")?.as_str()?)?,
            is_new: value.get("is_new")?.as_bool()?,
        }))
    }

    /// Of a write or a restoration.
    pub fn into_written(self) -> Result<WriteOutcome, Failure> {
        match self {
            MutationOutcome::Written(outcome) => Ok(outcome),
            MutationOutcome::Counted(_) => Err(reused_key()),
        }
    }

    /// Of a deletion or a move.
    pub fn into_count(self) -> Result<u64, Failure> {
        match self {
            MutationOutcome::Counted(count) => Ok(count),
            MutationOutcome::Written(_) => Err(reused_key()),
        }
    }
}

/// The answer to a key that was used for something else.
pub fn reused_key() -> Failure {
    Failure::new(ErrorCode::InvalidQuery, "this mutation key was used for another change")
        .hint("Choose a new key for each change, and repeat it only with the same arguments.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::StorePath;

    #[test]
    fn outcomes_round_trip() {
        let written = MutationOutcome::Written(WriteOutcome {
            bytes_written: 3,
            size: 8,
            updated_at: StoreTime(17),
            content_hash: ContentHash([9; 32]),
            is_new: true,
        });
        for outcome in [written, MutationOutcome::Counted(7)] {
            assert_eq!(MutationOutcome::from_json(&outcome.to_json()), Some(outcome));
        }
    }

    #[test]
    fn digests_differ_in_every_argument() {
        let path = |text: &str| StorePath::parse(text).unwrap();
        let write = |path: StorePath, content: &[u8], mode, offset, guard| {
            RequestDigest::of_write(&WriteRequest { path, content: content.to_vec(), mode, offset, guard })
        };
        let none = MutationGuard::default();
        let new = MutationGuard { must_be_new: true, ..MutationGuard::default() };
        let digests = [
            write(path("/a"), b"x", WriteMode::Append, 0, none.clone()),
            write(path("/b"), b"x", WriteMode::Append, 0, none.clone()),
            write(path("/a"), b"y", WriteMode::Append, 0, none.clone()),
            write(path("/a"), b"x", WriteMode::Truncate, 0, none.clone()),
            write(path("/a"), b"x", WriteMode::Append, 1, none.clone()),
            write(path("/a"), b"x", WriteMode::Append, 0, new),
            RequestDigest::of_delete(&DeleteRequest {
                path: path("/a"),
                recursive: false,
                guard: none.clone(),
            }),
            RequestDigest::of_delete(&DeleteRequest {
                path: path("/a"),
                recursive: true,
                guard: none.clone(),
            }),
            RequestDigest::of_rename(&RenameRequest {
                from: path("/a"),
                to: path("/b"),
                overwrite: false,
                guard: none.clone(),
            }),
            RequestDigest::of_restore(&RestoreRequest { path: path("/a"), version: 1, guard: none }),
        ];
        for (at, digest) in digests.iter().enumerate() {
            assert_eq!(digests.iter().position(|other| other == digest), Some(at));
        }
    }
}
