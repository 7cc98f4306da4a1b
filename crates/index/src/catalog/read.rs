//! Reading from the catalog: listings, counts, the chunks behind hits, and what changed since a generation.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;

use model::{
    ChunkId, ContentHash, DocId, DocStatus, DocType, Document, Generation, Heading, IndexKind, Pointer,
    RepType, SourceType, Span,
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{Catalog, ROOT_ID, Reader, Unpacker, extras, kind_of, reason};
use crate::batch::KnownDocument;
use crate::error::IndexError;
use crate::ids::IdSet;

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

/// A live chunk with all that a hit shows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChunk {
    pub id: ChunkId,
    pub rel_path: String,
    pub doc_type: DocType,
    pub rep_type: RepType,
    pub ordinal: u32,
    pub span: Span,
    /// The place as people say it, where lines do not.
    pub pointer: Option<Pointer>,
    /// What stands above its first line.
    pub heading: Heading,
    pub kind: IndexKind,
    /// The first 128 bits of the text's hash.
    pub text_hash: [u8; 16],
    pub text: String,
}

/// That a chunk changed, and where it lives now: in one of the two kinds, or nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkChange {
    pub(crate) id: ChunkId,
    pub(crate) now: Option<IndexKind>,
    pub(crate) generation: u64,
}

/// A live chunk with all that the derived indices need of it.
pub(crate) struct ReplayRow {
    pub(crate) id: ChunkId,
    pub(crate) doc_id: i64,
    pub(crate) ordinal: u32,
    pub(crate) kind: IndexKind,
    pub(crate) generation: u64,
    pub(crate) embedded: bool,
    pub(crate) text_hash: Vec<u8>,
    pub(crate) path: String,
    /// The words beside the text by which it is found.
    pub(crate) beside: String,
    pub(crate) text: String,
}

/// Replayed rows are handed over in groups of at most this much text.
const GROUP_BYTES: usize = 4 << 20;
const GROUP_ROWS: usize = 4096;

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

    /// The live ones among `ids`, in the order asked for. One that is damaged is left out and remembered as
    /// [`Catalog::damage`]: it must not cost the others.
    pub(crate) fn chunks(&self, ids: &[ChunkId]) -> Result<Vec<StoredChunk>, IndexError> {
        self.try_with_reader(|reader| {
            let Reader { conn, unpacker } = reader;
            let sqlite = |error| self.error(error);
            // One look for all: each statement by itself would lock and unlock the log.
            let look = conn.transaction().map_err(sqlite)?;
            let mut files = HashMap::new();
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                match self.chunk(&look, unpacker, &mut files, *id) {
                    Ok(chunk) => found.extend(chunk),
                    Err(IndexError::Corrupt { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(found)
        })
    }

    /// Whether no chunk before this one belongs to the same place of its document: page, slide, sheet or section.
    pub(crate) fn begins_its_place(&self, id: ChunkId) -> Result<bool, IndexError> {
        self.with_reader(|reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT 1 FROM chunks c JOIN spans s ON s.chunk_id = c.chunk_id \
                 JOIN chunks b ON b.rep_id = c.rep_id AND b.ordinal = c.ordinal - 1 AND b.deleted = 0 \
                 JOIN spans t ON t.chunk_id = b.chunk_id \
                 WHERE c.chunk_id = ?1 AND t.extra_json IS s.extra_json",
            )?;
            Ok(!statement.exists([id.0])?)
        })
    }

    /// The chunks before this one that reach into the same page, time or lines of its document, the nearest first.
    pub(crate) fn earlier_in_place(&self, id: ChunkId) -> Result<Vec<ChunkId>, IndexError> {
        self.with_reader(|reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT b.chunk_id FROM chunks c JOIN spans s ON s.chunk_id = c.chunk_id \
                 JOIN chunks b ON b.rep_id = c.rep_id AND b.ordinal < c.ordinal AND b.deleted = 0 \
                 JOIN spans t ON t.chunk_id = b.chunk_id \
                 WHERE c.chunk_id = ?1 AND t.extra_json IS s.extra_json AND t.span_kind = s.span_kind \
                 AND t.\"end\" >= s.start ORDER BY b.ordinal DESC LIMIT 64",
            )?;
            let rows = statement.query_map([id.0], |row| Ok(ChunkId(row.get(0)?)))?;
            rows.collect()
        })
    }

    /// `files` remembers what chunks of the same file have in common.
    fn chunk(
        &self,
        conn: &Connection,
        unpacker: &mut Unpacker,
        files: &mut HashMap<i64, Option<ChunkFile>>,
        id: ChunkId,
    ) -> Result<Option<StoredChunk>, IndexError> {
        let sqlite = |error| self.error(error);
        let mut statement = conn
            .prepare_cached(
                "SELECT c.rep_id, c.ordinal, s.span_kind, s.start, s.\"end\", c.index_kind, c.text_hash, c.text, \
                 s.extra_json FROM chunks c JOIN spans s ON s.chunk_id = c.chunk_id WHERE c.chunk_id = ?1 AND c.deleted = 0",
            )
            .map_err(sqlite)?;
        let mut rows = statement.query([id.0]).map_err(sqlite)?;
        let Some(row) = rows.next().map_err(sqlite)? else { return Ok(None) };
        let file = match files.entry(row.get(0).map_err(sqlite)?) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let file = chunk_file(conn, *unknown.key()).map_err(sqlite)?;
                unknown.insert(file)
            }
        };
        let Some(file) = file else { return Ok(None) };
        let damaged = |detail: String| self.corrupt(detail);
        let span = Span::from_parts(
            row.get_ref(2).and_then(|kind| Ok(kind.as_str()?)).map_err(sqlite)?,
            row.get(3).map_err(sqlite)?,
            row.get(4).map_err(sqlite)?,
        );
        let packed = row.get_ref(7).and_then(|text| Ok(text.as_blob()?)).map_err(sqlite)?;
        let text = unpacker.unpack(conn, packed).map_err(&damaged)?;
        let extra = row.get_ref(8).and_then(|extra| Ok(extra.as_str_or_null()?)).map_err(sqlite)?;
        let (pointer, heading) = extras::read(extra);
        let mut text_hash = [0; 16];
        let hash = row.get_ref(6).and_then(|hash| Ok(hash.as_blob()?)).map_err(sqlite)?;
        if hash.len() == text_hash.len() {
            text_hash.copy_from_slice(hash);
        }
        Ok(Some(StoredChunk {
            id,
            rel_path: file.path.clone(),
            doc_type: file.doc_type,
            rep_type: file.rep_type,
            ordinal: row.get(1).map_err(sqlite)?,
            span: span.ok_or_else(|| damaged(format!("chunk {id} has no valid span")))?,
            kind: row.get_ref(5).and_then(|kind| Ok(kind_of(kind.as_str()?))).map_err(sqlite)?,
            text_hash,
            pointer,
            heading,
            text,
        }))
    }

    /// Every chunk that changed after a generation.
    pub(crate) fn changes(&self, after: u64) -> Result<Vec<ChunkChange>, IndexError> {
        self.with_reader(|reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT chunk_id, index_kind, deleted, generation FROM chunks WHERE generation > ?1",
            )?;
            let rows = statement.query_map([after as i64], |row| {
                let kind = kind_of(row.get_ref(1)?.as_str()?);
                let deleted: bool = row.get(2)?;
                Ok(ChunkChange {
                    id: ChunkId(row.get(0)?),
                    now: (!deleted).then_some(kind),
                    generation: row.get::<_, i64>(3)? as u64,
                })
            })?;
            rows.collect()
        })
    }

    /// The ids of all tombstoned chunks.
    pub(crate) fn dead_chunks(&self) -> Result<IdSet, IndexError> {
        self.with_reader(|reader| {
            let mut statement =
                reader.conn.prepare_cached("SELECT chunk_id FROM chunks WHERE deleted = 1")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect()
        })
    }

    /// How many chunks changed after a generation, tombstones included.
    pub(crate) fn changed_since(&self, after: u64) -> Result<u64, IndexError> {
        self.with_reader(|reader| {
            reader
                .conn
                .prepare_cached("SELECT count(*) FROM chunks WHERE generation > ?1")?
                .query_row([after as i64], |row| row.get::<_, i64>(0))
                .map(|count| count as u64)
        })
    }

    /// Hands every live chunk that changed after a generation to `take`, in groups.
    pub(crate) fn replay(
        &self,
        after: u64,
        mut take: impl FnMut(&[ReplayRow]) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        self.try_with_reader(|reader| {
            let Reader { conn, unpacker } = reader;
            let sqlite = |error| self.error(error);
            let mut statement = conn
                .prepare_cached(
                    "SELECT c.chunk_id, d.doc_id, c.ordinal, c.index_kind, c.generation, c.embedding_status, \
                     c.text_hash, d.rel_path, c.text, s.extra_json \
                     FROM chunks c JOIN representations r ON r.rep_id = c.rep_id \
                     JOIN spans s ON s.chunk_id = c.chunk_id \
                     JOIN documents d ON d.doc_id = r.doc_id \
                     WHERE c.generation > ?1 AND c.deleted = 0",
                )
                .map_err(sqlite)?;
            let mut rows = statement.query([after as i64]).map_err(sqlite)?;
            let mut group = Vec::new();
            let mut bytes = 0;
            while let Some(row) = rows.next().map_err(sqlite)? {
                let packed = row.get_ref(8).and_then(|text| Ok(text.as_blob()?)).map_err(sqlite)?;
                let text = unpacker.unpack(conn, packed).map_err(|detail| self.corrupt(detail))?;
                bytes += text.len();
                group.push(replay_row(row, text).map_err(sqlite)?);
                if bytes >= GROUP_BYTES || group.len() >= GROUP_ROWS {
                    take(&group)?;
                    group.clear();
                    bytes = 0;
                }
            }
            if group.is_empty() { Ok(()) } else { take(&group) }
        })
    }

    /// Calls `take` with `doc_id`, path and type of every document that changed after a generation.
    pub(crate) fn document_names(
        &self,
        after: u64,
        mut take: impl FnMut(i64, &str, DocType),
    ) -> Result<(), IndexError> {
        self.with_reader(|reader| {
            let mut statement = reader
                .conn
                .prepare_cached("SELECT doc_id, rel_path, doc_type FROM documents WHERE generation > ?1")?;
            let mut rows = statement.query([after as i64])?;
            while let Some(row) = rows.next()? {
                let doc_type = named(row, 2, DocType::parse, DocType::BinaryIgnored)?;
                take(row.get(0)?, row.get_ref(1)?.as_str()?, doc_type);
            }
            Ok(())
        })
    }
}

/// What the chunks of a representation have in common; none where its document is gone.
struct ChunkFile {
    path: String,
    doc_type: DocType,
    rep_type: RepType,
}

fn chunk_file(conn: &Connection, rep_id: i64) -> rusqlite::Result<Option<ChunkFile>> {
    conn.prepare_cached(
        "SELECT d.rel_path, d.doc_type, r.rep_type FROM representations r \
         JOIN documents d ON d.doc_id = r.doc_id WHERE r.rep_id = ?1 AND d.deleted = 0",
    )?
    .query_row([rep_id], |row| {
        Ok(ChunkFile {
            path: row.get(0)?,
            doc_type: named(row, 1, DocType::parse, DocType::BinaryIgnored)?,
            rep_type: named(row, 2, RepType::parse, RepType::RawText)?,
        })
    })
    .optional()
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

fn replay_row(row: &Row<'_>, text: String) -> rusqlite::Result<ReplayRow> {
    let (_, heading) = extras::read(row.get_ref(9)?.as_str_or_null()?);
    let kind = kind_of(row.get_ref(3)?.as_str()?);
    Ok(ReplayRow {
        id: ChunkId(row.get(0)?),
        doc_id: row.get(1)?,
        ordinal: row.get(2)?,
        kind,
        generation: row.get::<_, i64>(4)? as u64,
        embedded: row.get_ref(5)?.as_str()? == "ok",
        text_hash: row.get(6)?,
        path: row.get(7)?,
        beside: heading.words_beside(kind, &text),
        text,
    })
}

/// A stored name as its value; one that this version does not know becomes `unknown`.
fn named<T>(row: &Row<'_>, column: usize, parse: fn(&str) -> Option<T>, unknown: T) -> rusqlite::Result<T> {
    Ok(parse(row.get_ref(column)?.as_str()?).unwrap_or(unknown))
}

fn hash(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<ContentHash>> {
    let bytes = row.get_ref(column)?.as_blob_or_null()?;
    Ok(bytes.and_then(|bytes| bytes.try_into().ok()).map(ContentHash))
}
