//! The tables, column by column those of the specification's section 7, with our own beside them; and the steps from one
//! format to the next.
//!
//! Times are microseconds since 1970. `content` comes last in its tables, since SQLite has to walk through a long value to
//! reach what is stored behind it.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::fault::SqliteStoreError;

/// Says in the file's header whose database it is: "d2fs".
const APPLICATION_ID: i64 = 0x6432_6673;

/// The steps, oldest first: the step at position n makes format n + 1 of format n. A released step is never edited.
const STEPS: &[&str] =
    &[FILES_AND_INDEX, super::index_schema::SEARCH, super::publication_schema::PUBLICATIONS];

const FILES_AND_INDEX: &str = "
CREATE TABLE mcp_files (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    apikey_hash TEXT    NOT NULL,
    project     TEXT    NOT NULL,
    path        TEXT    NOT NULL,
    size        INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    deleted     INTEGER NOT NULL DEFAULT 0,
    deleted_at  INTEGER,
    content     BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX uq_mcp_files_active ON mcp_files (apikey_hash, project, path) WHERE deleted = 0;
-- With the times, so that the newest file of a directory is found without touching the files.
CREATE INDEX idx_mcp_files_prefix ON mcp_files (apikey_hash, project, path, updated_at) WHERE deleted = 0;
CREATE INDEX idx_mcp_files_deleted_at ON mcp_files (deleted_at) WHERE deleted = 1;

-- Of active files: entity tags must not cost a walk through the content.
CREATE TABLE mcp_file_hashes (
    file_id      INTEGER PRIMARY KEY REFERENCES mcp_files(id) ON DELETE CASCADE,
    content_hash BLOB NOT NULL
) STRICT;

-- What a quota and the next time stamp depend on, so that a write does not add up its whole project.
CREATE TABLE mcp_file_projects (
    apikey_hash TEXT    NOT NULL,
    project     TEXT    NOT NULL,
    files       INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    changed_at  INTEGER NOT NULL,
    PRIMARY KEY (apikey_hash, project)
) STRICT, WITHOUT ROWID;

CREATE TABLE mcp_file_versions (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    apikey_hash TEXT    NOT NULL,
    project     TEXT    NOT NULL,
    path        TEXT    NOT NULL,
    size        INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    content     BLOB    NOT NULL
) STRICT;
CREATE INDEX idx_mcp_file_versions_path ON mcp_file_versions (apikey_hash, project, path, created_at);

CREATE TABLE mcp_file_mutations (
    apikey_hash    TEXT    NOT NULL,
    project        TEXT    NOT NULL,
    mutation_key   TEXT    NOT NULL,
    request_digest BLOB    NOT NULL,
    outcome        TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    PRIMARY KEY (apikey_hash, project, mutation_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_mcp_file_mutations_created_at ON mcp_file_mutations (created_at);

CREATE TABLE mcp_file_chunks (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    apikey_hash    TEXT    NOT NULL,
    project        TEXT    NOT NULL,
    file_path      TEXT    NOT NULL,
    chunk_index    INTEGER NOT NULL,
    start_byte     INTEGER NOT NULL,
    end_byte       INTEGER NOT NULL,
    chunk_content  TEXT    NOT NULL,
    content_hash   TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    last_served_at INTEGER,
    UNIQUE (apikey_hash, project, file_path, chunk_index)
) STRICT;

CREATE TABLE mcp_file_chunk_embeddings (
    chunk_id   INTEGER PRIMARY KEY REFERENCES mcp_file_chunks(id) ON DELETE CASCADE,
    embedding  BLOB    NOT NULL,
    model      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE mcp_file_chunk_bm25 (
    chunk_id    INTEGER PRIMARY KEY REFERENCES mcp_file_chunks(id) ON DELETE CASCADE,
    tokens      TEXT    NOT NULL,
    token_count INTEGER NOT NULL,
    tokenizer   TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE mcp_file_index_jobs (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    apikey_hash     TEXT    NOT NULL,
    project         TEXT    NOT NULL,
    file_path       TEXT    NOT NULL,
    operation       TEXT    NOT NULL,
    file_updated_at INTEGER,
    status          TEXT    NOT NULL DEFAULT 'pending',
    retry_count     INTEGER NOT NULL DEFAULT 0,
    available_at    INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX idx_mcp_file_index_jobs_pending ON mcp_file_index_jobs (status, available_at, id);

CREATE TABLE mcp_file_index_leases (
    job_id     INTEGER PRIMARY KEY REFERENCES mcp_file_index_jobs(id) ON DELETE CASCADE,
    worker     TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    token      INTEGER NOT NULL
) STRICT;

CREATE TABLE mcp_file_keys (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL,
    apikey_hash TEXT    NOT NULL UNIQUE,
    created_at  INTEGER NOT NULL,
    revoked_at  INTEGER
) STRICT;
CREATE UNIQUE INDEX uq_mcp_file_keys_active ON mcp_file_keys (name) WHERE revoked_at IS NULL;

CREATE TABLE mcp_file_calls (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    apikey_hash TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    tool        TEXT    NOT NULL,
    caller      TEXT    NOT NULL,
    parameters  TEXT    NOT NULL,
    error_code  TEXT,
    duration_ms INTEGER NOT NULL,
    cost        INTEGER NOT NULL
) STRICT;
CREATE INDEX idx_mcp_file_calls_tenant ON mcp_file_calls (apikey_hash, at);
CREATE INDEX idx_mcp_file_calls_at ON mcp_file_calls (at);
";

/// Brings a database to the present format; one that has it is not written to.
pub(super) fn migrate(conn: &mut Connection, path: &Path) -> Result<(), SqliteStoreError> {
    let sqlite = |source| SqliteStoreError::Sqlite { path: path.to_owned(), source };
    let known = STEPS.len() as i64;
    if format_of(conn, path)? == known {
        return Ok(());
    }
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(sqlite)?;
    // Another process may have been here while this one waited.
    let found = format_of(&transaction, path)?;
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or_default()) {
        transaction.execute_batch(step).map_err(sqlite)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sqlite)?;
    transaction.pragma_update(None, "user_version", known).map_err(sqlite)?;
    transaction.commit().map_err(sqlite)
}

/// The format of the database; 0 of an empty one.
fn format_of(conn: &Connection, path: &Path) -> Result<i64, SqliteStoreError> {
    let sqlite = |source| SqliteStoreError::Sqlite { path: path.to_owned(), source };
    let pragma = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(sqlite);
    let (id, found) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 =
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sqlite)?;
    let known = STEPS.len() as i64;
    match (id, found) {
        (0, 0) if tables == 0 => Ok(0),
        (APPLICATION_ID, found) if found > known => {
            Err(SqliteStoreError::NewerFormat { path: path.to_owned(), found, known })
        }
        (APPLICATION_ID, found) => Ok(found),
        _ => Err(SqliteStoreError::Foreign { path: path.to_owned() }),
    }
}
