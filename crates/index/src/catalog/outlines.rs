//! What is made of documents beside their texts, outlines and facts: which are missing, which are there, and putting new ones
//! in.

use model::{ContentHash, DocId};
use rusqlite::OptionalExtension;
use rusqlite::TransactionBehavior;

use super::{Catalog, ROOT_ID};
use crate::error::IndexError;

/// A document whose outline, or facts, are not those of its present content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unoutlined {
    pub doc_id: DocId,
    pub path: String,
    pub content_hash: ContentHash,
}

/// A table with a packed row for each document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DerivedRows {
    Outlines,
    /// Made only once somebody asks for them, and so is their table.
    Facts,
}

impl DerivedRows {
    fn table(self) -> &'static str {
        match self {
            DerivedRows::Outlines => "outlines",
            DerivedRows::Facts => "facts",
        }
    }

    /// The setting that says up to which commit all were made.
    fn watermark(self) -> &'static str {
        match self {
            DerivedRows::Outlines => "outlined_generation",
            DerivedRows::Facts => "facts_generation",
        }
    }

    /// The setting that says by which rules they were made.
    fn rules(self) -> &'static str {
        match self {
            DerivedRows::Outlines => "outline_rules",
            DerivedRows::Facts => "fact_rules",
        }
    }

    /// The same statement for each of the tables.
    fn sql(self, statement: &str) -> String {
        statement.replace("{table}", self.table())
    }
}

/// It refers to no other table, so that a program that does not know it can remove documents.
const FACTS: &str = "CREATE TABLE IF NOT EXISTS facts (doc_id INTEGER PRIMARY KEY, content_hash BLOB NOT NULL, \
                     packed BLOB NOT NULL) STRICT";

impl Catalog {
    /// Documents that changed since the watermark and lack an outline, in the order of their numbers, after `after`.
    pub(crate) fn underived(
        &self,
        what: DerivedRows,
        after: DocId,
        limit: usize,
    ) -> Result<Vec<Unoutlined>, IndexError> {
        let outlined = self.derived_up_to(what)?;
        self.with_reader(|reader| {
            reader
                .conn
                .prepare_cached(&what.sql(
                    "SELECT d.doc_id, d.rel_path, d.content_hash FROM documents d \
                     LEFT JOIN {table} o ON o.doc_id = d.doc_id AND o.content_hash = d.content_hash \
                     WHERE d.root_id = ?1 AND d.generation > ?2 AND d.deleted = 0 AND d.status = 'ok' \
                       AND d.source_type = 'file' \
                       AND d.content_hash IS NOT NULL AND o.doc_id IS NULL AND d.doc_id > ?3 \
                     ORDER BY d.doc_id LIMIT ?4",
                ))?
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

    pub(crate) fn derived_up_to(&self, what: DerivedRows) -> Result<u64, IndexError> {
        Ok(self.setting(what.watermark())?.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// Forgets what was made by other rules.
    pub(crate) fn derive_by(&self, what: DerivedRows, rules: &str) -> Result<(), IndexError> {
        if self.setting(what.rules())?.as_deref() == Some(rules) {
            return Ok(());
        }
        if what == DerivedRows::Facts {
            self.writer()?.conn.execute(FACTS, []).map_err(|error| self.error(error))?;
        }
        // In this order: a process that is stopped in between forgets them again.
        let forget = what.sql("DELETE FROM {table}");
        self.writer()?.conn.execute(&forget, []).map_err(|error| self.error(error))?;
        self.set_settings(&[(what.watermark(), "0"), (what.rules(), rules)])
    }

    /// Says that nothing up to this commit lacks them, and removes those of documents that are gone.
    pub(crate) fn set_derived_up_to(&self, what: DerivedRows, generation: u64) -> Result<(), IndexError> {
        self.set_settings(&[(what.watermark(), &generation.to_string())])?;
        let writer = self.writer()?;
        writer
            .conn
            .execute(
                &what.sql(
                    "DELETE FROM {table} WHERE doc_id NOT IN (SELECT doc_id FROM documents WHERE deleted = 0)",
                ),
                [],
            )
            .map(drop)
            .map_err(|error| self.error(error))
    }

    /// Nothing that a search sees changes by it, so it is no new generation.
    pub(crate) fn put_derived(
        &self,
        what: DerivedRows,
        rows: &[(DocId, ContentHash, Vec<u8>)],
    ) -> Result<(), IndexError> {
        let mut writer = self.writer()?;
        writer
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|tx| {
                {
                    let mut put = tx.prepare_cached(&what.sql(
                        "INSERT INTO {table} (doc_id, content_hash, packed) VALUES (?1, ?2, ?3) \
                         ON CONFLICT DO UPDATE SET content_hash = excluded.content_hash, packed = excluded.packed",
                    ))?;
                    for (doc, hash, packed) in rows {
                        put.execute((doc.0, &hash.0[..], packed))?;
                    }
                }
                tx.commit()
            })
            .map_err(|error| self.error(error))
    }

    /// The packed rows of these paths, `None` where there is none of the present content.
    pub(crate) fn derived(
        &self,
        what: DerivedRows,
        paths: &[String],
    ) -> Result<Vec<Option<Vec<u8>>>, IndexError> {
        self.with_reader(|reader| {
            // A reader does not migrate what an older program wrote.
            let there = reader
                .conn
                .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?
                .exists([what.table()])?;
            if !there {
                return Ok(vec![None; paths.len()]);
            }
            let mut find = reader.conn.prepare_cached(&what.sql(
                "SELECT o.packed FROM documents d JOIN {table} o USING (doc_id) \
                 WHERE d.root_id = ?1 AND d.rel_path = ?2 AND d.deleted = 0 AND o.content_hash = d.content_hash",
            ))?;
            paths.iter().map(|path| find.query_row((ROOT_ID, path), |row| row.get(0)).optional()).collect()
        })
    }

    /// The files that have facts of their present content, each with the hash of that content, by path.
    pub(crate) fn documents_with_facts(&self) -> Result<Vec<(String, ContentHash)>, IndexError> {
        self.with_reader(|reader| {
            let there = reader
                .conn
                .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'facts'")?
                .exists([])?;
            if !there {
                return Ok(Vec::new());
            }
            reader
                .conn
                .prepare_cached(
                    "SELECT d.rel_path, d.content_hash FROM documents d JOIN facts f USING (doc_id) \
                     WHERE d.root_id = ?1 AND d.deleted = 0 AND d.status = 'ok' AND f.content_hash = d.content_hash \
                     ORDER BY d.rel_path",
                )?
                .query_map([ROOT_ID], |row| {
                    let hash: [u8; 32] = row.get(1)?;
                    Ok((row.get(0)?, ContentHash(hash)))
                })?
                .collect()
        })
    }
}
