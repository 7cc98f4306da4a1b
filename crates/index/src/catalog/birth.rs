//! How a catalog comes to be, and how a damaged one makes room: always under another name first, synced and renamed, so
//! that a kill or a power cut at any moment leaves the old catalog, the new one or none, and never half of one.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::sealed::{self, CatalogFile, Layer};
use super::{BUSY_TIMEOUT, FILE_NAME, PAGE_BYTES, immutable_uri, schema, unopenable};
use crate::error::IndexError;

/// A catalog on its way to its name.
const NEW: &str = "meta.sqlite.new";

/// A catalog that could not be read, until what replaces it is complete.
pub(crate) const DAMAGED: &str = "meta.sqlite.damaged";

/// What SQLite keeps beside a database.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Makes sure that a catalog of the present format is in `dir`, unless there is one that cannot be read.
pub(super) fn prepare(dir: &Path, root: &str) -> Result<(), IndexError> {
    let path = dir.join(FILE_NAME);
    match sealed::kind(&path).map_err(|error| IndexError::io(&path, error))? {
        CatalogFile::Nothing => create(dir, root),
        CatalogFile::Sealed => Ok(()),
        CatalogFile::Other => seal_older(dir),
    }
}

/// Moves a catalog that cannot be read out of the way.
pub(crate) fn set_aside(dir: &Path) -> Result<(), IndexError> {
    let path = dir.join(FILE_NAME);
    let io = |error| IndexError::io(&path, error);
    std::fs::rename(&path, dir.join(DAMAGED)).map_err(io)?;
    remove_companions(&path).map_err(io)?;
    sync(dir).map_err(io)
}

/// Takes what SQLite kept beside a database away from whatever gets its name next: a log would be replayed into it.
pub(crate) fn remove_companions(path: &Path) -> io::Result<()> {
    for ending in COMPANIONS {
        remove(&companion(path, ending))?;
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn create(dir: &Path, root: &str) -> Result<(), IndexError> {
    let new = fresh_name(dir)?;
    let sqlite = |error| IndexError::sqlite(&new, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut conn = sealed::open(&new, flags, Layer::Sealed).map_err(|error| unopenable(&new, error))?;
    conn.pragma_update(None, "page_size", PAGE_BYTES).map_err(sqlite)?;
    sealed::reserve(&conn).map_err(sqlite)?;
    schema::create(&mut conn, root).map_err(|error| unopenable(&new, error))?;
    put_in_place(dir, conn)
}

/// Makes a catalog of an older version one of the present format. Its pages have no seals, so all of it is copied.
fn seal_older(dir: &Path) -> Result<(), IndexError> {
    let path = dir.join(FILE_NAME);
    let sqlite = |error| IndexError::sqlite(&path, error);
    // Whose file this is, and whether it is whole, is found out without being able to write to it, unless a
    // transaction that was interrupted has to be rolled back first.
    let found = match inspect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY) {
        Err(IndexError::NotWritable { .. } | IndexError::Sqlite { .. }) => {
            inspect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?
        }
        other => other?,
    };
    match found {
        schema::Found::Empty => {
            return Err(IndexError::Corrupt { path, detail: "it is empty".to_owned() });
        }
        schema::Found::Ours { version } if version >= schema::FORMAT_VERSION => {
            return Err(IndexError::Corrupt { path, detail: "its header is damaged".to_owned() });
        }
        schema::Found::Ours { .. } => {}
    }
    {
        // Rolls back or takes in what a crash left, and closes the log.
        let conn = plain(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let _: String =
            conn.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0)).map_err(sqlite)?;
        let verdict: String =
            conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(sqlite)?;
        if verdict != "ok" {
            return Err(IndexError::Corrupt { path, detail: verdict });
        }
    }
    let new = fresh_name(dir)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let conn = sealed::open(&immutable_uri(&path), flags, Layer::Sealing).map_err(sqlite)?;
    sealed::reserve(&conn).map_err(sqlite)?;
    conn.execute("VACUUM INTO ?1", [new.to_string_lossy()]).map_err(sqlite)?;
    drop(conn);
    let mut conn = sealed::open(&new, OpenFlags::SQLITE_OPEN_READ_WRITE, Layer::Sealed).map_err(sqlite)?;
    schema::migrate(&mut conn).map_err(sqlite)?;
    tracing::info!("the catalog was brought to the present format");
    put_in_place(dir, conn)
}

fn inspect(path: &Path, flags: OpenFlags) -> Result<schema::Found, IndexError> {
    schema::inspect(&plain(path, flags)?, path)
}

fn plain(path: &Path, flags: OpenFlags) -> Result<Connection, IndexError> {
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| unopenable(path, error))?;
    conn.busy_timeout(BUSY_TIMEOUT).map_err(|error| IndexError::sqlite(path, error))?;
    Ok(conn)
}

/// Closes a catalog that is complete, and gives it its name.
fn put_in_place(dir: &Path, conn: Connection) -> Result<(), IndexError> {
    let (new, path) = (dir.join(NEW), dir.join(FILE_NAME));
    let mode: String = conn
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(|error| unopenable(&new, error))?;
    if !mode.eq_ignore_ascii_case("wal") {
        let reason = format!("the file system refuses a write-ahead log (journal mode {mode})");
        return Err(IndexError::NotWritable { path, reason });
    }
    conn.close().map_err(|(_, error)| IndexError::sqlite(&new, error))?;
    let io = |error| IndexError::io(&path, error);
    sync(&new).map_err(io)?;
    remove_companions(&path).map_err(io)?;
    std::fs::rename(&new, &path).map_err(io)?;
    sync(dir).map_err(io)
}

/// The temporary name, with nothing under it.
fn fresh_name(dir: &Path) -> Result<PathBuf, IndexError> {
    let new = dir.join(NEW);
    remove(&new).and_then(|()| remove_companions(&new)).map_err(|error| IndexError::io(&new, error))?;
    Ok(new)
}

fn companion(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
