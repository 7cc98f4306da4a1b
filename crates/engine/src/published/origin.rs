//! The documents of a published project, from this server's copy of its records.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use filestore::publication::ProjectCopy;
use index::{DocumentRow, Index, IndexError};
use ingest::{FileText, Unshown};
use model::{ContentHash, Failure, PathError, RelPath, SkipReason, SourceType};
use policy::{OpenError, Policy};

use super::PublishedProject;
use super::follow::has_news;
use super::record::{self, Opened, ReadingPart, Shown};
use crate::files::ListedPath;
use crate::open_file::Whole;
use crate::origin::{FileSink, FileStamp, Origin};

pub(crate) struct CopiedProject {
    pub(crate) project: PublishedProject,
    pub(crate) copy: Arc<ProjectCopy>,
    pub(crate) policy: Arc<Policy>,
}

impl CopiedProject {
    /// The row of a document that may be shown.
    fn row(&self, index: &Index, path: &RelPath) -> Result<DocumentRow, OpenError> {
        self.policy.check_path(path)?;
        match index.document(path.as_str()).map_err(io)? {
            Some(row) => Ok(row),
            None if index.known_below(path.as_str()).map_err(io)?.is_empty() => Err(OpenError::NotFound),
            None => Err(OpenError::NotAFile { kind: "directory" }),
        }
    }

    /// The row of a file. A member of an archive is a document, but no file.
    fn file(&self, index: &Index, path: &RelPath) -> Result<DocumentRow, OpenError> {
        self.row(index, path).and_then(|row| match row.source {
            SourceType::File => Ok(row),
            SourceType::ArchiveMember => Err(OpenError::NotFound),
        })
    }

    fn reading(&self, path: &RelPath) -> Result<ReadingPart, Failure> {
        match self.copy.document(path.as_str())? {
            Some(document) => record::reading(path.as_str(), &document.body),
            None => Err(OpenError::NotFound.into()),
        }
    }
}

impl Origin for CopiedProject {
    /// A name is taken as it is written where there is such a file, as in a folder.
    fn locate(&self, index: &Index, written: &str) -> Result<RelPath, PathError> {
        if written.contains(['\\', ':'])
            && !written.starts_with('/')
            && let Ok(literal) = RelPath::from_walk(written)
            && index.document(written).is_ok_and(|row| row.is_some())
        {
            return Ok(literal);
        }
        RelPath::parse(written)
    }

    fn facts(&self, index: &Index, path: &RelPath) -> Result<FileStamp, OpenError> {
        let row = self.file(index, path)?;
        Ok(FileStamp { size: row.size, mtime_ns: row.mtime_ns })
    }

    fn text(&self, index: &Index, path: &RelPath, max_bytes: u64) -> Result<FileText, Unshown> {
        let row = self.file(index, path)?;
        let too_large = || Unshown::Open(OpenError::TooLarge { size: row.size, limit: max_bytes });
        if row.size > max_bytes {
            return Err(too_large());
        }
        let reading =
            self.reading(path).map_err(|failure| OpenError::Io(std::io::Error::other(failure.message)))?;
        let text = match (reading.shown, reading.opened) {
            (Shown::Text(text), _) | (Shown::Same, Opened::Text { text: Some(text), .. }) => text,
            (Shown::Secret(refusal), _) => return Err(Unshown::Secret(refusal.failure())),
            (Shown::TooLarge, _) => return Err(too_large()),
            (Shown::Missing, _) => return Err(OpenError::NotFound.into()),
            (Shown::NotText | Shown::Same, _) => return Err(Unshown::NotText),
        };
        if let Some(secret) = self.policy.scan(path, text.as_bytes()) {
            return Err(Unshown::Secret(secret.failure(path)));
        }
        Ok(FileText { text, content_hash: row.content_hash.unwrap_or(ContentHash([0; 32])) })
    }

    fn whole(&self, index: &Arc<Index>, path: &RelPath) -> Result<Whole, Failure> {
        let row = self.row(index, path)?;
        let whole = self.reading(path)?.opened.whole(row.content_hash.unwrap_or(ContentHash([0; 32])))?;
        for text in [&whole.text, &whole.annotation] {
            if let Some(secret) = self.policy.scan(path, text.as_bytes()) {
                return Err(secret.failure(path));
            }
        }
        Ok(whole)
    }

    fn files(&self, index: &Index, stop: &AtomicBool, each: &FileSink<'_>) -> Result<(), Failure> {
        // What a walk meets but does not call a file is listed by the index with its reason.
        let is_file = |row: &DocumentRow| {
            row.source == SourceType::File
                && !matches!(
                    row.reason,
                    Some(
                        SkipReason::Symlink
                            | SkipReason::Special { .. }
                            | SkipReason::NameNotUtf8
                            | SkipReason::PathTooDeep
                    )
                )
        };
        let (_, rows) = index.list(&|row| !stop.load(Relaxed) && is_file(row), usize::MAX, 0)?;
        for row in rows {
            let Ok(path) = RelPath::from_walk(&row.path) else { continue };
            if self.policy.check_path(&path).is_ok() {
                let listed = ListedPath { path: row.path.clone(), size: row.size, mtime_ns: row.mtime_ns };
                each(listed, &path);
            }
        }
        Ok(())
    }

    fn is_indexed(&self, _: &Index) -> Result<bool, Failure> {
        has_news(&self.project, &self.copy).map(|has_news| !has_news)
    }
}

fn io(error: IndexError) -> OpenError {
    OpenError::Io(std::io::Error::other(error))
}
