//! The tables by which chunks are found, beside those of the specification.

/// Postings are kept per project, so that a search reads its own tenant's words and nobody else's; so are the small copies of
/// the vectors, which a search walks through.
pub(super) const SEARCH: &str = "
CREATE TABLE mcp_file_scopes (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    apikey_hash TEXT    NOT NULL,
    project     TEXT    NOT NULL,
    chunks      INTEGER NOT NULL DEFAULT 0,
    tokens      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (apikey_hash, project)
) STRICT;

CREATE TABLE mcp_file_postings (
    scope_id INTEGER NOT NULL,
    token    TEXT    NOT NULL,
    chunk_id INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    length   INTEGER NOT NULL,
    PRIMARY KEY (scope_id, token, chunk_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE mcp_file_scope_vectors (
    scope_id INTEGER NOT NULL,
    chunk_id INTEGER NOT NULL,
    vector   BLOB    NOT NULL,
    PRIMARY KEY (scope_id, chunk_id)
) STRICT, WITHOUT ROWID;

-- Which state of a file its chunks are of.
CREATE TABLE mcp_file_indexed (
    apikey_hash     TEXT    NOT NULL,
    project         TEXT    NOT NULL,
    file_path       TEXT    NOT NULL,
    file_updated_at INTEGER NOT NULL,
    content_hash    TEXT    NOT NULL,
    chunker         INTEGER NOT NULL,
    tokenizer       TEXT    NOT NULL,
    PRIMARY KEY (apikey_hash, project, file_path)
) STRICT, WITHOUT ROWID;

CREATE TABLE mcp_file_index_settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_mcp_file_index_jobs_open ON mcp_file_index_jobs (apikey_hash, project, file_path)
WHERE status IN ('pending', 'processing', 'failed');
";
