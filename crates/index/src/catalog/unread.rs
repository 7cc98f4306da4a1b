//! Documents with parts that a recogniser or a transcriber has yet to read (`unread_parts`): work for later, written in the
//! transaction that brings the document.

use model::{Capability, ContentHash, DocId, Document, SkipReason, UnreadParts};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};

use super::read::document_row;
use super::{Catalog, DocumentRow, ROOT_ID, reason};
use crate::error::IndexError;

/// The type of a document, and what it lacks.
type UnreadKind = (model::DocType, Capability);

/// Notes what is still unread in a document, or that nothing is.
pub(super) fn put(tx: &Transaction<'_>, doc_id: i64, document: &Document) -> rusqlite::Result<()> {
    let Some(unread) = &document.unread else { return forget(tx, doc_id) };
    let (pages, work) = match unread {
        UnreadParts::Pages(pages) => (written(pages), pages.len() as i64),
        UnreadParts::Speech => (String::new(), document.size as i64),
    };
    tx.prepare_cached(
        "INSERT INTO unread_parts (doc_id, capability, pages, work, refused_by) VALUES (?1, ?2, ?3, ?4, NULL) \
         ON CONFLICT (doc_id) DO UPDATE SET capability = excluded.capability, pages = excluded.pages, \
         work = excluded.work, refused_by = NULL",
    )?
    .execute((doc_id, unread.capability().as_str(), pages, work))?;
    Ok(())
}

pub(super) fn forget(tx: &Transaction<'_>, doc_id: i64) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM unread_parts WHERE doc_id = ?1")?.execute([doc_id])?;
    Ok(())
}

impl Catalog {
    /// Live documents that lack something that a producer of `capability` can give, those with the least work first. Those
    /// that this producer has refused are left out.
    pub(crate) fn unread_documents(
        &self,
        capability: Capability,
        producer: &str,
        limit: usize,
    ) -> Result<Vec<DocumentRow>, IndexError> {
        if !self.keeps_bought_parts() {
            return Ok(Vec::new());
        }
        self.with_reader(|reader| {
            let mut statement = reader.conn.prepare_cached(&format!(
                "{} JOIN unread_parts u USING (doc_id) WHERE root_id = ?1 AND deleted = 0 \
                 AND u.capability = ?2 AND u.refused_by IS NOT ?3 ORDER BY u.work, rel_path LIMIT ?4",
                self.document_columns()
            ))?;
            let rows =
                statement.query_map((ROOT_ID, capability.as_str(), producer, limit as i64), document_row)?;
            let mut found: Vec<DocumentRow> = rows.collect::<rusqlite::Result<_>>()?;
            let mut pages = reader.conn.prepare_cached("SELECT pages FROM unread_parts WHERE doc_id = ?1")?;
            for row in &mut found {
                let listed: Option<String> = pages.query_row([row.doc_id.0], |row| row.get(0)).optional()?;
                row.document.unread = listed.map(|listed| match capability {
                    Capability::Stt => UnreadParts::Speech,
                    _ => UnreadParts::Pages(read(&listed)),
                });
            }
            Ok(found)
        })
    }

    /// How many live documents lack something, and how many pages or recordings that is.
    pub(crate) fn unread_count(&self, capability: Capability) -> Result<(u64, u64), IndexError> {
        if !self.keeps_bought_parts() {
            return Ok((0, 0));
        }
        self.with_reader(|reader| {
            reader
                .conn
                .prepare_cached(
                    "SELECT count(*), coalesce(sum(CASE capability WHEN 'ocr' THEN work ELSE 1 END), 0) \
                     FROM unread_parts WHERE capability = ?1",
                )?
                .query_row([capability.as_str()], |row| {
                    Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64))
                })
        })
    }

    /// The pages of a document that nobody has read, as ranges: `2,4-6`.
    pub(crate) fn unread_pages(&self, document: DocId) -> Result<Option<String>, IndexError> {
        if !self.keeps_bought_parts() {
            return Ok(None);
        }
        self.with_reader(|reader| {
            reader
                .conn
                .prepare_cached("SELECT pages FROM unread_parts WHERE doc_id = ?1 AND capability = 'ocr'")?
                .query_row([document.0], |row| row.get(0))
                .optional()
        })
    }

    /// Notes that a producer will not read a document, which has this reason now. Nothing where the document has another
    /// content by now. Returns whether it was noted.
    pub(crate) fn refuse_unread(
        &self,
        path: &str,
        content_hash: &ContentHash,
        producer: &str,
        why: &SkipReason,
    ) -> Result<bool, IndexError> {
        let (code, json) = reason::written(Some(why));
        let mut noted = false;
        self.update_listing(|tx, generation| {
            let doc_id: Option<i64> = tx
                .prepare_cached(
                    "UPDATE documents SET status = 'error', reason_code = ?4, reason_json = ?5, generation = ?6 \
                     WHERE root_id = ?1 AND rel_path = ?2 AND content_hash = ?3 AND deleted = 0 RETURNING doc_id",
                )?
                .query_row((ROOT_ID, path, &content_hash.0[..], code, json, generation as i64), |row| row.get(0))
                .optional()?;
            if let Some(doc_id) = doc_id {
                noted = tx
                    .prepare_cached("UPDATE unread_parts SET refused_by = ?2 WHERE doc_id = ?1")?
                    .execute((doc_id, producer))?
                    > 0;
            }
            Ok(())
        })?;
        Ok(noted)
    }

    /// Gives the documents that cannot be searched because of unread parts the reason that is true now: a provider may have
    /// been set up, taken away or exchanged. Nothing is written where all have it already.
    pub(crate) fn retell_unread(
        &self,
        reason_now: &dyn Fn(UnreadKind, Option<&str>) -> Option<SkipReason>,
    ) -> Result<u64, IndexError> {
        type Row = (i64, String, String, Option<String>, Option<String>, bool);
        let rows: Vec<Row> = self.with_reader(|reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT d.doc_id, d.doc_type, u.capability, u.refused_by, d.reason_json, EXISTS ( \
                     SELECT 1 FROM representations r WHERE r.doc_id = d.doc_id AND r.deleted = 0) \
                 FROM unread_parts u JOIN documents d USING (doc_id) \
                 WHERE d.deleted = 0 AND d.reason_json IS NOT NULL",
            )?;
            let rows = statement.query_map([], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
            })?;
            rows.collect()
        })?;
        let mut changes = Vec::new();
        for (doc_id, doc_type, capability, refused_by, json, has_text) in rows {
            let kind = model::DocType::parse(&doc_type).zip(Capability::parse(&capability));
            let Some(now) = kind.and_then(|kind| reason_now(kind, refused_by.as_deref())) else { continue };
            // A document that can be searched by a part of its text has no reason unless something went wrong.
            let now = Some(now).filter(|now| !has_text || now.is_failure());
            let status = match &now {
                None => "ok",
                Some(now) if now.is_failure() => "error",
                Some(_) => "skipped",
            };
            let (code, written) = reason::written(now.as_ref());
            if written != json {
                changes.push((doc_id, code, written, status));
            }
        }
        if changes.is_empty() {
            return Ok(0);
        }
        self.update_listing(|tx, generation| {
            let mut update = tx.prepare_cached(
                "UPDATE documents SET reason_code = ?2, reason_json = ?3, status = ?4, generation = ?5 WHERE doc_id = ?1",
            )?;
            // Another time stamp than the file's has it looked at.
            let mut look = tx.prepare_cached(
                "UPDATE documents SET mtime_ns = mtime_ns - 1, inode = 0 WHERE doc_id = ?1 AND content_hash IS NULL",
            )?;
            for (doc_id, code, json, status) in &changes {
                update.execute((doc_id, code, json, status, generation as i64))?;
                look.execute([doc_id])?;
            }
            Ok(())
        })?;
        Ok(changes.len() as u64)
    }

    /// A transaction that changes what is listed of documents, and no chunk.
    fn update_listing(
        &self,
        change: impl FnOnce(&Transaction<'_>, u64) -> rusqlite::Result<()>,
    ) -> Result<(), IndexError> {
        let mut writer = self.writer()?;
        let generation = self.generation() + 1;
        writer
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|tx| {
                change(&tx, generation)?;
                super::write::set_number(&tx, "generation", generation)?;
                tx.commit()
            })
            .map_err(|error| self.error(error))?;
        self.set_generation(generation);
        Ok(())
    }
}

/// Page numbers as ranges: `1-40,43`.
fn written(pages: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for page in pages {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *page => *last = *page,
            _ => ranges.push((*page, *page)),
        }
    }
    let one = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(",")
}

/// Reads [`written`] back; what is no page number is passed over.
pub(super) fn read(pages: &str) -> Vec<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    pages.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::{read, written};

    #[test]
    fn pages_are_written_as_ranges() {
        for (pages, text) in [(vec![], ""), (vec![7], "7"), (vec![1, 2, 3, 5, 8, 9], "1-3,5,8-9")] {
            assert_eq!(written(&pages), text);
            assert_eq!(read(text), pages);
        }
    }
}
