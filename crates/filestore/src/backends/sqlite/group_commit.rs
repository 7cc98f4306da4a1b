//! The one thread that writes. What waits is run as savepoints of one transaction and acknowledged after its commit, so
//! that many callers share one sync of the disk.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::{ErrorCode, Failure};
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use super::connection;
use super::fault::{SqliteStoreError, WorkError, WorkResult, busy, failure_of, is_busy, spoils_connection};
use super::queue::{Lane, Queue, Queued, Ran, Waiting};

/// A transaction takes no more changes after so many, or so long: others have to get their turn.
const BATCH: usize = 512;
const BATCH_TIME: Duration = Duration::from_millis(50);

/// Callers that were just answered may be about to send more. Waiting for them is worth a part of a sync at most.
const GATHERING: Duration = Duration::from_millis(2);

/// Between two looks at a lock that another process holds.
const LOCK_POLL: Duration = Duration::from_millis(1);

pub(super) struct Writer {
    queue: Arc<Queue>,
    commits: watch::Receiver<u64>,
    page_limit: Arc<AtomicI64>,
    lock_timeout: Duration,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(path: PathBuf, lock_timeout: Duration) -> Result<Writer, SqliteStoreError> {
        let io = |source| SqliteStoreError::Io { path: path.clone(), source };
        let queue = Arc::new(Queue::default());
        let page_limit = Arc::new(AtomicI64::new(NO_LIMIT));
        let (sender, commits) = watch::channel(0);
        let mut side = WriterSide {
            turn: connection::open_turn(&path).map_err(io)?,
            conn: Some(connection::open(&path, Duration::ZERO)?),
            path: path.clone(),
            queue: Arc::clone(&queue),
            commits: sender,
            page_limit: Arc::clone(&page_limit),
            applied_limit: NO_LIMIT,
        };
        let thread = std::thread::Builder::new()
            .name("file store writer".to_owned())
            .spawn(move || side.serve())
            .map_err(io)?;
        Ok(Writer { queue, commits, page_limit, lock_timeout, thread: Some(thread) })
    }

    /// Runs `work` inside a transaction, and answers after its commit.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnMut(&Connection) -> WorkResult<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        let change = QueuedChange { work, reply, outcome: None };
        let queued = Queued { deadline: Instant::now() + self.lock_timeout, work: Box::new(change) };
        if let Err(queued) = self.queue.push(lane, queued) {
            queued.work.settle(Some(stopped()));
        }
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Changes with every commit.
    pub(super) fn commits(&self) -> watch::Receiver<u64> {
        self.commits.clone()
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// From the next transaction on.
    pub(super) fn limit_pages(&self, pages: Option<u32>) {
        self.page_limit.store(pages.map_or(NO_LIMIT, i64::from), Ordering::Relaxed);
    }
}

/// What was accepted is still written.
impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The largest number that SQLite takes.
const NO_LIMIT: i64 = 4_294_967_294;

fn stopped() -> Failure {
    Failure::new(ErrorCode::ResourceBusy, "the file store is stopping; nothing was changed")
}

/// A change and the caller who waits for it.
struct QueuedChange<T, F> {
    work: F,
    reply: oneshot::Sender<Result<T, Failure>>,
    outcome: Option<Result<T, Failure>>,
}

impl<T: Send, F: FnMut(&Connection) -> WorkResult<T> + Send> Waiting for QueuedChange<T, F> {
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn run(&mut self, conn: &Connection) -> Ran {
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(conn)));
        let (outcome, ran) = match result {
            Ok(Ok(value)) => (Ok(value), Ran::Well),
            Ok(Err(WorkError::Sqlite(error))) if spoils_connection(&error) => {
                (Err(failure_of(error)), Ran::Spoiled)
            }
            Ok(Err(error)) => (Err(error.into()), Ran::Refused),
            // One caller's misfortune must not end the thread that all depend on.
            Err(_) => {
                let message = "the file store made a mistake; nothing was changed";
                (Err(Failure::new(ErrorCode::InternalError, message)), Ran::Refused)
            }
        };
        self.outcome = Some(outcome);
        ran
    }

    fn settle(self: Box<Self>, failure: Option<Failure>) {
        // A failure of its own says more than that of what surrounded it.
        let outcome = match (self.outcome, failure) {
            (Some(Err(own)), _) => Err(own),
            (_, Some(failure)) => Err(failure),
            (Some(Ok(value)), None) => Ok(value),
            (None, None) => Err(stopped()),
        };
        // A caller who has gone away does not want to know.
        let _ = self.reply.send(outcome);
    }
}

struct WriterSide {
    path: PathBuf,
    turn: File,
    /// None after it was spoiled, until a new one could be opened.
    conn: Option<Connection>,
    queue: Arc<Queue>,
    commits: watch::Sender<u64>,
    page_limit: Arc<AtomicI64>,
    applied_limit: i64,
}

impl WriterSide {
    fn serve(&mut self) {
        while self.queue.wait() {
            let (size, took) = self.batch();
            if size > 1 {
                self.queue.gather(size, (took / 4).min(GATHERING));
            }
        }
    }

    /// One transaction, for as many as wait. How many that were, and how long the commit took.
    fn batch(&mut self) -> (usize, Duration) {
        match self.begin() {
            Ok(true) => {}
            Ok(false) => return (0, Duration::ZERO),
            Err(failure) => {
                self.queue.fail_all(&failure);
                return (0, Duration::ZERO);
            }
        }
        let started = Instant::now();
        let mut batch = Vec::new();
        let mut result = Ok(());
        while result.is_ok() && batch.len() < BATCH && started.elapsed() < BATCH_TIME {
            let Some(mut work) = self.queue.pop() else { break };
            result = self.run(work.as_mut());
            batch.push(work);
        }
        let committing = Instant::now();
        let result = result.and_then(|()| self.commit(batch.len()));
        let size = batch.len();
        match result {
            Ok(()) => batch.into_iter().for_each(|work| work.settle(None)),
            // What spoiled it for all may be the fault of one, say of a content that the disk has no room for.
            Err(_) if size > 1 => batch.into_iter().for_each(|work| self.alone(work)),
            Err(failure) => batch.into_iter().for_each(|work| work.settle(Some(failure.clone()))),
        }
        (size, committing.elapsed())
    }

    fn alone(&mut self, mut work: Box<dyn Waiting>) {
        let deadline = Instant::now() + Duration::from_secs(1);
        let result = loop {
            match self.try_begin() {
                Ok(true) => break self.run(work.as_mut()).and_then(|()| self.commit(1)),
                Ok(false) if Instant::now() < deadline => std::thread::sleep(LOCK_POLL),
                Ok(false) => break Err(busy()),
                Err(failure) => break Err(failure),
            }
        };
        work.settle(result.err());
    }

    /// Gets the right to write, in turn with other processes. False if nobody waits any more.
    fn begin(&mut self) -> Result<bool, Failure> {
        let io = |error| Failure::from(SqliteStoreError::Io { path: self.path.clone(), source: error });
        while !connection::try_turn(&self.turn).map_err(io)? {
            if !self.queue.expire() {
                return Ok(false);
            }
            std::thread::sleep(LOCK_POLL);
        }
        let begun = loop {
            match self.try_begin() {
                Ok(false) => {}
                other => break other,
            }
            if !self.queue.expire() {
                break Ok(false);
            }
            std::thread::sleep(LOCK_POLL);
        };
        // The next process may get in line.
        if let Err(error) = self.turn.unlock() {
            tracing::warn!(%error, "the turn of the file store's processes could not be passed on");
        }
        begun
    }

    /// False if another process is writing.
    fn try_begin(&mut self) -> Result<bool, Failure> {
        let result = self.connection().and_then(|conn| match conn.execute_batch("BEGIN IMMEDIATE") {
            Ok(()) => Ok(true),
            Err(error) if is_busy(&error) => Ok(false),
            Err(error) => Err(WorkError::Sqlite(error)),
        });
        result.map_err(|error| self.give_up(error))
    }

    fn connection(&mut self) -> WorkResult<&Connection> {
        if self.conn.is_none() {
            self.conn = Some(connection::open(&self.path, Duration::ZERO).map_err(Failure::from)?);
            self.applied_limit = NO_LIMIT;
        }
        let limit = self.page_limit.load(Ordering::Relaxed);
        let conn = self.conn.as_ref().ok_or_else(stopped)?;
        if limit != self.applied_limit {
            conn.pragma_update_and_check(None, "max_page_count", limit, |_| Ok(()))?;
            self.applied_limit = limit;
        }
        Ok(conn)
    }

    /// Runs one change as a savepoint. An error means that the transaction is gone.
    fn run(&mut self, work: &mut dyn Waiting) -> Result<(), Failure> {
        let result = self.connection().and_then(|conn| {
            conn.prepare_cached("SAVEPOINT change")?.execute([])?;
            let ran = work.run(conn);
            if conn.is_autocommit() {
                // Disk full and the like end the whole transaction.
                return Ok((Ran::Spoiled, true));
            }
            if !matches!(ran, Ran::Well) {
                conn.prepare_cached("ROLLBACK TO change")?.execute([])?;
            }
            conn.prepare_cached("RELEASE change")?.execute([])?;
            Ok((ran, false))
        });
        match result {
            Ok((_, true)) => Err(rolled_back()),
            Ok((Ran::Spoiled, false)) => {
                self.close();
                Err(rolled_back())
            }
            Ok(_) => Ok(()),
            Err(error) => Err(self.give_up(error)),
        }
    }

    fn commit(&mut self, changes: usize) -> Result<(), Failure> {
        let sql = if changes == 0 { "ROLLBACK" } else { "COMMIT" };
        let result = self.connection().and_then(|conn| Ok(conn.execute_batch(sql)?));
        result.map_err(|error| self.give_up(error))?;
        if changes > 0 {
            self.commits.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    /// Leaves no transaction open, and no connection that is not to be trusted.
    fn give_up(&mut self, error: WorkError) -> Failure {
        let is_spoiled = matches!(&error, WorkError::Sqlite(error) if spoils_connection(error));
        let is_stuck = self.conn.as_ref().is_some_and(|conn| {
            !conn.is_autocommit() && conn.execute_batch("ROLLBACK").is_err() && !conn.is_autocommit()
        });
        if is_spoiled || is_stuck {
            self.close();
        }
        Failure::from(error)
    }

    /// Closing rolls back what is open.
    fn close(&mut self) {
        self.conn = None;
    }
}

fn rolled_back() -> Failure {
    Failure::new(ErrorCode::ResourceBusy, "the database of the file store failed; nothing was changed")
        .hint("Look at the disk of the store, then try again.")
}
