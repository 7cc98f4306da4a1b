//! What can go wrong with an index, as facts; the caller turns them into exit codes and sentences.

use std::io;
use std::path::{Path, PathBuf};

use model::{ErrorCode, Failure};

#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("there is no index in {}", dir.display())]
    Missing { dir: PathBuf },
    #[error(
        "the index has format {found}, this program reads up to {supported}: use a newer dir2mcp, or another --state-dir"
    )]
    Newer { found: u32, supported: u32 },
    /// The catalog itself. The writer builds it again from the files.
    #[error("{} is damaged ({detail}); `dir2mcp reindex` builds it again", path.display())]
    Corrupt { path: PathBuf, detail: String },
    /// It is never overwritten: whose it is we do not know.
    #[error("{} is the database of another program; move it away or choose another --state-dir", path.display())]
    Foreign { path: PathBuf },
    #[error("{} cannot be written: {reason}", path.display())]
    NotWritable { path: PathBuf, reason: String },
    #[error("no space is left for {}", path.display())]
    DiskFull { path: PathBuf },
    #[error("another process is writing to {}", path.display())]
    Busy { path: PathBuf },
    #[error("this index was opened for reading only")]
    ReadOnly,
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
    #[error("the lexical index: {detail}")]
    Lexical { detail: String },
}

impl IndexError {
    pub(crate) fn io(path: &Path, source: io::Error) -> IndexError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => IndexError::DiskFull { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                IndexError::NotWritable { path, reason: source.to_string() }
            }
            _ => IndexError::Io { path, source },
        }
    }

    pub(crate) fn sqlite(path: &Path, source: rusqlite::Error) -> IndexError {
        use rusqlite::ErrorCode as Code;
        let path = path.to_owned();
        if source.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_IOERR_DATA) {
            return IndexError::Corrupt { path, detail: "the checksum of a page does not match".to_owned() };
        }
        match source.sqlite_error_code() {
            Some(Code::DiskFull) => IndexError::DiskFull { path },
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => {
                IndexError::Corrupt { path, detail: source.to_string() }
            }
            Some(Code::ReadOnly | Code::PermissionDenied) => {
                IndexError::NotWritable { path, reason: source.to_string() }
            }
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => IndexError::Busy { path },
            _ => IndexError::Sqlite { path, source },
        }
    }

    pub(crate) fn lexical(path: &Path, source: tantivy::TantivyError) -> IndexError {
        if let tantivy::TantivyError::LockFailure(..) = source {
            return IndexError::Busy { path: path.to_owned() };
        }
        let detail = source.to_string();
        // Tantivy hides the cause of an error in a thread, or in an error of its own, in the text.
        if detail.contains("No space left") {
            return IndexError::DiskFull { path: path.to_owned() };
        }
        match io_cause(&source) {
            Some(kind) => match IndexError::io(path, kind.into()) {
                IndexError::Io { .. } => IndexError::Lexical { detail },
                known => known,
            },
            None => IndexError::Lexical { detail },
        }
    }
}

fn io_cause(error: &tantivy::TantivyError) -> Option<io::ErrorKind> {
    use tantivy::TantivyError as E;
    use tantivy::directory::error::{OpenReadError, OpenWriteError};
    match error {
        E::IoError(source) => Some(source.kind()),
        E::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => Some(io_error.kind()),
        E::OpenReadError(OpenReadError::IoError { io_error, .. }) => Some(io_error.kind()),
        _ => None,
    }
}

impl IndexError {
    /// The public code, the same for the writer and for readers.
    pub fn code(&self) -> ErrorCode {
        match self {
            IndexError::Missing { .. } | IndexError::Busy { .. } => ErrorCode::IndexNotReady,
            IndexError::Newer { .. } => ErrorCode::IndexVersionMismatch,
            IndexError::Corrupt { .. } | IndexError::Foreign { .. } => ErrorCode::StoreCorrupt,
            IndexError::NotWritable { .. } | IndexError::DiskFull { .. } => ErrorCode::IngestFailed,
            IndexError::ReadOnly
            | IndexError::Io { .. }
            | IndexError::Sqlite { .. }
            | IndexError::Lexical { .. } => ErrorCode::InternalError,
        }
    }
}

/// What a caller is told. The path of the state directory is only in the cause.
impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Failure {
        let message = match &error {
            IndexError::Missing { .. } => "there is no index yet".to_owned(),
            IndexError::Busy { .. } => "the index is busy".to_owned(),
            IndexError::Newer { .. } => error.to_string(),
            IndexError::Corrupt { .. } => {
                "a part of the index is damaged; it is built again in the background, or by `dir2mcp reindex`"
                    .to_owned()
            }
            IndexError::Foreign { .. } => "the catalog is the database of another program".to_owned(),
            IndexError::DiskFull { .. } => "no space is left for the index".to_owned(),
            _ => "the index could not be read".to_owned(),
        };
        Failure::new(error.code(), message).because(error)
    }
}
