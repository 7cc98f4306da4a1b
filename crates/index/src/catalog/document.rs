//! The rows of one document: what a change of it adds, keeps and removes, as a difference of two sets.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use model::{Chunk, ChunkId, ContentHash, Document, Representation};
use rusqlite::{OptionalExtension, Transaction, params};

use super::text::Packer;
use super::write::{Added, Outcome};
use super::{ROOT_ID, extras, kind_of, produced, reason, unread};
use crate::lexical::kind_index;

pub(super) struct DocumentWriter<'a> {
    pub(super) tx: &'a Transaction<'a>,
    pub(super) packer: &'a mut Packer,
    pub(super) generation: i64,
    pub(super) embedding_status: [&'a str; 2],
    pub(super) outcome: Outcome,
    pub(super) changed: bool,
}

/// The columns of a document by which a change is told.
#[derive(PartialEq)]
struct Columns {
    source_type: String,
    doc_type: String,
    content_hash: Option<Vec<u8>>,
    status: String,
    reason_code: Option<String>,
    reason_json: Option<String>,
    deleted: bool,
}

impl Columns {
    fn of(document: &Document) -> Columns {
        let (reason_code, reason_json) = reason::written(document.reason.as_ref());
        Columns {
            source_type: document.source.as_str().to_owned(),
            doc_type: document.doc_type.as_str().to_owned(),
            content_hash: document.content_hash.map(|hash| hash.0.to_vec()),
            status: document.status().as_str().to_owned(),
            reason_code: reason_code.map(str::to_owned),
            reason_json,
            deleted: false,
        }
    }
}

/// A live chunk of the document before the change.
struct Live {
    ordinal: i64,
    text_hash: Vec<u8>,
    kind: String,
}

impl DocumentWriter<'_> {
    /// Writes a document and all its representations. `number` is the change's place in its batch.
    pub(super) fn put(
        &mut self,
        number: usize,
        document: &Document,
        representations: &[Representation],
    ) -> rusqlite::Result<()> {
        let (doc_id, is_new) = self.put_columns(document)?;
        if !is_new || document.unread.is_some() {
            unread::put(self.tx, doc_id, document)?;
        }
        let known = if is_new { Vec::new() } else { self.representations(doc_id)? };
        for old in &known {
            let stays = representations.iter().any(|rep| rep.rep_type.as_str() == old.rep_type);
            if !old.deleted && !stays {
                self.remove_representation(old.rep_id)?;
            }
        }
        for (position, rep) in representations.iter().enumerate() {
            let old = known.iter().find(|old| old.rep_type == rep.rep_type.as_str());
            let rep_id = self.put_representation((number, position), doc_id, rep, old)?;
            produced::put(self.tx, self.packer, rep_id, document.content_hash, rep)?;
        }
        Ok(())
    }

    /// Writes the row of a document. Returns its number, and whether it is new.
    fn put_columns(&mut self, document: &Document) -> rusqlite::Result<(i64, bool)> {
        let now = Columns::of(document);
        let Document { path, size, mtime_ns, inode, .. } = document;
        let known = self
            .tx
            .prepare_cached(
                "SELECT doc_id, source_type, doc_type, content_hash, status, reason_code, reason_json, deleted \
                 FROM documents WHERE root_id = ?1 AND rel_path = ?2",
            )?
            .query_row((ROOT_ID, path), |found| {
                Ok((
                    found.get::<_, i64>(0)?,
                    Columns {
                        source_type: found.get(1)?,
                        doc_type: found.get(2)?,
                        content_hash: found.get(3)?,
                        status: found.get(4)?,
                        reason_code: found.get(5)?,
                        reason_json: found.get(6)?,
                        deleted: found.get(7)?,
                    },
                ))
            })
            .optional()?;
        let has_changed = known.as_ref().is_none_or(|(_, before)| *before != now);
        let columns = params![
            ROOT_ID,
            path,
            now.source_type,
            now.doc_type,
            *size as i64,
            seconds(*mtime_ns),
            mtime_ns,
            *inode as i64,
            now.content_hash,
            now.status,
            now.reason_code,
            now.reason_json,
            self.generation,
            has_changed
        ];
        let doc_id = self
            .tx
            .prepare_cached(
                "INSERT INTO documents (root_id, rel_path, source_type, doc_type, size_bytes, mtime_unix, \
                 mtime_ns, inode, content_hash, status, reason_code, reason_json, deleted, generation) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0, ?13) \
                 ON CONFLICT (root_id, rel_path) DO UPDATE SET \
                 source_type = excluded.source_type, doc_type = excluded.doc_type, \
                 size_bytes = excluded.size_bytes, mtime_unix = excluded.mtime_unix, mtime_ns = excluded.mtime_ns, \
                 inode = excluded.inode, content_hash = excluded.content_hash, status = excluded.status, \
                 reason_code = excluded.reason_code, reason_json = excluded.reason_json, deleted = 0, \
                 generation = iif(?14, excluded.generation, generation) RETURNING doc_id",
            )?
            .query_row(columns, |row| row.get(0))?;
        self.changed |= has_changed;
        Ok((doc_id, known.is_none()))
    }

    /// The file was written again with the same content.
    pub(super) fn touch(&mut self, path: &str, size: u64, mtime_ns: i64, inode: u64) -> rusqlite::Result<()> {
        // No generation: nothing that can be searched or listed by content has changed.
        self.tx
            .prepare_cached(
                "UPDATE documents SET size_bytes = ?3, mtime_unix = ?4, mtime_ns = ?5, inode = ?6 \
                 WHERE root_id = ?1 AND rel_path = ?2 AND deleted = 0",
            )?
            .execute(params![ROOT_ID, path, size as i64, seconds(mtime_ns), mtime_ns, inode as i64])?;
        Ok(())
    }

    pub(super) fn delete(&mut self, path: &str) -> rusqlite::Result<()> {
        let doc_id: Option<i64> = self
            .tx
            .prepare_cached(
                "UPDATE documents SET deleted = 1, generation = ?3 \
                 WHERE root_id = ?1 AND rel_path = ?2 AND deleted = 0 RETURNING doc_id",
            )?
            .query_row((ROOT_ID, path, self.generation), |row| row.get(0))
            .optional()?;
        if let Some(doc_id) = doc_id {
            self.changed = true;
            unread::forget(self.tx, doc_id)?;
            for rep in self.representations(doc_id)? {
                if !rep.deleted {
                    self.remove_representation(rep.rep_id)?;
                }
            }
        }
        Ok(())
    }

    fn representations(&self, doc_id: i64) -> rusqlite::Result<Vec<KnownRep>> {
        let mut statement = self.tx.prepare_cached(
            "SELECT rep_id, rep_type, rep_hash, deleted FROM representations WHERE doc_id = ?1",
        )?;
        let rows = statement.query_map([doc_id], |row| {
            Ok(KnownRep {
                rep_id: row.get(0)?,
                rep_type: row.get(1)?,
                rep_hash: row.get(2)?,
                deleted: row.get(3)?,
            })
        })?;
        rows.collect()
    }

    fn remove_representation(&mut self, rep_id: i64) -> rusqlite::Result<()> {
        self.changed = true;
        self.tx
            .prepare_cached("UPDATE representations SET deleted = 1 WHERE rep_id = ?1")?
            .execute([rep_id])?;
        for (id, live) in self.live_chunks(rep_id)? {
            self.remove_chunk(id, &live)?;
        }
        Ok(())
    }

    /// Returns the number of the representation, which is found in its batch at `place`.
    fn put_representation(
        &mut self,
        place: (usize, usize),
        doc_id: i64,
        rep: &Representation,
        old: Option<&KnownRep>,
    ) -> rusqlite::Result<i64> {
        if let Some(old) = old.filter(|old| !old.deleted && old.rep_hash == short(&rep.rep_hash)) {
            return Ok(old.rep_id);
        }
        self.changed = true;
        self.outcome.reps += 1;
        let created = now();
        let (rep_id, before) = match old {
            Some(old) => {
                self.tx
                    .prepare_cached(
                        "UPDATE representations SET rep_hash = ?2, created_unix = ?3, meta_json = ?4, deleted = 0 \
                         WHERE rep_id = ?1",
                    )?
                    .execute((old.rep_id, short(&rep.rep_hash), created, &rep.meta_json))?;
                (old.rep_id, self.live_chunks(old.rep_id)?)
            }
            None => {
                self.tx
                    .prepare_cached(
                        "INSERT INTO representations (doc_id, rep_type, rep_hash, created_unix, meta_json) \
                         VALUES (?1, ?2, ?3, ?4, ?5)",
                    )?
                    .execute((
                        doc_id,
                        rep.rep_type.as_str(),
                        short(&rep.rep_hash),
                        created,
                        &rep.meta_json,
                    ))?;
                (self.tx.last_insert_rowid(), HashMap::new())
            }
        };
        let mut gone = before;
        let (change, representation) = place;
        for (position, chunk) in rep.chunks.iter().enumerate() {
            if let Some((id, replaces)) = self.place(rep_id, chunk, &mut gone)? {
                let added = Added { change, representation, chunk: position, id, doc_id, replaces };
                self.outcome.added.push(added);
            }
        }
        for (id, live) in gone {
            self.remove_chunk(id, &live)?;
        }
        Ok(rep_id)
    }

    /// Makes the chunk a live row of the representation. Returns its id if the derived indices have to be
    /// told, and whether it was live before; takes it out of `gone` if it was.
    ///
    /// The id is a hash of what the chunk is. Should it belong to another chunk already (once in some 2^53
    /// pairs), the next free number is taken, and found again by the same steps next time.
    fn place(
        &mut self,
        rep_id: i64,
        chunk: &Chunk,
        gone: &mut HashMap<i64, Live>,
    ) -> rusqlite::Result<Option<(ChunkId, bool)>> {
        let mut id = chunk.id.0;
        let text_hash = short(&chunk.text_hash);
        loop {
            if let Some(live) = gone.remove(&id) {
                let same_text = live.text_hash == text_hash && live.kind == chunk.kind.as_str();
                if same_text && live.ordinal == i64::from(chunk.ordinal) {
                    return Ok(None);
                }
                self.revive(id, chunk, text_hash, same_text)?;
                return Ok(Some((ChunkId(id), true)));
            }
            if self.insert(id, rep_id, chunk, text_hash)? {
                return Ok(Some((ChunkId(id), false)));
            }
            let (owner, deleted, hash, kind): (i64, bool, Vec<u8>, String) = self
                .tx
                .prepare_cached(
                    "SELECT rep_id, deleted, text_hash, index_kind FROM chunks WHERE chunk_id = ?1",
                )?
                .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
            if owner == rep_id && deleted {
                // It may come back as another kind.
                let same_text = hash == text_hash && kind == chunk.kind.as_str();
                self.revive(id, chunk, text_hash, same_text)?;
                return Ok(Some((ChunkId(id), false)));
            }
            id = if id >= ChunkId::MAX { 1 } else { id + 1 };
        }
    }

    fn insert(&mut self, id: i64, rep_id: i64, chunk: &Chunk, text_hash: &[u8]) -> rusqlite::Result<bool> {
        let inserted = self
            .tx
            .prepare_cached(
                "INSERT INTO chunks (chunk_id, rep_id, ordinal, text_hash, tokens_est, index_kind, \
                 embedding_status, deleted, generation, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9) \
                 ON CONFLICT (chunk_id) DO NOTHING",
            )?
            .execute(params![
                id,
                rep_id,
                chunk.ordinal,
                text_hash,
                chunk.tokens_est,
                chunk.kind.as_str(),
                self.embedding_status[kind_index(chunk.kind)],
                self.generation,
                self.packer.pack(&chunk.text)
            ])?;
        if inserted == 1 {
            let (kind, start, end) = chunk.span.to_parts();
            self.tx
                .prepare_cached(
                    "INSERT INTO spans (chunk_id, span_kind, start, \"end\", extra_json) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute((id, kind, start, end, extras::written(chunk)))?;
        }
        Ok(inserted == 1)
    }

    /// Turns an existing row of the same representation into this chunk.
    fn revive(&mut self, id: i64, chunk: &Chunk, text_hash: &[u8], same_text: bool) -> rusqlite::Result<()> {
        let (kind, start, end) = chunk.span.to_parts();
        self.tx
            .prepare_cached(
                "UPDATE spans SET span_kind = ?2, start = ?3, \"end\" = ?4, extra_json = ?5 WHERE chunk_id = ?1",
            )?
            .execute((id, kind, start, end, extras::written(chunk)))?;
        if same_text {
            self.tx
                .prepare_cached(
                    "UPDATE chunks SET ordinal = ?2, tokens_est = ?3, deleted = 0, generation = ?4 \
                     WHERE chunk_id = ?1",
                )?
                .execute((id, chunk.ordinal, chunk.tokens_est, self.generation))?;
        } else {
            self.tx
                .prepare_cached(
                    "UPDATE chunks SET ordinal = ?2, tokens_est = ?3, deleted = 0, generation = ?4, text_hash = ?5, \
                     index_kind = ?6, embedding_status = ?7, embedding_error = NULL, text = ?8 \
                     WHERE chunk_id = ?1",
                )?
                .execute(params![
                    id,
                    chunk.ordinal,
                    chunk.tokens_est,
                    self.generation,
                    text_hash,
                    chunk.kind.as_str(),
                    self.embedding_status[kind_index(chunk.kind)],
                    self.packer.pack(&chunk.text)
                ])?;
        }
        Ok(())
    }

    fn live_chunks(&self, rep_id: i64) -> rusqlite::Result<HashMap<i64, Live>> {
        let mut statement = self.tx.prepare_cached(
            "SELECT chunk_id, ordinal, text_hash, index_kind FROM chunks WHERE rep_id = ?1 AND deleted = 0",
        )?;
        let rows = statement.query_map([rep_id], |row| {
            Ok((row.get(0)?, Live { ordinal: row.get(1)?, text_hash: row.get(2)?, kind: row.get(3)? }))
        })?;
        rows.collect()
    }

    fn remove_chunk(&mut self, id: i64, live: &Live) -> rusqlite::Result<()> {
        self.tx
            .prepare_cached("UPDATE chunks SET deleted = 1, generation = ?2 WHERE chunk_id = ?1")?
            .execute((id, self.generation))?;
        self.outcome.removed.push((ChunkId(id), kind_of(&live.kind)));
        Ok(())
    }
}

struct KnownRep {
    rep_id: i64,
    rep_type: String,
    rep_hash: Vec<u8>,
    deleted: bool,
}

/// 128 bits tell texts apart as well as 256, at half the size.
fn short(hash: &ContentHash) -> &[u8] {
    &hash.0[..16]
}

fn seconds(mtime_ns: i64) -> i64 {
    mtime_ns.div_euclid(1_000_000_000)
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs() as i64)
}
