//! Texts that somebody was paid for, or worked long for: recognised pages, transcripts, annotations. They are kept by the
//! hash of the document's content, so that none is made twice: not for a copy of the file, not under another name, not
//! when its representations are cut again or the whole index is built again.
//!
//! Such a text stays as long as some document has its content.

use std::sync::atomic::Ordering;

use model::{Capability, ContentHash};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};

use super::{Catalog, ROOT_ID, Reader};
use crate::error::IndexError;

/// What a text was made for: a capability of a provider, or an annotation that a caller gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoughtKind {
    Read(Capability),
    Annotation,
}

impl BoughtKind {
    fn as_str(self) -> &'static str {
        match self {
            BoughtKind::Read(capability) => capability.as_str(),
            BoughtKind::Annotation => "annotation",
        }
    }
}

/// A page, a transcript or an annotation, as its owner writes it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoughtPart {
    /// The provider and the model: another one makes another text.
    pub producer: String,
    /// The page; 0 where the whole document is one part.
    pub part: u32,
    pub text: String,
}

impl Catalog {
    /// What is kept of a content, each part as it was made last, in the order of the parts.
    pub(crate) fn bought_parts(
        &self,
        content_hash: &ContentHash,
        kind: BoughtKind,
    ) -> Result<Vec<BoughtPart>, IndexError> {
        // Every document that is indexed asks, and nearly every index has none.
        if !self.keeps_bought_parts() || !self.has_bought_parts.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        self.try_with_reader(|reader| {
            let Reader { conn, unpacker } = reader;
            let sqlite = |error| self.error(error);
            let mut statement = conn
                .prepare_cached(
                    "SELECT producer, part, packed FROM bought_parts WHERE content_hash = ?1 AND kind = ?2 \
                     ORDER BY part, part_id",
                )
                .map_err(sqlite)?;
            let mut rows = statement.query((&content_hash.0[..], kind.as_str())).map_err(sqlite)?;
            let mut parts: Vec<BoughtPart> = Vec::new();
            while let Some(row) = rows.next().map_err(sqlite)? {
                let packed = row.get_ref(2).and_then(|packed| Ok(packed.as_blob()?)).map_err(sqlite)?;
                let part = BoughtPart {
                    producer: row.get(0).map_err(sqlite)?,
                    part: row.get(1).map_err(sqlite)?,
                    text: unpacker.unpack(conn, packed).map_err(|detail| self.corrupt(detail))?,
                };
                match parts.last_mut().filter(|last| last.part == part.part) {
                    Some(last) => *last = part,
                    None => parts.push(part),
                }
            }
            Ok(parts)
        })
    }

    /// Keeps parts. When this returns they survive a power cut.
    pub(crate) fn keep_parts(
        &self,
        path: &str,
        content_hash: &ContentHash,
        kind: BoughtKind,
        parts: &[BoughtPart],
    ) -> Result<(), IndexError> {
        let mut guard = self.writer()?;
        let writer = &mut *guard;
        let tx = writer
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| self.error(error))?;
        let mut keep = || -> rusqlite::Result<()> {
            for BoughtPart { producer, part, text } in parts {
                // The row is made again, so that the last one made has the highest number.
                tx.prepare_cached(
                    "INSERT OR REPLACE INTO bought_parts (content_hash, kind, producer, part, rel_path, packed) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute((
                    &content_hash.0[..],
                    kind.as_str(),
                    producer,
                    part,
                    path,
                    writer.packer.pack(text),
                ))?;
            }
            Ok(())
        };
        let kept = keep();
        kept.and_then(|()| tx.commit()).map_err(|error| self.error(error))?;
        drop(guard);
        self.has_bought_parts.store(true, Ordering::Release);
        self.trim_log();
        Ok(())
    }

    /// Hands every part that was kept after another one to `take`: path, content hash, kind and the part. What cannot be read
    /// is passed over: whoever asks wants to save what can be saved. Returns the number of the last one.
    pub(crate) fn bought_parts_after(
        &self,
        after: i64,
        mut take: impl FnMut(&str, ContentHash, BoughtKind, BoughtPart) -> Result<(), IndexError>,
    ) -> Result<i64, IndexError> {
        if !self.keeps_bought_parts() {
            return Ok(after);
        }
        self.try_with_reader(|reader| {
            let Reader { conn, unpacker } = reader;
            let mut last = after;
            loop {
                // One row at a time: a page of the file that is damaged costs its rows and not those behind them.
                let row = conn
                    .prepare_cached(
                        "SELECT part_id, rel_path, content_hash, kind, producer, part, packed FROM bought_parts \
                         WHERE part_id > ?1 ORDER BY part_id LIMIT 1",
                    )
                    .and_then(|mut statement| {
                        statement
                            .query_row([last], |row| {
                                Ok((
                                    row.get::<_, i64>(0)?,
                                    row.get::<_, String>(1)?,
                                    row.get::<_, Vec<u8>>(2)?,
                                    row.get::<_, String>(3)?,
                                    row.get::<_, String>(4)?,
                                    row.get::<_, u32>(5)?,
                                    row.get::<_, Vec<u8>>(6)?,
                                ))
                            })
                            .optional()
                    });
                let (id, path, hash, kind, producer, part, packed) = match row {
                    Ok(Some(row)) => row,
                    Ok(None) => return Ok(last),
                    Err(error) => {
                        tracing::warn!(%error, "kept texts of a damaged index could not be read");
                        let newest: Option<i64> = conn
                            .query_row("SELECT max(part_id) FROM bought_parts", [], |row| row.get(0))
                            .unwrap_or_default();
                        last += 1;
                        if newest.is_none_or(|newest| last >= newest) {
                            return Ok(last);
                        }
                        continue;
                    }
                };
                last = id;
                let kind = match kind.as_str() {
                    "annotation" => Some(BoughtKind::Annotation),
                    other => Capability::parse(other).map(BoughtKind::Read),
                };
                let hash = <[u8; 32]>::try_from(hash).ok().map(ContentHash);
                if let (Some(kind), Some(hash), Ok(text)) = (kind, hash, unpacker.unpack(conn, &packed)) {
                    take(&path, hash, kind, BoughtPart { producer, part, text })?;
                }
            }
        })
    }

    pub(crate) fn has_bought_parts(&self) -> bool {
        self.has_bought_parts.load(Ordering::Acquire)
    }

    /// Looks whether anything is kept at all.
    pub(super) fn look_for_bought_parts(&self) -> Result<(), IndexError> {
        if self.keeps_bought_parts() {
            let any = self.with_reader(|reader| {
                reader.conn.prepare_cached("SELECT 1 FROM bought_parts LIMIT 1")?.exists([])
            })?;
            self.has_bought_parts.store(any, Ordering::Release);
        }
        Ok(())
    }

    /// Since format 5.
    pub(super) fn keeps_bought_parts(&self) -> bool {
        self.format >= 5
    }
}

/// Removes the texts whose content no document has any more. A file that could not be read just now may still have it, so
/// what was made of that file stays.
pub(super) fn purge(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    tx.execute(
        "DELETE FROM bought_parts WHERE content_hash NOT IN \
             (SELECT content_hash FROM documents WHERE deleted = 0 AND content_hash IS NOT NULL) \
         AND rel_path NOT IN \
             (SELECT rel_path FROM documents WHERE root_id = ?1 AND deleted = 0 AND content_hash IS NULL)",
        [ROOT_ID],
    )?;
    Ok(())
}
