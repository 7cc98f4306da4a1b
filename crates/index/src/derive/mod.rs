//! Keeping the derived indices in step with the catalog: feeding them what changed, committing, catching up
//! after a crash, and rebuilding them when they are damaged.

mod catch_up;
mod former;
mod lexical_side;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use model::{Chunk, Document, EmbeddingProvider, IndexKind};

use crate::batch::{Batch, DocChange};
use crate::catalog::{Added, Catalog, Outcome, StoredVector};
use crate::error::IndexError;
use crate::feed::{Item, Want, Work, work};
use crate::lexical::{self, LexicalView, NewDoc, Slot, Verify, kind_index};
use crate::vector::{self, Damage, Expected, PendingRow, VectorView, VectorWriter};

use self::former::FormerVectors;
use self::lexical_side::LexicalSide;

/// Threads that build segments and vectors. Each holds a segment of some 24 MB.
const THREADS: usize = 2;

/// Less text than this is not worth a second thread.
const PARALLEL_BYTES: usize = 256 << 10;

/// Files up to this size are checked byte by byte whenever they are opened; larger ones by [`Derived::verify`].
pub(crate) const VERIFY_AT_OPEN: u64 = 4 << 20;

/// Where a lexical index that is being replaced waits until the new one is complete.
const DAMAGED_DIR: &str = "lexical.damaged";

pub(crate) const KINDS: [IndexKind; 2] = [IndexKind::Text, IndexKind::Code];

/// What a repair found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairReport {
    pub lexical: Repaired,
    pub text_vectors: Repaired,
    pub code_vectors: Repaired,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Repaired {
    /// It was whole and up to date.
    #[default]
    Nothing,
    /// It missed some commits.
    Replayed { chunks: u64 },
    /// It was rebuilt, for this reason.
    Rebuilt { chunks: u64, reason: String },
}

/// What a compaction removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    pub chunks: u64,
}

/// In a large index, compacting below this share of tombstones is not worth it. In a smaller one it always is: the text
/// of a file that was removed shall not lie around.
const LARGE: u64 = 20_000;
const DEAD_SHARE: f64 = 0.25;

/// The state of a derived index.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// It has been fed everything, though perhaps not committed.
    Current,
    /// What was fed since its last commit is incomplete, or lost in a crash: it is to be replayed.
    Behind,
    /// It is to be rebuilt.
    Broken(String),
}

pub(crate) struct Derived {
    dir: PathBuf,
    catalog: Arc<Catalog>,
    embedding: EmbeddingProvider,
    corpus: String,
    lexical: LexicalSide,
    vectors: [VectorSide; 2],
    /// Another index has taken the place of this one.
    retired: bool,
}

struct VectorSide {
    kind: IndexKind,
    writer: VectorWriter,
    state: State,
    /// Vectors of another model, which answer until those of the present one are complete.
    former: Option<FormerVectors>,
}

/// Who makes vectors, and who may have made those that are there.
pub(crate) struct Makers {
    pub(crate) present: EmbeddingProvider,
    pub(crate) former: Vec<EmbeddingProvider>,
}

impl Derived {
    /// Opens what is there and decides what is wrong with it, but mends nothing.
    pub(crate) fn open(
        dir: &Path,
        catalog: Arc<Catalog>,
        makers: Makers,
        corpus: &str,
    ) -> Result<Derived, IndexError> {
        remove_leftovers(dir);
        let Makers { present: embedding, former } = makers;
        let vectors = KINDS.map(|kind| VectorSide {
            kind,
            writer: VectorWriter::new(dir.join(vector::file_name(kind)), expected(&embedding, kind, corpus)),
            state: State::Behind,
            former: None,
        });
        let lexical = LexicalSide::new(dir.join(lexical::DIR_NAME));
        let mut derived = Derived {
            dir: dir.to_owned(),
            catalog,
            embedding,
            corpus: corpus.to_owned(),
            lexical,
            vectors,
            retired: false,
        };
        let is_new = derived.catalog.content_generation() == 0;
        let purged = derived.purged_generation()?;
        derived.lexical.open(&derived.catalog, corpus, is_new, purged)?;
        let dead = derived.catalog.dead_chunks()?;
        for side in &mut derived.vectors {
            let small = std::fs::metadata(side.writer.path()).is_ok_and(|file| file.len() <= VERIFY_AT_OPEN);
            side.former = FormerVectors::open(side.writer.path(), side.kind, &former, corpus, &dead);
            let opened = side.writer.open(&dead, small);
            if let (Err(Damage::OtherModel), None) = (&opened, &side.former) {
                FormerVectors::set_aside(side.writer.path());
                side.former = FormerVectors::open(side.writer.path(), side.kind, &former, corpus, &dead);
            }
            side.state = match opened {
                Ok(()) => judge(&derived.catalog, side.writer.generation(), purged),
                Err(Damage::Missing) if is_new => {
                    side.writer.start_over()?;
                    State::Current
                }
                Err(damage) => State::Broken(damage.to_string()),
            };
        }
        Ok(derived)
    }

    /// True if something is missing or damaged.
    pub(crate) fn needs_repair(&self) -> bool {
        self.lexical.state != State::Current || self.vectors.iter().any(|side| side.state != State::Current)
    }

    /// What searches may see, and who made the vectors.
    pub(crate) fn views(&self) -> (LexicalView, [Arc<VectorView>; 2], [EmbeddingProvider; 2]) {
        let view = |side: &VectorSide| match &side.former {
            Some(former) => former.view().clone(),
            None => side.writer.view().clone(),
        };
        let maker = |side: &VectorSide| match &side.former {
            Some(former) => former.embedding().clone(),
            None => self.embedding.clone(),
        };
        (self.lexical.view.clone(), self.vectors.each_ref().map(view), self.vectors.each_ref().map(maker))
    }

    /// Vectors that wait for the next commit.
    pub(crate) fn pending_vectors(&self) -> u64 {
        self.vectors.iter().map(|side| side.writer.pending()).sum()
    }

    /// Feeds what a batch changed. Nothing here can fail the batch: it is in the catalog.
    pub(crate) fn follow(&mut self, batch: &Batch, outcome: &Outcome) -> u64 {
        if outcome.added.is_empty() && outcome.removed.is_empty() {
            return 0;
        }
        let generation = outcome.generation;
        let to_lexical = self.lexical.state == State::Current && self.lexical.has_writer();
        if to_lexical && let Some(writer) = &mut self.lexical.writer {
            let replaced = outcome.added.iter().filter(|added| added.replaces).map(|added| added.id);
            for id in outcome.removed.iter().map(|(id, _)| *id).chain(replaced) {
                writer.remove(id, generation);
            }
            self.lexical.dirty = true;
        }
        let beside: Vec<String> = outcome.added.iter().map(|added| words_beside(batch, added)).collect();
        let mut items = Vec::with_capacity(outcome.added.len());
        for (added, beside) in outcome.added.iter().zip(&beside) {
            let Some((document, chunk)) = added_chunk(batch, added) else { continue };
            let doc = NewDoc {
                id: added.id,
                doc_id: added.doc_id,
                ordinal: chunk.ordinal,
                kind: chunk.kind,
                generation,
                path: &document.path,
                beside,
                text: &chunk.text,
            };
            let side = &self.vectors[kind_index(chunk.kind)];
            let wanted = side.state == State::Current && embeds_now(&self.embedding, chunk.kind);
            items.push(Item {
                doc,
                to_lexical,
                vector: if wanted { Want::Embedding } else { Want::Nothing },
            });
        }
        for side in &mut self.vectors {
            if let Some(former) = &mut side.former {
                outcome.removed.iter().for_each(|(id, _)| former.change(*id, None));
                // The text of a chunk may be another now; one that came back is the one it was.
                for added in &outcome.added {
                    former.change(added.id, None);
                }
            }
            if side.state == State::Current {
                outcome.removed.iter().for_each(|(id, _)| side.writer.change(*id, None));
                items.iter().for_each(|item| side.writer.change(item.doc.id, Some(item.doc.kind)));
            }
        }
        let embedded = self.feed(&items);
        self.write_full_sides(generation);
        embedded
    }

    /// Takes up vectors that were stored in the catalog. A side that is not current gets them by its replay.
    pub(crate) fn add_vectors(&mut self, kind: IndexKind, stored: &[StoredVector<'_>], generation: u64) {
        let stride = vector::stride(self.embedding.dimensions(kind));
        let side = &mut self.vectors[kind_index(kind)];
        if side.state != State::Current {
            return;
        }
        for StoredVector { id, doc_id, ordinal, vector } in stored {
            side.writer.change(*id, Some(kind));
            side.writer.add(*id, PendingRow::new(*doc_id, *ordinal, vector, stride));
        }
        self.write_full_sides(generation);
    }

    /// Writes out sides that hold many vectors in memory.
    fn write_full_sides(&mut self, generation: u64) {
        for side in &mut self.vectors {
            if side.writer.is_full() && side.writer.commit(generation).is_err() {
                side.state = State::Behind;
            }
        }
    }

    /// Brings everything to the catalog's generation and makes it durable.
    pub(crate) fn commit(&mut self, progress: &dyn Fn(u64, u64)) -> Result<RepairReport, IndexError> {
        let report = self.catch_up(progress)?;
        let generation = self.catalog.generation();
        let mut failed = None;
        if let Err(error) = self.lexical.commit(generation, self.catalog.content_generation()) {
            self.lexical.fail(error);
            failed = self.lexical.failure.take();
        }
        for side in &mut self.vectors {
            if let Err(error) = side.writer.commit(generation) {
                side.state = State::Behind;
                failed.get_or_insert(error);
            }
            if let Some(former) = &mut side.former {
                former.commit(generation);
            }
        }
        self.finish_switch()?;
        match failed {
            Some(error) => Err(error),
            None => {
                let _ = std::fs::remove_dir_all(self.dir.join(DAMAGED_DIR));
                Ok(report)
            }
        }
    }

    /// Reads every byte of the derived files; what is damaged will be rebuilt by the next commit.
    pub(crate) fn verify(&mut self) {
        if let (State::Current | State::Behind, Some(opened)) = (&self.lexical.state, &self.lexical.opened)
            && let Err(error) = LexicalView::load(opened, None, Verify::Everything)
        {
            self.lexical.state = State::Broken(error.to_string());
        }
        for side in &mut self.vectors {
            if let State::Current | State::Behind = side.state
                && let Err(damage) = side.writer.verify()
            {
                side.state = State::Broken(damage.to_string());
            }
        }
    }

    /// Releases the files: nothing is written any more.
    pub(crate) fn retire(&mut self) {
        self.retired = true;
        self.lexical.writer = None;
        self.lexical.opened = None;
        self.lexical.state = State::Broken("another index is in its place".to_owned());
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired
    }

    /// Removes tombstones for good, when they are worth it.
    pub(crate) fn compact(&mut self) -> Result<Compacted, IndexError> {
        self.commit(&|_, _| {})?;
        let counts = self.catalog.counts()?;
        let all = counts.chunks + counts.deleted_chunks;
        let few = all > LARGE && (counts.deleted_chunks as f64) < DEAD_SHARE * all as f64;
        if few || counts.deleted_chunks + counts.deleted == 0 {
            return Ok(Compacted::default());
        }
        let generation = self.catalog.generation();
        for side in &mut self.vectors {
            // A tombstone may go only when no file has the vector any more: afterwards nothing says it is dead.
            if side.writer.view().live < side.writer.view().rows {
                side.writer.rewrite(generation)?;
            }
            if let Some(former) = &mut side.former {
                former.compact(generation);
            }
        }
        let chunks = self.catalog.purge()?;
        self.commit(&|_, _| {})?;
        Ok(Compacted { chunks })
    }

    /// Goes over to the vectors of the present model, where they are complete.
    fn finish_switch(&mut self) -> Result<(), IndexError> {
        for side in &mut self.vectors {
            let is_complete = side.former.is_some()
                && side.state == State::Current
                && self.catalog.pending_count(side.kind)? == 0;
            if let Some(former) = side.former.take_if(|former| is_complete || former.is_lost()) {
                former.remove();
            }
        }
        Ok(())
    }

    /// Indexes and embeds, on several threads where it is worth it. Returns how many vectors were made or found again.
    fn feed(&mut self, items: &[Item<'_>]) -> u64 {
        let bytes: usize = items.iter().map(|item| item.doc.text.len()).sum();
        let threads = if bytes < PARALLEL_BYTES { 1 } else { THREADS };
        let next = AtomicUsize::new(0);
        let embedder = self.embedding.local().map(|embedder| &**embedder);
        let strides = KINDS.map(|kind| vector::stride(self.embedding.dimensions(kind)));
        let mut slots: Vec<Option<&mut Slot>> = match &mut self.lexical.writer {
            Some(writer) => {
                writer.expect(bytes);
                writer.slots().iter_mut().map(Some).collect()
            }
            None => (0..THREADS).map(|_| None).collect(),
        };
        slots.truncate(threads);
        let work = |slot| work(slot, items, &next, embedder, strides);
        let own = slots.pop().flatten();
        let results: Vec<Work> = std::thread::scope(|scope| {
            // A thread that the system does not grant leaves its share to the others.
            let handles: Vec<_> = slots
                .into_iter()
                .filter_map(|slot| std::thread::Builder::new().spawn_scoped(scope, move || work(slot)).ok())
                .collect();
            let mut results = vec![work(own)];
            results
                .extend(handles.into_iter().map(|handle| handle.join().unwrap_or_else(|_| Work::panicked())));
            results
        });
        let mut embedded = 0;
        let mut lost_vectors = false;
        for result in results {
            if let Err(error) = result.lexical {
                self.lexical.fail(error);
            }
            lost_vectors |= result.panicked;
            for (number, row) in result.rows {
                let doc = &items[number].doc;
                self.vectors[kind_index(doc.kind)].writer.add(doc.id, row);
                embedded += 1;
            }
        }
        if lost_vectors {
            self.vectors.iter_mut().for_each(|side| side.state = State::Behind);
        }
        embedded
    }

    fn purged_generation(&self) -> Result<u64, IndexError> {
        Ok(self.catalog.setting("purged_generation")?.and_then(|value| value.parse().ok()).unwrap_or(0))
    }
}

/// True where vectors are made as chunks come, not bought later.
pub(crate) fn embeds_now(embedding: &EmbeddingProvider, kind: IndexKind) -> bool {
    embedding.local().is_some_and(|embedder| embedder.dimensions(kind) > 0)
}

/// The words beside the text of a chunk that a batch added.
fn words_beside(batch: &Batch, added: &Added) -> String {
    let Some((_, chunk)) = added_chunk(batch, added) else { return String::new() };
    chunk.heading.words_beside(chunk.kind, &chunk.text)
}

/// A chunk that a batch added, and its document.
fn added_chunk<'b>(batch: &'b Batch, added: &Added) -> Option<(&'b Document, &'b Chunk)> {
    match &batch.changes[added.change] {
        DocChange::Put { document, representations } => {
            Some((document, &representations[added.representation].chunks[added.chunk]))
        }
        DocChange::Touch { .. } | DocChange::Delete { .. } => None,
    }
}

pub(crate) fn expected(embedding: &EmbeddingProvider, kind: IndexKind, corpus: &str) -> Expected {
    Expected::new(kind, embedding.dimensions(kind), embedding.model(kind), corpus)
}

/// Compares the commit that a derived index holds with the catalog.
fn judge(catalog: &Catalog, holds: u64, purged: u64) -> State {
    if holds > catalog.generation() {
        State::Broken("it is ahead of the catalog".to_owned())
    } else if holds >= catalog.content_generation() {
        State::Current
    } else if holds < purged {
        State::Broken("tombstones it had to hear of are purged".to_owned())
    } else {
        State::Behind
    }
}

/// Removes what a crash left half-made.
fn remove_leftovers(dir: &Path) {
    for kind in KINDS {
        let _ = std::fs::remove_file(dir.join(vector::file_name(kind)).with_extension("hnsw.tmp"));
    }
    if dir.join(lexical::DIR_NAME).exists() {
        let _ = std::fs::remove_dir_all(dir.join(DAMAGED_DIR));
    }
}
