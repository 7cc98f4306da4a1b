//! Writing the lexical index: segments are built here, on our threads; Tantivy commits, merges and cleans up.

#![allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]

use std::sync::Arc;

use model::{ChunkId, IndexKind};
use tantivy::indexer::{AddOperation, IndexWriterOptions, SegmentWriter, UserOperation};
use tantivy::query::{BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::Field;
use tantivy::schema::document::{Document, ReferenceValue, ReferenceValueLeaf, Value};
use tantivy::{BitSet, DocId, IndexWriter, Score, Segment, SegmentReader, TantivyError};

use super::merge::Tiers;
use super::{CHUNK, Fields, GENERATION, Lexical, Payload};
use crate::definitions::{Family, Strength, definitions};
use crate::error::IndexError;
use crate::ids::IdMap;
use crate::tokens;

/// A segment under construction is closed when it has grown to this size in memory.
const SLOT_BYTES: usize = 24 << 20;

/// For the few chunks of an edit: Tantivy sizes its tables by the budget, and clearing large ones costs more
/// than filling small ones.
const SMALL_SLOT_BYTES: usize = 256 << 10;

/// A chunk to be indexed.
#[derive(Clone, Copy)]
pub(crate) struct NewDoc<'a> {
    pub(crate) id: ChunkId,
    pub(crate) doc_id: i64,
    pub(crate) ordinal: u32,
    pub(crate) kind: IndexKind,
    pub(crate) generation: u64,
    pub(crate) path: &'a str,
    /// Words beside the text by which it is found too: headings, the header row of a table.
    pub(crate) beside: &'a str,
    pub(crate) text: &'a str,
}

pub(crate) struct LexicalWriter {
    lexical: Lexical,
    writer: IndexWriter<ChunkDocument>,
    slots: Vec<Slot>,
    /// Chunks to remove, each with the commit that removed it: older entries of the chunk go, a newer one stays.
    removed: IdMap<u64>,
}

impl LexicalWriter {
    pub(crate) fn open(lexical: &Lexical, threads: usize) -> Result<LexicalWriter, IndexError> {
        // What a crash left on its way to another name.
        if let Ok(entries) = std::fs::read_dir(&lexical.dir) {
            for entry in entries.flatten() {
                if entry.file_name().to_str().is_some_and(|name| name.starts_with(".tmp")) {
                    let _ = std::fs::remove_file(entry.path());
                }
            }
        }
        // Its own indexing thread stays idle, and merges are small: one thread each is enough.
        let options = IndexWriterOptions::builder().num_worker_threads(1).num_merge_threads(1).build();
        let writer = lexical
            .index
            .writer_with_options(options)
            .map_err(|error| IndexError::lexical(&lexical.dir, error))?;
        writer.set_merge_policy(Box::new(Tiers));
        // Tantivy would stamp our first removal like the last commit, and a merge that begins before the next
        // commit would then apply it to some segments, skip it for those that the last commit touched, and forget
        // it: dead chunks came back after a crash. An empty run takes that stamp away.
        writer
            .run(std::iter::empty::<UserOperation<ChunkDocument>>())
            .map_err(|error| IndexError::lexical(&lexical.dir, error))?;
        let slots = (0..threads.max(1)).map(|_| Slot::new(lexical)).collect();
        Ok(LexicalWriter { lexical: lexical.clone(), writer, slots, removed: IdMap::default() })
    }

    /// Places where segments are built, one per thread.
    pub(crate) fn slots(&mut self) -> &mut [Slot] {
        &mut self.slots
    }

    /// Tells the slots how much is coming, so that they choose their size.
    pub(crate) fn expect(&mut self, bytes: usize) {
        for slot in &mut self.slots {
            slot.budget = if bytes > SMALL_SLOT_BYTES { SLOT_BYTES } else { SMALL_SLOT_BYTES };
        }
    }

    /// Removes every entry of the chunk that an earlier commit than `generation` wrote.
    pub(crate) fn remove(&mut self, id: ChunkId, generation: u64) {
        self.removed.insert(id.0, generation);
    }

    /// Makes everything so far durable, as the state of `generation`.
    pub(crate) fn commit(&mut self, generation: u64) -> Result<(), IndexError> {
        let payload = Payload::new(generation, &self.lexical.corpus);
        self.try_commit(&payload).map_err(|error| IndexError::lexical(&self.lexical.dir, error))
    }

    fn try_commit(&mut self, payload: &Payload) -> tantivy::Result<()> {
        for slot in &mut self.slots {
            slot.close()?;
            for segment in slot.closed.drain(..) {
                self.writer.add_segment(segment.meta().clone())?;
            }
        }
        if !self.removed.is_empty() {
            let removed = Arc::new(std::mem::take(&mut self.removed));
            self.writer.delete_query(Box::new(Superseded { removed }))?;
        }
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&serde_json::to_string(payload)?);
        prepared.commit()?;
        Ok(())
    }
}

/// One segment under construction, and those it has finished since the last commit.
pub(crate) struct Slot {
    lexical: Lexical,
    budget: usize,
    open: Option<(Segment, SegmentWriter)>,
    closed: Vec<Segment>,
    scratch: tokens::Scratch,
    path: String,
    path_tokens: String,
}

impl Slot {
    fn new(lexical: &Lexical) -> Slot {
        Slot {
            lexical: lexical.clone(),
            budget: SMALL_SLOT_BYTES,
            open: None,
            closed: Vec::new(),
            scratch: tokens::Scratch::default(),
            path: String::new(),
            path_tokens: String::new(),
        }
    }

    pub(crate) fn add(&mut self, doc: &NewDoc<'_>) -> Result<(), IndexError> {
        self.try_add(doc).map_err(|error| IndexError::lexical(&self.lexical.dir, error))
    }

    fn try_add(&mut self, doc: &NewDoc<'_>) -> tantivy::Result<()> {
        if self.path != doc.path {
            doc.path.clone_into(&mut self.path);
            self.path_tokens.clear();
            tokens::join_tokens(doc.path, &mut self.scratch, &mut self.path_tokens);
        }
        let mut body = String::with_capacity(doc.text.len() + doc.text.len() / 2 + doc.beside.len() * 2);
        let length = tokens::join_tokens(doc.text, &mut self.scratch, &mut body)
            + tokens::join_tokens(doc.beside, &mut self.scratch, &mut body);
        let document = ChunkDocument {
            fields: self.lexical.fields.clone(),
            body,
            path: self.path_tokens.clone(),
            defines: self.defined(doc),
            chunk: doc.id.0 as u64,
            doc: doc.doc_id as u64,
            ordinal: doc.ordinal.into(),
            length: u64::from(length) * 2 + u64::from(doc.kind == IndexKind::Code),
            generation: doc.generation,
        };
        let (_, writer) = match &mut self.open {
            Some(open) => open,
            None => {
                let segment = self.lexical.index.new_segment();
                let writer = SegmentWriter::for_segment(self.budget, segment.clone())?;
                self.open.insert((segment, writer))
            }
        };
        writer.add_document(AddOperation { opstamp: 0, document })?;
        if writer.mem_usage() >= SLOT_BYTES {
            self.close()?;
        }
        Ok(())
    }

    /// The names that a chunk of code defines, as tokens.
    fn defined(&mut self, doc: &NewDoc<'_>) -> String {
        let mut names = String::new();
        if doc.kind == IndexKind::Code {
            definitions(doc.text, Family::of(doc.path), &mut |found| {
                if found.strength > Strength::Declared {
                    tokens::push_name(&doc.text[found.start..found.end], &mut self.scratch, &mut names);
                }
            });
        }
        names
    }

    fn close(&mut self) -> tantivy::Result<()> {
        if let Some((segment, writer)) = self.open.take() {
            let chunks = writer.max_doc();
            writer.finalize()?;
            let segment = segment.with_max_doc(chunks);
            segment.meta().untrack_temp_docstore();
            self.closed.push(segment);
        }
        Ok(())
    }
}

/// A chunk in the form that Tantivy reads.
struct ChunkDocument {
    fields: Fields,
    body: String,
    path: String,
    defines: String,
    chunk: u64,
    doc: u64,
    ordinal: u64,
    length: u64,
    generation: u64,
}

#[derive(Debug, Clone, Copy)]
enum FieldValue<'a> {
    Tokens(&'a str),
    Number(u64),
}

impl Document for ChunkDocument {
    type Value<'a> = FieldValue<'a>;
    type FieldsValuesIter<'a> = std::array::IntoIter<(Field, FieldValue<'a>), 8>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        let fields = &self.fields;
        [
            (fields.body, FieldValue::Tokens(&self.body)),
            (fields.path, FieldValue::Tokens(&self.path)),
            (fields.defines, FieldValue::Tokens(&self.defines)),
            (fields.chunk, FieldValue::Number(self.chunk)),
            (fields.doc, FieldValue::Number(self.doc)),
            (fields.ordinal, FieldValue::Number(self.ordinal)),
            (fields.length, FieldValue::Number(self.length)),
            (fields.generation, FieldValue::Number(self.generation)),
        ]
        .into_iter()
    }
}

impl<'a> Value<'a> for FieldValue<'a> {
    type ArrayIter = std::iter::Empty<Self>;
    type ObjectIter = std::iter::Empty<(&'a str, Self)>;

    fn as_value(&self) -> ReferenceValue<'a, Self> {
        ReferenceValue::Leaf(match *self {
            FieldValue::Tokens(text) => ReferenceValueLeaf::Str(text),
            FieldValue::Number(number) => ReferenceValueLeaf::U64(number),
        })
    }
}

/// Finds entries that a later commit removed or replaced.
///
/// Tantivy would delete by term and by the order of calls. Going by the commit that wrote an entry instead, a
/// removal means the same whenever it is applied: before or after a merge, or again after a crash. It also
/// needs no index of chunk ids.
#[derive(Debug, Clone)]
struct Superseded {
    removed: Arc<IdMap<u64>>,
}

impl Query for Superseded {
    fn weight(&self, _scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for Superseded {
    fn scorer(&self, reader: &SegmentReader, _boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let chunks = super::view::numbers(reader, CHUNK)?;
        let generations = super::view::numbers(reader, GENERATION)?;
        let mut found = BitSet::with_max_value(reader.max_doc());
        let mut block = [0u64; 512];
        let mut start = 0;
        while start < reader.max_doc() {
            let length = block.len().min((reader.max_doc() - start) as usize);
            chunks.get_range(start.into(), &mut block[..length]);
            for (offset, chunk) in block[..length].iter().enumerate() {
                let entry = start + offset as u32;
                if self
                    .removed
                    .get(&(*chunk as i64))
                    .is_some_and(|before| generations.get_val(entry) < *before)
                {
                    found.insert(entry);
                }
            }
            start += length as u32;
        }
        Ok(Box::new(ConstScorer::new(BitSetDocSet::from(found), 1.0)))
    }

    fn explain(&self, _reader: &SegmentReader, _doc: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument("a removal has no score".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{LexicalWriter, NewDoc, Superseded};
    use crate::lexical::{Lexical, LexicalView, Verify};
    use model::{ChunkId, IndexKind};

    fn add(writer: &mut LexicalWriter, id: i64, generation: u64) {
        let doc = NewDoc {
            id: ChunkId(id),
            doc_id: 1,
            ordinal: 0,
            kind: IndexKind::Text,
            generation,
            path: "a.md",
            text: "alpha",
            beside: "",
        };
        writer.slots()[0].add(&doc).unwrap();
    }

    #[test]
    fn a_removal_after_reopening_is_younger_than_the_last_commit() {
        let folder = tempfile::tempdir().unwrap();
        let lexical = Lexical::create(folder.path(), "corpus").unwrap();
        let mut writer = LexicalWriter::open(&lexical, 1).unwrap();
        add(&mut writer, 1, 1);
        writer.commit(1).unwrap();
        drop(writer);
        let committed = lexical.index.load_metas().unwrap().opstamp;
        let writer = LexicalWriter::open(&lexical, 1).unwrap();
        let removal =
            writer.writer.delete_query(Box::new(Superseded { removed: Default::default() })).unwrap();
        assert!(removal > committed, "{removal} {committed}");
    }

    #[test]
    fn a_removal_reaches_older_entries_only() {
        let folder = tempfile::tempdir().unwrap();
        let lexical = Lexical::create(folder.path(), "corpus").unwrap();
        let mut writer = LexicalWriter::open(&lexical, 1).unwrap();
        add(&mut writer, 1, 1);
        add(&mut writer, 2, 1);
        writer.commit(1).unwrap();
        writer.remove(ChunkId(1), 2);
        add(&mut writer, 1, 2);
        writer.remove(ChunkId(2), 2);
        writer.commit(2).unwrap();
        let live = |writer: &LexicalWriter| {
            LexicalView::load(&writer.lexical, None, Verify::Everything).unwrap().live[0].chunks
        };
        assert_eq!(live(&writer), 1);
        writer.remove(ChunkId(1), 2);
        writer.commit(3).unwrap();
        assert_eq!(live(&writer), 1, "the entry of the same commit stays");
    }
}
