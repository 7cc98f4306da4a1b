//! The store in PostgreSQL: any number of server processes, stateless, on the same database.
//!
//! A change is two round trips: the project's advisory lock together with the facts that the [rules](crate::rules) need, then
//! all rows together with the commit. Each change leaves its outcome under a key in the same transaction, so that one whose
//! commit was cut off is done once. A tenant's rows are in one bucket, and every statement names tenant and schema.

mod batch;
mod bucket;
mod change;
mod connection;
mod delete;
mod failure;
mod files;
mod index;
mod index_rows;
mod index_schema;
mod listing;
mod maintenance;
mod migrate;
mod mutation;
mod pool;
mod publication;
mod purge;
mod queue;
mod records;
mod rename;
mod schema;
mod search;
mod time;
mod tls;
mod versions;
mod write;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::{ErrorCode, Failure, TenantId};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::backend::{BackendFuture, FileBackend};
use crate::entry::{
    FileListing, FileSlice, FileVersion, PathState, ProjectSummary, StoreTime, VersionContent,
};
use crate::limits::StoreLimits;
use crate::metrics::StoreMetrics;
use crate::mutation::{DeleteRequest, RenameRequest, RestoreRequest, WriteOutcome, WriteRequest};
use crate::path::StorePath;
use crate::project::ProjectScope;
use crate::rules;
pub use maintenance::{PostgresMaintenance, PostgresSnapshot};

use bucket::{Bucket, MAX_BUCKETS, bucket_number};
use connection::ServerAddress;
use failure::DatabaseError;
use mutation::Mutation;
use pool::{Pool, PooledConnection};
use queue::ProjectQueue;

/// How a store in PostgreSQL is reached and laid out.
#[derive(Clone)]
pub struct PostgresOptions {
    /// Of the primary: `postgres://user:password@host:5432/database`. TLS with `sslmode=require`.
    pub url: String,
    /// Of a streaming replica that answers reads.
    pub read_url: Option<String>,
    /// Over how many schemas tenants are spread; fixed when the store is made.
    pub buckets: u32,
    /// Connections to each of the two, at most.
    pub pool_size: usize,
    pub connect_timeout: Duration,
    pub statement_timeout: Duration,
    /// Of the configured embedding model.
    pub embedding_dimension: u32,
    /// For so long after a change, this process reads the changed project from the primary.
    pub replica_lag: Duration,
    pub limits: StoreLimits,
    /// Where to count how long changes wait.
    pub metrics: Option<Arc<StoreMetrics>>,
}

impl PostgresOptions {
    pub fn new(url: impl Into<String>, embedding_dimension: u32) -> PostgresOptions {
        PostgresOptions {
            url: url.into(),
            read_url: None,
            buckets: 1,
            pool_size: 10,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            embedding_dimension,
            replica_lag: Duration::from_secs(10),
            limits: StoreLimits::default(),
            metrics: None,
        }
    }
}

/// The tenants' files in PostgreSQL.
pub struct PostgresStore {
    options: PostgresOptions,
    buckets: Vec<Bucket>,
    primary: Arc<Pool>,
    replica: Option<Arc<Pool>>,
    /// Projects that were changed lately, which a replica may not know yet.
    changed: Mutex<HashMap<ProjectScope, Instant>>,
    queue: ProjectQueue,
    commits: watch::Sender<u64>,
}

/// How long opening waits for a connection.
const OPENING_PATIENCE: Duration = Duration::from_secs(2);
/// How long a read tries to get a connection: longer than the longest pause between two tries.
const READ_PATIENCE: Duration = Duration::from_secs(1);

impl PostgresStore {
    /// Connects, and brings the tables up to date.
    pub async fn open(options: PostgresOptions) -> Result<PostgresStore, Failure> {
        if !(1..=MAX_BUCKETS).contains(&options.buckets) {
            let message = format!("files.postgres.buckets must be between 1 and {MAX_BUCKETS}");
            return Err(Failure::new(ErrorCode::ConfigInvalid, message));
        }
        let endpoint =
            |url: &str| ServerAddress::parse(url, options.connect_timeout, options.statement_timeout);
        let primary = Pool::new(endpoint(&options.url)?, options.pool_size);
        let replica = match &options.read_url {
            Some(url) => Some(Pool::new(endpoint(url)?, options.pool_size)),
            None => None,
        };
        let buckets: Vec<Bucket> = (0..options.buckets).map(Bucket::new).collect();
        // A call waits for this: a database that is away is tried again by the next one.
        let mut connection = primary.acquire(options.connect_timeout.min(OPENING_PATIENCE)).await?;
        connection.in_transaction = true;
        migrate::migrate(&mut connection.client, &buckets, options.embedding_dimension).await?;
        connection.in_transaction = false;
        drop(connection);
        Ok(PostgresStore {
            options,
            buckets,
            primary,
            replica,
            changed: Mutex::default(),
            queue: ProjectQueue::default(),
            commits: watch::Sender::new(0),
        })
    }

    pub fn limits(&self) -> &StoreLimits {
        &self.options.limits
    }

    /// The one that holds a tenant's rows.
    pub(crate) fn bucket(&self, tenant: TenantId) -> &Bucket {
        &self.buckets[bucket_number(tenant, self.options.buckets) as usize]
    }

    /// All of them: each has a queue of index jobs of its own.
    pub(crate) fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// A connection to the primary.
    pub(crate) async fn connection(&self, patience: Duration) -> Result<PooledConnection, DatabaseError> {
        self.primary.acquire(patience).await
    }

    /// A connection for reading a project: to the replica, if there is one that answers and knows the project's last
    /// change by this process.
    pub(crate) async fn reading(&self, scope: &ProjectScope) -> Result<PooledConnection, DatabaseError> {
        if let Some(replica) = &self.replica
            && !self.changed_lately(scope)
        {
            // A replica that is away costs a moment, not the read.
            if let Ok(connection) = replica.acquire(Duration::from_millis(100)).await {
                return Ok(connection);
            }
        }
        self.primary.acquire(READ_PATIENCE).await
    }

    fn changed_lately(&self, scope: &ProjectScope) -> bool {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.get(scope).is_some_and(|at| at.elapsed() < self.options.replica_lag)
    }

    /// The number of changes that this process has made. Those of others are found by asking.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }

    fn count_wait(&self, waited: Duration) {
        if let Some(metrics) = &self.options.metrics {
            metrics.lock_wait(waited);
        }
    }

    fn note_change(&self, scope: &ProjectScope) {
        self.commits.send_modify(|count| *count += 1);
        if self.replica.is_none() {
            return;
        }
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        if changed.len() >= 10_000 {
            changed.retain(|_, at| at.elapsed() < self.options.replica_lag);
        }
        changed.insert(scope.clone(), Instant::now());
    }
}

impl FileBackend for PostgresStore {
    fn stat<'a>(&'a self, scope: &'a ProjectScope, path: &'a StorePath) -> BackendFuture<'a, PathState> {
        Box::pin(self.stat_path(scope, path))
    }

    fn read<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        offset: u64,
        length: Option<u64>,
    ) -> BackendFuture<'a, FileSlice> {
        Box::pin(self.read_slice(scope, path, offset, length))
    }

    fn write<'a>(
        &'a self,
        scope: &'a ProjectScope,
        request: WriteRequest,
    ) -> BackendFuture<'a, WriteOutcome> {
        Box::pin(async move {
            rules::check_write(&self.options.limits, &request)?;
            self.change(scope, Mutation::Write(request)).await?.into_written()
        })
    }

    fn delete<'a>(&'a self, scope: &'a ProjectScope, request: DeleteRequest) -> BackendFuture<'a, u64> {
        Box::pin(async move {
            rules::check_delete(&self.options.limits, &request)?;
            self.change(scope, Mutation::Delete(request)).await?.into_count()
        })
    }

    fn rename<'a>(&'a self, scope: &'a ProjectScope, request: RenameRequest) -> BackendFuture<'a, u64> {
        Box::pin(async move {
            if rules::check_rename(&request)? {
                return Ok(0);
            }
            self.change(scope, Mutation::Rename(request)).await?.into_count()
        })
    }

    fn list<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        depth: usize,
        limit: usize,
    ) -> BackendFuture<'a, FileListing> {
        Box::pin(self.list_entries(scope, path, depth, limit))
    }

    fn projects(&self, tenant: TenantId) -> BackendFuture<'_, Vec<ProjectSummary>> {
        Box::pin(self.list_projects(tenant))
    }

    fn versions<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
    ) -> BackendFuture<'a, Vec<FileVersion>> {
        Box::pin(self.list_versions(scope, path))
    }

    fn version_content<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        version: i64,
    ) -> BackendFuture<'a, VersionContent> {
        Box::pin(self.read_version(scope, path, version))
    }

    fn restore<'a>(
        &'a self,
        scope: &'a ProjectScope,
        request: RestoreRequest,
    ) -> BackendFuture<'a, WriteOutcome> {
        Box::pin(async move { self.change(scope, Mutation::Restore(request)).await?.into_written() })
    }

    fn purge(&self, now: StoreTime) -> BackendFuture<'_, u64> {
        Box::pin(self.purge_old(now))
    }
}
