//! The connections that read: a bounded number, each used off the threads that serve calls.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::{ErrorCode, Failure};
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::connection;
use super::fault::{WorkError, WorkResult, spoils_connection};

/// More reads than this wait: SQLite reads from the page cache, so that cores are what they share.
const READERS: usize = 8;

pub(super) struct Readers {
    permits: Arc<Semaphore>,
    idle: Arc<Idle>,
}

struct Idle {
    path: PathBuf,
    busy_timeout: Duration,
    connections: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, busy_timeout: Duration) -> Readers {
        let idle = Idle { path, busy_timeout, connections: Mutex::default() };
        Readers { permits: Arc::new(Semaphore::new(READERS)), idle: Arc::new(idle) }
    }

    /// All of `work` sees one state of the database.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> WorkResult<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let stopped = || Failure::new(ErrorCode::InternalError, "the file store has stopped");
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| stopped())?;
        let idle = Arc::clone(&self.idle);
        let task = tokio::task::spawn_blocking(move || {
            let result = idle.with_connection(work);
            drop(permit);
            result
        });
        match task.await {
            Ok(result) => result,
            Err(error) => Err(Failure::new(
                ErrorCode::InternalError,
                "reading the file store failed; the log says more",
            )
            .because(error)),
        }
    }
}

impl Idle {
    fn with_connection<T>(&self, work: impl FnOnce(&Connection) -> WorkResult<T>) -> Result<T, Failure> {
        let waiting = self.connections.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = match waiting {
            Some(conn) => conn,
            None => connection::open_reader(&self.path, self.busy_timeout)?,
        };
        let result = conn.unchecked_transaction().map_err(WorkError::from).and_then(|snapshot| {
            let value = work(&snapshot)?;
            snapshot.finish()?;
            Ok(value)
        });
        if !matches!(&result, Err(WorkError::Sqlite(error)) if spoils_connection(error)) {
            self.connections.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
        }
        result.map_err(Failure::from)
    }
}
