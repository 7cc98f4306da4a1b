//! The tables of `meta.sqlite` (dir2mcp specification, section 5) and the version of their format.

use std::path::Path;

use model::SkipReason;
use rusqlite::{Connection, Transaction};

use super::reason;
use crate::error::IndexError;

/// Raised whenever an older program could misread the catalog. A newer one is refused, an older one migrated.
/// Format 1 had an empty table of symbols where 2 has outlines; since 3 every page has a checksum; since 4 a reason is a code
/// and facts instead of a sentence, and what was extracted from documents is kept; since 5 what was recognised, transcribed or
/// annotated is kept, and what is still unread is known.
pub(crate) const FORMAT_VERSION: u32 = 5;

/// `d2mc`, so that `file` and we ourselves recognise the database.
pub(crate) const APPLICATION_ID: i32 = 0x6432_6d63;

/// The version of MCP that the specification fixes for this schema.
const PROTOCOL_VERSION: &str = "2025-11-25";

/// Settings that exist from the start, empty until somebody knows their value.
const EMPTY_SETTINGS: [&str; 8] = [
    "embed_text_model",
    "embed_text_dim",
    "embed_code_model",
    "embed_code_dim",
    "ocr_model",
    "stt_provider",
    "stt_model",
    "chat_model",
];

/// Why it looks like this:
/// - `chunks.chunk_id` is declared INT, not INTEGER, on purpose: an INTEGER primary key would be the rowid,
///   and since the ids are hashes every insert would land on a random page of the largest table, leaving
///   pages a third empty. This way texts are appended and only a small index is random.
/// - `chunks.text` is the last column: reading the others never touches its overflow pages.
/// - Tombstones keep `generation`, the number of the commit that changed them, so that a derived index that
///   holds generation g is brought up to date by `generation > g` alone.
/// - `documents.error` is the specification's column (section 5.1), for other programs: it stores nothing.
/// - The partial indices hold tombstones and chunks without a vector, of which there are few.
const TABLES: &str = r#"
CREATE TABLE settings (
    key TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
    doc_id INTEGER PRIMARY KEY AUTOINCREMENT,
    root_id INTEGER NOT NULL,
    rel_path TEXT NOT NULL,
    source_type TEXT NOT NULL,
    doc_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    mtime_unix INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    content_hash BLOB,
    status TEXT NOT NULL,
    reason_code TEXT,
    reason_json TEXT,
    deleted INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL,
    error TEXT AS (reason_code || ': ' || reason_json) VIRTUAL,
    UNIQUE (root_id, rel_path)
) STRICT;
CREATE INDEX documents_generation ON documents (generation);

CREATE TABLE representations (
    rep_id INTEGER PRIMARY KEY,
    doc_id INTEGER NOT NULL REFERENCES documents (doc_id),
    rep_type TEXT NOT NULL,
    rep_hash BLOB NOT NULL,
    created_unix INTEGER NOT NULL,
    meta_json TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    UNIQUE (doc_id, rep_type)
) STRICT;

CREATE TABLE chunks (
    chunk_id INT PRIMARY KEY NOT NULL,
    rep_id INTEGER NOT NULL REFERENCES representations (rep_id),
    ordinal INTEGER NOT NULL,
    text_hash BLOB NOT NULL,
    tokens_est INTEGER NOT NULL,
    index_kind TEXT NOT NULL,
    embedding_status TEXT NOT NULL,
    embedding_error TEXT,
    deleted INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL,
    text BLOB NOT NULL
) STRICT;
CREATE INDEX chunks_rep ON chunks (rep_id, deleted);
CREATE INDEX chunks_generation ON chunks (generation);
CREATE INDEX chunks_dead ON chunks (chunk_id) WHERE deleted = 1;
CREATE INDEX chunks_unembedded ON chunks (chunk_id) WHERE embedding_status <> 'ok';

CREATE TABLE spans (
    chunk_id INT PRIMARY KEY NOT NULL REFERENCES chunks (chunk_id),
    span_kind TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    extra_json TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE embeddings (
    model TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, text_hash)
) STRICT;

CREATE TABLE dictionaries (
    dict_id INTEGER PRIMARY KEY,
    seen_bytes INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;
"#;

/// Outlines may be missing, and one that was made of another content than the document's present one is as good as
/// missing.
const OUTLINES: &str = r#"
CREATE TABLE outlines (
    doc_id INTEGER PRIMARY KEY REFERENCES documents (doc_id),
    content_hash BLOB NOT NULL,
    packed BLOB NOT NULL
) STRICT;
"#;

/// What was extracted from documents, or recognised, by the hash of their content: it is made once and opened from here. It
/// goes with the representation whose chunks hold most of its text.
const PRODUCED: &str = r#"
CREATE TABLE produced_texts (
    rep_id INTEGER PRIMARY KEY REFERENCES representations (rep_id),
    content_hash BLOB NOT NULL,
    producer TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    packed BLOB NOT NULL
) STRICT;
CREATE INDEX produced_texts_content ON produced_texts (content_hash, producer);
"#;

/// What was recognised, transcribed or annotated, by the hash of the content it was made of; and what is still unread.
const RECOGNIZED: &str = r#"
CREATE TABLE IF NOT EXISTS bought_parts (
    part_id INTEGER PRIMARY KEY AUTOINCREMENT,
    content_hash BLOB NOT NULL,
    kind TEXT NOT NULL,
    producer TEXT NOT NULL,
    part INTEGER NOT NULL,
    rel_path TEXT NOT NULL,
    packed BLOB NOT NULL,
    UNIQUE (content_hash, kind, producer, part)
) STRICT;
CREATE TABLE IF NOT EXISTS unread_parts (
    doc_id INTEGER PRIMARY KEY REFERENCES documents (doc_id),
    capability TEXT NOT NULL,
    pages TEXT NOT NULL,
    work INTEGER NOT NULL,
    refused_by TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS unread_parts_work ON unread_parts (capability, work);
"#;

/// What a file turned out to be when it was looked at without changing it.
pub(crate) enum Found {
    Empty,
    Ours { version: u32 },
}

/// Looks at the database without writing to it.
pub(crate) fn inspect(conn: &Connection, path: &Path) -> Result<Found, IndexError> {
    let sqlite = |error| IndexError::sqlite(path, error);
    let tables: i64 = conn
        .query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))
        .map_err(sqlite)?;
    if tables == 0 {
        return Ok(Found::Empty);
    }
    let corrupt = |detail: &str| IndexError::Corrupt { path: path.to_owned(), detail: detail.to_owned() };
    let application: i32 = conn.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(sqlite)?;
    if application != APPLICATION_ID {
        return Err(IndexError::Foreign { path: path.to_owned() });
    }
    let version: Result<String, _> =
        conn.query_row("SELECT value FROM settings WHERE key = 'index_format_version'", [], |row| row.get(0));
    let version = match version {
        Ok(text) => text.parse::<u32>().ok().filter(|version| *version > 0),
        Err(error) if error.sqlite_error_code().is_some_and(|code| code != rusqlite::ErrorCode::Unknown) => {
            return Err(sqlite(error));
        }
        Err(_) => None,
    };
    match version {
        Some(found) if found > FORMAT_VERSION => Err(IndexError::Newer { found, supported: FORMAT_VERSION }),
        Some(version) => Ok(Found::Ours { version }),
        None => Err(corrupt("it does not say which format it has")),
    }
}

/// Makes an empty database ours, in one transaction.
pub(crate) fn create(conn: &mut Connection, root: &str) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    tx.execute_batch(TABLES)?;
    tx.execute_batch(OUTLINES)?;
    tx.execute_batch(PRODUCED)?;
    tx.execute_batch(RECOGNIZED)?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    {
        let mut insert = tx.prepare("INSERT INTO settings (key, value) VALUES (?1, ?2)")?;
        insert.execute(("protocol_version", PROTOCOL_VERSION))?;
        insert.execute(("index_format_version", FORMAT_VERSION.to_string()))?;
        insert.execute(("root", root))?;
        for key in ["generation", "content_generation", "purged_generation"] {
            insert.execute((key, "0"))?;
        }
        for key in EMPTY_SETTINGS {
            insert.execute((key, ""))?;
        }
    }
    tx.execute("INSERT INTO settings (key, value) VALUES ('corpus_id', lower(hex(randomblob(16))))", [])?;
    tx.commit()
}

/// Brings the tables of an older format up to the present one, in one transaction.
pub(crate) fn migrate(conn: &mut Connection) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    tx.execute_batch("DROP TABLE IF EXISTS symbols;")?;
    tx.execute_batch(&OUTLINES.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))?;
    if !tx.prepare("SELECT 1 FROM pragma_table_info('documents') WHERE name = 'reason_code'")?.exists([])? {
        sentences_to_reasons(&tx)?;
        tx.execute_batch(PRODUCED)?;
    }
    tx.execute_batch(RECOGNIZED)?;
    tx.execute(
        "UPDATE settings SET value = ?1 WHERE key = 'index_format_version'",
        [FORMAT_VERSION.to_string()],
    )?;
    tx.commit()
}

/// Before format 4 a reason was a sentence. It is kept as that until the file is looked at again, which the next scan does
/// because the time stamp does not match.
fn sentences_to_reasons(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    tx.execute_batch(
        "ALTER TABLE documents ADD COLUMN reason_code TEXT;
         ALTER TABLE documents ADD COLUMN reason_json TEXT;",
    )?;
    let sentences: Vec<(i64, String)> = tx
        .prepare("SELECT doc_id, error FROM documents WHERE error IS NOT NULL")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut update = tx.prepare(
        "UPDATE documents SET reason_code = ?2, reason_json = ?3, mtime_ns = mtime_ns + 1, inode = 0, content_hash = NULL \
         WHERE doc_id = ?1",
    )?;
    for (doc_id, sentence) in sentences {
        let (code, json) = reason::written(Some(&SkipReason::from_recorded(&sentence)));
        update.execute((doc_id, code, json))?;
    }
    drop(update);
    tx.execute_batch(
        "ALTER TABLE documents DROP COLUMN error;
         ALTER TABLE documents ADD COLUMN error TEXT AS (reason_code || ': ' || reason_json) VIRTUAL;",
    )
}
