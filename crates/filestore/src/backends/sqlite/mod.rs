//! Tenants' files in one SQLite database: nothing to install, one machine, any number of processes.
//!
//! Reads run on a bounded pool of connections, off the threads that serve calls; all changes go through one thread that
//! commits those of many callers together ([`group_commit`]). Further parts of the store (the index, the keys) say SQL in
//! files of their own and come to the database through two methods:
//!
//! ```ignore
//! store.read(move |conn| Ok(conn.query_row("SELECT …", [], |row| row.get(0))?)).await?;
//! store.write(Some(scope.clone()), move |conn| { conn.execute("UPDATE …", [])?; Ok(()) }).await?;
//! ```
//!
//! What is given to `read` sees one state of the database. What is given to `write` is one savepoint of a transaction that
//! is committed when `write` returns; it may be run again, so it takes nothing out of what it captured. Both give errors of
//! SQLite and [`Failure`]s back with `?`. Tables are added as a further step in `schema`.

mod backend;
mod connection;
mod fault;
mod files;
mod group_commit;
mod index;
mod index_rows;
mod index_schema;
mod maintenance;
mod mutate;
mod publication;
mod publication_schema;
mod queue;
mod readers;
mod records;
mod schema;
mod search;
mod versions;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use model::{Failure, WallClock};
use rusqlite::Connection;
use tokio::sync::watch;

use self::group_commit::Writer;
use self::readers::Readers;
use crate::entry::StoreTime;
use crate::limits::StoreLimits;
use crate::metrics::StoreMetrics;
use crate::project::ProjectScope;

pub use fault::SqliteStoreError;
pub(crate) use fault::WorkResult;
pub(crate) use maintenance::not_empty;
pub use maintenance::{SqliteMaintenance, SqliteSnapshot};

/// The embedded store. Copies share one database; the last one to go closes it.
#[derive(Clone)]
pub struct SqliteStore {
    settings: Arc<Settings>,
    connections: Arc<Connections>,
}

struct Settings {
    limits: StoreLimits,
    clock: Arc<dyn WallClock>,
    metrics: OnceLock<Arc<StoreMetrics>>,
}

impl Settings {
    fn now(&self) -> StoreTime {
        StoreTime(i64::try_from(self.clock.since_1970().as_micros()).unwrap_or(i64::MAX))
    }
}

struct Connections {
    readers: Readers,
    writer: Writer,
}

impl SqliteStore {
    /// Opens the database, and makes it where there is none. Blocks while another process makes it.
    pub fn open(
        path: &Path,
        limits: StoreLimits,
        clock: Arc<dyn WallClock>,
    ) -> Result<SqliteStore, SqliteStoreError> {
        connection::prepare(path)?;
        let readers = Readers::new(path.to_owned(), limits.lock_timeout);
        let writer = Writer::start(path.to_owned(), limits.lock_timeout)?;
        Ok(SqliteStore {
            settings: Arc::new(Settings { limits, clock, metrics: OnceLock::new() }),
            connections: Arc::new(Connections { readers, writer }),
        })
    }

    /// Where to count how long changes wait; from the first call on.
    pub fn count_in(&self, metrics: Arc<StoreMetrics>) {
        // A second one would only count the same again.
        let _ = self.settings.metrics.set(metrics);
    }

    /// The number of commits so far. It changes when files and index jobs have changed, so that workers need not poll.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.connections.writer.commits()
    }

    /// How many changes wait to be made.
    pub fn waiting_changes(&self) -> usize {
        self.connections.writer.waiting()
    }

    /// How many pages of 4 KiB the database may have, so that it leaves room on its disk. From the next change on.
    pub fn limit_pages(&self, pages: Option<u32>) {
        self.connections.writer.limit_pages(pages);
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> WorkResult<T> + Send + 'static,
    ) -> Result<T, Failure> {
        self.connections.readers.run(work).await
    }

    /// Changes of one project happen in the order in which they came; those of `None` as if they were one project more.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        project: Option<ProjectScope>,
        work: impl FnMut(&Connection) -> WorkResult<T> + Send + 'static,
    ) -> Result<T, Failure> {
        self.connections.writer.run(project, work).await
    }

    pub(crate) fn limits(&self) -> &StoreLimits {
        &self.settings.limits
    }
}
