//! The tables of a bucket, in versions. Those of specification section 7 are there word for word; the others stand beside them.

/// In the order in which they are applied; the version of a bucket is how many were. What was released is never changed, only
/// followed by another one. `{s}` stands for the bucket's schema, `{dimension}` for that of the embeddings.
pub(crate) const MIGRATIONS: &[&str] =
    &[FILES_AND_INDEX, super::index_schema::SEARCH, super::publication::PUBLICATIONS];

/// The schema that all buckets share.
pub(crate) const SHARED: &str = "
CREATE SCHEMA IF NOT EXISTS dir2mcp_files;
CREATE TABLE IF NOT EXISTS dir2mcp_files.store_settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS dir2mcp_files.bucket_versions (
    bucket              INT         PRIMARY KEY,
    version             INT         NOT NULL,
    embedding_dimension INT         NOT NULL,
    applied_at          TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS dir2mcp_files.mcp_file_keys (
    name        TEXT        NOT NULL,
    apikey_hash CHAR(64)    PRIMARY KEY,
    created_at  TIMESTAMPTZ NOT NULL,
    revoked_at  TIMESTAMPTZ
);
CREATE UNIQUE INDEX IF NOT EXISTS uq_mcp_file_keys_active
ON dir2mcp_files.mcp_file_keys (name)
WHERE revoked_at IS NULL;
";

const FILES_AND_INDEX: &str = "
CREATE TABLE IF NOT EXISTS {s}.mcp_files (
    id            BIGSERIAL PRIMARY KEY,
    apikey_hash   CHAR(64)      NOT NULL,
    project       VARCHAR(128)  NOT NULL,
    path          VARCHAR(1024) NOT NULL,
    content       BYTEA         NOT NULL,
    size          BIGINT        NOT NULL DEFAULT 0,
    created_at    TIMESTAMPTZ   NOT NULL DEFAULT now(),
    updated_at    TIMESTAMPTZ   NOT NULL DEFAULT now(),
    deleted       BOOLEAN       NOT NULL DEFAULT FALSE,
    deleted_at    TIMESTAMPTZ
);
CREATE UNIQUE INDEX IF NOT EXISTS uq_mcp_files_active
ON {s}.mcp_files (apikey_hash, project, path)
WHERE deleted = FALSE;
CREATE INDEX IF NOT EXISTS idx_mcp_files_prefix
ON {s}.mcp_files (apikey_hash, project, path text_pattern_ops)
WHERE deleted = FALSE;
CREATE INDEX IF NOT EXISTS idx_mcp_files_deleted_at
ON {s}.mcp_files (deleted_at)
WHERE deleted = TRUE;

CREATE TABLE IF NOT EXISTS {s}.mcp_file_chunks (
    id              BIGSERIAL PRIMARY KEY,
    apikey_hash     CHAR(64)      NOT NULL,
    project         VARCHAR(128)  NOT NULL,
    file_path       VARCHAR(1024) NOT NULL,
    chunk_index     INT           NOT NULL,
    start_byte      BIGINT        NOT NULL,
    end_byte        BIGINT        NOT NULL,
    chunk_content   TEXT          NOT NULL,
    content_hash    CHAR(64)      NOT NULL,
    created_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    last_served_at  TIMESTAMPTZ,
    UNIQUE (apikey_hash, project, file_path, chunk_index)
);
CREATE INDEX IF NOT EXISTS idx_mcp_file_chunks_prefix
ON {s}.mcp_file_chunks (apikey_hash, project, file_path text_pattern_ops);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_chunk_embeddings (
    chunk_id        BIGINT        PRIMARY KEY REFERENCES {s}.mcp_file_chunks(id) ON DELETE CASCADE,
    embedding       VECTOR({dimension})  NOT NULL,
    model           VARCHAR(128)  NOT NULL,
    created_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ   NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_chunk_bm25 (
    chunk_id        BIGINT        PRIMARY KEY REFERENCES {s}.mcp_file_chunks(id) ON DELETE CASCADE,
    tokens          JSONB         NOT NULL,
    token_count     INT           NOT NULL,
    tokenizer       VARCHAR(64)   NOT NULL,
    created_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ   NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_index_jobs (
    id              BIGSERIAL PRIMARY KEY,
    apikey_hash     CHAR(64)      NOT NULL,
    project         VARCHAR(128)  NOT NULL,
    file_path       VARCHAR(1024) NOT NULL,
    operation       VARCHAR(16)   NOT NULL,
    file_updated_at TIMESTAMPTZ,
    status          VARCHAR(16)   NOT NULL DEFAULT 'pending',
    retry_count     INT           NOT NULL DEFAULT 0,
    available_at    TIMESTAMPTZ   NOT NULL DEFAULT now(),
    created_at      TIMESTAMPTZ   NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ   NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS idx_mcp_file_index_jobs_pending
ON {s}.mcp_file_index_jobs (status, available_at, id);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_index_leases (
    job_id     BIGINT      PRIMARY KEY REFERENCES {s}.mcp_file_index_jobs(id) ON DELETE CASCADE,
    worker     TEXT        NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    token      TEXT        NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_mcp_file_index_leases_expiry ON {s}.mcp_file_index_leases (expires_at);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_hashes (
    file_id      BIGINT PRIMARY KEY REFERENCES {s}.mcp_files(id) ON DELETE CASCADE,
    content_hash BYTEA  NOT NULL
);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_projects (
    apikey_hash CHAR(64)     NOT NULL,
    project     VARCHAR(128) NOT NULL,
    files       BIGINT       NOT NULL,
    bytes       BIGINT       NOT NULL,
    changed_at  TIMESTAMPTZ  NOT NULL,
    PRIMARY KEY (apikey_hash, project)
);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_versions (
    id          BIGSERIAL PRIMARY KEY,
    apikey_hash CHAR(64)      NOT NULL,
    project     VARCHAR(128)  NOT NULL,
    path        VARCHAR(1024) NOT NULL,
    content     BYTEA         NOT NULL,
    size        BIGINT        NOT NULL,
    created_at  TIMESTAMPTZ   NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_mcp_file_versions_path
ON {s}.mcp_file_versions (apikey_hash, project, path text_pattern_ops, id);
CREATE INDEX IF NOT EXISTS idx_mcp_file_versions_age ON {s}.mcp_file_versions (created_at);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_mutations (
    apikey_hash    CHAR(64)     NOT NULL,
    project        VARCHAR(128) NOT NULL,
    mutation_key   TEXT         NOT NULL,
    request_digest BYTEA        NOT NULL,
    outcome        JSONB        NOT NULL,
    created_at     TIMESTAMPTZ  NOT NULL,
    PRIMARY KEY (apikey_hash, project, mutation_key)
);
CREATE INDEX IF NOT EXISTS idx_mcp_file_mutations_age ON {s}.mcp_file_mutations (created_at);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_calls (
    id          BIGSERIAL PRIMARY KEY,
    apikey_hash CHAR(64)    NOT NULL,
    at          TIMESTAMPTZ NOT NULL,
    tool        TEXT        NOT NULL,
    caller      TEXT        NOT NULL,
    parameters  JSONB       NOT NULL,
    error_code  TEXT,
    duration_ms BIGINT      NOT NULL,
    cost        BIGINT      NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_mcp_file_calls_tenant ON {s}.mcp_file_calls (apikey_hash, at DESC, id DESC);
CREATE INDEX IF NOT EXISTS idx_mcp_file_calls_at ON {s}.mcp_file_calls (at);
";

/// The index over embeddings, which goes before their dimension changes and comes back after.
pub(crate) const CREATE_VECTOR_INDEX: &str = "
CREATE INDEX IF NOT EXISTS idx_mcp_file_chunk_embeddings_hnsw
ON {s}.mcp_file_chunk_embeddings USING hnsw (embedding vector_cosine_ops);
";

/// Another model: its vectors mean nothing beside the old ones, so all files are embedded again. What they are found by until
/// then, their words, stays.
pub(crate) const CHANGE_DIMENSION: &str = "
DROP INDEX IF EXISTS {s}.idx_mcp_file_chunk_embeddings_hnsw;
TRUNCATE {s}.mcp_file_chunk_embeddings;
ALTER TABLE {s}.mcp_file_chunk_embeddings ALTER COLUMN embedding TYPE VECTOR({dimension});
INSERT INTO {s}.mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at)
SELECT apikey_hash, project, path, 'UPSERT', updated_at FROM {s}.mcp_files WHERE deleted = FALSE;
";

/// The longest vectors that pgvector can index; longer ones are compared one by one.
pub(crate) const MAX_INDEXED_DIMENSION: u32 = 2000;
