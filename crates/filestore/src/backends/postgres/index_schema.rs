//! The tables by which chunks are found, beside those of the specification.

/// The words of a chunk once more as a `tsvector`, which a GIN index finds; they are our own tokens, not those of a text search
/// configuration. Two of them name the tenant and the project ([`scope_words`](super::index_rows::scope_words)): a query asks
/// for them too, so that the index walks the shorter lists and a common word of other tenants costs nothing. The totals and the
/// marks are what a search needs without counting.
pub(super) const SEARCH: &str = "
CREATE TABLE IF NOT EXISTS {s}.mcp_file_chunk_words (
    chunk_id    BIGINT       PRIMARY KEY REFERENCES {s}.mcp_file_chunks(id) ON DELETE CASCADE,
    apikey_hash CHAR(64)     NOT NULL,
    project     VARCHAR(128) NOT NULL,
    words       TSVECTOR     NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_mcp_file_chunk_words_words ON {s}.mcp_file_chunk_words USING gin (words);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_scopes (
    apikey_hash CHAR(64)     NOT NULL,
    project     VARCHAR(128) NOT NULL,
    chunks      BIGINT       NOT NULL,
    tokens      BIGINT       NOT NULL,
    PRIMARY KEY (apikey_hash, project)
);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_indexed (
    apikey_hash     CHAR(64)      NOT NULL,
    project         VARCHAR(128)  NOT NULL,
    file_path       VARCHAR(1024) NOT NULL,
    file_updated_at TIMESTAMPTZ   NOT NULL,
    content_hash    CHAR(64)      NOT NULL,
    chunker         INT           NOT NULL,
    tokenizer       VARCHAR(64)   NOT NULL,
    PRIMARY KEY (apikey_hash, project, file_path)
);

CREATE TABLE IF NOT EXISTS {s}.mcp_file_index_settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS idx_mcp_file_index_jobs_open
ON {s}.mcp_file_index_jobs (apikey_hash, project, file_path)
WHERE status IN ('pending', 'processing', 'failed');
";
