//! What was extracted from documents, kept by the hash of their content (`produced_texts`).
//!
//! The chunks hold nearly all of such a text already. So what is stored is where each chunk lies in it, and what no chunk
//! holds: a percent or two of the text. A hash of the whole tells whether it was put together rightly; where it was not, the
//! document is extracted again.

use model::{Chunk, ContentHash, Representation};
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::{Deserialize, Serialize};

use super::text::{Packer, Unpacker};
use super::{Catalog, Reader};
use crate::error::IndexError;

/// More than this beside the chunks is not worth its room: the document is extracted again when it is opened.
const MOST_BESIDE: usize = 4 << 20;

/// A chunk that is not found in the text costs a look at all of it.
const MOST_MISSED: usize = 8;

/// A text as differences from the chunks of its representation.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Difference {
    length: usize,
    /// For each chunk in order, how many bytes after the one before it begins; none where it is not in the text.
    steps: Vec<Option<usize>>,
    /// What no chunk holds, in order.
    beside: String,
}

impl Difference {
    fn of(text: &str, chunks: &[Chunk]) -> Difference {
        let mut steps = Vec::with_capacity(chunks.len());
        let mut beside = String::new();
        let (mut at, mut covered, mut missed) = (0, 0, 0);
        for chunk in chunks {
            // Chunks lie in the order of the text and overlap a little: each is looked for from where the last one began.
            let step = if missed < MOST_MISSED { text[at..].find(&chunk.text) } else { None };
            steps.push(step);
            let Some(step) = step else {
                missed += 1;
                continue;
            };
            at += step;
            if at > covered {
                beside.push_str(&text[covered..at]);
            }
            covered = covered.max(at + chunk.text.len());
        }
        beside.push_str(&text[covered..]);
        Difference { length: text.len(), steps, beside }
    }

    /// The text, from the chunks in their order; `None` where they are not those it was made from.
    fn joined(&self, chunks: &[String]) -> Option<String> {
        if chunks.len() != self.steps.len() {
            return None;
        }
        let mut text = String::with_capacity(self.length.min(1 << 30));
        let mut beside = self.beside.as_str();
        let mut at = 0usize;
        for (chunk, step) in chunks.iter().zip(&self.steps) {
            let Some(step) = step else { continue };
            at = at.checked_add(*step)?;
            if at > text.len() {
                let (between, rest) = beside.split_at_checked(at - text.len())?;
                text.push_str(between);
                beside = rest;
            }
            // The beginning may be there already, from the chunk before.
            if let Some(new) = chunk.get(text.len() - at..) {
                text.push_str(new);
            }
        }
        text.push_str(beside);
        (text.len() == self.length).then_some(text)
    }
}

/// Keeps what a representation was cut from, or forgets what was kept of an earlier content.
pub(super) fn put(
    tx: &Transaction<'_>,
    packer: &mut Packer,
    rep_id: i64,
    content_hash: Option<ContentHash>,
    rep: &Representation,
) -> rusqlite::Result<()> {
    let difference = rep.produced.as_ref().map(|produced| Difference::of(&produced.text, &rep.chunks));
    let (Some(produced), Some(difference), Some(content_hash)) = (&rep.produced, difference, content_hash)
    else {
        return forget(tx, rep_id);
    };
    if difference.beside.len() > MOST_BESIDE {
        return forget(tx, rep_id);
    }
    let json = serde_json::to_string(&difference).unwrap_or_default();
    tx.prepare_cached(
        "INSERT INTO produced_texts (rep_id, content_hash, producer, text_hash, packed) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (rep_id) DO UPDATE SET content_hash = excluded.content_hash, producer = excluded.producer, \
         text_hash = excluded.text_hash, packed = excluded.packed",
    )?
    .execute((
        rep_id,
        &content_hash.0[..],
        &produced.producer,
        &text_hash(&produced.text)[..],
        packer.pack(&json),
    ))?;
    Ok(())
}

fn forget(tx: &Transaction<'_>, rep_id: i64) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM produced_texts WHERE rep_id = ?1")?.execute([rep_id])?;
    Ok(())
}

/// Removes the texts of representations that are about to be removed.
pub(super) fn purge(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    tx.execute(
        "DELETE FROM produced_texts WHERE rep_id IN (SELECT rep_id FROM representations WHERE deleted = 1)",
        [],
    )?;
    Ok(())
}

impl Catalog {
    /// What a producer made of a content, if some document has it or had it until a moment ago.
    pub(crate) fn produced_text(
        &self,
        content_hash: &ContentHash,
        producer: &str,
    ) -> Result<Option<String>, IndexError> {
        if !self.has_reasons() {
            return Ok(None);
        }
        self.try_with_reader(|reader| {
            let Reader { conn, unpacker } = reader;
            let sqlite = |error| self.error(error);
            // The chunks must be those of the row.
            let look = conn.transaction().map_err(sqlite)?;
            let rows: Vec<(i64, Vec<u8>, Vec<u8>)> = look
                .prepare_cached(
                    "SELECT t.rep_id, t.text_hash, t.packed FROM produced_texts t \
                     JOIN representations r ON r.rep_id = t.rep_id \
                     WHERE t.content_hash = ?1 AND t.producer = ?2 ORDER BY r.deleted, t.rep_id LIMIT 4",
                )
                .and_then(|mut statement| {
                    let rows = statement.query_map((&content_hash.0[..], producer), |row| {
                        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                    })?;
                    rows.collect()
                })
                .map_err(sqlite)?;
            for (rep_id, expected, packed) in rows {
                let text = rebuilt(&look, unpacker, rep_id, &packed).map_err(sqlite)?;
                if let Some(text) = text.filter(|text| text_hash(text)[..] == expected[..]) {
                    return Ok(Some(text));
                }
            }
            Ok(None)
        })
    }
}

/// Puts a text together again. What cannot be unpacked, or is not whole any more, is as good as not there: the caller can
/// make it again from the document.
fn rebuilt(
    conn: &Connection,
    unpacker: &mut Unpacker,
    rep_id: i64,
    packed: &[u8],
) -> rusqlite::Result<Option<String>> {
    let Ok(json) = unpacker.unpack(conn, packed) else { return Ok(None) };
    let Ok(difference) = serde_json::from_str::<Difference>(&json) else { return Ok(None) };
    // The chunks of a removed representation stay until they are purged. Should there be older ones among them, the hash
    // does not match.
    let is_deleted: Option<bool> = conn
        .prepare_cached("SELECT deleted FROM representations WHERE rep_id = ?1")?
        .query_row([rep_id], |row| row.get(0))
        .optional()?;
    let Some(is_deleted) = is_deleted else { return Ok(None) };
    let mut statement =
        conn.prepare_cached("SELECT text FROM chunks WHERE rep_id = ?1 AND deleted = ?2 ORDER BY ordinal")?;
    let mut rows = statement.query((rep_id, is_deleted))?;
    let mut chunks = Vec::with_capacity(difference.steps.len());
    while let Some(row) = rows.next()? {
        let Ok(text) = unpacker.unpack(conn, row.get_ref(0)?.as_blob()?) else { return Ok(None) };
        chunks.push(text);
    }
    Ok(difference.joined(&chunks))
}

/// 128 bits tell a text that was put together wrongly from the right one.
fn text_hash(text: &str) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    short
}

#[cfg(test)]
mod tests {
    use model::{ChunkId, Heading, IndexKind, Span};
    use proptest::prelude::*;

    use super::*;

    fn chunk(text: &str) -> Chunk {
        Chunk {
            id: ChunkId(1),
            ordinal: 0,
            span: Span::Page { page: 1 },
            pointer: None,
            heading: Heading::default(),
            kind: IndexKind::Text,
            text: text.to_owned(),
            text_hash: ContentHash([0; 32]),
            tokens_est: 0,
        }
    }

    fn texts(chunks: &[Chunk]) -> Vec<String> {
        chunks.iter().map(|chunk| chunk.text.clone()).collect()
    }

    proptest! {
        /// Whatever the chunks are, slices of the text or not, the text comes out again.
        #[test]
        fn a_text_is_put_together_from_its_chunks(
            text in "[ab \\né漢]{0,200}",
            cuts in proptest::collection::vec((0.0..1.0f64, 0.0..1.0f64), 0..12),
            strange in proptest::option::of("[abx]{0,8}"),
        ) {
            let at = |part: f64| text.floor_char_boundary((text.len() as f64 * part) as usize);
            let mut cuts: Vec<_> = cuts.iter().map(|(a, b)| (at(a.min(*b)), at(a.max(*b)))).collect();
            cuts.sort_unstable();
            let mut chunks: Vec<Chunk> = cuts.iter().map(|(from, to)| chunk(&text[*from..*to])).collect();
            chunks.extend(strange.as_deref().map(chunk));
            let difference = Difference::of(&text, &chunks);
            prop_assert_eq!(difference.joined(&texts(&chunks)), Some(text));
        }
    }

    #[test]
    fn what_the_chunks_hold_is_not_stored_twice() {
        let text = (0..500).map(|n| format!("Line {n} of the report.\n")).collect::<String>();
        let chunks: Vec<Chunk> = (0..text.len() / 1000)
            .map(|n| chunk(&text[n * 1000..(n * 1000 + 1100).min(text.len())]))
            .collect();
        let difference = Difference::of(&text, &chunks);
        assert!(difference.beside.len() < 1000, "{}", difference.beside.len());
        assert_eq!(difference.joined(&texts(&chunks)[1..]), None, "other chunks");
    }
}
