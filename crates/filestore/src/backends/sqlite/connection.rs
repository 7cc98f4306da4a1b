//! Opening the database: its birth under another name, its settings, and the lock file that lets processes take turns.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::fault::SqliteStoreError;
use super::schema;

/// The log is folded back into the database beyond this size, and its file cut to it.
const LOG_BYTES: i64 = 16 << 20;

const STATEMENTS: usize = 96;

/// How long opening a store waits for another process that makes or migrates it.
const OPENING_PATIENCE: Duration = Duration::from_secs(10);

/// Makes the database where there is none, and brings an older one to the present format.
pub(super) fn prepare(path: &Path) -> Result<(), SqliteStoreError> {
    let io = |source| SqliteStoreError::Io { path: path.to_owned(), source };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(io)?;
    }
    // Of several processes that start together, one makes the database and the others find it.
    let turn = open_turn(path).map_err(io)?;
    turn.lock().map_err(io)?;
    if !path.try_exists().map_err(io)? {
        create(path)?;
    }
    let mut conn = open(path, OPENING_PATIENCE)?;
    schema::migrate(&mut conn, path)
}

/// A connection that reads and writes.
pub(super) fn open(path: &Path, busy_timeout: Duration) -> Result<Connection, SqliteStoreError> {
    let sqlite = |source| SqliteStoreError::Sqlite { path: path.to_owned(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    settle(&conn, busy_timeout).map_err(sqlite)?;
    Ok(conn)
}

/// A connection that only reads.
pub(super) fn open_reader(path: &Path, busy_timeout: Duration) -> Result<Connection, SqliteStoreError> {
    let conn = open(path, busy_timeout)?;
    conn.pragma_update(None, "query_only", true)
        .map_err(|source| SqliteStoreError::Sqlite { path: path.to_owned(), source })?;
    Ok(conn)
}

/// The file that processes lock while they wait for the database, so that one that writes without pause cannot starve
/// another: whoever waits holds it, and nobody else gets in line before.
#[allow(clippy::disallowed_methods, reason = "the store's files are our own")]
pub(super) fn open_turn(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(beside(path, "-turn"))
}

/// Whether the lock was taken.
pub(super) fn try_turn(turn: &File) -> io::Result<bool> {
    match turn.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn settle(conn: &Connection, busy_timeout: Duration) -> rusqlite::Result<()> {
    conn.busy_timeout(busy_timeout)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // An acknowledged change survives a power cut.
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES, |_| Ok(()))
}

/// Under another name first, synced and renamed: a kill at any moment leaves a whole database or none.
fn create(path: &Path) -> Result<(), SqliteStoreError> {
    let new = beside(path, "-new");
    let io = |source| SqliteStoreError::Io { path: path.to_owned(), source };
    let sqlite = |source| SqliteStoreError::Sqlite { path: new.clone(), source };
    for ending in ["", "-wal", "-shm", "-journal"] {
        match std::fs::remove_file(beside(&new, ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
    }
    let mut conn = Connection::open(&new).map_err(sqlite)?;
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(sqlite)?;
    schema::migrate(&mut conn, &new)?;
    conn.close().map_err(|(_, source)| sqlite(source))?;
    sync(&new).map_err(io)?;
    std::fs::rename(&new, path).map_err(io)?;
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or(Ok(()), sync).map_err(io)
}

#[allow(clippy::disallowed_methods, reason = "the store's files are our own")]
fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
