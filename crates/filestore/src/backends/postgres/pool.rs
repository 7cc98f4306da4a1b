//! A bounded set of connections that are used one call at a time, and made anew after the database was away.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::connection::{Connection, ServerAddress};
use super::failure::DatabaseError;

const FIRST_PAUSE: Duration = Duration::from_millis(25);
/// Recovery takes at most this long and the time of a connection.
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

pub(crate) struct Pool {
    endpoint: ServerAddress,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
    outage: Mutex<Outage>,
}

/// When to knock again at a database that did not answer.
#[derive(Debug, Default)]
struct Outage {
    pause: Option<Duration>,
    next_try: Option<Instant>,
}

impl Pool {
    pub(crate) fn new(endpoint: ServerAddress, size: usize) -> Arc<Pool> {
        let permits = Arc::new(Semaphore::new(size.max(1)));
        Arc::new(Pool { endpoint, idle: Mutex::default(), permits, outage: Mutex::default() })
    }

    /// A connection, as soon as there is one. While the database is away it is tried again with growing pauses until the
    /// time is over.
    pub(crate) async fn acquire(
        self: &Arc<Pool>,
        patience: Duration,
    ) -> Result<PooledConnection, DatabaseError> {
        let deadline = Instant::now() + patience;
        let permit = match timeout_at(deadline, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            _ => return Err(DatabaseError::Unreachable("all connections are in use".into())),
        };
        loop {
            if let Some(connection) = self.take_idle() {
                return Ok(self.lend(connection, permit));
            }
            let next_try = lock(&self.outage).next_try;
            if let Some(next_try) = next_try.filter(|at| *at > Instant::now()) {
                if next_try > deadline {
                    return Err(DatabaseError::Unreachable("the database does not answer".into()));
                }
                sleep_until(next_try).await;
            }
            match self.endpoint.connect().await {
                Ok(connection) => {
                    *lock(&self.outage) = Outage::default();
                    return Ok(self.lend(connection, permit));
                }
                Err(error) if !error.passes() => return Err(error),
                Err(error) => {
                    let mut outage = lock(&self.outage);
                    let pause = outage.pause.map_or(FIRST_PAUSE, |pause| (pause * 2).min(LONGEST_PAUSE));
                    let next_try = Instant::now() + pause;
                    *outage = Outage { pause: Some(pause), next_try: Some(next_try) };
                    if next_try > deadline {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = lock(&self.idle);
        while let Some(connection) = idle.pop() {
            if !connection.client.is_closed() {
                return Some(connection);
            }
        }
        None
    }

    fn lend(self: &Arc<Pool>, connection: Connection, permit: OwnedSemaphorePermit) -> PooledConnection {
        PooledConnection {
            connection: Some(connection),
            pool: Arc::clone(self),
            in_transaction: false,
            _permit: permit,
        }
    }
}

/// A connection on loan. One that is dropped inside a transaction is closed, which rolls it back: a call that was cancelled
/// leaves nothing half done and no lock behind.
pub(crate) struct PooledConnection {
    connection: Option<Connection>,
    pool: Arc<Pool>,
    pub(crate) in_transaction: bool,
    _permit: OwnedSemaphorePermit,
}

impl PooledConnection {
    /// Closes the connection instead of giving it back.
    pub(crate) fn discard(mut self) {
        self.connection = None;
    }
}

impl Deref for PooledConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("there until it is dropped or discarded")
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("there until it is dropped or discarded")
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && !self.in_transaction
            && !connection.client.is_closed()
        {
            lock(&self.pool.idle).push(connection);
        }
    }
}

/// Nothing panics while it holds one of these.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
