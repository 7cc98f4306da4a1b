//! What a document is, where it came from and how far it got.

use serde::{Deserialize, Serialize};

use crate::{ContentHash, SkipReason, UnreadParts};

/// A file below the root, or a member of an archive: all that is known of it but its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// From the root, with `/` between names. A name that is not UTF-8 is spelled with replacement characters, which is why
    /// this is no [`crate::RelPath`]: such a document is listed and cannot be opened.
    pub path: String,
    pub source: SourceType,
    pub doc_type: DocType,
    pub size: u64,
    pub mtime_ns: i64,
    /// 0 where the file has to be looked at again: its time stamp cannot be relied on.
    pub inode: u64,
    /// Of its bytes; none where they were not read.
    pub content_hash: Option<ContentHash>,
    /// Why it cannot be searched; none where it can.
    pub reason: Option<SkipReason>,
    /// What a recogniser or a transcriber has yet to read in it.
    pub unread: Option<UnreadParts>,
}

impl Document {
    pub fn status(&self) -> DocStatus {
        match &self.reason {
            None => DocStatus::Ok,
            Some(reason) if reason.is_failure() => DocStatus::Error,
            Some(_) => DocStatus::Skipped,
        }
    }
}

/// Declares an enum whose variants have one stored name each.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            /// Reads the stored name, whatever its case.
            pub fn parse(text: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|value| value.as_str().eq_ignore_ascii_case(text))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use named;

named!(
    /// The document types of the dir2mcp specification, section 5.1.
    DocType {
        Code = "code",
        Text = "text",
        Md = "md",
        Data = "data",
        Html = "html",
        Pdf = "pdf",
        Image = "image",
        Audio = "audio",
        Archive = "archive",
        BinaryIgnored = "binary_ignored",
    }
);

named!(
    SourceType {
        File = "file",
        ArchiveMember = "archive_member",
    }
);

named!(
    DocStatus {
        /// Indexed.
        Ok = "ok",
        /// Left out on purpose; the reason is recorded.
        Skipped = "skipped",
        /// Could not be read or understood; the error is recorded.
        Error = "error",
    }
);

impl DocType {
    /// True where the file itself is text that can be shown by lines.
    pub fn is_textual(self) -> bool {
        matches!(self, DocType::Code | DocType::Text | DocType::Md | DocType::Data | DocType::Html)
    }
}
