//! Bringing the index up to date on request, and what that changed since the last request.
//!
//! The index follows its files by itself, so a request seldom finds much to do. What is counted is the difference to the
//! last request: a file that is as it was then is skipped, a new or changed one counts once, whichever pass indexed it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{DocStatus, ErrorCode, Failure, IndexMode};
use policy::OpenError;

use crate::call::Call;
use crate::clock::timestamp;
use crate::engine::Engine;
use crate::roots::Location;
use crate::seen::{SeenFiles, is_below};
use crate::view::FileView;
use crate::worker::{self, EventSink, Wake};
use crate::workspace::Workspace;

/// How long a reader waits for the writer to catch up with the files, and how often it looks.
const WRITER_PATIENCE: Duration = Duration::from_secs(10);
const WRITER_LOOK: Duration = Duration::from_millis(50);
const RAREST_WRITER_LOOK: Duration = Duration::from_secs(1);

/// How long a call waits for a folder to be indexed. Longer work goes on by itself, so that no client's time limit ends it.
const FOLDER_PATIENCE: Duration = Duration::from_secs(50);
/// Between two reports on the way.
const REPORT_EVERY: Duration = Duration::from_millis(500);

/// What a refresh of the files of a view changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refreshed {
    pub added: u64,
    pub updated: u64,
    pub removed: u64,
    pub duration_ms: u64,
    pub timestamp: String,
    /// Set where another process keeps the index, which then decides when.
    pub held_by: Option<String>,
}

/// A folder to be indexed.
pub struct FolderRequest {
    /// Absolute.
    pub folder: String,
    /// Builds the index of its root from scratch.
    pub full: bool,
    pub priority: Priority,
    pub report: Option<FolderReport>,
}

/// Who goes first among those that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

/// Receives how many files were looked at and a sentence.
pub type FolderReport = Arc<dyn Fn(u64, String) + Send + Sync>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexedFolder {
    /// Files that are searchable and were new or changed.
    pub indexed: u64,
    /// Files that were as before, or that no text can be had of.
    pub skipped: u64,
    pub removed: u64,
    pub duration_ms: u64,
    /// The work goes on in the background; the counts are those of the way so far.
    pub is_running: bool,
}

impl Engine {
    /// Brings the index up to date; with `force`, builds it from scratch. What the last refresh saw is kept in `data_dir`.
    pub async fn refresh_view(
        &self,
        call: &Call,
        view: &Arc<FileView>,
        data_dir: PathBuf,
        force: bool,
    ) -> Result<Refreshed, Failure> {
        let started = Instant::now();
        let mode = if force { IndexMode::Full } else { IndexMode::Incremental };
        let held_by = self.refresh(call, mode).await?.err();
        let (shared, view) = (Arc::clone(&self.shared), Arc::clone(view));
        let (difference, timestamp) = call
            .blocking(move |_| {
                let now = timestamp(shared.config.clock.as_ref());
                let now = SeenFiles::now(&shared.index(), now, &|row| view.shows_document(row))?;
                let file = refreshed_file(&data_dir);
                let difference = now.since(&SeenFiles::read(&file).unwrap_or_default(), force);
                now.write(&file)?;
                Ok((difference, now.timestamp))
            })
            .await?;
        Ok(Refreshed {
            added: difference.added,
            updated: difference.updated,
            removed: difference.removed,
            duration_ms: started.elapsed().as_millis() as u64,
            timestamp,
            held_by,
        })
    }

    /// Looks at the whole tree now. `Err` names the process that keeps the index, where another one does.
    ///
    /// The background work is the server's own and goes on when the caller does not wait any more; a pass that the call
    /// itself makes, where there is none, ends with the call.
    async fn refresh(&self, call: &Call, mode: IndexMode) -> Result<Result<(), String>, Failure> {
        if let Some(holder) = self.held_by() {
            self.wait_for_writer(call).await?;
            return Ok(Err(holder));
        }
        let Some(waker) = self.waker() else {
            let shared = Arc::clone(&self.shared);
            return call
                .blocking(move |stop| {
                    shared.start_job(mode);
                    let quiet: EventSink = Arc::new(|_| {});
                    let outcome = worker::bring_up_to_date(&shared, mode, &quiet, stop.flag());
                    stop.check()?;
                    Ok(Ok(outcome?))
                })
                .await;
        };
        let (done, told) = tokio::sync::oneshot::channel();
        waker.wake(Wake::Refresh(mode, done));
        tokio::select! {
            biased;
            failure = call.ended() => Err(failure),
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
            let is_current = call.blocking(move |_| shared.origin.is_indexed(&shared.index())).await?;
            if is_current || started.elapsed() >= WRITER_PATIENCE {
                return Ok(());
            }
            tokio::select! {
                biased;
                failure = call.ended() => return Err(failure),
                () = tokio::time::sleep(pause) => {}
            }
            pause = (2 * pause).min(RAREST_WRITER_LOOK);
        }
    }
}

/// When the last refresh was.
pub(crate) fn last(data_dir: &Path) -> Option<String> {
    SeenFiles::read(&refreshed_file(data_dir)).map(|seen| seen.timestamp)
}

fn refreshed_file(data_dir: &Path) -> PathBuf {
    data_dir.join("refreshed.json")
}

impl Workspace {
    /// Brings a folder's index up to date: queued by priority, one at a time.
    pub async fn index_folder(&self, call: &Call, request: FolderRequest) -> Result<IndexedFolder, Failure> {
        let started = Instant::now();
        let FolderRequest { folder, full, priority, report } = request;
        let Location { number, engine, rel_path } = self.roots().locate(&folder)?;
        let (looking, below) = (Arc::clone(&engine), rel_path.clone());
        call.blocking(move |_| is_folder(&looking, &below)).await?;
        let turn = self.queue().enter(number, priority as u8).map_err(|_| {
            Failure::new(ErrorCode::Conflict, "this root is being indexed already")
                .hint("Wait until that is done; searches work meanwhile.")
        })?;
        let working = Arc::clone(&engine);
        // Not the caller's own: the work outlives a client that goes away.
        let own = call.detached();
        let mut work = tokio::spawn(async move {
            let mut turn = turn;
            turn.come().await;
            let mode = if full { IndexMode::Full } else { IndexMode::Incremental };
            let _ = working.refresh(&own, mode).await?;
            let counted = Arc::clone(&working);
            own.blocking(move |_| count(&counted, &rel_path, full)).await
        });
        let patience = tokio::time::sleep(FOLDER_PATIENCE);
        let mut patience = std::pin::pin!(patience);
        let mut ticks = tokio::time::interval(REPORT_EVERY);
        ticks.tick().await;
        let indexed = loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    let counted: Result<RefreshCounts, Failure> = done.map_err(|_| {
                        Failure::new(ErrorCode::InternalError, "indexing ended abnormally; see the server's log")
                    })?;
                    let RefreshCounts { indexed, now } = counted?;
                    // Only what a caller is told counts as seen: who does not wait hears of it from the next call.
                    let file = seen_file(&engine);
                    call.blocking(move |_| now.write(&file)).await?;
                    break indexed;
                }
                failure = call.ended() => {
                    return Err(match failure.code {
                        ErrorCode::Cancelled => {
                            Failure::new(ErrorCode::Cancelled, "the call was cancelled; indexing goes on")
                        }
                        _ => failure,
                    });
                }
                () = &mut patience => {
                    let progress = engine.progress();
                    break IndexedFolder {
                        indexed: progress.indexed,
                        skipped: progress.skipped,
                        removed: progress.deleted,
                        is_running: true,
                        ..IndexedFolder::default()
                    };
                }
                _ = ticks.tick() => {
                    if let Some(report) = &report {
                        let progress = engine.progress();
                        let text = format!("{} files looked at, {} indexed", progress.scanned, progress.indexed);
                        report(progress.scanned, text);
                    }
                }
            }
        };
        Ok(IndexedFolder { duration_ms: started.elapsed().as_millis() as u64, ..indexed })
    }
}

/// The folder must be there now, and be a folder.
fn is_folder(engine: &Engine, rel_path: &str) -> Result<(), Failure> {
    let missing = |hint: &str| {
        Err(Failure::new(ErrorCode::FileNotFound, "there is no such folder").hint(hint.to_owned()))
    };
    let guard = &engine.shared.guard;
    if rel_path.is_empty() {
        return if guard.root().is_current() {
            Ok(())
        } else {
            missing("The root itself is gone; make it available and restart the server.")
        };
    }
    let path = engine.shared.locate(rel_path).map_err(|error| policy::path_failure(&error))?;
    match engine.shared.facts(&path) {
        Err(OpenError::NotAFile { kind: "directory" }) => Ok(()),
        Err(OpenError::NotFound) => missing("Name a folder that exists below a root."),
        Err(OpenError::Denied(_) | OpenError::OutsideRoot) => {
            Err(Failure::new(ErrorCode::Forbidden, "the folder is not served"))
        }
        Ok(_) | Err(_) => missing("Name a folder, not a file."),
    }
}

/// The counts, and the files that the next request is compared with once these counts were reported.
struct RefreshCounts {
    indexed: IndexedFolder,
    now: SeenFiles,
}

fn count(engine: &Engine, folder: &str, full: bool) -> Result<RefreshCounts, Failure> {
    let index = engine.shared.index();
    let now = timestamp(engine.shared.config.clock.as_ref());
    let now = SeenFiles::now(&index, now, &|row| row.status == DocStatus::Ok)?;
    let before = SeenFiles::read(&seen_file(engine)).unwrap_or_default();
    let (left_out, _) =
        index.list(&|row| row.status != DocStatus::Ok && is_below(&row.path, folder), 0, 0)?;
    let (now_below, before_below) = (now.clone().below(folder), before.clone().below(folder));
    let difference = now_below.since(&before_below, full);
    let indexed = difference.added + difference.updated;
    let skipped = now_below.len() - indexed + left_out;
    let indexed = IndexedFolder { indexed, skipped, removed: difference.removed, ..IndexedFolder::default() };
    Ok(RefreshCounts { indexed, now: now.merged_below(folder, before) })
}

fn seen_file(engine: &Engine) -> PathBuf {
    engine.state_dir().join("indexed.json")
}
