//! The index as its users see it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use model::{
    ChunkId, ContentHash, DocId, EmbeddingProvider, FileFacts, Generation, IndexKind, Outline, RepType,
    Representation,
};

use crate::batch::KnownDocument;
use crate::catalog::{self, Catalog, Counts, DerivedRows, DocumentPrint, DocumentRow, Unoutlined};
use crate::derive::{Derived, KINDS, Makers};
use crate::documents::Documents;
use crate::error::IndexError;
use crate::faults;
use crate::follow::Watch;
use crate::rebuild;
use crate::snapshot::{self, Counted, Shared, Snapshot};

/// What the opener may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// There is one at a time; the caller guarantees it by a lock of its own.
    Writer,
    Reader,
}

pub struct Open {
    /// The state directory.
    pub dir: PathBuf,
    pub access: Access,
    /// Who makes the vectors. Only a local embedder is called by the index itself.
    pub embedding: EmbeddingProvider,
    /// Who may have made the vectors that are there: those of another model answer until the new ones are complete.
    pub former: Vec<EmbeddingProvider>,
    /// The directory that is indexed, for the record.
    pub root: String,
}

/// One state directory's index. All methods take `&self` and may be called from any thread.
pub struct Index {
    pub(crate) dir: PathBuf,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) embedding: EmbeddingProvider,
    pub(crate) side: Side,
    pub(crate) current: RwLock<Arc<Snapshot>>,
    pub(crate) shared: Arc<Shared>,
    /// What was wrong with the catalog that an empty one has replaced.
    pub(crate) replaced: Option<String>,
    /// Pages of mapped files that were missing before the files were last known to be whole.
    pub(crate) faults: AtomicU64,
    /// Vectors that the catalog has and searches do not see yet.
    pub(crate) unpublished_vectors: AtomicU64,
}

#[expect(clippy::large_enum_variant, reason = "there is one per open index")]
pub(crate) enum Side {
    Writer(Mutex<Derived>),
    Reader(Mutex<Watch>),
}

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

    pub fn set_setting(&self, key: &str, value: &str) -> Result<(), IndexError> {
        self.catalog.set_settings(&[(key, value)])
    }

    pub fn setting(&self, key: &str) -> Result<Option<String>, IndexError> {
        self.catalog.setting(key)
    }

    /// Gives back the memory that is kept for the next question or change: none is expected soon.
    pub fn release_idle(&self) {
        self.catalog.release_idle();
        self.current.read().unwrap_or_else(PoisonError::into_inner).release_idle();
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

    /// Live documents behind a path, in the byte order of their paths, each with what tells its texts from others: for
    /// whoever compares this index with another.
    pub fn prints(&self, after: &str, limit: usize) -> Result<Vec<DocumentPrint>, IndexError> {
        self.catalog.prints(after, limit)
    }

    /// The texts of a document as they were put, to be put into another index.
    pub fn stored_representations(&self, path: &str) -> Result<Vec<Representation>, IndexError> {
        self.catalog.stored_representations(path)
    }

    /// How a representation of a document was made, as its maker wrote it down; none where there is no such one.
    pub fn representation_meta(&self, path: &str, rep_type: RepType) -> Result<Option<String>, IndexError> {
        self.catalog.representation_meta(path, rep_type)
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
        self.catalog.underived(DerivedRows::Outlines, after, limit)
    }

    pub fn put_outlines(&self, outlines: &[(DocId, ContentHash, Outline)]) -> Result<(), IndexError> {
        let packed: Vec<_> = outlines
            .iter()
            .map(|(doc, hash, outline)| (*doc, *hash, crate::outlines::pack(outline)))
            .collect();
        self.catalog.put_derived(DerivedRows::Outlines, &packed)
    }

    /// From now on outlines are made by these rules; those made by others are forgotten.
    pub fn outline_by(&self, rules: &str) -> Result<(), IndexError> {
        self.catalog.derive_by(DerivedRows::Outlines, rules)
    }

    /// Says that every document changed up to this commit has its outline.
    pub fn set_outlined_up_to(&self, generation: Generation) -> Result<(), IndexError> {
        self.catalog.set_derived_up_to(DerivedRows::Outlines, generation.0)
    }

    pub fn outlined_up_to(&self) -> Result<Generation, IndexError> {
        self.catalog.derived_up_to(DerivedRows::Outlines).map(Generation)
    }

    /// What files declare and use under a name; `None` for a file whose outline is not made yet.
    pub fn outlines(&self, paths: &[String], name: &str) -> Result<Vec<Option<Outline>>, IndexError> {
        let packed = self.catalog.derived(DerivedRows::Outlines, paths)?;
        Ok(packed.into_iter().map(|packed| crate::outlines::unpack(&packed?, name)).collect())
    }

    /// Documents that lack the facts of their present content, after one of them.
    pub fn without_facts(&self, after: DocId, limit: usize) -> Result<Vec<Unoutlined>, IndexError> {
        self.catalog.underived(DerivedRows::Facts, after, limit)
    }

    pub fn put_facts(&self, facts: &[(DocId, ContentHash, FileFacts)]) -> Result<(), IndexError> {
        let packed: Vec<_> =
            facts.iter().map(|(doc, hash, facts)| (*doc, *hash, crate::facts::pack(facts))).collect();
        self.catalog.put_derived(DerivedRows::Facts, &packed)
    }

    /// From now on facts are made by these rules; those made by others are forgotten.
    pub fn facts_by(&self, rules: &str) -> Result<(), IndexError> {
        self.catalog.derive_by(DerivedRows::Facts, rules)
    }

    /// Says that every document changed up to this commit has its facts.
    pub fn set_facts_up_to(&self, generation: Generation) -> Result<(), IndexError> {
        self.catalog.set_derived_up_to(DerivedRows::Facts, generation.0)
    }

    pub fn facts_up_to(&self) -> Result<Generation, IndexError> {
        self.catalog.derived_up_to(DerivedRows::Facts).map(Generation)
    }

    /// The files whose facts are kept, each with the hash of the content they were made of, by path.
    pub fn documents_with_facts(&self) -> Result<Vec<(String, ContentHash)>, IndexError> {
        self.catalog.documents_with_facts()
    }

    /// The facts of these files; `None` where they are not made yet.
    pub fn facts(&self, paths: &[String]) -> Result<Vec<Option<FileFacts>>, IndexError> {
        let packed = self.catalog.derived(DerivedRows::Facts, paths)?;
        Ok(packed.into_iter().map(|packed| crate::facts::unpack(&packed?)).collect())
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
        // A chunk is marked as embedded when its vector is made; it counts when the vector can be found.
        counts.embedded = counts.embedded.saturating_sub(self.unpublished_vectors.load(Ordering::SeqCst));
        Ok(counts)
    }

    /// Reads the whole catalog and says what is wrong with it, if anything.
    pub fn check(&self) -> Result<(), IndexError> {
        self.catalog.check()
    }

    fn open_writer(open: &Open) -> Result<Index, IndexError> {
        let catalog = Arc::new(Catalog::open_writer(&open.dir, &open.root)?);
        let dimensions = KINDS.map(|kind| open.embedding.dimensions(kind).to_string());
        catalog.set_settings(&[
            ("embed_text_model", open.embedding.model(IndexKind::Text)),
            ("embed_text_dim", &dimensions[0]),
            ("embed_code_model", open.embedding.model(IndexKind::Code)),
            ("embed_code_dim", &dimensions[1]),
        ])?;
        let corpus = corpus(&catalog)?;
        let makers = Makers { present: open.embedding.clone(), former: open.former.clone() };
        let derived = Derived::open(&open.dir, catalog.clone(), makers, &corpus)?;
        let shared = Arc::new(Shared::default());
        let (lexical, vectors, embedding) = derived.views();
        let first = Snapshot {
            id: snapshot::next_id(),
            generation: catalog.generation(),
            catalog: catalog.clone(),
            lexical,
            vectors,
            embedding,
            documents: Documents::new(catalog.clone()),
            shared: shared.clone(),
            counted: Counted::default(),
        };
        Ok(Index {
            dir: open.dir.clone(),
            catalog,
            embedding: open.embedding.clone(),
            side: Side::Writer(Mutex::new(derived)),
            current: RwLock::new(Arc::new(first)),
            shared,
            replaced: None,
            faults: AtomicU64::new(faults::count()),
            unpublished_vectors: AtomicU64::new(0),
        })
    }

    pub(crate) fn derived(&self) -> Result<MutexGuard<'_, Derived>, IndexError> {
        match &self.side {
            Side::Writer(derived) => Ok(derived.lock().unwrap_or_else(PoisonError::into_inner)),
            Side::Reader(_) => Err(IndexError::ReadOnly),
        }
    }
}

pub(crate) fn corpus(catalog: &Catalog) -> Result<String, IndexError> {
    catalog.setting("corpus_id")?.ok_or_else(|| IndexError::Corrupt {
        path: catalog.path().to_owned(),
        detail: "it has no corpus_id".to_owned(),
    })
}
