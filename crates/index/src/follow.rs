//! The index of a process that only reads: it notices that the writer has published, and takes that over.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::catalog::{self, Catalog};
use crate::derive::{self, KINDS, VERIFY_AT_OPEN};
use crate::documents::Documents;
use crate::error::IndexError;
use crate::faults;
use crate::ids::IdMap;
use crate::index::{Index, Open, Side, corpus};
use crate::lexical::{self, Lexical, LexicalView, Verify};
use crate::snapshot::{self, Counted, Shared, Snapshot};
use crate::vector::{self, Expected, Liveness, VectorView};

/// What a reader remembers to notice that the writer has moved on.
pub(crate) struct Watch {
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

impl Index {
    pub(crate) fn open_reader(open: Open) -> Result<Index, IndexError> {
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
            embedding: [open.embedding.clone(), open.embedding.clone()],
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
            expected: KINDS.map(|kind| derive::expected(&open.embedding, kind, &corpus)),
            corpus,
            seen: 0,
        };
        let index = Index {
            dir: open.dir,
            catalog,
            embedding: open.embedding,
            side: Side::Reader(Mutex::new(watch)),
            current: RwLock::new(Arc::new(first)),
            shared,
            replaced: None,
            faults: AtomicU64::new(faults::count()),
            unpublished_vectors: AtomicU64::new(0),
        };
        index.snapshot();
        Ok(index)
    }

    /// Makes a new snapshot if the writer has changed something since the last look.
    pub(crate) fn refresh(&self, watch: &mut Watch) -> Result<(), IndexError> {
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
                // The writer may be rebuilding it: until then the old one answers, as far as it can.
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
        self.swap(lexical, vectors, [self.embedding.clone(), self.embedding.clone()]);
        Ok(())
    }

    pub(crate) fn has_new_catalog(&self, watch: &Watch) -> bool {
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

fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some(FileId {
        inode: found.ino(),
        modified: i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec()),
        size: found.len(),
    })
}
