//! All that one process serves: the roots with their engines, the queue of those who want them indexed, and the book of
//! calls.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{ErrorCode, Failure, IndexMode, Progress, WallClock};
use policy::Redactor;

use crate::audit::AuditLog;
use crate::call::Call;
use crate::calls::Calls;
use crate::engine::Engine;
use crate::refresh_queue::RefreshQueue;
use crate::roots::{FurtherRoot, Location, Roots};
use crate::search_files::RankedPages;
use crate::worker::{EngineEvent, EventSink};

/// The roots of a process, and what its calls share.
pub struct Workspace {
    roots: Roots,
    queue: RefreshQueue,
    pages: RankedPages,
    calls: Arc<Calls>,
    clock: Arc<dyn WallClock>,
    /// One log per directory, however many contracts write to it.
    logs: Mutex<HashMap<PathBuf, Arc<AuditLog>>>,
}

impl Workspace {
    pub fn new(primary: Arc<Engine>, further: Vec<FurtherRoot>) -> Workspace {
        let clock = Arc::clone(&primary.shared.config.clock);
        Workspace::of(Roots::new(primary, further), clock)
    }

    /// No folder at all: every call is told so.
    pub fn without_roots(clock: Arc<dyn WallClock>) -> Workspace {
        Workspace::of(Roots::none(), clock)
    }

    fn of(roots: Roots, clock: Arc<dyn WallClock>) -> Workspace {
        Workspace {
            roots,
            queue: RefreshQueue::default(),
            pages: RankedPages::default(),
            calls: Arc::new(Calls::new(Arc::clone(&clock))),
            clock,
            logs: Mutex::default(),
        }
    }

    /// One engine for each root that has an index of its own, the primary one first.
    pub fn engines(&self) -> &[Arc<Engine>] {
        self.roots.engines()
    }

    /// Gives back the memory that is kept for the next question: none is expected soon.
    pub fn release_idle(&self) {
        for engine in self.engines() {
            engine.shared.index().release_idle();
        }
    }

    /// The engine of the primary root; `None` where no folder is configured.
    pub fn primary(&self) -> Option<&Arc<Engine>> {
        self.engines().first()
    }

    /// All allow-listed folders, the primary root first.
    pub fn listed(&self) -> impl Iterator<Item = &Path> {
        self.roots.listed()
    }

    /// Those that cannot be searched, and why.
    pub fn away(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.roots.away()
    }

    /// The book that every call is entered in.
    pub fn calls(&self) -> &Arc<Calls> {
        &self.calls
    }

    /// The audit log of a directory.
    pub fn audit_log(&self, dir: &Path, redactor: &Arc<Redactor>) -> Arc<AuditLog> {
        let mut logs = self.logs();
        let log = logs.entry(dir.to_owned());
        Arc::clone(log.or_insert_with(|| Arc::new(AuditLog::new(Some(dir), Arc::clone(redactor)))))
    }

    /// Whether every root was indexed to its end once.
    pub fn is_built(&self) -> bool {
        self.engines().iter().all(|engine| engine.is_built())
    }

    /// The page that a Prometheus server reads.
    pub fn metrics_page(&self, version: &str) -> String {
        self.calls.metrics_page(self.engines(), version)
    }

    /// The folders that may be searched.
    pub async fn list_roots(&self, _: &Call) -> Result<Vec<String>, Failure> {
        Ok(self.listed().map(|root| root.to_string_lossy().into_owned()).collect())
    }

    /// A path as it may be shown by tools that redact: the root is the operator's own word, the names below it are not.
    pub fn redacted_path(&self, path: &str, redactor: &Redactor) -> String {
        let below = |root: &Path| {
            path.strip_prefix(root.to_str()?).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match self.listed().find_map(below) {
            Some(rest) => format!("{}{}", &path[..path.len() - rest.len()], redactor.redact_path(rest)),
            None => redactor.redact_path(path),
        }
    }

    /// Starts indexing and watching all of them. What the primary root reports goes out as it is; a further root that
    /// cannot go on is worth a warning, not the server.
    pub fn start(self: &Arc<Self>, mode: IndexMode, on_event: EventSink) {
        for (number, engine) in self.engines().iter().enumerate() {
            let (workspace, on_event) = (Arc::downgrade(self), Arc::clone(&on_event));
            let sink: EventSink = Arc::new(move |event| {
                let Some(workspace) = workspace.upgrade() else { return };
                let named = |text: &str| format!("{}: {text}", workspace.engines()[number].root().display());
                on_event(match event {
                    EngineEvent::Progress(progress) if workspace.engines().len() > 1 => {
                        EngineEvent::Progress(workspace.sum(&progress))
                    }
                    EngineEvent::Settled(progress) if workspace.engines().len() > 1 => {
                        EngineEvent::Settled(workspace.sum(&progress))
                    }
                    EngineEvent::FileError { path, message } if number > 0 => {
                        EngineEvent::FileError { path: workspace.roots.absolute(number, &path), message }
                    }
                    EngineEvent::Warning(text) if number > 0 => EngineEvent::Warning(named(&text)),
                    EngineEvent::Fatal { message, .. } if number > 0 => {
                        EngineEvent::Warning(named(&format!("indexing ended: {message}")))
                    }
                    other => other,
                });
            });
            engine.start(mode, sink);
        }
    }

    /// Ends the background work of all roots and writes what the audit logs have queued.
    pub fn shutdown(&self) {
        self.engines().iter().for_each(|engine| engine.shutdown());
        self.logs().values().for_each(|log| log.close());
    }

    /// The progress of all roots together, under the name of the job that reports.
    fn sum(&self, reported: &Progress) -> Progress {
        let start = Progress { job_id: reported.job_id.clone(), mode: reported.mode, ..Progress::nothing() };
        self.engines().iter().map(|engine| engine.progress()).fold(start, |sum, one| sum.with(&one))
    }

    /// Where a path leads that a caller gives, also one whose names were blanked when it was shown.
    pub(crate) fn locate(&self, written: &str, redactor: &Redactor) -> Result<Location, Failure> {
        let mut location = self.roots.locate(written)?;
        let blanked = Redactor::BLANKS.iter().any(|blank| location.rel_path.contains(blank));
        let index = location.engine.shared.index();
        if !blanked || index.document(&location.rel_path)?.is_some() {
            return Ok(location);
        }
        let (_, meant) = index.list(&|row| redactor.redact_path(&row.path) == location.rel_path, 2, 0)?;
        match &meant[..] {
            [only] => location.rel_path.clone_from(&only.path),
            [] => {}
            _ => {
                let message = "several files have this name once addresses and numbers are blanked";
                return Err(Failure::new(ErrorCode::InvalidField, message)
                    .hint("Rename the files, or search for words that only one of them has."));
            }
        }
        Ok(location)
    }

    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    pub(crate) fn queue(&self) -> &RefreshQueue {
        &self.queue
    }

    pub(crate) fn pages(&self) -> &RankedPages {
        &self.pages
    }

    pub(crate) fn clock(&self) -> &dyn WallClock {
        self.clock.as_ref()
    }

    fn logs(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<AuditLog>>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
