//! Reading the chunks behind hits, and their neighbours, from the catalog.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use model::{ChunkId, DocType, Heading, IndexKind, Pointer, RepType, Span};
use rusqlite::{Connection, OptionalExtension};

use super::read::named;
use super::{Catalog, Reader, Unpacker, extras, kind_of};
use crate::error::IndexError;

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

impl Catalog {
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
