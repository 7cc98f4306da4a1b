//! Reading from the catalog what changed since a generation, for the derived indices.

use model::{ChunkId, DocType, IndexKind};
use rusqlite::Row;

use super::read::named;
use super::{Catalog, Reader, extras, kind_of};
use crate::error::IndexError;
use crate::ids::IdSet;

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

impl Catalog {
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
