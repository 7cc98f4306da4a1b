//! Whole documents, as they were put: for those who carry an index elsewhere.

use model::{Capability, Chunk, ContentHash, Document, RepType, Representation, Span, UnreadParts};
use rusqlite::{Connection, OptionalExtension};

use super::read::{document_row, named};
use super::{Catalog, ROOT_ID, Reader, extras, kind_of, unread};
use crate::error::IndexError;

/// A live document, and by what its texts are recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentPrint {
    pub document: Document,
    /// Equal ones mean equal texts.
    pub representations: Vec<RepresentationPrint>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepresentationPrint {
    pub rep_type: RepType,
    /// The first 128 bits.
    pub rep_hash: [u8; 16],
    pub meta_json: String,
}

impl Catalog {
    /// Live documents behind a path, in the byte order of their paths.
    pub(crate) fn prints(&self, after: &str, limit: usize) -> Result<Vec<DocumentPrint>, IndexError> {
        self.with_reader(|reader| {
            // One look for all: they must be of one moment.
            let look = reader.conn.transaction()?;
            let rows = look
                .prepare_cached(&format!(
                    "{} WHERE root_id = ?1 AND rel_path > ?2 AND deleted = 0 ORDER BY rel_path LIMIT ?3",
                    self.document_columns()
                ))?
                .query_map((ROOT_ID, after, limit as i64), document_row)?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            let mut prints = Vec::with_capacity(rows.len());
            for row in rows {
                let unread = if self.keeps_bought_parts() { unread_of(&look, row.doc_id.0)? } else { None };
                let document = Document { unread, ..row.document };
                prints
                    .push(DocumentPrint { document, representations: representations(&look, row.doc_id.0)? });
            }
            Ok(prints)
        })
    }

    /// The texts of a live document as they were put, without what they were cut from. One that cannot be read is an error:
    /// half a document must not be taken for a whole one.
    pub(crate) fn stored_representations(&self, path: &str) -> Result<Vec<Representation>, IndexError> {
        self.try_with_reader(|reader| {
            let Reader { conn, unpacker } = reader;
            let sqlite = |error| self.error(error);
            let look = conn.transaction().map_err(sqlite)?;
            let reps: Vec<(i64, RepType, Vec<u8>, String)> = look
                .prepare_cached(
                    "SELECT r.rep_id, r.rep_type, r.rep_hash, r.meta_json FROM representations r \
                     JOIN documents d USING (doc_id) WHERE d.root_id = ?1 AND d.rel_path = ?2 AND d.deleted = 0 \
                     AND r.deleted = 0 ORDER BY r.rep_id",
                )
                .and_then(|mut statement| {
                    let rows = statement.query_map((ROOT_ID, path), |row| {
                        let rep_type = named(row, 1, RepType::parse, RepType::RawText)?;
                        Ok((row.get(0)?, rep_type, row.get(2)?, row.get(3)?))
                    })?;
                    rows.collect()
                })
                .map_err(sqlite)?;
            let mut found = Vec::with_capacity(reps.len());
            for (rep_id, rep_type, rep_hash, meta_json) in reps {
                let mut statement = look
                    .prepare_cached(
                        "SELECT c.chunk_id, c.ordinal, c.tokens_est, c.index_kind, s.span_kind, s.start, s.\"end\", \
                         s.extra_json, c.text FROM chunks c JOIN spans s ON s.chunk_id = c.chunk_id \
                         WHERE c.rep_id = ?1 AND c.deleted = 0 ORDER BY c.ordinal",
                    )
                    .map_err(sqlite)?;
                let mut rows = statement.query([rep_id]).map_err(sqlite)?;
                let mut chunks = Vec::new();
                while let Some(row) = rows.next().map_err(sqlite)? {
                    let packed = row.get_ref(8).and_then(|text| Ok(text.as_blob()?)).map_err(sqlite)?;
                    let text = unpacker.unpack(&look, packed).map_err(|detail| self.corrupt(detail))?;
                    let read = |text: String| -> rusqlite::Result<Option<Chunk>> {
                        let span =
                            Span::from_parts(row.get_ref(4)?.as_str()?, row.get(5)?, row.get(6)?);
                        let (pointer, heading) = extras::read(row.get_ref(7)?.as_str_or_null()?);
                        let Some(span) = span else { return Ok(None) };
                        Ok(Some(Chunk {
                            id: model::ChunkId(row.get(0)?),
                            ordinal: row.get(1)?,
                            span,
                            pointer,
                            heading,
                            kind: kind_of(row.get_ref(3)?.as_str()?),
                            text_hash: ContentHash(*blake3::hash(text.as_bytes()).as_bytes()),
                            tokens_est: row.get(2)?,
                            text,
                        }))
                    };
                    match read(text).map_err(sqlite)? {
                        Some(chunk) => chunks.push(chunk),
                        None => return Err(self.corrupt(format!("a chunk of {path} has no valid span"))),
                    }
                }
                let (rep_hash, produced) = (padded(&rep_hash), None);
                found.push(Representation { rep_type, rep_hash, meta_json, chunks, produced });
            }
            Ok(found)
        })
    }
}

fn representations(conn: &Connection, doc_id: i64) -> rusqlite::Result<Vec<RepresentationPrint>> {
    let mut statement = conn.prepare_cached(
        "SELECT rep_type, rep_hash, meta_json FROM representations WHERE doc_id = ?1 AND deleted = 0 \
         ORDER BY rep_type",
    )?;
    let rows = statement.query_map([doc_id], |row| {
        let mut rep_hash = [0; 16];
        let stored = padded(row.get_ref(1)?.as_blob()?);
        rep_hash.copy_from_slice(&stored.0[..16]);
        let rep_type = named(row, 0, RepType::parse, RepType::RawText)?;
        Ok(RepresentationPrint { rep_type, rep_hash, meta_json: row.get(2)? })
    })?;
    rows.collect()
}

fn unread_of(conn: &Connection, doc_id: i64) -> rusqlite::Result<Option<UnreadParts>> {
    let found: Option<(String, String)> = conn
        .prepare_cached("SELECT capability, pages FROM unread_parts WHERE doc_id = ?1")?
        .query_row([doc_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.map(|(capability, pages)| match Capability::parse(&capability) {
        Some(Capability::Stt) => UnreadParts::Speech,
        _ => UnreadParts::Pages(unread::read(&pages)),
    }))
}

/// Of a hash only its first half is stored.
fn padded(stored: &[u8]) -> ContentHash {
    let mut hash = [0; 32];
    let known = stored.len().min(16);
    hash[..known].copy_from_slice(&stored[..known]);
    ContentHash(hash)
}
