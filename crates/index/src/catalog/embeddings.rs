//! Vectors that were bought, and the chunks that wait for one.
//!
//! A bought vector is kept for good under its model and the hash of its text, so that no text is sent twice: not when it
//! appears in another place, not when a vector file is lost, not when a model comes back into use.

use model::{ChunkId, IndexKind};
use rusqlite::{OptionalExtension, TransactionBehavior, types::ValueRef};

use super::{Catalog, Reader};
use crate::error::IndexError;

/// A live chunk without a vector.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingChunk {
    pub id: ChunkId,
    /// The first 128 bits of the text's hash.
    pub text_hash: [u8; 16],
    pub text: String,
    /// The vector that the model once made of the same text.
    pub bought: Option<Vec<f32>>,
}

/// What became of a chunk that was pending.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVector {
    pub id: ChunkId,
    /// Of the text that was embedded: a chunk whose text has changed since stays pending.
    pub text_hash: [u8; 16],
    /// The vector, or why there will be none.
    pub vector: Result<Vec<f32>, String>,
}

/// A chunk that has got its vector, with what the vector file keeps beside it.
pub(crate) struct StoredVector<'a> {
    pub(crate) id: ChunkId,
    pub(crate) doc_id: i64,
    pub(crate) ordinal: u32,
    pub(crate) vector: &'a [f32],
}

impl Catalog {
    /// Live chunks of a kind that wait for a vector of `model`, in the order of their ids.
    pub(crate) fn pending_chunks(
        &self,
        kind: IndexKind,
        model: &str,
        after: ChunkId,
        limit: usize,
    ) -> Result<Vec<PendingChunk>, IndexError> {
        self.try_with_reader(|reader| {
            let Reader { conn, unpacker } = reader;
            let sqlite = |error| self.error(error);
            let mut statement = conn
                .prepare_cached(
                    "SELECT c.chunk_id, c.text_hash, c.text, e.vector FROM chunks c \
                     LEFT JOIN embeddings e ON e.model = ?1 AND e.text_hash = c.text_hash \
                     WHERE c.embedding_status <> 'ok' AND c.embedding_status = 'pending' AND c.deleted = 0 \
                     AND c.index_kind = ?2 AND c.chunk_id > ?3 ORDER BY c.chunk_id LIMIT ?4",
                )
                .map_err(sqlite)?;
            let mut rows = statement.query((model, kind.as_str(), after.0, limit as i64)).map_err(sqlite)?;
            let mut pending = Vec::new();
            while let Some(row) = rows.next().map_err(sqlite)? {
                let packed = row.get_ref(2).and_then(|text| Ok(text.as_blob()?)).map_err(sqlite)?;
                pending.push(PendingChunk {
                    id: ChunkId(row.get(0).map_err(sqlite)?),
                    text_hash: row.get(1).map_err(sqlite)?,
                    text: unpacker.unpack(conn, packed).map_err(|detail| self.corrupt(detail))?,
                    bought: row.get_ref(3).and_then(numbers).map_err(sqlite)?,
                });
            }
            Ok(pending)
        })
    }

    /// How many live chunks of a kind wait for a vector.
    pub(crate) fn pending_count(&self, kind: IndexKind) -> Result<u64, IndexError> {
        self.with_reader(|reader| {
            reader
                .conn
                .prepare_cached(
                    "SELECT count(*) FROM chunks WHERE embedding_status <> 'ok' AND embedding_status = 'pending' \
                     AND deleted = 0 AND index_kind = ?1",
                )?
                .query_row([kind.as_str()], |row| row.get::<_, i64>(0))
                .map(|count| count as u64)
        })
    }

    /// A vector that the model once made of a text.
    pub(crate) fn bought_vector(
        &self,
        model: &str,
        text_hash: &[u8],
    ) -> Result<Option<Vec<f32>>, IndexError> {
        self.with_reader(|reader| {
            reader
                .conn
                .prepare_cached("SELECT vector FROM embeddings WHERE model = ?1 AND text_hash = ?2")?
                .query_row((model, text_hash), |row| numbers(row.get_ref(0)?))
                .optional()
                .map(Option::flatten)
        })
    }

    /// Keeps bought vectors for good and notes failures. Returns the chunks that have a vector now: those that still hold
    /// the text that was embedded. They count as changed, because the vector file has to take them up.
    pub(crate) fn store_vectors<'a>(
        &self,
        kind: IndexKind,
        model: &str,
        vectors: &'a [NewVector],
    ) -> Result<Vec<StoredVector<'a>>, IndexError> {
        let mut stored = Vec::with_capacity(vectors.len());
        self.update(|tx, generation| {
            let mut keep = tx.prepare_cached(
                "INSERT INTO embeddings (model, text_hash, vector) VALUES (?1, ?2, ?3) \
                 ON CONFLICT DO UPDATE SET vector = excluded.vector",
            )?;
            let mut mark = tx.prepare_cached(
                "UPDATE chunks SET embedding_status = ?4, embedding_error = ?5, generation = ?6 \
                 WHERE chunk_id = ?1 AND text_hash = ?2 AND index_kind = ?3 AND deleted = 0 \
                 RETURNING ordinal, rep_id",
            )?;
            let mut document = tx.prepare_cached("SELECT doc_id FROM representations WHERE rep_id = ?1")?;
            for NewVector { id, text_hash, vector } in vectors {
                let (status, error) = match vector {
                    Ok(vector) => {
                        let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
                        keep.execute((model, text_hash, bytes))?;
                        ("ok", None)
                    }
                    Err(reason) => ("error", Some(reason)),
                };
                let marked: Option<(u32, i64)> = mark
                    .query_row((id.0, text_hash, kind.as_str(), status, error, generation as i64), |row| {
                        Ok((row.get(0)?, row.get(1)?))
                    })
                    .optional()?;
                if let (Some((ordinal, rep_id)), Ok(vector)) = (marked, vector) {
                    let doc_id = document.query_row([rep_id], |row| row.get(0))?;
                    stored.push(StoredVector { id: *id, doc_id, ordinal, vector });
                }
            }
            Ok(())
        })?;
        Ok(stored)
    }

    /// Has these chunks embedded again: their vector was lost.
    pub(crate) fn mark_pending(&self, chunks: &[ChunkId]) -> Result<(), IndexError> {
        let mut writer = self.writer()?;
        writer
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|tx| {
                for id in chunks {
                    tx.prepare_cached("UPDATE chunks SET embedding_status = 'pending' WHERE chunk_id = ?1")?
                        .execute([id.0])?;
                }
                tx.commit()
            })
            .map_err(|error| self.error(error))
    }

    /// Marks all chunks of a kind as embedded, because their vectors are about to be computed again.
    pub(crate) fn mark_all_embedded(&self, kind: IndexKind) -> Result<(), IndexError> {
        self.mark_all(kind, "ok", "embedding_status <> 'ok'")
    }

    /// Has the chunks of a kind that failed tried again: with another model they may not fail.
    pub(crate) fn mark_failed_pending(&self, kind: IndexKind) -> Result<(), IndexError> {
        self.mark_all(kind, "pending", "embedding_status <> 'ok' AND embedding_status = 'error'")
    }

    fn mark_all(&self, kind: IndexKind, status: &str, of: &str) -> Result<(), IndexError> {
        let writer = self.writer()?;
        writer
            .conn
            .execute(
                &format!(
                    "UPDATE chunks SET embedding_status = ?1, embedding_error = NULL WHERE {of} AND index_kind = ?2"
                ),
                (status, kind.as_str()),
            )
            .map_err(|error| self.error(error))?;
        Ok(())
    }
}

fn numbers(bytes: ValueRef<'_>) -> rusqlite::Result<Option<Vec<f32>>> {
    let bytes = bytes.as_blob_or_null()?;
    let number = |four: &[u8; 4]| f32::from_le_bytes(*four);
    Ok(bytes.map(|bytes| bytes.as_chunks::<4>().0.iter().map(number).collect()))
}
