//! Indexing a folder on request: queued by priority, one at a time, and counted against what the last request saw.
//!
//! The index follows its folders by itself, so a request seldom finds much to do. What it counts is the difference to the
//! last request for that root: an unchanged file is skipped, a new or changed one was indexed, whoever indexed it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{DocStatus, ErrorCode, Failure, IndexMode};
use policy::OpenError;
use tokio_util::sync::CancellationToken;

use super::Smart;
use super::roots::Location;
use crate::api::Call;
use crate::engine::{Engine, blocking};
use crate::seen::{Seen, is_below};

/// How long a call waits for the work. Longer work goes on by itself, so that no client's time limit ends it.
const PATIENCE: Duration = Duration::from_secs(50);
/// Between two reports on the way.
const REPORT_EVERY: Duration = Duration::from_millis(500);

/// Who goes first among those that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Indexed {
    /// Files that are searchable and were new or changed.
    pub indexed: u64,
    /// Files that were as before, or that no text can be had of.
    pub skipped: u64,
    pub removed: u64,
    pub duration_ms: u64,
    /// The work goes on in the background; the counts are those of the way so far.
    pub is_running: bool,
}

/// Receives how many files were looked at and a sentence.
pub type Report = Arc<dyn Fn(u64, String) + Send + Sync>;

impl Smart {
    /// Brings a folder's index up to date; with `full`, builds the index of its root anew.
    pub async fn index_folder(
        &self,
        call: &Call,
        folder: &str,
        full: bool,
        priority: Priority,
        report: Option<Report>,
    ) -> Result<Indexed, Failure> {
        let started = Instant::now();
        let Location { number, engine, rel_path } = self.inner.roots.locate(folder)?;
        is_folder(&engine, &rel_path)?;
        let turn = self.inner.queue.enter(number, priority as u8).map_err(|_| {
            Failure::new(ErrorCode::Conflict, "this root is being indexed already")
                .hint("Wait until that is done; searches work meanwhile.")
        })?;
        let working = Arc::clone(&engine);
        let below = rel_path.clone();
        // Not the caller's token: the work outlives a client that goes away.
        let own = Call { cancel: CancellationToken::new(), ..call.clone() };
        let mut work = tokio::spawn(async move {
            let mut turn = turn;
            turn.come().await;
            let mode = if full { IndexMode::Full } else { IndexMode::Incremental };
            let _ = working.refresh(&own, mode).await?;
            let counted = Arc::clone(&working);
            blocking(&own, move || count(&counted, &below, full)).await
        });
        let deadline = tokio::time::sleep(PATIENCE);
        let mut deadline = std::pin::pin!(deadline);
        let mut ticks = tokio::time::interval(REPORT_EVERY);
        ticks.tick().await;
        let outcome = loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    let counted: Result<Counted, Failure> = done.map_err(|_| {
                        Failure::new(ErrorCode::InternalError, "indexing ended abnormally; see the server's log")
                    })?;
                    // Only what a caller is told counts as seen: who does not wait hears of it from the next call.
                    break counted.and_then(|counted| {
                        counted.now.write(&seen_file(&engine))?;
                        Ok(counted.indexed)
                    });
                }
                () = call.cancel.cancelled() => {
                    return Err(Failure::new(ErrorCode::Cancelled, "the call was cancelled; indexing goes on"));
                }
                () = &mut deadline => {
                    let progress = engine.progress();
                    break Ok(Indexed {
                        indexed: progress.indexed,
                        skipped: progress.skipped,
                        removed: progress.deleted,
                        is_running: true,
                        ..Indexed::default()
                    });
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
        let duration_ms = started.elapsed().as_millis() as u64;
        engine
            .audited(call, async { outcome.map(|indexed: Indexed| Indexed { duration_ms, ..indexed }) })
            .await
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
    let path = guard.locate(rel_path).map_err(|error| policy::path_failure(&error))?;
    match guard.open(&path) {
        Err(OpenError::NotAFile { kind: "directory" }) => Ok(()),
        Err(OpenError::NotFound) => missing("Name a folder that exists below a root."),
        Err(OpenError::Denied(_) | OpenError::OutsideRoot) => {
            Err(Failure::new(ErrorCode::Forbidden, "the folder is not served"))
        }
        Ok(_) | Err(_) => missing("Name a folder, not a file."),
    }
}

/// The counts, and the files that the next request is compared with once these counts were reported.
struct Counted {
    indexed: Indexed,
    now: Seen,
}

fn count(engine: &Engine, folder: &str, full: bool) -> Result<Counted, Failure> {
    let index = engine.shared.index();
    let now = Seen::now(&index, &|row| row.status == DocStatus::Ok)?;
    let before = Seen::read(&seen_file(engine)).unwrap_or_default();
    let (left_out, _) =
        index.list(&|row| row.status != DocStatus::Ok && is_below(&row.path, folder), 0, 0)?;
    let (now_below, before_below) = (now.clone().below(folder), before.clone().below(folder));
    let difference = now_below.since(&before_below, full);
    let indexed = difference.added + difference.updated;
    let skipped = now_below.len() - indexed + left_out;
    let indexed = Indexed { indexed, skipped, removed: difference.removed, ..Indexed::default() };
    Ok(Counted { indexed, now: now.merged_below(folder, before) })
}

fn seen_file(engine: &Engine) -> PathBuf {
    engine.state_dir().join("indexed.json")
}
