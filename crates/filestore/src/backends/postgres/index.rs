//! Jobs, leases and the rows of the index in PostgreSQL.

use std::time::Duration;

use model::{ContentHash, ErrorCode, Failure, TenantId};
use tokio_postgres::Row;

use super::PostgresStore;
use super::bucket::Bucket;
use super::failure::DatabaseError;
use super::index_rows;
use super::pool::PooledConnection;
use super::time::{to_store_time, to_system_time};
use crate::backend::BackendFuture;
use crate::entry::StoreTime;
use crate::indexing::{
    ChunkVector, ChunkWithoutVector, IndexBackend, IndexJob, IndexQueue, IndexedMark, JobClaim, JobLease,
    JobOperation, LatestFile, LeasedWrite, NewChunks,
};
use crate::path::StorePath;
use crate::project::{ProjectName, ProjectScope};

/// How long a worker waits for a connection.
const PATIENCE: Duration = Duration::from_secs(3);

impl PostgresStore {
    fn numbered(&self, bucket: u32) -> Result<&Bucket, Failure> {
        let known = self.buckets().get(bucket as usize);
        known.ok_or_else(|| Failure::new(ErrorCode::InternalError, "there is no such bucket"))
    }

    pub(super) async fn index_connection(&self) -> Result<PooledConnection, Failure> {
        Ok(self.connection(PATIENCE).await?)
    }
}

impl IndexBackend for PostgresStore {
    fn buckets(&self) -> u32 {
        PostgresStore::buckets(self).len() as u32
    }

    fn prepare_vectors<'a>(
        &'a self,
        model: &'a str,
        dimensions: usize,
        now: StoreTime,
    ) -> BackendFuture<'a, u64> {
        Box::pin(async move {
            let wanted = format!("{model} {dimensions}");
            let mut written = 0;
            for bucket in PostgresStore::buckets(self) {
                let mut connection = self.index_connection().await?;
                connection.in_transaction = true;
                written += prepare_bucket(&mut connection, bucket, &wanted, now).await?;
                connection.in_transaction = false;
            }
            Ok(written)
        })
    }

    fn claim<'a>(&'a self, bucket: u32, claim: &'a JobClaim) -> BackendFuture<'a, Vec<IndexJob>> {
        Box::pin(async move {
            let bucket = self.numbered(bucket)?;
            let mut connection = self.index_connection().await?;
            let horizon = micros_between(claim.now, claim.horizon);
            // Most looks find nothing, and there may be many buckets: one question instead of a transaction.
            let probe = connection.prepare(bucket, HAS_DUE_JOB).await.map_err(DatabaseError::from)?;
            let found =
                connection.client.query_one(&probe, &[&horizon]).await.map_err(DatabaseError::from)?;
            if !found.get::<_, bool>(0) {
                return Ok(Vec::new());
            }
            connection.in_transaction = true;
            let jobs = claim_jobs(&mut connection, bucket, claim).await?;
            connection.in_transaction = false;
            Ok(jobs)
        })
    }

    fn extend(&self, lease: JobLease, now: StoreTime, until: StoreTime) -> BackendFuture<'_, bool> {
        Box::pin(async move {
            let sql = "UPDATE {s}.mcp_file_index_leases SET expires_at = now() + $3::bigint * INTERVAL '1 microsecond' \
                       WHERE job_id = $1 AND token = $2";
            let mut connection = self.index_connection().await?;
            let statement =
                connection.prepare(self.numbered(lease.bucket)?, sql).await.map_err(DatabaseError::from)?;
            let (token, length) = (lease.token.to_string(), micros_between(now, until));
            let changed = connection.client.execute(&statement, &[&lease.job, &token, &length]).await;
            Ok(changed.map_err(DatabaseError::from)? > 0)
        })
    }

    fn latest<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
    ) -> BackendFuture<'a, Option<LatestFile>> {
        Box::pin(async move {
            let sql = "SELECT f.content, f.updated_at, i.content_hash, i.chunker, i.tokenizer, i.file_updated_at \
                       FROM {s}.mcp_files f LEFT JOIN {s}.mcp_file_indexed i ON i.apikey_hash = f.apikey_hash \
                       AND i.project = f.project AND i.file_path = f.path \
                       WHERE f.apikey_hash = $1 AND f.project = $2 AND f.path = $3 AND f.deleted = FALSE";
            let mut connection = self.index_connection().await?;
            let statement =
                connection.prepare(self.bucket(scope.tenant), sql).await.map_err(DatabaseError::from)?;
            let found = connection
                .client
                .query_opt(&statement, &[&scope.tenant.to_hex(), &scope.project.as_str(), &path.as_str()])
                .await
                .map_err(DatabaseError::from)?;
            Ok(found.map(|row| {
                let updated_at = to_store_time(row.get(1));
                // The mark has to speak of this very state, or the search takes the file for unindexed.
                let is_current = row.get::<_, Option<_>>(5).map(to_store_time) == Some(updated_at);
                let indexed = is_current.then(|| IndexedMark {
                    content_hash: hash_of(row.get(2)),
                    chunker: row.get::<_, i32>(3) as u32,
                    tokenizer: row.get(4),
                });
                LatestFile { content: row.get(0), updated_at, indexed }
            }))
        })
    }

    fn replace_chunks<'a>(&'a self, job: &'a IndexJob, chunks: NewChunks) -> BackendFuture<'a, LeasedWrite> {
        Box::pin(async move {
            let mut connection = self.index_connection().await?;
            connection.in_transaction = true;
            let bucket = self.bucket(job.scope.tenant);
            let written = index_rows::replace(&mut connection, bucket, job, Some(&chunks)).await?;
            connection.in_transaction = false;
            Ok(written)
        })
    }

    fn remove_chunks<'a>(&'a self, job: &'a IndexJob) -> BackendFuture<'a, LeasedWrite> {
        Box::pin(async move {
            let mut connection = self.index_connection().await?;
            connection.in_transaction = true;
            let bucket = self.bucket(job.scope.tenant);
            let written = index_rows::replace(&mut connection, bucket, job, None).await?;
            connection.in_transaction = false;
            Ok(written)
        })
    }

    fn without_vectors<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        model: &'a str,
    ) -> BackendFuture<'a, Vec<ChunkWithoutVector>> {
        Box::pin(async move {
            let sql = "SELECT c.id, c.chunk_content, c.content_hash FROM {s}.mcp_file_chunks c \
                       LEFT JOIN {s}.mcp_file_chunk_embeddings e ON e.chunk_id = c.id AND e.model = $4 \
                       WHERE c.apikey_hash = $1 AND c.project = $2 AND c.file_path = $3 AND e.chunk_id IS NULL \
                       ORDER BY c.chunk_index";
            let mut connection = self.index_connection().await?;
            let statement =
                connection.prepare(self.bucket(scope.tenant), sql).await.map_err(DatabaseError::from)?;
            let rows = connection
                .client
                .query(&statement, &[&scope.tenant.to_hex(), &scope.project.as_str(), &path.as_str(), &model])
                .await
                .map_err(DatabaseError::from)?;
            let missing = rows.iter().map(|row| ChunkWithoutVector {
                id: row.get(0),
                text: row.get(1),
                content_hash: hash_of(row.get(2)),
            });
            Ok(missing.collect())
        })
    }

    fn store_vectors<'a>(
        &'a self,
        job: &'a IndexJob,
        model: &'a str,
        vectors: Vec<ChunkVector>,
        now: StoreTime,
    ) -> BackendFuture<'a, LeasedWrite> {
        Box::pin(async move {
            let mut connection = self.index_connection().await?;
            connection.in_transaction = true;
            let bucket = self.bucket(job.scope.tenant);
            let written =
                index_rows::store_vectors(&mut connection, bucket, job, model, &vectors, now).await?;
            connection.in_transaction = false;
            Ok(written)
        })
    }

    fn finish(&self, leases: Vec<JobLease>, _now: StoreTime) -> BackendFuture<'_, u64> {
        Box::pin(self.end(leases, "done", None))
    }

    fn retry(&self, lease: JobLease, available_at: StoreTime, now: StoreTime) -> BackendFuture<'_, bool> {
        Box::pin(async move {
            let pause = micros_between(now, available_at);
            Ok(self.end(vec![lease], "pending", Some(pause)).await? > 0)
        })
    }

    fn fail(&self, lease: JobLease, _now: StoreTime) -> BackendFuture<'_, bool> {
        Box::pin(async move { Ok(self.end(vec![lease], "failed", Some(0)).await? > 0) })
    }

    fn queue(&self) -> BackendFuture<'_, IndexQueue> {
        Box::pin(async move {
            let sql = "SELECT count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'processing'), \
                       count(*) FILTER (WHERE status = 'failed'), \
                       min(created_at) FILTER (WHERE status IN ('pending', 'processing')) \
                       FROM {s}.mcp_file_index_jobs WHERE status IN ('pending', 'processing', 'failed')";
            let mut queue = IndexQueue::default();
            let mut connection = self.index_connection().await?;
            for bucket in PostgresStore::buckets(self) {
                let statement = connection.prepare(bucket, sql).await.map_err(DatabaseError::from)?;
                let row = connection.client.query_one(&statement, &[]).await.map_err(DatabaseError::from)?;
                queue.pending += row.get::<_, i64>(0) as u64;
                queue.processing += row.get::<_, i64>(1) as u64;
                queue.failed += row.get::<_, i64>(2) as u64;
                let oldest = row.get::<_, Option<_>>(3).map(to_store_time);
                queue.oldest = match (queue.oldest, oldest) {
                    (Some(one), Some(other)) => Some(one.min(other)),
                    (one, other) => one.or(other),
                };
            }
            Ok(queue)
        })
    }

    fn remove_ended(&self, before: StoreTime) -> BackendFuture<'_, u64> {
        Box::pin(async move {
            // One that was given up stays as long as its file is found by nothing but its job.
            let sql = "DELETE FROM {s}.mcp_file_index_jobs j WHERE status IN ('done', 'failed') AND updated_at < $1 \
                       AND (status = 'done' OR NOT EXISTS (SELECT 1 FROM {s}.mcp_files f \
                           LEFT JOIN {s}.mcp_file_indexed i ON i.apikey_hash = f.apikey_hash AND i.project = f.project \
                               AND i.file_path = f.path AND i.file_updated_at = f.updated_at \
                           WHERE f.apikey_hash = j.apikey_hash AND f.project = j.project AND f.path = j.file_path \
                               AND f.deleted = FALSE AND i.file_path IS NULL))";
            let mut removed = 0;
            let mut connection = self.index_connection().await?;
            for bucket in PostgresStore::buckets(self) {
                let statement = connection.prepare(bucket, sql).await.map_err(DatabaseError::from)?;
                let gone = connection.client.execute(&statement, &[&to_system_time(before)]).await;
                removed += gone.map_err(DatabaseError::from)?;
            }
            Ok(removed)
        })
    }
}

impl PostgresStore {
    /// Ends leases with a status for their jobs; with a pause, one attempt more is counted, and they are due after it. How many
    /// were held.
    async fn end(
        &self,
        leases: Vec<JobLease>,
        status: &str,
        attempt_pause: Option<i64>,
    ) -> Result<u64, Failure> {
        // All jobs of a claim are of one bucket.
        let Some(bucket) = leases.first().map(|lease| lease.bucket) else { return Ok(0) };
        let bucket = self.numbered(bucket)?;
        let free = "DELETE FROM {s}.mcp_file_index_leases l USING unnest($1::bigint[], $2::text[]) held(job, token) \
                    WHERE l.job_id = held.job AND l.token = held.token RETURNING l.job_id";
        let set = "UPDATE {s}.mcp_file_index_jobs SET status = $2, updated_at = now(), retry_count = retry_count + $3, \
                   available_at = coalesce(now() + $4::bigint * INTERVAL '1 microsecond', available_at) \
                   WHERE id = ANY($1)";
        let mut connection = self.index_connection().await?;
        connection.in_transaction = true;
        let jobs: Vec<i64> = leases.iter().map(|lease| lease.job).collect();
        let tokens: Vec<String> = leases.iter().map(|lease| lease.token.to_string()).collect();
        let attempts = i32::from(attempt_pause.is_some());
        let step = async {
            let free = connection.prepare(bucket, free).await?;
            let set = connection.prepare(bucket, set).await?;
            let transaction = connection.client.transaction().await?;
            let held = transaction.query(&free, &[&jobs, &tokens]).await?;
            let held: Vec<i64> = held.iter().map(|row| row.get(0)).collect();
            let changed = transaction.execute(&set, &[&held, &status, &attempts, &attempt_pause]).await?;
            transaction.commit().await?;
            Ok(changed)
        };
        let changed = step.await.map_err(|error: tokio_postgres::Error| DatabaseError::from(error))?;
        connection.in_transaction = false;
        Ok(changed)
    }
}

/// Forgets the vectors of another model of the same length; other lengths are the migration's business.
async fn prepare_bucket(
    connection: &mut PooledConnection,
    bucket: &Bucket,
    wanted: &str,
    now: StoreTime,
) -> Result<u64, Failure> {
    let step = async {
        let transaction = connection.client.transaction().await?;
        let insert = "INSERT INTO {s}.mcp_file_index_settings (name, value) VALUES ('embedding', $1) \
                      ON CONFLICT (name) DO NOTHING";
        transaction.execute(&bucket.sql(insert), &[&wanted]).await?;
        let change =
            "UPDATE {s}.mcp_file_index_settings SET value = $1 WHERE name = 'embedding' AND value <> $1";
        let mut written = 0;
        if transaction.execute(&bucket.sql(change), &[&wanted]).await? > 0 {
            transaction.execute(&bucket.sql("DELETE FROM {s}.mcp_file_chunk_embeddings"), &[]).await?;
            let jobs = "INSERT INTO {s}.mcp_file_index_jobs \
                        (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at) \
                        SELECT apikey_hash, project, path, 'UPSERT', updated_at, $1, $1, $1 \
                        FROM {s}.mcp_files WHERE deleted = FALSE";
            written = transaction.execute(&bucket.sql(jobs), &[&to_system_time(now)]).await?;
        }
        transaction.commit().await?;
        Ok(written)
    };
    Ok(step.await.map_err(|error: tokio_postgres::Error| DatabaseError::from(error))?)
}

/// All times of jobs and leases are those of the database: the clocks of servers may differ. What is due later than anything
/// can be, or leased for longer, was written before the clock was set back.
const HAS_DUE_JOB: &str = "SELECT EXISTS (SELECT 1 FROM {s}.mcp_file_index_jobs \
         WHERE status = 'pending' AND available_at <= now()) \
     OR EXISTS (SELECT 1 FROM {s}.mcp_file_index_jobs \
         WHERE status = 'pending' AND available_at > now() + $1::bigint * INTERVAL '1 microsecond') \
     OR EXISTS (SELECT 1 FROM {s}.mcp_file_index_jobs j \
         LEFT JOIN {s}.mcp_file_index_leases l ON l.job_id = j.id WHERE j.status = 'processing' \
         AND (l.expires_at IS NULL OR l.expires_at <= now() OR l.expires_at > now() + $1::bigint * INTERVAL '1 microsecond'))";

/// A job whose workers vanish again and again would take every worker with it.
const EXPIRE: &str = "UPDATE {s}.mcp_file_index_jobs SET retry_count = retry_count + 1, updated_at = now(), \
     available_at = now(), status = CASE WHEN retry_count >= $1 THEN 'failed' ELSE 'pending' END \
     WHERE id = ANY(ARRAY(SELECT j.id FROM {s}.mcp_file_index_jobs j \
         LEFT JOIN {s}.mcp_file_index_leases l ON l.job_id = j.id WHERE j.status = 'processing' \
         AND (l.expires_at IS NULL OR l.expires_at <= now() OR l.expires_at > now() + $2::bigint * INTERVAL '1 microsecond') \
         FOR UPDATE OF j SKIP LOCKED)) RETURNING id";
const FREE: &str = "DELETE FROM {s}.mcp_file_index_leases WHERE job_id = ANY($1)";
const BRING_FORWARD: &str = "UPDATE {s}.mcp_file_index_jobs SET available_at = now() \
     WHERE status = 'pending' AND available_at > now() + $1::bigint * INTERVAL '1 microsecond'";
const TAKE: &str = "UPDATE {s}.mcp_file_index_jobs SET status = 'processing', updated_at = now() \
     WHERE id = ANY(ARRAY(SELECT id FROM {s}.mcp_file_index_jobs WHERE status = 'pending' AND available_at <= now() \
         ORDER BY available_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)) \
     RETURNING id, apikey_hash, project, file_path, operation, file_updated_at, retry_count, created_at";
const LEASE: &str = "INSERT INTO {s}.mcp_file_index_leases (job_id, worker, expires_at, token) \
     VALUES ($1, $2, now() + $3::bigint * INTERVAL '1 microsecond', $4) \
     ON CONFLICT (job_id) DO UPDATE SET worker = EXCLUDED.worker, expires_at = EXCLUDED.expires_at, token = EXCLUDED.token";

/// Frees those whose lease ran out, then takes those that are due.
async fn claim_jobs(
    connection: &mut PooledConnection,
    bucket: &Bucket,
    claim: &JobClaim,
) -> Result<Vec<IndexJob>, Failure> {
    let horizon = micros_between(claim.now, claim.horizon);
    let length = micros_between(claim.now, claim.lease_until);
    let step = async {
        let expire = connection.prepare(bucket, EXPIRE).await?;
        let free = connection.prepare(bucket, FREE).await?;
        let bring_forward = connection.prepare(bucket, BRING_FORWARD).await?;
        let take = connection.prepare(bucket, TAKE).await?;
        let lease = connection.prepare(bucket, LEASE).await?;
        let transaction = connection.client.transaction().await?;
        let expired = transaction.query(&expire, &[&(claim.retry_max as i32), &horizon]).await?;
        let expired: Vec<i64> = expired.iter().map(|row| row.get(0)).collect();
        if !expired.is_empty() {
            transaction.execute(&free, &[&expired]).await?;
        }
        transaction.execute(&bring_forward, &[&horizon]).await?;
        let rows = transaction.query(&take, &[&(claim.batch as i64)]).await?;
        let mut jobs = Vec::with_capacity(rows.len());
        for row in &rows {
            let (job, token): (i64, i64) = (row.get(0), new_token());
            transaction.execute(&lease, &[&job, &claim.worker, &length, &token.to_string()]).await?;
            jobs.push(job_of(bucket.number, token, row));
        }
        transaction.commit().await?;
        Ok(jobs)
    };
    let jobs = step.await.map_err(|error: tokio_postgres::Error| DatabaseError::from(error))?;
    let mut jobs: Vec<IndexJob> = jobs.into_iter().collect::<Result<_, Failure>>()?;
    jobs.sort_by_key(|job| job.lease.job);
    Ok(jobs)
}

fn micros_between(from: StoreTime, to: StoreTime) -> i64 {
    to.0.saturating_sub(from.0).max(0)
}

fn job_of(bucket: u32, token: i64, row: &Row) -> Result<IndexJob, Failure> {
    let tenant: &str = row.get(1);
    let tenant = TenantId::from_hex(tenant)
        .ok_or_else(|| Failure::new(ErrorCode::StoreCorrupt, "a tenant in the file store cannot be read"))?;
    Ok(IndexJob {
        lease: JobLease { bucket, job: row.get(0), token },
        scope: ProjectScope::new(tenant, ProjectName::parse(row.get(2))?),
        path: StorePath::parse(row.get(3))?,
        operation: JobOperation::parse(row.get(4)),
        file_updated_at: row.get::<_, Option<_>>(5).map(to_store_time),
        retry_count: row.get::<_, i32>(6).max(0) as u32,
        created_at: to_store_time(row.get(7)),
    })
}

/// Only what `to_hex` wrote is in these columns.
pub(super) fn hash_of(text: &str) -> ContentHash {
    ContentHash::from_hex(text).unwrap_or(ContentHash([0; 32]))
}

/// Two claims of one job differ in it; where the system gives no random numbers, by the clock of the lease alone.
fn new_token() -> i64 {
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = (std::process::id() as u64).to_le_bytes();
    }
    i64::from_le_bytes(bytes)
}
