//! The tables of published projects, beside those of files.

pub(super) const PUBLICATIONS: &str = "
CREATE TABLE mcp_published_projects (
    apikey_hash    TEXT    NOT NULL,
    project        TEXT    NOT NULL,
    epoch          TEXT    NOT NULL,
    format         INTEGER NOT NULL,
    revision       INTEGER NOT NULL,
    floor          INTEGER NOT NULL,
    is_complete    INTEGER NOT NULL,
    finished_at    INTEGER,
    publisher      TEXT,
    publisher_name TEXT,
    lease_until    INTEGER,
    PRIMARY KEY (apikey_hash, project)
) STRICT, WITHOUT ROWID;

-- A removed document has neither facts nor body. The body comes last: it is long.
CREATE TABLE mcp_published_documents (
    id          INTEGER PRIMARY KEY,
    apikey_hash TEXT    NOT NULL,
    project     TEXT    NOT NULL,
    path        TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    changed_at  INTEGER NOT NULL,
    body_digest BLOB,
    facts       TEXT,
    body        BLOB
) STRICT;
CREATE UNIQUE INDEX uq_mcp_published_documents ON mcp_published_documents (apikey_hash, project, path);
CREATE INDEX idx_mcp_published_documents_revision
ON mcp_published_documents (apikey_hash, project, revision, path);
";
