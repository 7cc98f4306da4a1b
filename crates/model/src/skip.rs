//! Why a file was left out. Every file that is not searchable has one of these recorded.

use serde::{Deserialize, Serialize};

/// Stored in `documents.error` as `CODE: sentence`, and shown by `dir2mcp status --files`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkipReason {
    /// No text representation is made for this type (yet): binaries, archives, media.
    Unsupported {
        doc_type: String,
    },
    TooLarge {
        size: u64,
        limit: u64,
    },
    /// The content matched a secret rule; the rule is named, the match never.
    Secret {
        rule: String,
    },
    /// A symbolic link that the policy does not follow, or that leaves the root.
    Symlink,
    /// FIFO, socket or device.
    Special {
        kind: String,
    },
    NameNotUtf8,
    PathTooDeep,
    /// The content says binary although the name said text.
    Binary,
}

impl SkipReason {
    pub fn code(&self) -> &'static str {
        match self {
            SkipReason::Unsupported { .. } => "DOC_TYPE_UNSUPPORTED",
            SkipReason::TooLarge { .. } => "FILE_TOO_LARGE",
            SkipReason::Secret { .. } => "FORBIDDEN",
            SkipReason::Symlink => "SYMLINK_SKIPPED",
            SkipReason::Special { .. } => "SPECIAL_FILE",
            SkipReason::NameNotUtf8 => "NAME_NOT_UTF8",
            SkipReason::PathTooDeep => "PATH_TOO_DEEP",
            SkipReason::Binary => "BINARY_SKIPPED",
        }
    }
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.code())?;
        match self {
            SkipReason::Unsupported { doc_type } => write!(f, "no text is extracted from {doc_type} files"),
            SkipReason::TooLarge { size, limit } => {
                write!(f, "{size} bytes exceed the limit of {limit} (ingest.max_file_mb)")
            }
            SkipReason::Secret { rule } => {
                write!(f, "the content matches the secret rule \"{rule}\" (security.secret_patterns)")
            }
            SkipReason::Symlink => f.write_str("a symbolic link is not followed (ingest.follow_symlinks)"),
            SkipReason::Special { kind } => write!(f, "a {kind} is never opened"),
            SkipReason::NameNotUtf8 => f.write_str("the file name is not UTF-8"),
            SkipReason::PathTooDeep => f.write_str("the path is too long to open"),
            SkipReason::Binary => f.write_str("the content is binary"),
        }
    }
}
