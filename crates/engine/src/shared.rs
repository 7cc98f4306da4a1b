//! One root that is open: its guard, its index and who writes it. The façade and the background work both use it.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use discover::WalkOptions;
use filestore::publication::ProjectCopy;
use index::{Access, Index, IndexError, Snapshot};
use ingest::{Counters, DocumentDesk, FileText, IngestOptions, Turns, Unshown};
use model::{Capability, ErrorCode, Failure, IndexKind, IndexMode, PathError, Progress, Providers, RelPath};
use policy::{Guard, OpenError};
use retrieve::{QueryEmbedder, QueryVectors};
use tokio::sync::watch;

use crate::answers::RememberedAnswers;
use crate::code_search::RememberedFacts;
use crate::corpus::{Corpus, read_corpus};
use crate::embedding;
use crate::engine::{EngineConfig, EngineError};
use crate::lock::{Attempt, WriterLock};
use crate::open_file::{Door, Whole};
use crate::origin::{FileStamp, Folder, Origin};
use crate::outliner::Outliner;
use crate::provider_thread::ProviderThread;
use crate::published::{COPY_FILE, CopiedProject, ServedProject};
use crate::recognition::Recognition;
use crate::reranking::Reranking;
use crate::state_dir;
use crate::worker;

/// How long a process that only reads trusts what it last read of the writer's progress.
const FOREIGN_PROGRESS_AGE: Duration = Duration::from_millis(500);

/// How long a reader waits for a writer's first commit, and how often it looks.
const NEW_INDEX_WAIT: Duration = Duration::from_secs(5);
const NEW_INDEX_POLL: Duration = Duration::from_millis(20);

/// What the façade and the background worker both use.
pub(crate) struct SharedEngine {
    pub(crate) config: EngineConfig,
    /// The root and the policy. Files are read through the origin.
    pub(crate) guard: Guard,
    pub(crate) origin: Box<dyn Origin>,
    /// Where no folder is served.
    pub(crate) project: Option<ServedProject>,
    pub(crate) providers: Providers,
    pub(crate) reranking: Option<Arc<Reranking>>,
    query_embedder: QueryEmbedder,
    pub(crate) embedding_thread: ProviderThread,
    pub(crate) recognition: Recognition,
    pub(crate) counters: Arc<Counters>,
    pub(crate) stopping: AtomicBool,
    /// A whole pass has ended, now or in an earlier life.
    pub(crate) built: AtomicBool,
    pub(crate) outliner: Outliner,
    /// Who reads which picture or recording now.
    turns: Arc<Turns>,
    role: RwLock<IndexRole>,
    pub(crate) answers: RememberedAnswers,
    /// Facts about declarations, where somebody asks for them.
    pub(crate) facts: RememberedFacts,
    /// True while a job of this process runs; its end wakes those who wait for it.
    running: watch::Sender<bool>,
    foreign: Mutex<Option<(Instant, Progress)>>,
    /// That an index could not be read was said.
    told: std::sync::Once,
}

struct IndexRole {
    index: Arc<Index>,
    /// Held while this process is the writer.
    lock: Option<WriterLock>,
    /// Who writes, when this process does not.
    holder: String,
}

impl SharedEngine {
    /// Opens the index. Becomes the writer unless another process is, or only reading is wanted.
    pub(crate) fn open(
        config: EngineConfig,
        guard: Guard,
        providers: Providers,
    ) -> Result<SharedEngine, EngineError> {
        let redactor = Arc::clone(guard.policy().redactor());
        let reranking = providers.reranker.clone().map(|model| Arc::new(Reranking::new(model, redactor)));
        let role = if config.read_only {
            state_dir::check(guard.root().path(), &config.state_dir)?;
            let index = open_index(&config, &guard, &providers, Access::Reader)?;
            IndexRole { index: Arc::new(index), lock: None, holder: String::new() }
        } else {
            state_dir::claim(guard.root().path(), &config.state_dir)?;
            take_role(&config, &guard, &providers)?
        };
        let project = open_project(&config)?;
        let origin = origin(&config, &guard, project.as_ref());
        let counters = Arc::new(Counters::default());
        counters.set_totals(&counted(&role.index)?);
        let is_built = ingest::has_finished(&role.index)?;
        Ok(SharedEngine {
            config,
            guard,
            origin,
            project,
            query_embedder: QueryEmbedder::default(),
            providers,
            reranking,
            embedding_thread: embedding::thread(),
            recognition: Recognition::default(),
            counters,
            stopping: AtomicBool::new(false),
            built: AtomicBool::new(is_built),
            outliner: Outliner::default(),
            turns: Arc::default(),
            role: RwLock::new(role),
            answers: RememberedAnswers::default(),
            facts: RememberedFacts::default(),
            running: watch::Sender::new(false),
            foreign: Mutex::new(None),
            told: std::sync::Once::new(),
        })
    }

    /// What is known of the process that writes the index; `None` when it is this one.
    pub(crate) fn held_by(&self) -> Option<String> {
        let role = self.role();
        role.lock.is_none().then(|| role.holder.clone())
    }

    /// Says that a job begins: its counts start at nothing, and callers are not told that the index is complete.
    pub(crate) fn start_job(&self, mode: IndexMode) {
        self.counters.start(worker::job_id(self.config.clock.as_ref()), mode);
        self.running.send_replace(true);
    }

    /// Goes on with the last job: a change that the watcher saw is part of it.
    pub(crate) fn resume_job(&self) {
        self.counters.resume();
        self.running.send_replace(true);
    }

    pub(crate) fn finish_job(&self) {
        self.counters.finish();
        self.running.send_replace(false);
    }

    /// Changes to false when a job of this process ends.
    pub(crate) fn running(&self) -> watch::Receiver<bool> {
        self.running.subscribe()
    }

    pub(crate) fn index(&self) -> Arc<Index> {
        let index = Arc::clone(&self.role().index);
        // Only a reader's can be: the writer exchanges its own.
        if index.is_superseded() { self.reopened(index) } else { index }
    }

    pub(crate) fn is_writer(&self) -> bool {
        self.role().lock.is_some()
    }

    /// Says once in this process that an index could not be read.
    pub(crate) fn tell_once(&self, tell: impl FnOnce()) {
        self.told.call_once(tell);
    }

    /// False once the files of the state directory are no longer those that were opened: it was removed or emptied.
    pub(crate) fn has_its_state(&self) -> bool {
        match &self.role().lock {
            Some(lock) => lock.is_current(&self.config.state_dir),
            None => self.config.state_dir.is_dir(),
        }
    }

    /// An empty index beside the present one, and where it is.
    pub(crate) fn begin_rebuild(&self) -> Result<Index, IndexError> {
        let dir = index::rebuild_dir(&self.config.state_dir)?;
        open_index_in(dir, &self.config, &self.guard, &self.providers, Access::Writer)
    }

    /// Puts the index that was built beside the present one in its place.
    /// `adopted` is the last kept text that it has taken over.
    pub(crate) fn finish_rebuild(&self, adopted: i64) -> Result<(), IndexError> {
        let mut role = self.role.write().unwrap_or_else(PoisonError::into_inner);
        role.index.retire();
        index::install_rebuilt(&self.config.state_dir)?;
        let index = open_index(&self.config, &self.guard, &self.providers, Access::Writer)?;
        // What was bought between the last look and the retirement. The old catalog is still open, though its file is gone.
        index.adopt_parts(&role.index, adopted, &self.config.read_again)?;
        role.index = Arc::new(index);
        Ok(())
    }

    /// The writer has put another index in the place of the one that was opened.
    fn reopened(&self, old: Arc<Index>) -> Arc<Index> {
        let opened = match open_index(&self.config, &self.guard, &self.providers, Access::Reader) {
            Ok(index) => Arc::new(index),
            Err(error) => {
                tracing::warn!(%error, "the new index cannot be opened yet");
                return old;
            }
        };
        let mut role = self.role.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&role.index, &old) {
            role.index = opened;
        }
        Arc::clone(&role.index)
    }

    /// Takes over from a writer that is gone. `false` while it is still there.
    pub(crate) fn try_promote(&self) -> Result<bool, EngineError> {
        let state = |source| EngineError::State { path: self.config.state_dir.clone(), source };
        let Attempt::Held(lock) = WriterLock::try_acquire(&self.config.state_dir).map_err(state)? else {
            return Ok(false);
        };
        let index = open_index(&self.config, &self.guard, &self.providers, Access::Writer)?;
        self.counters.set_totals(&counted(&index)?);
        let mut role = self.role.write().unwrap_or_else(PoisonError::into_inner);
        *role = IndexRole { index: Arc::new(index), lock: Some(lock), holder: String::new() };
        Ok(true)
    }

    /// Which providers are there to read pictures and recordings.
    pub(crate) fn capabilities(&self) -> Vec<Capability> {
        let Providers { recognizer, transcriber, .. } = &self.providers;
        let ocr = recognizer.as_ref().map(|_| Capability::Ocr);
        ocr.into_iter().chain(transcriber.as_ref().map(|_| Capability::Stt)).collect()
    }

    pub(crate) fn ingest_options(&self) -> IngestOptions {
        IngestOptions {
            rules: self.config.rules.clone(),
            reader: Arc::clone(&self.config.reader),
            threads: self.config.threads,
            clock: Arc::clone(&self.config.clock),
            capabilities: self.capabilities(),
        }
    }

    /// Where single documents are read outside of a scan. A published project has no bytes to read them from.
    pub(crate) fn desk(&self) -> Result<DocumentDesk, Failure> {
        if let Some(served) = &self.project {
            let message = format!("this server has no folder: it answers from the {}", served.project.name);
            return Err(Failure::new(ErrorCode::DocTypeUnsupported, message)
                .hint("Ask a server of the folder itself, and publish the folder again."));
        }
        Ok(DocumentDesk {
            guard: self.guard.clone(),
            index: self.index(),
            options: self.ingest_options(),
            counters: Arc::clone(&self.counters),
            turns: Arc::clone(&self.turns),
        })
    }

    /// What follows when a document has got a text outside of a scan.
    pub(crate) fn after_reading(&self) {
        self.refresh_totals();
        self.write_corpus();
        self.embedding_thread.wake();
    }

    pub(crate) fn walk_options(&self) -> WalkOptions {
        walk_options(&self.config)
    }

    pub(crate) fn progress(&self) -> Progress {
        if self.is_writer() {
            return self.counters.progress();
        }
        let mut foreign = self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        match &*foreign {
            Some((read, progress)) if read.elapsed() < FOREIGN_PROGRESS_AGE => progress.clone(),
            _ => {
                let progress = read_corpus(&self.config.state_dir)
                    .map_or_else(|| self.counters.progress(), |corpus| corpus.indexing);
                *foreign = Some((Instant::now(), progress.clone()));
                progress
            }
        }
    }

    /// Takes the totals from the catalog again; the counters of single batches drift.
    pub(crate) fn refresh_totals(&self) {
        match self.index().counts() {
            Ok(counts) => self.counters.set_totals(&counts),
            Err(error) => tracing::warn!(%error, "the index could not be counted"),
        }
    }

    /// Writes `corpus.json`; a failure is worth a warning, never the job.
    pub(crate) fn write_corpus(&self) {
        let written = self.index().counts().map_err(io::Error::other).and_then(|counts| {
            Corpus::new(&self.served(), &counts, &self.config.models, self.counters.progress())
                .write(&self.config.state_dir)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "corpus.json could not be written");
        }
    }

    fn role(&self) -> std::sync::RwLockReadGuard<'_, IndexRole> {
        self.role.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The vectors of a question; waits for a provider no longer than a question may. For threads on which a call does its
    /// work: they may block.
    ///
    /// A provider is asked once for each of its models that made vectors for these kinds.
    pub(crate) fn query_vectors(&self, text: &str, snapshot: &Snapshot, kinds: &[IndexKind]) -> QueryVectors {
        let makers = [IndexKind::Text, IndexKind::Code].map(|kind| {
            let maker = snapshot.embedding(kind);
            let is_of_use = kinds.contains(&kind) && snapshot.has_vectors(kind);
            (is_of_use || maker.local().is_some()).then_some(maker)
        });
        self.query_embedder.local_vectors(text, makers).unwrap_or_else(|| {
            tokio::runtime::Handle::current().block_on(self.query_embedder.vectors(text, makers))
        })
    }

    /// Fails where a file of the index was cut while it was read: an answer from it could be wrong. It is repaired within
    /// seconds.
    pub(crate) fn check_files(&self) -> Result<(), Failure> {
        if !self.index().has_cut_files() {
            return Ok(());
        }
        let message = "a file of the index was cut while it was used; it is being repaired, try again";
        Err(Failure::new(ErrorCode::IndexNotReady, message))
    }

    /// The text of a document or of a member of an archive, unless the policy holds it back.
    pub(crate) fn whole(&self, path: &RelPath) -> Result<Whole, Failure> {
        self.origin.whole(&self.index(), path)
    }

    /// The way to the bytes of documents, where they are at hand.
    pub(crate) fn door(&self) -> Option<Door<'_>> {
        self.origin.door(&self.index())
    }

    /// Size and time of a file that may be opened.
    pub(crate) fn facts(&self, path: &RelPath) -> Result<FileStamp, OpenError> {
        self.origin.facts(&self.index(), path)
    }

    /// The text of a file whose bytes are text.
    pub(crate) fn text(&self, path: &RelPath, max_bytes: u64) -> Result<FileText, Unshown> {
        self.origin.text(&self.index(), path, max_bytes)
    }

    /// The path that a caller means.
    pub(crate) fn locate(&self, written: &str) -> Result<RelPath, PathError> {
        self.origin.locate(&self.index(), written)
    }

    /// What is served, as people are told.
    pub(crate) fn served(&self) -> String {
        match &self.project {
            Some(served) => served.project.name.clone(),
            None => self.guard.root().path().display().to_string(),
        }
    }

    /// Whether the current policy lets a path be shown.
    pub(crate) fn allows(&self, path: &str) -> bool {
        RelPath::from_walk(path).is_ok_and(|path| self.guard.policy().check_path(&path).is_ok())
    }
}

fn walk_options(config: &EngineConfig) -> WalkOptions {
    WalkOptions { gitignore: config.rules.gitignore, threads: config.threads }
}

/// Opens the copy of the project that is served, where one is.
fn open_project(config: &EngineConfig) -> Result<Option<ServedProject>, EngineError> {
    let Some(project) = config.published.clone() else { return Ok(None) };
    let copy = ProjectCopy::open(&config.state_dir.join(COPY_FILE)).map_err(EngineError::Project)?;
    Ok(Some(ServedProject { project, copy: Arc::new(copy) }))
}

fn origin(config: &EngineConfig, guard: &Guard, project: Option<&ServedProject>) -> Box<dyn Origin> {
    match project {
        Some(ServedProject { project, copy }) => Box::new(CopiedProject {
            project: project.clone(),
            copy: Arc::clone(copy),
            policy: Arc::clone(guard.policy()),
        }),
        None => Box::new(Folder {
            guard: guard.clone(),
            reader: Arc::clone(&config.reader),
            rules: config.rules.clone(),
            walk: walk_options(config),
        }),
    }
}

/// Becomes the writer, or a reader beside the one there is. A writer that has only just begun has no index to read
/// yet, so a reader waits for it a little.
fn take_role(config: &EngineConfig, guard: &Guard, providers: &Providers) -> Result<IndexRole, EngineError> {
    let state = |source| EngineError::State { path: config.state_dir.clone(), source };
    let started = Instant::now();
    loop {
        let (access, lock, holder) = match WriterLock::try_acquire(&config.state_dir).map_err(state)? {
            Attempt::Held(lock) => (Access::Writer, Some(lock), String::new()),
            Attempt::Busy { holder } => (Access::Reader, None, holder),
        };
        match open_index(config, guard, providers, access) {
            Ok(index) => return Ok(IndexRole { index: Arc::new(index), lock, holder }),
            Err(IndexError::Missing { .. }) if lock.is_none() && started.elapsed() < NEW_INDEX_WAIT => {
                std::thread::sleep(NEW_INDEX_POLL);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// How much is in an index; nothing where it is damaged, which is no reason not to open it: the next pass builds it again.
fn counted(index: &Index) -> Result<index::Counts, IndexError> {
    match index.counts() {
        Err(IndexError::Corrupt { .. }) => Ok(index::Counts::default()),
        other => other,
    }
}

fn open_index(
    config: &EngineConfig,
    guard: &Guard,
    providers: &Providers,
    access: Access,
) -> Result<Index, IndexError> {
    open_index_in(config.state_dir.clone(), config, guard, providers, access)
}

fn open_index_in(
    dir: PathBuf,
    config: &EngineConfig,
    guard: &Guard,
    providers: &Providers,
    access: Access,
) -> Result<Index, IndexError> {
    let index = Index::open(index::Open {
        dir,
        access,
        embedding: providers.embedding.clone(),
        former: providers.former_embedding.clone(),
        root: guard.root().path().display().to_string(),
    })?;
    if matches!(access, Access::Writer) {
        let models = &config.models;
        for (key, model) in [
            ("ocr_model", &models.ocr),
            ("stt_provider", &models.stt_provider),
            ("stt_model", &models.stt_model),
            ("chat_model", &models.chat),
        ] {
            index.set_setting(key, model)?;
        }
    }
    Ok(index)
}
