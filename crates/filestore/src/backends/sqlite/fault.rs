//! How work on the database fails, and what callers are told of it.

use std::path::PathBuf;

use model::{ErrorCode, Failure};
use rusqlite::ErrorCode as SqliteCode;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum SqliteStoreError {
    #[error("{path}: the file store has format {found}, and this version knows formats up to {known}")]
    NewerFormat { path: PathBuf, found: i64, known: i64 },
    #[error("{path}: this is a database, but not one of a file store")]
    Foreign { path: PathBuf },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}")]
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

impl From<SqliteStoreError> for Failure {
    fn from(error: SqliteStoreError) -> Failure {
        match &error {
            SqliteStoreError::NewerFormat { .. } => {
                Failure::new(ErrorCode::IndexVersionMismatch, error.to_string())
                    .hint("Use the newer version of dir2mcp that wrote it.")
            }
            SqliteStoreError::Foreign { .. } => Failure::new(ErrorCode::StoreCorrupt, error.to_string())
                .hint("Name another file for the store; this one was left alone."),
            SqliteStoreError::Io { .. } => Failure::new(ErrorCode::ResourceBusy, error.to_string())
                .hint("Look at the permissions and the free space of the folder."),
            SqliteStoreError::Sqlite { source, .. } => {
                let shown = failure_of_code(source);
                Failure { message: format!("{}: {error}", shown.message), ..shown }
            }
        }
    }
}

/// How a piece of work ended other than well: refused by a rule, or failed by the database.
#[derive(Debug)]
pub(crate) enum WorkError {
    Refused(Failure),
    Sqlite(rusqlite::Error),
}

pub(crate) type WorkResult<T> = Result<T, WorkError>;

impl From<rusqlite::Error> for WorkError {
    fn from(error: rusqlite::Error) -> WorkError {
        WorkError::Sqlite(error)
    }
}

impl From<Failure> for WorkError {
    fn from(failure: Failure) -> WorkError {
        WorkError::Refused(failure)
    }
}

impl From<WorkError> for Failure {
    fn from(error: WorkError) -> Failure {
        match error {
            WorkError::Refused(failure) => failure,
            WorkError::Sqlite(error) => failure_of(error),
        }
    }
}

pub(super) fn failure_of(error: rusqlite::Error) -> Failure {
    failure_of_code(&error).because(error)
}

pub(super) fn busy() -> Failure {
    Failure::new(ErrorCode::ResourceBusy, "other changes kept the file store busy; nothing was changed")
        .hint("Try again in a moment.")
}

/// Whether a connection that reported this should be closed: a new one finds out whether the cause is gone.
pub(super) fn spoils_connection(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            SqliteCode::SystemIoFailure
                | SqliteCode::CannotOpen
                | SqliteCode::ReadOnly
                | SqliteCode::PermissionDenied
                | SqliteCode::DatabaseCorrupt
                | SqliteCode::NotADatabase
                | SqliteCode::FileLockingProtocolFailed
                | SqliteCode::OutOfMemory
        )
    )
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(SqliteCode::DatabaseBusy | SqliteCode::DatabaseLocked))
}

fn failure_of_code(error: &rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        Some(SqliteCode::DatabaseBusy | SqliteCode::DatabaseLocked) => busy(),
        Some(SqliteCode::DiskFull) => {
            Failure::new(ErrorCode::ResourceBusy, "the disk of the file store is full; nothing was changed")
                .hint("Free space on it, then try again: the server need not be started anew.")
        }
        Some(SqliteCode::DatabaseCorrupt | SqliteCode::NotADatabase) => {
            Failure::new(ErrorCode::StoreCorrupt, "the database of the file store is damaged")
                .hint("Stop the server and restore a backup.")
        }
        Some(_) if spoils_connection(error) => Failure::new(
            ErrorCode::ResourceBusy,
            "the database of the file store cannot be read or written at the moment",
        )
        .hint("Look at the disk and at the permissions of the store's folder, then try again: the server need not be started anew."),
        _ => Failure::new(ErrorCode::InternalError, "the file store made a mistake; the log says more"),
    }
}
