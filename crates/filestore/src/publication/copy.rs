//! A server's own copy of a published project (`project.sqlite` in its state directory): the bodies of all documents, and how
//! far it has followed. Everything else that the server needs is its index, which is made from these records.
//!
//! The copy can be deleted at any time: it is fetched again.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::{ContentHash, ErrorCode, Failure};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::PublicationCursor;

/// "d2pc".
const APPLICATION_ID: i64 = 0x6432_7063;
const FORMAT: i64 = 1;
const BUSY: Duration = Duration::from_secs(10);
const CONNECTIONS: usize = 8;

const TABLES: &str = "
CREATE TABLE position (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    epoch    TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    path     TEXT    NOT NULL
) STRICT;
CREATE TABLE documents (
    path        TEXT PRIMARY KEY NOT NULL,
    facts       TEXT NOT NULL,
    body_digest BLOB NOT NULL,
    body        BLOB NOT NULL
) STRICT;
";

/// How far a copy has followed its project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyPosition {
    pub epoch: String,
    pub cursor: PublicationCursor,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopiedChange {
    Put(CopiedDocument),
    /// Only the facts moved.
    Facts {
        path: String,
        facts: String,
    },
    Remove {
        path: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedDocument {
    pub path: String,
    pub facts: String,
    pub body_digest: ContentHash,
    pub body: Vec<u8>,
}

pub struct ProjectCopy {
    path: PathBuf,
    /// Those that nobody uses at the moment.
    idle: Mutex<Vec<Connection>>,
}

impl ProjectCopy {
    /// Opens the copy; one that is missing or cannot be read is made anew, empty.
    pub fn open(path: &Path) -> Result<ProjectCopy, Failure> {
        let copy = ProjectCopy { path: path.to_owned(), idle: Mutex::default() };
        if copy.with(prepare).is_err() {
            copy.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
            for ending in ["", "-wal", "-shm", "-journal"] {
                let mut name = path.as_os_str().to_owned();
                name.push(ending);
                // What cannot be removed fails below, with the reason.
                let _ = std::fs::remove_file(PathBuf::from(name));
            }
            copy.with(prepare)?;
        }
        Ok(copy)
    }

    pub fn position(&self) -> Result<Option<CopyPosition>, Failure> {
        self.with(|conn| {
            conn.prepare_cached("SELECT epoch, revision, path FROM position")?
                .query_row([], |row| {
                    let cursor =
                        PublicationCursor { revision: row.get::<_, i64>(1)? as u64, path: row.get(2)? };
                    Ok(CopyPosition { epoch: row.get(0)?, cursor })
                })
                .optional()
        })
    }

    /// Makes changes and moves on, at once.
    pub fn apply(&self, changes: &[CopiedChange], position: &CopyPosition) -> Result<(), Failure> {
        self.with(|conn| {
            let tx = conn.transaction()?;
            for change in changes {
                match change {
                    CopiedChange::Put(CopiedDocument { path, facts, body_digest, body }) => tx
                        .prepare_cached(
                            "INSERT INTO documents (path, facts, body_digest, body) VALUES (?1, ?2, ?3, ?4)
                             ON CONFLICT (path) DO UPDATE SET facts = excluded.facts,
                             body_digest = excluded.body_digest, body = excluded.body",
                        )?
                        .execute(params![path, facts, &body_digest.0[..], body])?,
                    CopiedChange::Facts { path, facts } => tx
                        .prepare_cached("UPDATE documents SET facts = ?2 WHERE path = ?1")?
                        .execute([path, facts])?,
                    CopiedChange::Remove { path } => {
                        tx.prepare_cached("DELETE FROM documents WHERE path = ?1")?.execute([path])?
                    }
                };
            }
            let CopyPosition { epoch, cursor } = position;
            tx.prepare_cached(
                "INSERT INTO position (one, epoch, revision, path) VALUES (1, ?1, ?2, ?3)
                 ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch, revision = excluded.revision,
                 path = excluded.path",
            )?
            .execute(params![epoch, cursor.revision as i64, cursor.path])?;
            tx.commit()
        })
    }

    /// Forgets how far it has followed, not what it holds: bodies that are still right are not fetched again.
    pub fn start_over(&self) -> Result<(), Failure> {
        self.with(|conn| conn.execute("DELETE FROM position", []).map(drop))
    }

    pub fn body_digest(&self, path: &str) -> Result<Option<ContentHash>, Failure> {
        self.with(|conn| {
            conn.prepare_cached("SELECT body_digest FROM documents WHERE path = ?1")?
                .query_row([path], |row| digest(row, 0))
                .optional()
        })
    }

    pub fn document(&self, path: &str) -> Result<Option<CopiedDocument>, Failure> {
        self.with(|conn| {
            conn.prepare_cached("SELECT path, facts, body_digest, body FROM documents WHERE path = ?1")?
                .query_row([path], document)
                .optional()
        })
    }

    /// Documents in the byte order of their paths.
    pub fn documents(&self, after: &str, limit: usize) -> Result<Vec<CopiedDocument>, Failure> {
        self.with(|conn| {
            conn.prepare_cached(
                "SELECT path, facts, body_digest, body FROM documents WHERE path > ?1 ORDER BY path LIMIT ?2",
            )?
            .query_map(params![after, limit as i64], document)?
            .collect()
        })
    }

    /// All paths, in byte order.
    pub fn paths(&self) -> Result<Vec<String>, Failure> {
        self.with(|conn| {
            conn.prepare_cached("SELECT path FROM documents ORDER BY path")?
                .query_map([], |row| row.get(0))?
                .collect()
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T, Failure> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let opened = known.map_or_else(|| connect(&self.path), Ok);
        let done = opened.and_then(|mut conn| Ok((work(&mut conn)?, conn)));
        let (value, conn) = done.map_err(|error| {
            Failure::new(
                ErrorCode::StoreCorrupt,
                format!("the copy of the project in {} cannot be used: {error}", self.path.display()),
            )
            .hint("Delete the file and start the server again: the copy is fetched anew.")
        })?;
        let mut idle = idle();
        if idle.len() < CONNECTIONS {
            idle.push(conn);
        }
        Ok(value)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY)?;
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // What a power cut takes is fetched again; what is deleted is overwritten.
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    conn.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
    Ok(conn)
}

/// Makes the tables. An error says that the file holds something else.
fn prepare(conn: &mut Connection) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let pragma = |name| tx.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION_ID, FORMAT) => return Ok(()),
        (0, 0) => {}
        _ => return Err(rusqlite::Error::InvalidQuery),
    }
    tx.execute_batch(TABLES)?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", FORMAT)?;
    tx.commit()
}

fn document(row: &rusqlite::Row<'_>) -> rusqlite::Result<CopiedDocument> {
    Ok(CopiedDocument {
        path: row.get(0)?,
        facts: row.get(1)?,
        body_digest: digest(row, 2)?,
        body: row.get(3)?,
    })
}

fn digest(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<ContentHash> {
    let bytes: Vec<u8> = row.get(column)?;
    // One of another length matches nothing: the body is then fetched again.
    Ok(ContentHash(bytes.try_into().unwrap_or([0; 32])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &str, body: &[u8]) -> CopiedChange {
        CopiedChange::Put(CopiedDocument {
            path: path.to_owned(),
            facts: "{}".to_owned(),
            body_digest: ContentHash(*blake3::hash(body).as_bytes()),
            body: body.to_vec(),
        })
    }

    fn at(revision: u64) -> CopyPosition {
        CopyPosition { epoch: "e".to_owned(), cursor: PublicationCursor { revision, path: String::new() } }
    }

    #[test]
    fn a_copy_keeps_what_was_put_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("project.sqlite");
        let copy = ProjectCopy::open(&file).unwrap();
        assert_eq!(copy.position().unwrap(), None);
        copy.apply(&[put("b", b"two"), put("a", b"one")], &at(1)).unwrap();
        drop(copy);
        let copy = ProjectCopy::open(&file).unwrap();
        assert_eq!(copy.position().unwrap(), Some(at(1)));
        assert_eq!(copy.paths().unwrap(), ["a", "b"]);
        assert_eq!(copy.document("a").unwrap().unwrap().body, b"one");
        let facts = CopiedChange::Facts { path: "b".to_owned(), facts: "[]".to_owned() };
        copy.apply(&[CopiedChange::Remove { path: "a".to_owned() }, facts], &at(2)).unwrap();
        assert_eq!(copy.document("a").unwrap(), None);
        let b = copy.document("b").unwrap().unwrap();
        assert_eq!((b.facts.as_str(), b.body.as_slice()), ("[]", &b"two"[..]));
        copy.start_over().unwrap();
        assert_eq!((copy.position().unwrap(), copy.paths().unwrap().len()), (None, 1));
    }

    #[test]
    fn a_file_that_is_no_copy_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("project.sqlite");
        std::fs::write(
            &file,
            "not a database at all, and longer than a header of one hundred bytes".repeat(4),
        )
        .unwrap();
        let copy = ProjectCopy::open(&file).unwrap();
        assert_eq!(copy.position().unwrap(), None);
        copy.apply(&[put("a", b"one")], &at(1)).unwrap();
    }
}
