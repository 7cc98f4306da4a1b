//! Why a file was left out. Every file that is not searchable has one of these recorded.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Failure};

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
        /// Where in the text, counted from 1.
        line: u32,
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
    /// A format that is known but not read; the hint says what to do.
    OldFormat {
        format: String,
        hint: String,
    },
    /// Needs a password.
    Encrypted {
        format: String,
    },
    /// So broken that nothing could be read.
    Damaged {
        format: String,
        detail: String,
    },
    /// Built to exhaust whoever opens it, or more than the limits allow.
    Refused {
        format: String,
        detail: String,
    },
    /// Read to the end, and there is no text in it.
    NoText {
        format: String,
    },
    /// The reading took longer than a document may.
    TookTooLong {
        format: String,
    },
    /// An archive that was read up to a fault or a bound; the members before it are kept.
    PartlyRead {
        format: String,
        detail: String,
        members: u32,
    },
    /// A member of an archive that is left out.
    Member {
        detail: String,
    },
    /// A setting leaves this kind of document out.
    SwitchedOff {
        doc_type: String,
        setting: String,
    },
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
            SkipReason::OldFormat { .. } => "DOC_TYPE_UNSUPPORTED",
            SkipReason::Encrypted { .. } => "ENCRYPTED",
            SkipReason::Damaged { .. } => "EXTRACT_FAILED",
            SkipReason::Refused { .. } => "CONTENT_REFUSED",
            SkipReason::NoText { .. } => "NO_TEXT",
            SkipReason::TookTooLong { .. } => "TIMEOUT",
            SkipReason::PartlyRead { .. } => "EXTRACT_FAILED",
            SkipReason::Member { .. } => "MEMBER_SKIPPED",
            SkipReason::SwitchedOff { .. } => "DOC_TYPE_UNSUPPORTED",
        }
    }
}

impl SkipReason {
    /// The file should have had a text, and something went wrong while it was read. Everything else is left out on
    /// purpose.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            SkipReason::Damaged { .. } | SkipReason::TookTooLong { .. } | SkipReason::PartlyRead { .. }
        )
    }

    /// What a caller is told who asks for such a file.
    pub fn failure(&self, path: &str) -> Failure {
        let code = match self {
            _ if self.is_failure() => ErrorCode::ExtractFailed,
            SkipReason::Binary => ErrorCode::BinarySkipped,
            SkipReason::TooLarge { .. } => ErrorCode::FileTooLarge,
            SkipReason::Secret { .. } => ErrorCode::Forbidden,
            _ => ErrorCode::DocTypeUnsupported,
        };
        Failure::new(code, format!("{path}: {}", Sentence(self)))
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), Sentence(self))
    }
}

/// The reason without its code.
struct Sentence<'a>(&'a SkipReason);

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            SkipReason::Unsupported { doc_type } => {
                write!(f, "no text is extracted from {doc_type} files")?;
                match doc_type.as_str() {
                    "image" => f.write_str("; text in pictures takes OCR, by a provider or by Tesseract"),
                    "audio" => f.write_str("; speech takes a provider that transcribes it"),
                    _ => Ok(()),
                }
            }
            SkipReason::TooLarge { size, limit } => {
                write!(f, "{size} bytes exceed the limit of {limit} (ingest.max_file_mb)")
            }
            SkipReason::Secret { rule, line } => write!(
                f,
                "line {line} matches the secret rule \"{rule}\"; if it is no secret, name the path or the line in security.allow"
            ),
            SkipReason::Symlink => f.write_str("a symbolic link is not followed (ingest.follow_symlinks)"),
            SkipReason::Special { kind } => write!(f, "a {kind} is never opened"),
            SkipReason::NameNotUtf8 => f.write_str("the file name is not UTF-8"),
            SkipReason::PathTooDeep => f.write_str("the path is too long to open"),
            SkipReason::Binary => f.write_str("the content is binary"),
            SkipReason::OldFormat { format, hint } => write!(f, "{format} files are not read; {hint}"),
            SkipReason::Encrypted { format } => {
                write!(f, "the {format} file needs a password; save a copy without one")
            }
            SkipReason::Damaged { format, detail } => write!(
                f,
                "the {format} file is damaged ({detail}); open it in its own program and save it again"
            ),
            SkipReason::Refused { format, detail } => write!(f, "the {format} file is refused: {detail}"),
            SkipReason::NoText { format } => {
                write!(f, "the {format} file holds no text; a scan needs OCR (ingest.pdf.mode)")
            }
            SkipReason::TookTooLong { format } => {
                write!(f, "reading the {format} file took longer than a document may; split it")
            }
            SkipReason::PartlyRead { format, detail, members } => {
                write!(
                    f,
                    "the {format} file was read up to a point ({detail}); {members} members were listed"
                )
            }
            SkipReason::Member { detail } => f.write_str(detail),
            SkipReason::SwitchedOff { doc_type, setting } => {
                write!(f, "{doc_type} files are left out by {setting}")
            }
        }
    }
}
