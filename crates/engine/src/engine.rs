//! The engine: opened once per process, shared by every transport.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use discover::WalkOptions;
use index::{Access, Index, IndexError, Snapshot};
use ingest::{Counters, DocumentReader, IngestError, IngestRules};
use model::{EmbeddingProvider, ErrorCode, Failure, Filter, IndexMode, Progress, Query, RelPath};
use policy::{Guard, Policy, PolicyError, Root, RootError};
use retrieve::{Breakdown, CompiledFilter, QueryEmbedder, QueryVectors, RankOptions, Weights};

use crate::answers::{Answer, Answers};
use crate::api::{
    AskAnswer, Call, FileList, ListRequest, ListedFile, ModelNames, OpenRequest, OpenedFile, SearchAnswer,
    Stats,
};
use crate::corpus::{Corpus, read_corpus};
use crate::embedding::{self, EmbeddingThread};
use crate::lock::{Attempt, WriterLock};
use crate::metrics::Metrics;
use crate::open_file::{Door, open_file};
use crate::outliner::Outliner;
use crate::state_dir::{self, StateDirError};
use crate::suggest::nearest_paths;
use crate::worker::{self, Event, EventSink, Wake, Waker};

/// How long a process that only reads trusts what it last read of the writer's progress.
const FOREIGN_PROGRESS_AGE: Duration = Duration::from_millis(500);

/// How long a reader waits for a writer's first commit, and how often it looks.
const NEW_INDEX_WAIT: Duration = Duration::from_secs(5);
const NEW_INDEX_POLL: Duration = Duration::from_millis(20);

/// How long the background work may take to stop, and how often it is looked whether it has.
pub(crate) const STOP_WAIT: Duration = Duration::from_secs(3);
const STOP_POLL: Duration = Duration::from_millis(2);

/// How long a reader waits for the writer to catch up with the files, and how often it looks.
const WRITER_PATIENCE: Duration = Duration::from_secs(10);
const WRITER_LOOK: Duration = Duration::from_millis(50);
const RAREST_WRITER_LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct EngineConfig {
    pub root: PathBuf,
    pub state_dir: PathBuf,
    /// What is indexed, and how.
    pub rules: IngestRules,
    pub watch: bool,
    /// Threads that walk, read and cut.
    pub threads: usize,
    /// Extracts the text of documents.
    pub reader: Arc<dyn DocumentReader>,
    pub oversample: usize,
    pub weights: Weights,
    pub generate_answer: bool,
    pub models: ModelNames,
    /// Counts the calls; engines of one process share it.
    pub metrics: Arc<Metrics>,
    /// Only looks at what is there; never becomes the writer.
    pub read_only: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the root directory {path} cannot be read: {source}")]
    Root { path: PathBuf, source: RootError },
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error("the state directory {path} cannot be written: {source}")]
    State { path: PathBuf, source: io::Error },
    #[error(transparent)]
    StateDir(#[from] StateDirError),
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// How a finished indexing job ended.
#[derive(Debug)]
pub enum IndexingOutcome {
    Done(Progress),
    /// Another process holds the index and keeps it up to date.
    HeldBy(String),
}

pub struct Engine {
    pub(crate) shared: Arc<Shared>,
    worker: Mutex<Option<(JoinHandle<()>, Waker)>>,
}

/// What the façade and the background worker both use.
pub(crate) struct Shared {
    pub(crate) config: EngineConfig,
    pub(crate) guard: Guard,
    pub(crate) embedding: EmbeddingProvider,
    query_embedder: QueryEmbedder,
    pub(crate) embedding_thread: EmbeddingThread,
    pub(crate) counters: Arc<Counters>,
    pub(crate) stopping: AtomicBool,
    /// A whole pass has ended, now or in an earlier life.
    pub(crate) built: AtomicBool,
    pub(crate) outliner: Outliner,
    role: RwLock<Role>,
    answers: Answers,
    foreign: Mutex<Option<(Instant, Progress)>>,
    /// That an index could not be read was said.
    told: std::sync::Once,
}

struct Role {
    index: Arc<Index>,
    /// Held while this process is the writer.
    lock: Option<WriterLock>,
    /// Who writes, when this process does not.
    holder: String,
}

impl Engine {
    /// Opens the root, the policy and the index. Becomes the writer unless another process is.
    pub fn open(config: EngineConfig, embedding: EmbeddingProvider) -> Result<Engine, EngineError> {
        let root = Root::open(&config.root)
            .map_err(|source| EngineError::Root { path: config.root.clone(), source })?;
        let policy = Policy::new(config.rules.policy.clone())?;
        let guard = Guard::new(Arc::new(root), Arc::new(policy));
        let role = if config.read_only {
            state_dir::check(guard.root().path(), &config.state_dir)?;
            let index = open_index(&config, &guard, &embedding, Access::Reader)?;
            Role { index: Arc::new(index), lock: None, holder: String::new() }
        } else {
            state_dir::claim(guard.root().path(), &config.state_dir)?;
            take_role(&config, &guard, &embedding)?
        };
        let counters = Arc::new(Counters::default());
        let counts = counted(&role.index)?;
        counters.set_totals(&counts);
        let is_built = ingest::has_finished(&role.index)?;
        let shared = Shared {
            config,
            guard,
            query_embedder: QueryEmbedder::new(embedding.clone()),
            embedding,
            embedding_thread: EmbeddingThread::default(),
            counters,
            stopping: AtomicBool::new(false),
            built: AtomicBool::new(is_built),
            outliner: Outliner::default(),
            role: RwLock::new(role),
            answers: Answers::default(),
            foreign: Mutex::new(None),
            told: std::sync::Once::new(),
        };
        Ok(Engine { shared: Arc::new(shared), worker: Mutex::new(None) })
    }

    /// `None` when this process writes the index, else what is known of the one that does.
    pub fn held_by(&self) -> Option<String> {
        let role = self.shared.role();
        role.lock.is_none().then(|| role.holder.clone())
    }

    pub fn root(&self) -> &Path {
        self.shared.guard.root().path()
    }

    pub fn state_dir(&self) -> &Path {
        &self.shared.config.state_dir
    }

    /// Says that a job will be started: whoever asks from now on is not told that the index is complete.
    pub fn announce(&self, mode: IndexMode) {
        self.shared.counters.start(worker::job_id(), mode);
    }

    /// Starts indexing and watching in the background; calls are answered from what is there meanwhile.
    pub fn start(&self, mode: IndexMode, on_event: EventSink) {
        // Before the thread runs, so that no caller is told "complete" in between.
        self.announce(mode);
        match worker::spawn(Arc::clone(&self.shared), mode, Arc::clone(&on_event)) {
            Ok(started) => *self.worker.lock().unwrap_or_else(PoisonError::into_inner) = Some(started),
            Err(error) => {
                self.shared.counters.finish();
                let message = format!("the system grants no thread to index with: {error}");
                (on_event)(Event::Fatal { code: ErrorCode::IngestFailed, message });
            }
        }
    }

    /// Indexes once, in this thread, until the index is up to date.
    pub fn index_now(&self, mode: IndexMode, on_event: EventSink) -> Result<IndexingOutcome, IngestError> {
        if let Some(holder) = self.held_by() {
            return Ok(IndexingOutcome::HeldBy(holder));
        }
        self.shared.counters.start(worker::job_id(), mode);
        match mode {
            IndexMode::Incremental => worker::bring_up_to_date(&self.shared, mode, &on_event)?,
            // Not into what is there, of which nobody knows what is wrong with it.
            IndexMode::Full => worker::build_again(&self.shared, &on_event)?,
        }
        embedding::embed_now(&self.shared, &on_event);
        Ok(IndexingOutcome::Done(self.progress()))
    }

    /// What `corpus.json` says, from the catalog itself.
    pub fn corpus(&self) -> Result<Corpus, IndexError> {
        let shared = &self.shared;
        let root = shared.guard.root().path().display().to_string();
        Ok(Corpus::new(&root, &shared.index().counts()?, &shared.config.models, shared.counters.progress()))
    }

    /// What is known to be wrong with the index: answers may lack what stood there until the next pass has mended it.
    pub fn damage(&self) -> Option<String> {
        let index = self.shared.index();
        let derived =
            || index.needs_repair().then(|| "a file that is made from the catalog is damaged".to_owned());
        index.damage().or_else(derived)
    }

    /// Whether the files were looked at to the end at least once: by this process, or by one before it.
    pub fn is_built(&self) -> bool {
        self.shared.built.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.shared.config.metrics
    }

    /// Ends the background work; what was committed stays.
    pub fn shutdown(&self) {
        self.shared.stopping.store(true, std::sync::atomic::Ordering::Relaxed);
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((thread, waker)) = worker {
            waker.wake(Wake::Stop);
            leave(thread, "indexing", STOP_WAIT);
        }
        self.shared.outliner.stop();
        self.shared.embedding_thread.stop();
    }

    /// Keeps outlines from now on: questions across files are answered faster.
    pub fn want_outlines(&self) {
        self.shared.outliner.start(&self.shared);
    }

    /// Looks at the whole tree now. `Err` names the process that keeps the index, where another one does.
    pub(crate) async fn refresh(&self, call: &Call, mode: IndexMode) -> Result<Result<(), String>, Failure> {
        if let Some(holder) = self.held_by() {
            self.wait_for_writer(call).await?;
            return Ok(Err(holder));
        }
        let worker = self
            .worker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(|(_, waker)| waker.clone());
        let Some(waker) = worker else {
            // No background work: then this call does it.
            let shared = Arc::clone(&self.shared);
            return blocking(call, move || {
                shared.counters.start(worker::job_id(), mode);
                let quiet: EventSink = Arc::new(|_| {});
                worker::bring_up_to_date(&shared, mode, &quiet)?;
                Ok(Ok(()))
            })
            .await;
        };
        let (done, told) = tokio::sync::oneshot::channel();
        waker.wake(Wake::Refresh(mode, done));
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => Err(Failure::new(ErrorCode::Cancelled, "the call was cancelled")),
            outcome = told => match outcome {
                Ok(outcome) => outcome.map(Ok),
                Err(_) => Err(Failure::new(ErrorCode::IndexNotReady, "indexing has ended; restart the server")),
            },
        }
    }

    /// Waits until the process that writes the index has caught up with the files as they are now, within reason: it
    /// follows them by itself and cannot be asked to hurry.
    async fn wait_for_writer(&self, call: &Call) -> Result<(), Failure> {
        let started = Instant::now();
        let mut pause = WRITER_LOOK;
        loop {
            let shared = Arc::clone(&self.shared);
            let is_current = blocking(call, move || {
                let (guard, index) = (&shared.guard, shared.index());
                Ok(ingest::is_current(guard, &index, &shared.walk_options())?)
            })
            .await?;
            if is_current || started.elapsed() >= WRITER_PATIENCE {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = call.cancel.cancelled() => {
                    return Err(Failure::new(ErrorCode::Cancelled, "the call was cancelled"));
                }
                () = tokio::time::sleep(pause) => {}
            }
            pause = (2 * pause).min(RAREST_WRITER_LOOK);
        }
    }

    /// The counters of the current or last job, the other process's when that one writes.
    pub fn progress(&self) -> Progress {
        self.shared.progress()
    }

    pub async fn search(&self, call: &Call, query: Query) -> Result<SearchAnswer, Failure> {
        let shared = Arc::clone(&self.shared);
        self.audited(call, async {
            let k = query.k;
            let text = query.text.clone();
            let answer = shared.find(call, query).await?;
            Ok(SearchAnswer {
                query: text,
                k,
                index_used: answer.index_used,
                hits: Arc::clone(&answer.hits),
                indexing_complete: !shared.progress().running,
            })
        })
        .await
    }

    /// Searches, and says of each hit how its score came about.
    pub async fn explain(
        &self,
        call: &Call,
        query: Query,
    ) -> Result<(SearchAnswer, Vec<Breakdown>), Failure> {
        let shared = Arc::clone(&self.shared);
        let (text, k) = (query.text.clone(), query.k);
        self.audited(call, async {
            let snapshot = shared.index().snapshot();
            let searching = Arc::clone(&shared);
            let found = blocking(call, move || searching.search(&snapshot, &query)).await?;
            let answer = SearchAnswer {
                query: text,
                k,
                index_used: found.index_used,
                hits: found.hits.into(),
                indexing_complete: !shared.progress().running,
            };
            Ok((answer, found.breakdowns))
        })
        .await
    }

    /// Answers a question from the best passages; with `generate` off, only the hits.
    pub async fn ask(&self, call: &Call, query: Query, generate: bool) -> Result<AskAnswer, Failure> {
        let shared = Arc::clone(&self.shared);
        self.audited(call, async {
            let question = query.text.clone();
            let generate = generate && shared.config.generate_answer;
            let inner = Arc::clone(&shared);
            let (hits, answer, citations) = blocking(call, move || {
                let snapshot = inner.index().snapshot();
                let hits = inner.search(&snapshot, &query)?.hits;
                if generate {
                    let ids: Vec<_> = hits.iter().map(|hit| hit.chunk_id).collect();
                    let chunks = snapshot.chunks(&ids)?;
                    let extracted = retrieve::extractive_answer(
                        &query.text,
                        &retrieve::Found {
                            hits: &hits,
                            chunks: &chunks,
                            near: &|token| snapshot.near(token),
                        },
                    );
                    Ok((hits, Some(extracted.text), extracted.citations))
                } else {
                    let citations = hits.iter().map(model::Hit::citation).collect();
                    Ok((hits, None, citations))
                }
            })
            .await?;
            let indexing_complete = !shared.progress().running;
            Ok(AskAnswer { question, answer, citations, hits, indexing_complete })
        })
        .await
    }

    pub async fn open_file(&self, call: &Call, request: OpenRequest) -> Result<OpenedFile, Failure> {
        let (shared, index) = (Arc::clone(&self.shared), self.shared.index());
        self.audited(
            call,
            blocking(call, move || {
                let request = shared.below_root(request);
                let mut opened = open_file(&shared.door(), &request)
                    .map_err(|failure| shared.with_suggestions(failure, &request.rel_path))?;
                let indexed = index.document(&opened.file.rel_path)?;
                opened.file.changed_since_indexed =
                    indexed.and_then(|row| row.content_hash).is_some_and(|hash| hash != opened.content_hash);
                Ok(opened.file)
            }),
        )
        .await
    }

    pub async fn list_files(&self, call: &Call, request: ListRequest) -> Result<FileList, Failure> {
        let (guard, index) = (self.shared.guard.clone(), self.shared.index());
        self.audited(
            call,
            blocking(call, move || {
                let filter = Filter {
                    path_prefix: request.path_prefix,
                    file_glob: request.glob,
                    doc_types: Vec::new(),
                };
                let filter = CompiledFilter::new(&filter)?;
                // A path may have become forbidden since it was indexed; the current policy decides.
                let admits = |path: &str, doc_type| {
                    filter.admits(path, doc_type)
                        && RelPath::from_walk(path).is_ok_and(|path| guard.policy().check_path(&path).is_ok())
                };
                let (total, rows) =
                    index.list(&|row| admits(&row.path, row.doc_type), request.limit, request.offset)?;
                let files = rows
                    .into_iter()
                    .map(|row| ListedFile {
                        doc_type: row.doc_type,
                        size_bytes: row.size,
                        mtime_unix: row.mtime_ns.div_euclid(1_000_000_000),
                        status: row.status,
                        reason: row.reason.as_ref().map(ToString::to_string),
                        rel_path: row.document.path,
                    })
                    .collect();
                Ok(FileList { limit: request.limit, offset: request.offset, total, files })
            }),
        )
        .await
    }

    pub async fn stats(&self, call: &Call) -> Result<Stats, Failure> {
        self.audited(call, async {
            Ok(Stats {
                root: self.root().display().to_string(),
                state_dir: self.state_dir().display().to_string(),
                indexing: self.progress(),
                models: self.shared.config.models.clone(),
            })
        })
        .await
    }

    /// One audit line per call: who, what, how long, how it ended. Never the question.
    pub(crate) async fn audited<T>(
        &self,
        call: &Call,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let started = Instant::now();
        let outcome = work.await;
        let code = outcome.as_ref().err().map_or("ok", |failure| failure.code.as_str());
        self.metrics().record(call.tool, code, started.elapsed());
        tracing::debug!(
            target: "audit",
            tool = call.tool,
            caller = %call.caller,
            micros = started.elapsed().as_micros() as u64,
            outcome = code,
        );
        outcome
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl Shared {
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
        open_index_in(dir, &self.config, &self.guard, &self.embedding, Access::Writer)
    }

    /// Puts the index that was built beside the present one in its place.
    pub(crate) fn finish_rebuild(&self) -> Result<(), IndexError> {
        let mut role = self.role.write().unwrap_or_else(PoisonError::into_inner);
        role.index.retire();
        index::install_rebuilt(&self.config.state_dir)?;
        let index = open_index(&self.config, &self.guard, &self.embedding, Access::Writer)?;
        role.index = Arc::new(index);
        Ok(())
    }

    /// The writer has put another index in the place of the one that was opened.
    fn reopened(&self, old: Arc<Index>) -> Arc<Index> {
        let opened = match open_index(&self.config, &self.guard, &self.embedding, Access::Reader) {
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
        let index = open_index(&self.config, &self.guard, &self.embedding, Access::Writer)?;
        self.counters.set_totals(&counted(&index)?);
        let mut role = self.role.write().unwrap_or_else(PoisonError::into_inner);
        *role = Role { index: Arc::new(index), lock: Some(lock), holder: String::new() };
        Ok(true)
    }

    pub(crate) fn walk_options(&self) -> WalkOptions {
        WalkOptions { gitignore: self.config.rules.gitignore, threads: self.config.threads }
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
            let root = self.guard.root().path().display().to_string();
            Corpus::new(&root, &counts, &self.config.models, self.counters.progress())
                .write(&self.config.state_dir)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "corpus.json could not be written");
        }
    }

    fn role(&self) -> std::sync::RwLockReadGuard<'_, Role> {
        self.role.read().unwrap_or_else(PoisonError::into_inner)
    }

    async fn find(self: &Arc<Self>, call: &Call, query: Query) -> Result<Arc<Answer>, Failure> {
        let snapshot = self.index().snapshot();
        if let Some(answer) = self.answers.get(snapshot.id(), &query) {
            return Ok(answer);
        }
        let shared = Arc::clone(self);
        blocking(call, move || {
            let found = shared.search(&snapshot, &query)?;
            let by_words_only = found.vector_error.is_some();
            let answer = Arc::new(Answer { index_used: found.index_used, hits: found.hits.into() });
            // The provider may be back for the next one who asks.
            if !by_words_only {
                shared.answers.put(snapshot.id(), query, Arc::clone(&answer));
            }
            Ok(answer)
        })
        .await
    }

    /// Searches under the current policy: what was indexed under another one is not shown.
    fn search(&self, snapshot: &Snapshot, query: &Query) -> Result<retrieve::SearchAnswer, Failure> {
        let options =
            RankOptions { oversample: self.config.oversample, weights: self.config.weights, view: None };
        let vectors = self.query_vectors(&query.text);
        let answer = retrieve::search(snapshot, &vectors, query, &options, &|path| self.allows(path))?;
        self.check_files()?;
        Ok(answer)
    }

    /// The vectors of a question; waits for a provider no longer than a question may. For threads on which a call does its
    /// work: they may block.
    pub(crate) fn query_vectors(&self, text: &str) -> QueryVectors {
        self.query_embedder
            .local_vectors(text)
            .unwrap_or_else(|| tokio::runtime::Handle::current().block_on(self.query_embedder.vectors(text)))
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

    /// An absolute path below the root as the relative one that it means. Any other path stays as it is, for the door to
    /// judge.
    fn below_root(&self, request: OpenRequest) -> OpenRequest {
        let root = self.guard.root().path();
        match Path::new(&request.rel_path).strip_prefix(root).ok().and_then(Path::to_str) {
            Some(below) if !below.is_empty() => OpenRequest { rel_path: below.to_owned(), ..request },
            _ => request,
        }
    }

    /// Names the files that may have been meant by a path that does not exist.
    fn with_suggestions(&self, failure: Failure, wanted: &str) -> Failure {
        if failure.code != ErrorCode::FileNotFound || failure.hint.is_some() {
            return failure;
        }
        let snapshot = self.index().snapshot();
        let known = snapshot.paths().filter(|path| self.allows(path));
        match nearest_paths(wanted, known).as_slice() {
            [] => failure.hint("Use list_files to see which files there are."),
            near => {
                let near: Vec<String> = near.iter().map(|path| format!("\"{path}\"")).collect();
                failure.hint(format!("Did you mean {}?", near.join(" or ")))
            }
        }
    }

    /// The way to the texts of files.
    pub(crate) fn door(&self) -> Door<'_> {
        let config = &self.config;
        let (reader, archives) = (config.reader.as_ref(), config.rules.archives);
        Door { guard: &self.guard, reader, archives, index: self.index() }
    }

    /// Whether the current policy lets a path be shown.
    pub(crate) fn allows(&self, path: &str) -> bool {
        RelPath::from_walk(path).is_ok_and(|path| self.guard.policy().check_path(&path).is_ok())
    }
}

/// Becomes the writer, or a reader beside the one there is. A writer that has only just begun has no index to read
/// yet, so a reader waits for it a little.
fn take_role(
    config: &EngineConfig,
    guard: &Guard,
    embedding: &EmbeddingProvider,
) -> Result<Role, EngineError> {
    let state = |source| EngineError::State { path: config.state_dir.clone(), source };
    let started = Instant::now();
    loop {
        let (access, lock, holder) = match WriterLock::try_acquire(&config.state_dir).map_err(state)? {
            Attempt::Held(lock) => (Access::Writer, Some(lock), String::new()),
            Attempt::Busy { holder } => (Access::Reader, None, holder),
        };
        match open_index(config, guard, embedding, access) {
            Ok(index) => return Ok(Role { index: Arc::new(index), lock, holder }),
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
    embedding: &EmbeddingProvider,
    access: Access,
) -> Result<Index, IndexError> {
    open_index_in(config.state_dir.clone(), config, guard, embedding, access)
}

fn open_index_in(
    dir: PathBuf,
    config: &EngineConfig,
    guard: &Guard,
    embedding: &EmbeddingProvider,
    access: Access,
) -> Result<Index, IndexError> {
    let index = Index::open(index::Open {
        dir,
        access,
        embedding: embedding.clone(),
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

/// Waits for a thread that was told to stop. One that hangs in a read is left behind: what was committed is safe, and
/// the process can end without it.
pub(crate) fn leave(thread: JoinHandle<()>, what: &str, patience: Duration) {
    let started = Instant::now();
    while !thread.is_finished() {
        if started.elapsed() >= patience {
            return tracing::warn!(what, "a thread did not stop in time and is left behind");
        }
        std::thread::sleep(STOP_POLL);
    }
    if thread.join().is_err() {
        tracing::error!(what, "a thread ended abnormally");
    }
}

/// Runs CPU work off the async threads and lets go of it when the caller does.
pub(crate) async fn blocking<T: Send + 'static>(
    call: &Call,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let task = tokio::task::spawn_blocking(work);
    tokio::select! {
        biased;
        () = call.cancel.cancelled() => Err(Failure::new(ErrorCode::Cancelled, "the call was cancelled")),
        done = task => done.unwrap_or_else(|error| {
            tracing::error!(%error, tool = call.tool, "a call ended abnormally");
            Err(Failure::new(ErrorCode::InternalError, "the call ended abnormally; see the server's log"))
        }),
    }
}
