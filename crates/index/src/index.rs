//! The index as its users see it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use model::{ChunkId, ContentHash, DocId, EmbedError, Embedder, Generation, IndexKind, Outline};

use crate::batch::{Applied, Batch, KnownDocument};
use crate::catalog::{self, Catalog, Counts, DocumentRow, Embedded, Unoutlined};
use crate::derive::{self, Compacted, Derived, RepairReport, VERIFY_AT_OPEN};
use crate::documents::Documents;
use crate::error::IndexError;
use crate::faults;
use crate::feed;
use crate::ids::IdMap;
use crate::lexical::{self, Lexical, LexicalView, Verify};
use crate::rebuild;
use crate::snapshot::{self, Counted, Shared, Snapshot};
use crate::vector::{self, Expected, Liveness, VectorView};

/// Texts that are sent to a costly embedder at a time.
const EMBEDDING_BATCH: usize = 32;

/// What the opener may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The only one; whoever opens guarantees it by a lock of their own.
    Writer,
    Reader,
}

pub struct Open {
    /// The state directory.
    pub dir: PathBuf,
    pub access: Access,
    pub embedder: Arc<dyn Embedder>,
    /// The directory that is indexed, for the record.
    pub root: String,
}

/// One state directory's index. All methods take `&self` and may be called from any thread.
pub struct Index {
    dir: PathBuf,
    catalog: Arc<Catalog>,
    embedder: Arc<dyn Embedder>,
    side: Side,
    current: RwLock<Arc<Snapshot>>,
    shared: Arc<Shared>,
    /// What was wrong with the catalog that an empty one has replaced.
    replaced: Option<String>,
    /// Pages of mapped files that were missing before the files were last known to be whole.
    faults: AtomicU64,
}

#[expect(clippy::large_enum_variant, reason = "there is one per open index")]
enum Side {
    Writer(Mutex<Derived>),
    Reader(Mutex<Watch>),
}

/// What a reader remembers to notice that the writer has moved on.
struct Watch {
    /// The file that was opened; another one may get its name.
    catalog_file: Option<FileId>,
    connection: catalog::Reader,
    data_version: i64,
    lexical_meta: Option<FileId>,
    lexical: Option<Lexical>,
    corpus: String,
    expected: [Expected; 2],
    /// Chunks up to this commit are known to be alive or dead.
    seen: u64,
}

/// Tells whether a file is still the one it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    inode: u64,
    modified: i128,
    size: u64,
}

const KINDS: [IndexKind; 2] = [IndexKind::Text, IndexKind::Code];

impl Index {
    /// Opens an index; for a writer, makes it where there is none or only one that cannot be read
    /// ([`Index::replaced`]). Fast: other damage is noted, not mended ([`Index::needs_repair`], [`Index::damage`]).
    pub fn open(open: Open) -> Result<Index, IndexError> {
        match open.access {
            Access::Writer => {
                rebuild::finish(&open.dir)?;
                match Index::open_writer(&open) {
                    Err(IndexError::Corrupt { detail, .. }) => {
                        tracing::warn!(detail, "the catalog cannot be read and is built again");
                        catalog::set_aside(&open.dir)?;
                        Ok(Index { replaced: Some(detail), ..Index::open_writer(&open)? })
                    }
                    other => other,
                }
            }
            Access::Reader => Index::open_reader(open),
        }
    }

    /// What was wrong with the catalog that was found when the index was opened for writing, if it could not be read. An
    /// empty one is in its place.
    pub fn replaced(&self) -> Option<&str> {
        self.replaced.as_deref()
    }

    /// What was found to be wrong with the catalog since it was opened. What could not be read is missing in answers; only
    /// a new index mends it.
    pub fn damage(&self) -> Option<String> {
        self.catalog.damage()
    }

    /// Reads all of the catalog's file and compares it with its checksums; damage is noted.
    pub fn verify(&self) -> Result<(), IndexError> {
        self.catalog.verify()
    }

    /// Ends all writing to the files of the index, before others are put in their place.
    pub fn retire(&self) {
        if let Side::Writer(derived) = &self.side {
            derived.lock().unwrap_or_else(PoisonError::into_inner).retire();
        }
    }

    /// For a reader: true once the writer has put another catalog in the place of the one that was opened.
    pub fn is_superseded(&self) -> bool {
        match &self.side {
            Side::Writer(_) => false,
            Side::Reader(watch) => watch.try_lock().is_ok_and(|watch| self.has_new_catalog(&watch)),
        }
    }

    pub fn access(&self) -> Access {
        match self.side {
            Side::Writer(_) => Access::Writer,
            Side::Reader(_) => Access::Reader,
        }
    }

    /// The last commit of the catalog.
    pub fn generation(&self) -> Generation {
        if let Side::Reader(_) = self.side {
            // Another process writes.
            let _ = self.catalog.refresh();
        }
        Generation(self.catalog.generation())
    }

    /// Applies all changes of a batch, or none: when this returns, they survive a power cut. They can be found
    /// after the next [`Index::publish`].
    pub fn apply(&self, batch: &Batch) -> Result<Applied, IndexError> {
        let mut derived = self.derived()?;
        let status = KINDS.map(|kind| {
            let at_once = !self.embedder.is_costly() && self.embedder.dimensions(kind) > 0;
            if at_once { "ok" } else { "pending" }
        });
        let outcome = self.catalog.apply(batch, status)?;
        let embedded = derived.follow(batch, &outcome);
        let replaced = outcome.added.iter().filter(|added| added.replaces).count();
        Ok(Applied {
            generation: Generation(outcome.generation),
            reps: outcome.reps,
            chunks_added: (outcome.added.len() - replaced) as u64,
            chunks_removed: outcome.removed.len() as u64,
            embedded,
        })
    }

    /// Makes everything applied so far visible to searches. Replays or rebuilds first what has to be.
    pub fn publish(&self) -> Result<(), IndexError> {
        self.commit(false, &|_, _| {}).map(drop)
    }

    /// Checks the derived files byte by byte, and mends what is missing, behind or damaged. Searches go on
    /// meanwhile, on what there is. `progress` is told how many chunks of how many are done.
    pub fn repair(&self, progress: &dyn Fn(u64, u64)) -> Result<RepairReport, IndexError> {
        let faults = faults::count();
        let report = self.commit(true, progress)?;
        self.shared.damaged.store(false, Ordering::Release);
        self.faults.store(faults, Ordering::Release);
        self.snapshot().warm();
        Ok(report)
    }

    /// True if a derived file is known to be missing, behind or damaged.
    pub fn needs_repair(&self) -> bool {
        let state = match &self.side {
            Side::Writer(derived) => derived.lock().unwrap_or_else(PoisonError::into_inner).needs_repair(),
            Side::Reader(_) => false,
        };
        state || self.shared.damaged.load(Ordering::Acquire) || self.has_cut_files()
    }

    /// True if a mapped file was cut since it was last known to be whole: what is read from it may be anything.
    pub fn has_cut_files(&self) -> bool {
        self.faults.load(Ordering::Acquire) != faults::count()
    }

    /// Removes tombstones for good, when there are many.
    pub fn compact(&self) -> Result<Compacted, IndexError> {
        let mut derived = self.derived()?;
        let result = derived.compact();
        self.show(&derived);
        drop(derived);
        match &result {
            Ok(Compacted { chunks: 1.. }) => self.catalog.empty_log(),
            _ => self.catalog.trim_log(),
        }
        // Complete again: the one that could not be read is of no more use.
        let _ = std::fs::remove_file(self.dir.join(catalog::DAMAGED));
        result
    }

    pub fn set_setting(&self, key: &str, value: &str) -> Result<(), IndexError> {
        self.catalog.set_settings(&[(key, value)])
    }

    pub fn setting(&self, key: &str) -> Result<Option<String>, IndexError> {
        self.catalog.setting(key)
    }

    /// What searches see now. A reader looks first whether the writer has published.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        if let Side::Reader(watch) = &self.side
            // If another thread is looking already, the present snapshot is good enough.
            && let Ok(mut watch) = watch.try_lock()
            && let Err(error) = self.refresh(&mut watch)
        {
            tracing::warn!(%error, "the index could not be looked at again");
        }
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All live documents by path, for comparison with a directory.
    pub fn known_files(&self) -> Result<HashMap<String, KnownDocument>, IndexError> {
        self.catalog.known_files()
    }

    /// The documents below a directory or an archive.
    pub fn known_below(&self, path: &str) -> Result<Vec<(String, KnownDocument)>, IndexError> {
        self.catalog.known_below(path)
    }

    pub fn document(&self, path: &str) -> Result<Option<DocumentRow>, IndexError> {
        self.catalog.document(path)
    }

    /// What a producer made of a document's content, where it was kept ([`model::Representation::produced`]). Not to have it
    /// is no failure: it can be made again from the document.
    pub fn produced_text(
        &self,
        content_hash: &ContentHash,
        producer: &str,
    ) -> Result<Option<String>, IndexError> {
        self.catalog.produced_text(content_hash, producer)
    }

    /// A page of the live documents that `filter` lets through, by path, and how many there are in all.
    pub fn list(
        &self,
        filter: &dyn Fn(&DocumentRow) -> bool,
        limit: usize,
        offset: usize,
    ) -> Result<(u64, Vec<DocumentRow>), IndexError> {
        self.catalog.list(filter, limit, offset)
    }

    /// Documents that lack the outline of their present content, after one of them.
    pub fn unoutlined(&self, after: DocId, limit: usize) -> Result<Vec<Unoutlined>, IndexError> {
        self.catalog.unoutlined(after, limit)
    }

    pub fn put_outlines(&self, outlines: &[(DocId, ContentHash, Outline)]) -> Result<(), IndexError> {
        let packed: Vec<_> = outlines
            .iter()
            .map(|(doc, hash, outline)| (*doc, *hash, crate::outlines::pack(outline)))
            .collect();
        self.catalog.put_outlines(&packed)
    }

    /// From now on outlines are made by these rules; those made by others are forgotten.
    pub fn outline_by(&self, rules: &str) -> Result<(), IndexError> {
        self.catalog.outline_by(rules)
    }

    /// Says that every document changed up to this commit has its outline.
    pub fn set_outlined_up_to(&self, generation: Generation) -> Result<(), IndexError> {
        self.catalog.set_outlined_up_to(generation.0)
    }

    pub fn outlined_up_to(&self) -> Result<Generation, IndexError> {
        self.catalog.outlined_up_to().map(Generation)
    }

    /// What files declare and use under a name; `None` for a file whose outline is not made yet.
    pub fn outlines(&self, paths: &[String], name: &str) -> Result<Vec<Option<Outline>>, IndexError> {
        let packed = self.catalog.outlines(paths)?;
        Ok(packed.into_iter().map(|packed| crate::outlines::unpack(&packed?, name)).collect())
    }

    /// The texts of the chunks before this one that reach into the same page, time or lines of its document; of a very
    /// long place those nearest to it.
    pub fn earlier_in_place(&self, chunk: ChunkId) -> Result<Vec<String>, IndexError> {
        let ids = self.catalog.earlier_in_place(chunk)?;
        Ok(self.catalog.chunks(&ids)?.into_iter().map(|chunk| chunk.text).collect())
    }

    /// Whether no chunk before this one belongs to the same page, slide, sheet or section.
    pub fn begins_its_place(&self, chunk: ChunkId) -> Result<bool, IndexError> {
        self.catalog.begins_its_place(chunk)
    }

    pub fn counts(&self) -> Result<Counts, IndexError> {
        let mut counts = self.catalog.counts()?;
        if let Side::Writer(derived) = &self.side
            && let Ok(derived) = derived.try_lock()
        {
            // A chunk is marked as embedded when its vector is made; it counts when the vector can be found.
            counts.embedded = counts.embedded.saturating_sub(derived.pending_vectors());
        }
        Ok(counts)
    }

    /// Reads the whole catalog and says what is wrong with it, if anything.
    pub fn check(&self) -> Result<(), IndexError> {
        self.catalog.check()
    }

    fn open_writer(open: &Open) -> Result<Index, IndexError> {
        let catalog = Arc::new(Catalog::open_writer(&open.dir, &open.root)?);
        let dimensions = KINDS.map(|kind| open.embedder.dimensions(kind).to_string());
        catalog.set_settings(&[
            ("embed_text_model", open.embedder.model(IndexKind::Text)),
            ("embed_text_dim", &dimensions[0]),
            ("embed_code_model", open.embedder.model(IndexKind::Code)),
            ("embed_code_dim", &dimensions[1]),
        ])?;
        let corpus = corpus(&catalog)?;
        let derived = Derived::open(&open.dir, catalog.clone(), open.embedder.clone(), &corpus)?;
        let shared = Arc::new(Shared::default());
        let (lexical, vectors) = derived.views();
        let first = Snapshot {
            id: snapshot::next_id(),
            generation: catalog.generation(),
            catalog: catalog.clone(),
            lexical,
            vectors,
            documents: Documents::new(catalog.clone()),
            shared: shared.clone(),
            counted: Counted::default(),
        };
        Ok(Index {
            dir: open.dir.clone(),
            catalog,
            embedder: open.embedder.clone(),
            side: Side::Writer(Mutex::new(derived)),
            current: RwLock::new(Arc::new(first)),
            shared,
            replaced: None,
            faults: AtomicU64::new(faults::count()),
        })
    }

    fn open_reader(open: Open) -> Result<Index, IndexError> {
        let catalog_file = file_id(&open.dir.join(catalog::FILE_NAME));
        let catalog = Arc::new(Catalog::open_reader(&open.dir)?);
        let corpus = corpus(&catalog)?;
        let shared = Arc::new(Shared::default());
        let first = Snapshot {
            id: snapshot::next_id(),
            generation: 0,
            catalog: catalog.clone(),
            lexical: LexicalView::default(),
            vectors: Default::default(),
            documents: Documents::new(catalog.clone()),
            shared: shared.clone(),
            counted: Counted::default(),
        };
        let watch = Watch {
            catalog_file,
            connection: catalog.connect()?,
            data_version: -1,
            lexical_meta: None,
            lexical: None,
            expected: KINDS.map(|kind| derive::expected(&*open.embedder, kind, &corpus)),
            corpus,
            seen: 0,
        };
        let index = Index {
            dir: open.dir,
            catalog,
            embedder: open.embedder,
            side: Side::Reader(Mutex::new(watch)),
            current: RwLock::new(Arc::new(first)),
            shared,
            replaced: None,
            faults: AtomicU64::new(faults::count()),
        };
        index.snapshot();
        Ok(index)
    }

    fn derived(&self) -> Result<MutexGuard<'_, Derived>, IndexError> {
        match &self.side {
            Side::Writer(derived) => Ok(derived.lock().unwrap_or_else(PoisonError::into_inner)),
            Side::Reader(_) => Err(IndexError::ReadOnly),
        }
    }

    fn commit(&self, verify: bool, progress: &dyn Fn(u64, u64)) -> Result<RepairReport, IndexError> {
        if self.embedder.is_costly() {
            self.embed_pending()?;
        }
        let mut derived = self.derived()?;
        if verify {
            derived.verify();
        }
        let mut report = derived.commit(progress);
        if self.embedder.is_costly() && report.as_ref().is_ok_and(RepairReport::lost_vectors) {
            drop(derived);
            self.embed_pending()?;
            derived = self.derived()?;
            if let Err(error) = derived.commit(progress) {
                report = Err(error);
            }
        }
        // Also after a failure: what could be brought along is shown.
        self.show(&derived);
        drop(derived);
        self.catalog.trim_log();
        report
    }

    /// Gives searches a new snapshot.
    fn show(&self, derived: &Derived) {
        let (lexical, vectors) = derived.views();
        self.swap(lexical, vectors);
    }

    fn swap(&self, lexical: LexicalView, vectors: [Arc<VectorView>; 2]) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let next = Snapshot {
            id: snapshot::next_id(),
            generation: self.catalog.generation(),
            catalog: self.catalog.clone(),
            lexical,
            vectors,
            documents: current.documents.advanced(),
            shared: self.shared.clone(),
            counted: Counted::default(),
        };
        *current = Arc::new(next);
    }

    /// Buys vectors for chunks that have none. What fails for now stays pending, and is tried again next time.
    fn embed_pending(&self) -> Result<(), IndexError> {
        for kind in KINDS.into_iter().filter(|kind| self.embedder.dimensions(*kind) > 0) {
            let mut after = 0;
            loop {
                let pending = self.catalog.pending_chunks(kind, after, EMBEDDING_BATCH)?;
                let Some(last) = pending.last() else { break };
                after = last.0.0;
                let embedded = self.buy(kind, &pending)?;
                if !embedded.is_empty() {
                    self.catalog.store_embeddings(self.embedder.model(kind), &embedded)?;
                    self.derived()?.fall_behind(kind);
                }
                if embedded.len() < pending.len() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Vectors for some chunks: those already paid for, and the rest from the embedder.
    fn buy(
        &self,
        kind: IndexKind,
        pending: &[(model::ChunkId, Vec<u8>, String)],
    ) -> Result<Vec<Embedded>, IndexError> {
        let model = self.embedder.model(kind);
        let mut embedded = Vec::with_capacity(pending.len());
        let mut wanted = Vec::new();
        for (id, text_hash, text) in pending {
            match self.catalog.bought_vector(model, text_hash)? {
                Some(vector) => {
                    embedded.push(Embedded { id: *id, text_hash: text_hash.clone(), result: Ok(vector) })
                }
                None => wanted.push((*id, text_hash, text.as_str())),
            }
        }
        if wanted.is_empty() {
            return Ok(embedded);
        }
        let texts: Vec<&str> = wanted.iter().map(|(_, _, text)| *text).collect();
        let results: Vec<Result<Vec<f32>, String>> = match self.embedder.embed(kind, &texts) {
            Err(EmbedError::Transient(error)) => {
                tracing::warn!(error, "embedding has to wait");
                return Ok(embedded);
            }
            Err(EmbedError::Permanent(_)) => {
                // One of them may be to blame: ask for each alone.
                texts
                    .iter()
                    .map(|text| {
                        let mut one = feed::embed_checked(&*self.embedder, kind, &[text])?;
                        one.pop().ok_or_else(|| "no vector was returned".to_owned())
                    })
                    .collect()
            }
            Ok(vectors) => {
                let dimensions = self.embedder.dimensions(kind);
                let valid = vectors.len() == texts.len();
                let mut vectors = vectors.into_iter();
                texts
                    .iter()
                    .map(|_| match vectors.next() {
                        Some(vector) if valid && vector.len() == dimensions => Ok(vector),
                        _ => Err("the embedder returned vectors of another number or size".to_owned()),
                    })
                    .collect()
            }
        };
        for ((id, text_hash, _), result) in wanted.into_iter().zip(results) {
            embedded.push(Embedded { id, text_hash: text_hash.clone(), result });
        }
        Ok(embedded)
    }

    /// Makes a new snapshot if the writer has changed something since the last look.
    fn refresh(&self, watch: &mut Watch) -> Result<(), IndexError> {
        if self.has_new_catalog(watch) {
            // The other files are no longer those of the catalog that was opened.
            return Ok(());
        }
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        let data_version = watch
            .connection
            .data_version()
            .map_err(|error| IndexError::sqlite(self.catalog.path(), error))?;
        let meta = file_id(&self.dir.join(lexical::DIR_NAME).join("meta.json"));
        let paths = KINDS.map(|kind| self.dir.join(vector::file_name(kind)));
        let same_vectors = [0, 1].map(|k| current.vectors[k].is_current(&paths[k], &watch.expected[k]));
        let same_catalog = data_version == watch.data_version;
        if same_catalog && meta == watch.lexical_meta && same_vectors == [true; 2] {
            return Ok(());
        }
        self.catalog.refresh()?;
        let generation = self.catalog.generation();

        let lexical = match self.read_lexical(watch, &current.lexical) {
            Ok(lexical) => lexical,
            Err(error) => {
                // The writer may be making it anew: until then the old one answers, as far as it can.
                tracing::debug!(%error, "the lexical index cannot be read now");
                self.shared.damaged.store(true, Ordering::Release);
                current.lexical.clone()
            }
        };
        let first_look = watch.data_version < 0;
        let changes = if first_look { Vec::new() } else { self.catalog.changes(watch.seen)? };
        let mut vectors = current.vectors.clone();
        for (k, kind) in KINDS.into_iter().enumerate() {
            let changed: IdMap<bool> =
                changes.iter().map(|change| (change.id.0, change.now == Some(kind))).collect();
            let advanced = VectorView::load(
                &paths[k],
                &watch.expected[k],
                Some(&vectors[k]),
                Liveness::Changed(&changed),
                false,
            );
            let loaded = match advanced {
                Ok(view) => Ok(view),
                Err(_) => {
                    let dead = self.catalog.dead_chunks()?;
                    let small = std::fs::metadata(&paths[k]).is_ok_and(|file| file.len() <= VERIFY_AT_OPEN);
                    VectorView::load(&paths[k], &watch.expected[k], None, Liveness::AllBut(&dead), small)
                }
            };
            match loaded {
                Ok(view) => vectors[k] = Arc::new(view),
                Err(damage) => {
                    tracing::debug!(%damage, %kind, "the vectors cannot be read now");
                    vectors[k] = Arc::default();
                }
            }
        }
        watch.data_version = data_version;
        watch.lexical_meta = meta;
        watch.seen = generation;
        self.swap(lexical, vectors);
        Ok(())
    }

    fn has_new_catalog(&self, watch: &Watch) -> bool {
        let there = file_id(&self.dir.join(catalog::FILE_NAME));
        // One that is missing is about to be replaced, or the whole state is gone.
        there.is_some_and(|there| watch.catalog_file.is_none_or(|opened| opened.inode != there.inode))
    }

    fn read_lexical(&self, watch: &mut Watch, before: &LexicalView) -> Result<LexicalView, IndexError> {
        let dir = self.dir.join(lexical::DIR_NAME);
        let (lexical, verify) = match watch.lexical.take() {
            Some(lexical) => (lexical, Verify::Nothing),
            None => (Lexical::open(&dir, &watch.corpus)?, Verify::UpTo(VERIFY_AT_OPEN)),
        };
        let view = LexicalView::load(&lexical, Some(before), verify)?;
        watch.lexical = Some(lexical);
        self.shared.damaged.store(false, Ordering::Release);
        Ok(view)
    }
}

fn corpus(catalog: &Catalog) -> Result<String, IndexError> {
    catalog.setting("corpus_id")?.ok_or_else(|| IndexError::Corrupt {
        path: catalog.path().to_owned(),
        detail: "it has no corpus_id".to_owned(),
    })
}

fn file_id(path: &std::path::Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some(FileId {
        inode: found.ino(),
        modified: i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec()),
        size: found.len(),
    })
}
