//! One root, opened once per process: its index, the background work that follows its files, and its life.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use index::IndexError;
use ingest::{DocumentReader, InProcess, IngestError, IngestRules};
use model::{Capability, ErrorCode, Failure, IndexMode, Progress, Providers, WallClock};
use policy::{Guard, Policy, PolicyError, Redactor, Root, RootError};
use retrieve::Weights;

use crate::ask::AnswerSettings;
use crate::clock::SystemClock;
use crate::corpus::{Corpus, ModelNames};
use crate::published::PublishedProject;
use crate::shared::SharedEngine;
use crate::state_dir::StateDirError;
use crate::worker::{self, EngineEvent, EventSink, Wake, Waker};

/// How long the background work may take to stop, and how often it is looked whether it has.
pub(crate) const STOP_WAIT: Duration = Duration::from_secs(3);
const STOP_POLL: Duration = Duration::from_millis(2);

#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The folder; of a published project, an empty one that stands for it.
    pub root: PathBuf,
    pub state_dir: PathBuf,
    /// Serves this project of the store instead of the folder's files.
    pub published: Option<PublishedProject>,
    /// What is indexed, and how.
    pub rules: IngestRules,
    pub watch: bool,
    /// Threads that walk, read and cut.
    pub threads: usize,
    /// Extracts the text of documents.
    pub reader: Arc<dyn DocumentReader>,
    pub oversample: usize,
    pub weights: Weights,
    pub answers: AnswerSettings,
    pub models: ModelNames,
    /// Time stamps come from here.
    pub clock: Arc<dyn WallClock>,
    /// A rebuild has the texts of these capabilities made again instead of taking them over.
    pub read_again: Vec<Capability>,
    /// Only looks at what is there; never becomes the writer.
    pub read_only: bool,
}

impl EngineConfig {
    /// The smallest set-up: one thread of this process, which neither watches the folder nor looks into archives.
    pub fn minimal(root: &Path, state_dir: &Path) -> EngineConfig {
        EngineConfig {
            root: root.to_owned(),
            state_dir: state_dir.to_owned(),
            published: None,
            rules: IngestRules { archives: None, ..IngestRules::default() },
            watch: false,
            threads: 1,
            reader: Arc::new(InProcess::default()),
            oversample: 5,
            weights: Weights::default(),
            answers: AnswerSettings::default(),
            models: ModelNames::default(),
            clock: Arc::new(SystemClock),
            read_again: Vec::new(),
            read_only: false,
        }
    }
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
    #[error("{0}")]
    Project(Failure),
}

/// How a finished indexing job ended.
#[derive(Debug)]
pub enum IndexingOutcome {
    Done(Progress),
    /// Another process holds the index and keeps it up to date.
    HeldBy(String),
}

pub struct Engine {
    pub(crate) shared: Arc<SharedEngine>,
    worker: Mutex<Option<(JoinHandle<()>, Waker)>>,
}

impl Engine {
    /// Opens the root, the policy and the index. Becomes the writer unless another process is.
    pub fn open(config: EngineConfig, providers: Providers) -> Result<Engine, EngineError> {
        let root = Root::open(&config.root)
            .map_err(|source| EngineError::Root { path: config.root.clone(), source })?;
        let policy = Policy::new(config.rules.policy.clone())?;
        let guard = Guard::new(Arc::new(root), Arc::new(policy));
        let shared = SharedEngine::open(config, guard, providers)?;
        Ok(Engine { shared: Arc::new(shared), worker: Mutex::new(None) })
    }

    /// `None` when this process writes the index, else what is known of the one that does.
    pub fn held_by(&self) -> Option<String> {
        self.shared.held_by()
    }

    pub fn root(&self) -> &Path {
        self.shared.guard.root().path()
    }

    /// What is served, as people are told: the path of the folder, or the project.
    pub fn served(&self) -> String {
        self.shared.served()
    }

    pub fn state_dir(&self) -> &Path {
        &self.shared.config.state_dir
    }

    /// Who embeds, recognises, transcribes, answers, orders and speaks for this root.
    pub fn providers(&self) -> &Providers {
        &self.shared.providers
    }

    /// Says that a job will be started: from now on callers are not told that the index is complete.
    pub fn announce(&self, mode: IndexMode) {
        self.shared.start_job(mode);
    }

    /// Starts indexing and watching in the background; calls are answered from what is there meanwhile.
    pub fn start(&self, mode: IndexMode, on_event: EventSink) {
        // Before the thread runs, so that no caller is told "complete" in between.
        self.announce(mode);
        match worker::spawn(Arc::clone(&self.shared), mode, Arc::clone(&on_event)) {
            Ok(started) => *self.worker.lock().unwrap_or_else(PoisonError::into_inner) = Some(started),
            Err(error) => {
                self.shared.finish_job();
                let message = format!("the system grants no thread to index with: {error}");
                (on_event)(EngineEvent::Fatal { code: ErrorCode::IngestFailed, message });
            }
        }
    }

    /// Indexes once, in this thread, until the index is up to date.
    pub fn index_now(&self, mode: IndexMode, on_event: EventSink) -> Result<IndexingOutcome, IngestError> {
        if let Some(holder) = self.held_by() {
            return Ok(IndexingOutcome::HeldBy(holder));
        }
        self.shared.start_job(mode);
        match mode {
            IndexMode::Incremental => {
                worker::bring_up_to_date(&self.shared, mode, &on_event, &self.shared.stopping)?;
            }
            // Beside what is there: it may be damaged in ways that are not known yet.
            IndexMode::Full => worker::build_again(&self.shared, &on_event)?,
        }
        if self.shared.project.is_none() {
            self.shared.recognition.run_now(&self.shared, &on_event);
        }
        if self.shared.providers.embedding.remote().is_some() {
            self.shared.embedding_thread.run_now(&self.shared, &on_event);
        }
        Ok(IndexingOutcome::Done(self.progress()))
    }

    /// What `corpus.json` says, from the catalog itself.
    pub fn corpus(&self) -> Result<Corpus, IndexError> {
        let shared = &self.shared;
        Ok(Corpus::new(
            &shared.served(),
            &shared.index().counts()?,
            &shared.config.models,
            shared.counters.progress(),
        ))
    }

    /// What is known to be wrong with the index: answers may lack what was there until the next pass has repaired it.
    pub fn damage(&self) -> Option<String> {
        let index = self.shared.index();
        let derived =
            || index.needs_repair().then(|| "a file that is made from the catalog is damaged".to_owned());
        index.damage().or_else(derived)
    }

    /// Whether the index holds what is there now, as far as sizes and times tell. For threads that may block.
    pub fn is_up_to_date(&self) -> Result<bool, Failure> {
        self.shared.origin.is_indexed(&self.shared.index())
    }

    /// Whether the files were looked at to the end at least once: by this process, or by one before it.
    pub fn is_built(&self) -> bool {
        self.shared.built.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Blanks what must not be shown.
    pub fn redactor(&self) -> &Arc<Redactor> {
        self.shared.guard.policy().redactor()
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
        self.shared.recognition.stop();
        self.shared.embedding_thread.stop();
    }

    /// Keeps outlines from now on: questions across files are answered faster.
    pub fn want_outlines(&self) {
        self.shared.outliner.start(&self.shared);
    }

    /// Wakes the background work; `None` where it was not started.
    pub(crate) fn waker(&self) -> Option<Waker> {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        worker.as_ref().map(|(_, waker)| waker.clone())
    }

    /// The counters of the current or last job, the other process's when that one writes.
    pub fn progress(&self) -> Progress {
        self.shared.progress()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shutdown();
    }
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
