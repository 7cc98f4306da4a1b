//! The background thread: repairs, scans, then follows the watcher; or waits to take over from another writer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use discover::{Change, WalkError, WatchHealth, Watcher};
use index::{Index, IndexError};
use ingest::{Ingest, IngestError, IngestEvent};
use model::{ErrorCode, Failure, IndexMode, Progress, RelPath, WallClock};

use crate::engine::EngineError;
use crate::published;
use crate::shared::SharedEngine;

/// Heals what a watcher missed: a full look at the tree now and then.
const RESCAN_EVERY: Duration = Duration::from_secs(600);
/// The same without a watcher.
const RESCAN_UNWATCHED: Duration = Duration::from_secs(15);
/// Pause before trying again after the disk was full or the root was away.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// How often a server of a published project asks whether there is more.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);
/// How often a reader looks whether the writer is gone.
const PROMOTE_EVERY: Duration = Duration::from_secs(2);
/// How often the worker looks whether root, state and index are still what they were.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Pause before a damaged index is built once more, should building it again not have helped.
const MEND_EVERY: Duration = Duration::from_secs(60);
/// `corpus.json` is rewritten this often while a job runs.
pub(crate) const CORPUS_EVERY: Duration = Duration::from_secs(2);

/// What the background work tells the process around it.
#[derive(Debug, Clone)]
pub enum EngineEvent {
    Progress(Progress),
    /// Files that changed while the folder was watched are indexed; nothing runs any more.
    Settled(Progress),
    FileError {
        path: String,
        message: String,
    },
    Warning(String),
    /// This process took over the index from one that ended.
    BecameWriter,
    /// Indexing cannot go on.
    Fatal {
        /// What the `fatal` event calls it.
        code: ErrorCode,
        message: String,
    },
}

pub type EventSink = Arc<dyn Fn(EngineEvent) + Send + Sync>;

pub(crate) enum Wake {
    Change(Change),
    /// Somebody waits for a whole pass.
    Refresh(IndexMode, Reply),
    Stop,
}

pub(crate) type Reply = tokio::sync::oneshot::Sender<Result<(), Failure>>;

#[derive(Clone)]
pub(crate) struct Waker(Sender<Wake>);

impl Waker {
    pub(crate) fn wake(&self, wake: Wake) {
        // Nobody listens any more: then nothing is left to be woken.
        let _ = self.0.send(wake);
    }
}

pub(crate) fn spawn(
    shared: Arc<SharedEngine>,
    mode: IndexMode,
    on_event: EventSink,
) -> std::io::Result<(JoinHandle<()>, Waker)> {
    let (sender, receiver) = mpsc::channel();
    let waker = Waker(sender);
    let inner = waker.clone();
    if shared.providers.embedding.remote().is_some() {
        shared.embedding_thread.start(&shared, &on_event);
    }
    shared.recognition.start(&shared, &on_event);
    let thread = std::thread::Builder::new().name("indexer".to_owned()).spawn(move || {
        let asked = RefCell::default();
        IndexWorker { every: Cell::new(RESCAN_EVERY), asked, shared, on_event, waker: inner, wakes: receiver }
            .run(mode)
    })?;
    Ok((thread, waker))
}

/// `job_<milliseconds>_<process>_<n>`: tells jobs apart within and across processes.
pub(crate) fn job_id(clock: &dyn WallClock) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let now = clock.since_1970().as_millis();
    format!("job_{now}_{}_{}", std::process::id(), NEXT.fetch_add(1, Relaxed))
}

/// One whole pass: derived files repaired, tree scanned, summary written. An index that turns out to be damaged is built
/// again.
pub(crate) fn bring_up_to_date(
    shared: &Arc<SharedEngine>,
    mode: IndexMode,
    on_event: &EventSink,
    stopping: &AtomicBool,
) -> Result<(), IngestError> {
    job(shared, on_event, || {
        let index = shared.index();
        if let Some(detail) = index.replaced() {
            shared.tell_once(|| {
                (on_event)(EngineEvent::Warning(format!(
                    "the index could not be read ({detail}); it is built again from the files"
                )));
            });
        }
        let pass = || -> Result<(), IngestError> {
            index.repair(&|done, total| {
                tracing::debug!(done, total, "repairing derived files");
            })?;
            match &shared.project {
                Some(served) => published::catch_up(shared, served, &index, on_event, stopping)?,
                None => {
                    shared.retell_unread()?;
                    ingest(shared, &index, on_event).scan(mode, stopping)?;
                }
            }
            index.compact()?;
            Ok(())
        };
        let outcome = pass();
        let damage = match &outcome {
            Err(IngestError::Index(IndexError::Corrupt { detail, .. })) => Some(detail.clone()),
            Ok(()) => index.damage(),
            Err(_) => None,
        };
        let Some(damage) = damage else { return outcome };
        drop(index);
        (on_event)(EngineEvent::Warning(format!(
            "the index is damaged ({damage}); it is built again from the files, and answers may lack passages until then"
        )));
        rebuild(shared, on_event, stopping)
    })
}

/// Builds the whole index again, beside the present one, and puts it in its place when it is complete.
pub(crate) fn build_again(shared: &Arc<SharedEngine>, on_event: &EventSink) -> Result<(), IngestError> {
    job(shared, on_event, || rebuild(shared, on_event, &shared.stopping))
}

/// What every pass begins and ends with.
fn job(
    shared: &Arc<SharedEngine>,
    on_event: &EventSink,
    work: impl FnOnce() -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    shared.write_corpus();
    (on_event)(EngineEvent::Progress(shared.progress()));
    let outcome = work();
    shared.config.reader.release_idle();
    shared.index().release_idle();
    shared.built.fetch_or(outcome.is_ok(), Relaxed);
    shared.finish_job();
    shared.write_corpus();
    (on_event)(EngineEvent::Progress(shared.progress()));
    shared.outliner.wake();
    shared.recognition.wake();
    shared.embedding_thread.wake();
    outcome
}

fn rebuild(
    shared: &Arc<SharedEngine>,
    on_event: &EventSink,
    stopping: &AtomicBool,
) -> Result<(), IngestError> {
    let build = || -> Result<i64, IngestError> {
        let fresh = Arc::new(shared.begin_rebuild()?);
        // First, so that documents are indexed with what was recognised in them.
        let adopted = fresh.adopt_parts(&shared.index(), 0, &shared.config.read_again)?;
        match &shared.project {
            Some(served) => published::refill(shared, served, &fresh, on_event, stopping)?,
            None => ingest(shared, &fresh, on_event).scan(IndexMode::Full, stopping)?,
        }
        // Once more: some may have been bought meanwhile.
        let adopted = fresh.adopt_parts(&shared.index(), adopted, &shared.config.read_again)?;
        fresh.adopt_vectors(&shared.index())?;
        fresh.publish()?;
        fresh.check()?;
        fresh.verify()?;
        // Closed, so that its log is folded back: `fresh` is the last to hold it.
        drop(fresh);
        Ok(adopted)
    };
    let adopted = build().inspect_err(|_| {
        // It may have been the disk that was full.
        let _ = index::rebuild_dir(&shared.config.state_dir);
    })?;
    shared.finish_rebuild(adopted)?;
    shared.refresh_totals();
    Ok(())
}

struct IndexWorker {
    /// Between two full scans.
    every: Cell<Duration>,
    /// Who waits for the next whole pass.
    asked: RefCell<Vec<(IndexMode, Reply)>>,
    shared: Arc<SharedEngine>,
    on_event: EventSink,
    waker: Waker,
    wakes: Receiver<Wake>,
}

/// Why the tree is no longer followed.
enum End {
    /// The process stops, or said why it cannot go on.
    Done,
    /// The root was away and is there again: everything starts over.
    RootIsBack,
}

impl IndexWorker {
    fn run(&self, mode: IndexMode) {
        if !self.shared.is_writer() && !self.wait_for_promotion() {
            return;
        }
        let mut mode = mode;
        loop {
            // Before the scan: what changes while it runs is heard.
            let has_files = self.shared.project.is_none();
            let watcher = (self.shared.config.watch && has_files).then(|| self.watch()).flatten();
            let outcome = bring_up_to_date(&self.shared, mode, &self.on_event, &self.shared.stopping);
            let end = match outcome {
                Ok(()) => self.follow(watcher.is_some()),
                Err(IngestError::Walk(WalkError::RootVanished { .. })) => self.wait_for_root(),
                Err(IngestError::Cancelled) => End::Done,
                // What was copied is served until the store is back.
                Err(IngestError::Store(failure)) => {
                    (self.on_event)(EngineEvent::Warning(failure.to_string()));
                    self.follow(false)
                }
                Err(error) => {
                    let (code, message) = (fatal_code(error.code()), error.to_string());
                    (self.on_event)(EngineEvent::Fatal { code, message });
                    End::Done
                }
            };
            if let End::Done = end {
                return;
            }
            mode = IndexMode::Incremental;
            self.shared.start_job(mode);
        }
    }

    /// Waits for a root that was moved away. Whoever asks meanwhile is told that indexing is not complete.
    fn wait_for_root(&self) -> End {
        let root = self.shared.guard.root();
        let path = root.path().display();
        let mut told = false;
        loop {
            if root.is_current() {
                (self.on_event)(EngineEvent::Warning(format!("the root directory {path} is back")));
                return End::RootIsBack;
            }
            if root.is_gone_for_good() {
                let message =
                    format!("the root directory {path} was removed or replaced while it was served");
                (self.on_event)(EngineEvent::Fatal { code: ErrorCode::RootInaccessible, message });
                return End::Done;
            }
            if !std::mem::replace(&mut told, true) {
                (self.on_event)(EngineEvent::Warning(format!(
                    "the root directory {path} is gone; what was indexed is still served, and indexing goes on when it \
                     is back"
                )));
                self.shared.start_job(IndexMode::Incremental);
                self.shared.counters.fail();
                self.shared.write_corpus();
                (self.on_event)(EngineEvent::Progress(self.shared.progress()));
            }
            match self.wakes.recv_timeout(LOOK_EVERY) {
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return End::Done,
                Ok(Wake::Refresh(_, reply)) => {
                    let message = format!("the root directory {path} is gone");
                    let _ = reply.send(Err(Failure::new(ErrorCode::IndexNotReady, message)));
                }
                Ok(Wake::Change(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Looks at what no event tells of. Says what is due now, or why following ends.
    fn look(&self) -> Result<bool, End> {
        if !self.shared.has_its_state() {
            let message = format!(
                "the state directory {} was removed or emptied while it was used",
                self.shared.config.state_dir.display()
            );
            (self.on_event)(EngineEvent::Fatal { code: ErrorCode::IngestFailed, message });
            return Err(End::Done);
        }
        if !self.shared.guard.root().is_current() {
            return Err(self.wait_for_root());
        }
        let index = self.shared.index();
        Ok(index.damage().is_some() || index.needs_repair())
    }

    /// Waits until the writer is gone; `false` when this process stops first.
    fn wait_for_promotion(&self) -> bool {
        self.shared.finish_job();
        loop {
            match self.wakes.recv_timeout(PROMOTE_EVERY) {
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Ok(Wake::Refresh(_, reply)) => {
                    let _ = reply.send(Ok(()));
                }
                Ok(Wake::Change(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
            if !self.shared.has_its_state() || !self.shared.guard.root().is_current() {
                match self.look() {
                    Ok(_) | Err(End::RootIsBack) => {}
                    Err(End::Done) => return false,
                }
            }
            match self.shared.try_promote() {
                Ok(true) => {
                    self.shared.start_job(IndexMode::Incremental);
                    (self.on_event)(EngineEvent::BecameWriter);
                    return true;
                }
                Ok(false) => {}
                Err(error) => {
                    let EngineError::Index(IndexError::Newer { .. } | IndexError::Corrupt { .. }) = error
                    else {
                        tracing::warn!(%error, "the index could not be taken over");
                        continue;
                    };
                    (self.on_event)(EngineEvent::Warning(error.to_string()));
                    return false;
                }
            }
        }
    }

    fn watch(&self) -> Option<Watcher> {
        let waker = self.waker.clone();
        let on_change = Box::new(move |change| waker.wake(Wake::Change(change)));
        match Watcher::start(self.shared.guard.clone(), self.shared.walk_options(), on_change) {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                let seconds = RESCAN_UNWATCHED.as_secs();
                (self.on_event)(EngineEvent::Warning(format!(
                    "changes cannot be watched ({error}); the tree is scanned every {seconds} s instead"
                )));
                None
            }
        }
    }

    fn follow(&self, watched: bool) -> End {
        if !watched {
            self.every.set(if self.shared.project.is_some() { FOLLOW_EVERY } else { RESCAN_UNWATCHED });
        }
        // That the store is away is told once.
        let mut is_away = false;
        let mut rescan_at = Instant::now() + self.every.get();
        // Counting a large corpus costs more than indexing one saved file: the summary follows in a quiet moment.
        let mut corpus_due = false;
        let mut mend_at = Instant::now();
        loop {
            let until_rescan = rescan_at.saturating_duration_since(Instant::now());
            let wait = until_rescan.min(LOOK_EVERY);
            let due = match self.wakes.recv_timeout(wait) {
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return End::Done,
                Err(RecvTimeoutError::Timeout) => {
                    let is_damaged = match self.look() {
                        Ok(is_damaged) => is_damaged && Instant::now() >= mend_at,
                        Err(end) => return end,
                    };
                    if is_damaged {
                        mend_at = Instant::now() + MEND_EVERY;
                        Due::Everything
                    } else if wait < until_rescan {
                        if std::mem::take(&mut corpus_due) {
                            self.shared.refresh_totals();
                            self.shared.write_corpus();
                        }
                        continue;
                    } else if let Some(served) = &self.shared.project {
                        let news = published::has_news(&served.project, &served.copy);
                        if let Err(failure) = &news
                            && !is_away
                        {
                            (self.on_event)(EngineEvent::Warning(failure.to_string()));
                        }
                        is_away = news.is_err();
                        rescan_at = Instant::now() + self.every.get();
                        if !news.unwrap_or(false) {
                            continue;
                        }
                        Due::Everything
                    } else {
                        // Damage that no question has met yet; what it finds is mended at once.
                        if let Err(error) = self.shared.index().verify() {
                            tracing::warn!(%error, "the catalog could not be verified");
                        }
                        Due::Everything
                    }
                }
                Ok(wake) => match self.gather(wake) {
                    Some(due) => due,
                    None => return End::Done,
                },
            };
            rescan_at = rescan_at.min(Instant::now() + self.every.get());
            if due.is_nothing() {
                continue;
            }
            let full = matches!(due, Due::Everything);
            match self.catch_up(due) {
                Ok(()) if full => rescan_at = Instant::now() + self.every.get(),
                Ok(()) => corpus_due = true,
                Err(IngestError::Cancelled) => return End::Done,
                Err(IngestError::Walk(WalkError::RootVanished { .. })) => return self.wait_for_root(),
                Err(error) => {
                    (self.on_event)(EngineEvent::Warning(error.to_string()));
                    rescan_at = Instant::now() + RETRY_AFTER;
                }
            }
        }
    }

    /// Scans more often when the watcher says that it cannot be relied on.
    fn on_watch_health(&self, health: &WatchHealth) {
        let why = match health {
            WatchHealth::Complete { .. } => return self.every.set(RESCAN_EVERY),
            WatchHealth::LimitReached { directories } => format!(
                "only {directories} directories can be watched (fs.inotify.max_user_watches); raise the limit for \
                 changes elsewhere to be seen at once"
            ),
            WatchHealth::Lost { reason } => format!("changes are no longer watched: {reason}"),
        };
        (self.on_event)(EngineEvent::Warning(format!(
            "{why}; the tree is scanned every {} s",
            RESCAN_UNWATCHED.as_secs()
        )));
        self.every.set(RESCAN_UNWATCHED);
    }

    /// Joins a change with those that wait behind it; `None` when the process stops.
    fn gather(&self, first: Wake) -> Option<Due> {
        let mut due = Due::Paths(BTreeSet::new());
        let mut next = first;
        loop {
            match (next, &mut due) {
                (Wake::Stop, _) => return None,
                (Wake::Refresh(mode, reply), due) => {
                    self.asked.borrow_mut().push((mode, reply));
                    *due = Due::Everything;
                }
                (Wake::Change(Change::Health(health)), _) => self.on_watch_health(&health),
                (Wake::Change(Change::Rescan), due) => *due = Due::Everything,
                (Wake::Change(Change::Paths(more)), Due::Paths(paths)) => paths.extend(more),
                (Wake::Change(Change::Paths(_)), Due::Everything) => {}
            }
            next = match self.wakes.try_recv() {
                Ok(wake) => wake,
                Err(_) => return Some(due),
            };
        }
    }

    fn catch_up(&self, due: Due) -> Result<(), IngestError> {
        let shared = &self.shared;
        match due {
            Due::Everything => {
                let asked = self.asked.take();
                let full = asked.iter().any(|(mode, _)| *mode == IndexMode::Full);
                let mode = if full { IndexMode::Full } else { IndexMode::Incremental };
                shared.start_job(mode);
                let outcome = bring_up_to_date(shared, mode, &self.on_event, &shared.stopping);
                for (_, reply) in asked {
                    // Whoever asked may be gone.
                    let answer = match &outcome {
                        Ok(()) => Ok(()),
                        Err(error) => Err(Failure::new(error.code(), error.to_string())),
                    };
                    let _ = reply.send(answer);
                }
                outcome
            }
            Due::Paths(paths) => {
                shared.resume_job();
                let outcome =
                    ingest(shared, &shared.index(), &self.on_event).update(&paths, &shared.stopping);
                shared.finish_job();
                (self.on_event)(EngineEvent::Settled(shared.progress()));
                shared.outliner.wake();
                shared.recognition.wake();
                shared.embedding_thread.wake();
                outcome
            }
        }
    }
}

enum Due {
    Paths(BTreeSet<RelPath>),
    Everything,
}

impl Due {
    fn is_nothing(&self) -> bool {
        matches!(self, Due::Paths(paths) if paths.is_empty())
    }
}

fn ingest(shared: &Arc<SharedEngine>, index: &Arc<Index>, on_event: &EventSink) -> Ingest {
    let options = shared.ingest_options();
    let last_corpus = Mutex::new(Instant::now());
    let (inner, on_event) = (Arc::clone(shared), Arc::clone(on_event));
    let sink = Box::new(move |event| match event {
        IngestEvent::Progress => {
            let mut last = last_corpus.lock().unwrap_or_else(PoisonError::into_inner);
            if last.elapsed() >= CORPUS_EVERY {
                inner.write_corpus();
                *last = Instant::now();
            }
            inner.recognition.wake();
            inner.embedding_thread.wake();
            (on_event)(EngineEvent::Progress(inner.progress()));
        }
        IngestEvent::FileError { path, message } => (on_event)(EngineEvent::FileError { path, message }),
        IngestEvent::Warning(message) => (on_event)(EngineEvent::Warning(message)),
    });
    Ingest::new(shared.guard.clone(), Arc::clone(index), options, Arc::clone(&shared.counters), sink)
}

/// The exit code of the process depends on it, and there are three.
fn fatal_code(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::StoreCorrupt | ErrorCode::IndexVersionMismatch => code,
        _ => ErrorCode::IngestFailed,
    }
}
