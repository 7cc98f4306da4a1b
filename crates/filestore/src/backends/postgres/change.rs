//! A change from its turn to its commit: the project's lock, the memory of what was done already, and trying again after the
//! database was away.

use std::time::Duration;

use model::{ErrorCode, Failure};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{Client, Statement};

use super::PostgresStore;
use super::batch::StatementBatch;
use super::bucket::Bucket;
use super::connection::Connection;
use super::failure::{Aborted, DatabaseError};
use super::mutation::{Mutation, stored_key};
use super::time::{to_store_time, to_system_time};
use super::{delete, rename, write};
use crate::entry::StoreTime;
use crate::guard::{MutationOutcome, RequestDigest, reused_key};
use crate::project::ProjectScope;

const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// A change whose commit may have happened is asked about for this much longer than one that did not.
const UNKNOWN_PATIENCE: Duration = Duration::from_secs(10);

const LOCK: &str = "SELECT pg_try_advisory_xact_lock($1), clock_timestamp()";
const PROJECT: &str = "SELECT files, bytes, changed_at FROM {s}.mcp_file_projects \
     WHERE apikey_hash = $1 AND project = $2";
const FIND_OUTCOME: &str = "SELECT request_digest, outcome FROM {s}.mcp_file_mutations \
     WHERE apikey_hash = $1 AND project = $2 AND mutation_key = $3";
const SET_PROJECT: &str = "INSERT INTO {s}.mcp_file_projects (apikey_hash, project, files, bytes, changed_at) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (apikey_hash, project) DO UPDATE \
     SET files = EXCLUDED.files, bytes = EXCLUDED.bytes, changed_at = EXCLUDED.changed_at";
const KEEP_OUTCOME: &str = "INSERT INTO {s}.mcp_file_mutations \
     (apikey_hash, project, mutation_key, request_digest, outcome, created_at) VALUES ($1, $2, $3, $4, $5, $6)";

/// One try at a change.
pub(super) struct Attempt<'a> {
    pub(super) store: &'a PostgresStore,
    pub(super) bucket: &'a Bucket,
    pub(super) scope: &'a ProjectScope,
    /// As the column `apikey_hash` holds it.
    pub(super) tenant: String,
    key: String,
    digest: RequestDigest,
}

/// How a try ended, if nothing failed.
pub(super) enum Step {
    Committed(MutationOutcome),
    /// It was done before: nothing was changed now.
    Known(MutationOutcome),
    /// Another process is changing the project.
    Locked,
}

/// A transaction that holds the project's lock.
pub(super) struct Opened {
    /// The time of this change: later than that of any other of the project, whatever the clock says.
    pub(super) now: StoreTime,
    pub(super) files: i64,
    pub(super) bytes: i64,
}

/// Either the transaction is open, or the try is over.
pub(super) enum Opening {
    Open(Opened),
    Over(Step),
}

/// The statements that every change needs.
pub(super) struct Frame {
    lock: Statement,
    project: Statement,
    find_outcome: Statement,
    set_project: Statement,
    keep_outcome: Statement,
}

impl Frame {
    pub(super) async fn prepare(
        connection: &mut Connection,
        bucket: &Bucket,
    ) -> Result<Frame, tokio_postgres::Error> {
        Ok(Frame {
            lock: connection.prepare(bucket, LOCK).await?,
            project: connection.prepare(bucket, PROJECT).await?,
            find_outcome: connection.prepare(bucket, FIND_OUTCOME).await?,
            set_project: connection.prepare(bucket, SET_PROJECT).await?,
            keep_outcome: connection.prepare(bucket, KEEP_OUTCOME).await?,
        })
    }
}

impl Attempt<'_> {
    /// Begins, takes the lock and looks whether the change is known. Join it with the reading of the facts, which is then
    /// sent in the same flight and runs after the lock was taken; without the lock the facts are worth nothing.
    pub(super) async fn begin(&self, client: &Client, frame: &Frame) -> Result<Opening, Aborted> {
        let (tenant, project) = (&self.tenant, self.scope.project.as_str());
        let lock_key = lock_key(&self.tenant, project);
        let (begun, lock, row, known) = futures::future::join4(
            client.batch_execute("BEGIN"),
            client.query_one(&frame.lock, &[&lock_key]),
            client.query_opt(&frame.project, &[tenant, &project]),
            client.query_opt(&frame.find_outcome, &[tenant, &project, &self.key]),
        )
        .await;
        begun?;
        let lock = lock?;
        if !lock.get::<_, bool>(0) {
            return Ok(Opening::Over(Step::Locked));
        }
        if let Some(known) = known? {
            if known.get::<_, &[u8]>(0) != self.digest.as_bytes() {
                return Err(reused_key().into());
            }
            let outcome = MutationOutcome::from_json(&known.get(1)).ok_or_else(|| {
                Failure::new(ErrorCode::StoreCorrupt, "the outcome of an earlier change cannot be read")
            })?;
            return Ok(Opening::Over(Step::Known(outcome)));
        }
        let clock = to_store_time(lock.get(1));
        Ok(Opening::Open(match row? {
            Some(row) => {
                let changed_at = to_store_time(row.get(2));
                let now = clock.max(StoreTime(changed_at.0 + 1));
                Opened { now, files: row.get(0), bytes: row.get(1) }
            }
            None => Opened { now: clock, files: 0, bytes: 0 },
        }))
    }

    /// Adds the project's new sums and the outcome, sends all and commits.
    pub(super) async fn finish(
        &self,
        client: &Client,
        frame: &Frame,
        batch: StatementBatch<'_>,
        after: Opened,
        outcome: MutationOutcome,
    ) -> Result<Step, Aborted> {
        let project = self.scope.project.as_str();
        let (at, digest, json) =
            (to_system_time(after.now), self.digest.as_bytes().as_slice(), outcome.to_json());
        // A list of its own: what it borrows does not live as long as what the given one borrows.
        let mut ending = StatementBatch::after(batch);
        ending.add(&frame.set_project, &[&self.tenant, &project, &after.files, &after.bytes, &at]);
        ending.add(&frame.keep_outcome, &[&self.tenant, &project, &self.key, &digest, &json, &at]);
        ending.commit(client).await?;
        Ok(Step::Committed(outcome))
    }
}

impl PostgresStore {
    /// Does the change once: what passes is tried again as long as a change may wait for its turn, and what may have
    /// happened is looked up under its key.
    pub(super) async fn change(
        &self,
        scope: &ProjectScope,
        mutation: Mutation,
    ) -> Result<MutationOutcome, Failure> {
        let attempt = Attempt {
            store: self,
            bucket: self.bucket(scope.tenant),
            scope,
            tenant: scope.tenant.to_hex(),
            key: stored_key(mutation.guard())?,
            digest: mutation.digest(),
        };
        let asked = Instant::now();
        let deadline = asked + self.options.limits.lock_timeout;
        let Some(_turn) = self.queue.wait(scope, deadline).await else {
            self.count_wait(asked.elapsed());
            return Err(busy());
        };
        let (mut pause, mut unknown, mut waited) = (FIRST_PAUSE, false, asked.elapsed());
        let done = loop {
            let failed = match self.attempt(&attempt, &mutation, deadline, unknown).await {
                Ok(Step::Committed(outcome) | Step::Known(outcome)) => {
                    self.note_change(scope);
                    break Ok(outcome);
                }
                Ok(Step::Locked) => busy(),
                Err(Aborted::Refused(failure)) => break Err(failure),
                Err(Aborted::Database(error)) if !error.passes() => break Err(error.into()),
                Err(Aborted::Database(error)) => error.into(),
                Err(Aborted::Unknown(error)) => {
                    unknown = true;
                    error.into()
                }
            };
            let limit = if unknown { deadline + UNKNOWN_PATIENCE } else { deadline };
            if Instant::now() + pause >= limit {
                waited = asked.elapsed();
                break Err(failed);
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            waited = asked.elapsed();
        };
        self.count_wait(waited);
        done
    }

    async fn attempt(
        &self,
        attempt: &Attempt<'_>,
        mutation: &Mutation,
        deadline: Instant,
        unknown: bool,
    ) -> Result<Step, Aborted> {
        let limit = if unknown { deadline + UNKNOWN_PATIENCE } else { deadline };
        let mut connection = self.connection(limit.saturating_duration_since(Instant::now())).await?;
        connection.in_transaction = true;
        let work = async {
            match mutation {
                Mutation::Write(request) => write::attempt(attempt, &mut connection, request).await,
                Mutation::Restore(request) => write::attempt_restore(attempt, &mut connection, request).await,
                Mutation::Delete(request) => delete::attempt(attempt, &mut connection, request).await,
                Mutation::Rename(request) => rename::attempt(attempt, &mut connection, request).await,
            }
        };
        // The server's own limit is the first to end a statement; this one is for a server that is silent.
        let silence = self.options.statement_timeout + Duration::from_secs(5);
        let result = match timeout(silence, work).await {
            Ok(result) => result,
            Err(_) => Err(Aborted::Unknown(DatabaseError::Unreachable("no answer".into()))),
        };
        match &result {
            Ok(Step::Committed(_)) => connection.in_transaction = false,
            Ok(Step::Known(_) | Step::Locked) | Err(Aborted::Refused(_)) => {
                if connection.client.batch_execute("ROLLBACK").await.is_ok() {
                    connection.in_transaction = false;
                }
            }
            // Dropped inside its transaction, the connection is closed.
            Err(Aborted::Database(_) | Aborted::Unknown(_)) => {}
        }
        result
    }
}

/// Of the specification's `apikey_hash:project`. Two projects with the same number would only wait for each other.
fn lock_key(tenant: &str, project: &str) -> i64 {
    let digest = blake3::hash(format!("{tenant}:{project}").as_bytes());
    i64::from_be_bytes(digest.as_bytes()[..8].try_into().unwrap_or_default())
}

fn busy() -> Failure {
    Failure::new(ErrorCode::ResourceBusy, "another change of the project is under way")
        .hint("Try again in a few seconds.")
}
