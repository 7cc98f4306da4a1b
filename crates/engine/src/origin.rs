//! Where the texts of documents come from: the port between the tools and what is served. There are two: a folder, whose
//! files are opened as they are now, and a published project, whose records hold what was indexed.
//!
//! Whatever the origin, the policy of this process decides what is shown of it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use discover::{FoundEntry, WalkOptions, walk};
use index::Index;
use ingest::{DocumentReader, FileText, IngestRules, Unshown, read_text};
use model::{ErrorCode, Failure, PathError, RelPath};
use policy::{Guard, OpenError};

use crate::files::ListedPath;
use crate::open_file::{Door, Whole};

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
}

/// Told of every file.
pub(crate) type FileSink<'a> = dyn Fn(ListedPath, &RelPath) + Sync + 'a;

pub(crate) trait Origin: Send + Sync {
    /// The path that a caller means.
    fn locate(&self, index: &Index, written: &str) -> Result<RelPath, PathError>;

    /// A file that may be opened; a folder or a member of an archive is none.
    fn facts(&self, index: &Index, path: &RelPath) -> Result<FileStamp, OpenError>;

    /// The text of a file whose bytes are text.
    fn text(&self, index: &Index, path: &RelPath, max_bytes: u64) -> Result<FileText, Unshown>;

    /// The text of a document, also of a member of an archive, however it was made.
    fn whole(&self, index: &Arc<Index>, path: &RelPath) -> Result<Whole, Failure>;

    /// The way to the bytes of documents, where they are at hand: of a published project only the texts are.
    fn door(&self, _: &Arc<Index>) -> Option<Door<'_>> {
        None
    }

    /// All files that the policy lets be listed, in any order.
    fn files(&self, index: &Index, stop: &AtomicBool, each: &FileSink<'_>) -> Result<(), Failure>;

    /// Whether the index holds what is there now.
    fn is_indexed(&self, index: &Index) -> Result<bool, Failure>;
}

/// The files below a root, as they are now.
pub(crate) struct Folder {
    pub(crate) guard: Guard,
    pub(crate) reader: Arc<dyn DocumentReader>,
    pub(crate) rules: IngestRules,
    pub(crate) walk: WalkOptions,
}

impl Folder {
    fn at(&self, index: &Arc<Index>) -> Door<'_> {
        let index = Arc::clone(index);
        Door { guard: &self.guard, reader: self.reader.as_ref(), rules: &self.rules, index }
    }
}

impl Origin for Folder {
    fn locate(&self, _: &Index, written: &str) -> Result<RelPath, PathError> {
        self.guard.locate(written)
    }

    fn facts(&self, _: &Index, path: &RelPath) -> Result<FileStamp, OpenError> {
        let file = self.guard.open(path)?;
        Ok(FileStamp { size: file.size(), mtime_ns: file.mtime_ns() })
    }

    fn text(&self, _: &Index, path: &RelPath, max_bytes: u64) -> Result<FileText, Unshown> {
        let mut file = self.guard.open(path)?;
        read_text(&self.guard, path, &mut file, max_bytes)
    }

    fn whole(&self, index: &Arc<Index>, path: &RelPath) -> Result<Whole, Failure> {
        self.at(index).whole(path)
    }

    fn door(&self, index: &Arc<Index>) -> Option<Door<'_>> {
        Some(self.at(index))
    }

    fn files(&self, _: &Index, stop: &AtomicBool, each: &FileSink<'_>) -> Result<(), Failure> {
        let sink = |found: FoundEntry| {
            let FoundEntry::File(file) = found else { return };
            let path = file.path.as_str().to_owned();
            each(ListedPath { path, size: file.size, mtime_ns: file.mtime_ns }, &file.path);
        };
        walk(&self.guard, &self.walk, stop, &sink)
            .map_err(|error| Failure::new(ErrorCode::ExtractFailed, error.to_string()))
    }

    fn is_indexed(&self, index: &Index) -> Result<bool, Failure> {
        Ok(ingest::is_current(&self.guard, index, &self.walk)?)
    }
}
