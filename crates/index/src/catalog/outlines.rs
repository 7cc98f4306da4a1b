//! Outlines beside their documents: which are missing, which are there, and putting new ones in.

use model::{ContentHash, DocId};
use rusqlite::OptionalExtension;
use rusqlite::TransactionBehavior;

use super::{Catalog, ROOT_ID};
use crate::error::IndexError;

/// A document whose outline is not that of its present content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unoutlined {
    pub doc_id: DocId,
    pub path: String,
    pub content_hash: ContentHash,
}

/// Up to which commit all outlines were made.
const WATERMARK: &str = "outlined_generation";

/// By which rules they were made.
const RULES: &str = "outline_rules";

impl Catalog {
    /// Documents that changed since the watermark and lack an outline, in the order of their numbers, after `after`.
    pub(crate) fn unoutlined(&self, after: DocId, limit: usize) -> Result<Vec<Unoutlined>, IndexError> {
        let outlined = self.outlined_up_to()?;
        self.with_reader(|reader| {
            reader
                .conn
                .prepare_cached(
                    "SELECT d.doc_id, d.rel_path, d.content_hash FROM documents d \
                     LEFT JOIN outlines o ON o.doc_id = d.doc_id AND o.content_hash = d.content_hash \
                     WHERE d.root_id = ?1 AND d.generation > ?2 AND d.deleted = 0 AND d.status = 'ok' \
                       AND d.source_type = 'file' \
                       AND d.content_hash IS NOT NULL AND o.doc_id IS NULL AND d.doc_id > ?3 \
                     ORDER BY d.doc_id LIMIT ?4",
                )?
                .query_map((ROOT_ID, outlined as i64, after.0, limit as i64), |row| {
                    let hash: [u8; 32] = row.get(2)?;
                    Ok(Unoutlined {
                        doc_id: DocId(row.get(0)?),
                        path: row.get(1)?,
                        content_hash: ContentHash(hash),
                    })
                })?
                .collect()
        })
    }

    pub(crate) fn outlined_up_to(&self) -> Result<u64, IndexError> {
        Ok(self.setting(WATERMARK)?.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// Forgets outlines that were made by other rules.
    pub(crate) fn outline_by(&self, rules: &str) -> Result<(), IndexError> {
        if self.setting(RULES)?.as_deref() == Some(rules) {
            return Ok(());
        }
        // In this order: a process that is stopped in between forgets them again.
        self.writer()?.conn.execute("DELETE FROM outlines", []).map_err(|error| self.error(error))?;
        self.set_settings(&[(WATERMARK, "0"), (RULES, rules)])
    }

    /// Says that nothing up to this commit lacks an outline, and removes those of documents that are gone.
    pub(crate) fn set_outlined_up_to(&self, generation: u64) -> Result<(), IndexError> {
        self.set_settings(&[(WATERMARK, &generation.to_string())])?;
        let writer = self.writer()?;
        writer
            .conn
            .execute(
                "DELETE FROM outlines WHERE doc_id NOT IN (SELECT doc_id FROM documents WHERE deleted = 0)",
                [],
            )
            .map(drop)
            .map_err(|error| self.error(error))
    }

    /// Nothing that a search sees changes by it, so it is no new generation.
    pub(crate) fn put_outlines(&self, outlines: &[(DocId, ContentHash, Vec<u8>)]) -> Result<(), IndexError> {
        let mut writer = self.writer()?;
        writer
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|tx| {
                {
                    let mut put = tx.prepare_cached(
                        "INSERT INTO outlines (doc_id, content_hash, packed) VALUES (?1, ?2, ?3) \
                         ON CONFLICT DO UPDATE SET content_hash = excluded.content_hash, packed = excluded.packed",
                    )?;
                    for (doc, hash, packed) in outlines {
                        put.execute((doc.0, &hash.0[..], packed))?;
                    }
                }
                tx.commit()
            })
            .map_err(|error| self.error(error))
    }

    /// The packed outlines of these paths, `None` where there is none of the present content.
    pub(crate) fn outlines(&self, paths: &[String]) -> Result<Vec<Option<Vec<u8>>>, IndexError> {
        self.with_reader(|reader| {
            // A reader does not migrate what an older program wrote.
            let there = reader
                .conn
                .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'outlines'")?
                .exists([])?;
            if !there {
                return Ok(vec![None; paths.len()]);
            }
            let mut find = reader.conn.prepare_cached(
                "SELECT o.packed FROM documents d JOIN outlines o USING (doc_id) \
                 WHERE d.root_id = ?1 AND d.rel_path = ?2 AND d.deleted = 0 AND o.content_hash = d.content_hash",
            )?;
            paths.iter().map(|path| find.query_row((ROOT_ID, path), |row| row.get(0)).optional()).collect()
        })
    }
}
