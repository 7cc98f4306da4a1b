//! Reading documents from the catalog: single ones, listings and counts.

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;

use model::{ContentHash, DocId, DocStatus, DocType, Document, Generation, RepType, SourceType};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{Catalog, ROOT_ID, reason};
use crate::batch::KnownDocument;
use crate::error::IndexError;

/// A live row of `documents`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRow {
    pub doc_id: DocId,
    /// Its unread parts are read only where they are asked for ([`crate::Index::unread_documents`]).
    pub document: Document,
    pub status: DocStatus,
    /// The commit that last changed the document.
    pub generation: Generation,
}

impl Deref for DocumentRow {
    type Target = Document;

    fn deref(&self) -> &Document {
        &self.document
    }
}

/// How much is in the index. Only `deleted` counts tombstones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub documents: u64,
    pub by_type: BTreeMap<DocType, u64>,
    pub by_status: BTreeMap<DocStatus, u64>,
    pub representations: u64,
    pub chunks: u64,
    /// Chunks whose vector is in the index.
    pub embedded: u64,
    pub embedding_errors: u64,
    /// Tombstoned documents.
    pub deleted: u64,
    pub deleted_chunks: u64,
    /// Pages and pictures whose text was recognised.
    pub recognized_pages: u64,
    /// Recordings that were transcribed.
    pub transcripts: u64,
    /// Documents in which something is still unread.
    pub unread: u64,
}

pub(super) fn generations(conn: &Connection) -> rusqlite::Result<(u64, u64)> {
    let mut statement = conn.prepare_cached(
        "SELECT key, value FROM settings WHERE key IN ('generation', 'content_generation')",
    )?;
    let mut rows = statement.query([])?;
    let (mut generation, mut content) = (0, 0);
    while let Some(row) = rows.next()? {
        let value = row.get_ref(1)?.as_str()?.parse().unwrap_or(0);
        match row.get_ref(0)?.as_str()? {
            "generation" => generation = value,
            _ => content = value,
        }
    }
    Ok((generation, content))
}

impl Catalog {
    pub(crate) fn known_files(&self) -> Result<HashMap<String, KnownDocument>, IndexError> {
        self.with_reader(|reader| {
            let mut statement = reader
                .conn
                .prepare_cached(&format!("{KNOWN_COLUMNS} NOT INDEXED WHERE root_id = ?1 AND deleted = 0"))?;
            statement.query_map([ROOT_ID], known_row)?.collect()
        })
    }

    /// The documents below a directory or an archive.
    pub(crate) fn known_below(&self, path: &str) -> Result<Vec<(String, KnownDocument)>, IndexError> {
        self.with_reader(|reader| {
            let mut statement = reader.conn.prepare_cached(&format!(
                "{KNOWN_COLUMNS} WHERE root_id = ?1 AND rel_path > ?2 AND rel_path < ?3 AND deleted = 0"
            ))?;
            // The character after the slash ends the range: paths are compared byte by byte.
            let range = (ROOT_ID, format!("{path}/"), format!("{path}0"));
            statement.query_map(range, known_row)?.collect()
        })
    }

    pub(crate) fn document(&self, path: &str) -> Result<Option<DocumentRow>, IndexError> {
        self.with_reader(|reader| {
            reader
                .conn
                .prepare_cached(&format!(
                    "{} WHERE root_id = ?1 AND rel_path = ?2 AND deleted = 0",
                    self.document_columns()
                ))?
                .query_row((ROOT_ID, path), document_row)
                .optional()
        })
    }

    /// What is known of how a live representation was made.
    pub(crate) fn representation_meta(
        &self,
        path: &str,
        rep_type: RepType,
    ) -> Result<Option<String>, IndexError> {
        self.with_reader(|reader| {
            reader
                .conn
                .prepare_cached(
                    "SELECT r.meta_json FROM representations r JOIN documents d USING (doc_id) \
                     WHERE d.root_id = ?1 AND d.rel_path = ?2 AND d.deleted = 0 AND r.rep_type = ?3 AND r.deleted = 0",
                )?
                .query_row((ROOT_ID, path, rep_type.as_str()), |row| row.get(0))
                .optional()
        })
    }

    pub(crate) fn list(
        &self,
        filter: &dyn Fn(&DocumentRow) -> bool,
        limit: usize,
        offset: usize,
    ) -> Result<(u64, Vec<DocumentRow>), IndexError> {
        self.with_reader(|reader| {
            let mut statement = reader.conn.prepare_cached(&format!(
                "{} WHERE root_id = ?1 AND deleted = 0 ORDER BY rel_path",
                self.document_columns()
            ))?;
            let mut rows = statement.query([ROOT_ID])?;
            let mut total = 0u64;
            let mut page = Vec::new();
            while let Some(row) = rows.next()? {
                let document = document_row(row)?;
                if filter(&document) {
                    if total >= offset as u64 && page.len() < limit {
                        page.push(document);
                    }
                    total += 1;
                }
            }
            Ok((total, page))
        })
    }

    pub(crate) fn counts(&self) -> Result<Counts, IndexError> {
        self.with_reader(|reader| {
            // One snapshot for all the numbers.
            let tx = reader.conn.transaction()?;
            let mut counts = Counts::default();
            {
                let mut statement = tx.prepare_cached(
                    "SELECT doc_type, status, deleted, count(*) FROM documents GROUP BY doc_type, status, deleted",
                )?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let count = row.get::<_, i64>(3)? as u64;
                    if row.get::<_, bool>(2)? {
                        counts.deleted += count;
                        continue;
                    }
                    counts.documents += count;
                    *counts.by_type.entry(named(row, 0, DocType::parse, DocType::BinaryIgnored)?).or_default() += count;
                    *counts.by_status.entry(named(row, 1, DocStatus::parse, DocStatus::Error)?).or_default() += count;
                }
            }
            let one = |sql: &str| -> rusqlite::Result<u64> {
                tx.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).map(|count| count as u64)
            };
            counts.representations = one("SELECT count(*) FROM representations WHERE deleted = 0")?;
            counts.deleted_chunks = one("SELECT count(*) FROM chunks WHERE deleted = 1")?;
            counts.chunks = one("SELECT count(*) FROM chunks")? - counts.deleted_chunks;
            counts.embedding_errors =
                one("SELECT count(*) FROM chunks WHERE embedding_status <> 'ok' AND embedding_status = 'error' AND deleted = 0")?;
            let pending = one("SELECT count(*) FROM chunks WHERE embedding_status <> 'ok' AND deleted = 0")?;
            counts.embedded = counts.chunks - pending;
            if self.keeps_bought_parts() {
                counts.recognized_pages = one("SELECT count(*) FROM bought_parts WHERE kind = 'ocr'")?;
                counts.transcripts = one("SELECT count(*) FROM bought_parts WHERE kind = 'stt'")?;
                counts.unread = one("SELECT count(*) FROM unread_parts")?;
            }
            Ok(counts)
        })
    }

    /// Reads whole documents. A catalog of an older format that is only read still has its reasons as sentences.
    pub(super) fn document_columns(&self) -> &'static str {
        if self.has_reasons() {
            "SELECT doc_id, rel_path, source_type, doc_type, size_bytes, mtime_ns, inode, content_hash, status, \
             reason_code, reason_json, generation FROM documents"
        } else {
            "SELECT doc_id, rel_path, source_type, doc_type, size_bytes, mtime_ns, inode, content_hash, status, \
             error, NULL, generation FROM documents"
        }
    }
}

const KNOWN_COLUMNS: &str =
    "SELECT rel_path, doc_id, size_bytes, mtime_ns, inode, content_hash, status FROM documents";

fn known_row(row: &Row<'_>) -> rusqlite::Result<(String, KnownDocument)> {
    let known = KnownDocument {
        doc_id: DocId(row.get(1)?),
        size: row.get::<_, i64>(2)? as u64,
        mtime_ns: row.get(3)?,
        inode: row.get::<_, i64>(4)? as u64,
        content_hash: hash(row, 5)?,
        status: named(row, 6, DocStatus::parse, DocStatus::Error)?,
    };
    Ok((row.get(0)?, known))
}

pub(super) fn document_row(row: &Row<'_>) -> rusqlite::Result<DocumentRow> {
    let reason = reason::read(row.get_ref(9)?.as_str_or_null()?, row.get_ref(10)?.as_str_or_null()?);
    let document = Document {
        path: row.get(1)?,
        source: named(row, 2, SourceType::parse, SourceType::File)?,
        doc_type: named(row, 3, DocType::parse, DocType::BinaryIgnored)?,
        size: row.get::<_, i64>(4)? as u64,
        mtime_ns: row.get(5)?,
        inode: row.get::<_, i64>(6)? as u64,
        content_hash: hash(row, 7)?,
        reason,
        unread: None,
    };
    Ok(DocumentRow {
        doc_id: DocId(row.get(0)?),
        document,
        status: named(row, 8, DocStatus::parse, DocStatus::Error)?,
        generation: Generation(row.get::<_, i64>(11)? as u64),
    })
}

/// A stored name as its value; one that this version does not know becomes `unknown`.
pub(super) fn named<T>(
    row: &Row<'_>,
    column: usize,
    parse: fn(&str) -> Option<T>,
    unknown: T,
) -> rusqlite::Result<T> {
    Ok(parse(row.get_ref(column)?.as_str()?).unwrap_or(unknown))
}

fn hash(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<ContentHash>> {
    let bytes = row.get_ref(column)?.as_blob_or_null()?;
    Ok(bytes.and_then(|bytes| bytes.try_into().ok()).map(ContentHash))
}
