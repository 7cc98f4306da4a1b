//! Jobs, leases and the rows of the index in PostgreSQL.

use std::time::Duration;

use model::{ContentHash, ErrorCode, Failure, TenantId};
use tokio_postgres::Row;

use super::bucket::Bucket;
use super::failure::DatabaseError;
use super::index_rows;
use super::pool::PooledConnection;
use super::time::{to_store_time, to_system_time};
use super::PostgresStore;
use crate::backend::BackendFuture;
use crate::entry::StoreTime;
use crate::indexing::{
    ChunkVector, ChunkWithoutVector, IndexBackend, IndexJob, IndexQueue, IndexedMark, JobClaim, JobLease, JobOperation,
    LatestFile, LeasedWrite, NewChunks,
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
            connection.in_transaction = true;
            let jobs = claim_jobs(&mut connection, bucket, claim).await?;
            connection.in_transaction = false;
            Ok(jobs)
        })
    }

    fn extend(&self, lease: JobLease, until: StoreTime) -> BackendFuture<'_, bool> {
        Box::pin(async move {
            let sql = "UPDATE {s}.mcp_file_index_leases SET expires_at = $3 WHERE job_id = $1 AND token = $2";
            let mut connection = self.index_connection().await?;
            let statement = connection.prepare(self.numbered(lease.bucket)?, sql).await.map_err(DatabaseError::from)?;
            let token = lease.token.to_string();
            let changed = connection
                .client
                .execute(&statement, &[&lease.job, &token, &to_system_time(until)])
                .await
                .map_err(DatabaseError::from)?;
            Ok(changed > 0)
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
            let statement = connection.prepare(self.bucket(scope.tenant), sql).await.map_err(DatabaseError::from)?;
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
            let statement = connection.prepare(self.bucket(scope.tenant), sql).await.map_err(DatabaseError::from)?;
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
            let written = index_rows::store_vectors(&mut connection, bucket, job, model, &vectors, now).await?;
            connection.in_transaction = false;
            Ok(written)
        })
    }

    fn finish(&self, leases: Vec<JobLease>, now: StoreTime) -> BackendFuture<'_, u64> {
        Box::pin(async move {
            let mut finished = 0;
            for lease in leases {
                finished += u64::from(self.end(lease, "done", None, now).await?);
            }
            Ok(finished)
        })
    }

    fn retry(&self, lease: JobLease, available_at: StoreTime, now: StoreTime) -> BackendFuture<'_, bool> {
        Box::pin(self.end(lease, "pending", Some(available_at), now))
    }

    fn fail(&self, lease: JobLease, now: StoreTime) -> BackendFuture<'_, bool> {
        Box::pin(self.end(lease, "failed", Some(now), now))
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
            let sql = "DELETE FROM {s}.mcp_file_index_jobs WHERE status IN ('done', 'failed') AND updated_at < $1";
            let mut removed = 0;
            let mut connection = self.index_connection().await?;
            for bucket in PostgresStore::buckets(self) {
                let statement = connection.prepare(bucket, sql).await.map_err(DatabaseError::from)?;
                let gone = connection.client.execute(&statement, &[&to_system_time(before)]);
                removed += gone.await.map_err(DatabaseError::from)?;
            }
            Ok(removed)
        })
    }
}

impl PostgresStore {
    /// Ends a lease with a status for its job; with a time, one attempt more is counted. Whether it was held.
    async fn end(
        &self,
        lease: JobLease,
        status: &str,
        attempt: Option<StoreTime>,
        now: StoreTime,
    ) -> Result<bool, Failure> {
        let sql = "WITH held AS (DELETE FROM {s}.mcp_file_index_leases WHERE job_id = $1 AND token = $2 RETURNING job_id) \
                   UPDATE {s}.mcp_file_index_jobs j SET status = $3, updated_at = $4, retry_count = retry_count + $5, \
                   available_at = coalesce($6, available_at) FROM held WHERE j.id = held.job_id";
        let mut connection = self.index_connection().await?;
        let statement = connection.prepare(self.numbered(lease.bucket)?, sql).await.map_err(DatabaseError::from)?;
        let (token, attempts) = (lease.token.to_string(), i32::from(attempt.is_some()));
        let changed = connection
            .client
            .execute(
                &statement,
                &[&lease.job, &token, &status, &to_system_time(now), &attempts, &attempt.map(to_system_time)],
            )
            .await
            .map_err(DatabaseError::from)?;
        Ok(changed > 0)
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
        let change = "UPDATE {s}.mcp_file_index_settings SET value = $1 WHERE name = 'embedding' AND value <> $1";
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

/// Those whose lease ran out first, then those that are due.
async fn claim_jobs(
    connection: &mut PooledConnection,
    bucket: &Bucket,
    claim: &JobClaim,
) -> Result<Vec<IndexJob>, Failure> {
    // A job whose workers vanish again and again would take every worker with it.
    let expire = "UPDATE {s}.mcp_file_index_jobs SET retry_count = retry_count + 1, updated_at = $1, available_at = $1, \
                  status = CASE WHEN retry_count >= $2 THEN 'failed' ELSE 'pending' END WHERE id IN ( \
                  SELECT j.id FROM {s}.mcp_file_index_jobs j LEFT JOIN {s}.mcp_file_index_leases l ON l.job_id = j.id \
                  WHERE j.status = 'processing' AND (l.expires_at IS NULL OR l.expires_at <= $1) \
                  FOR UPDATE OF j SKIP LOCKED)";
    let take = "UPDATE {s}.mcp_file_index_jobs SET status = 'processing', updated_at = $1 WHERE id IN ( \
                SELECT id FROM {s}.mcp_file_index_jobs WHERE status = 'pending' AND available_at <= $1 \
                ORDER BY available_at, id LIMIT $2 FOR UPDATE SKIP LOCKED) \
                RETURNING id, apikey_hash, project, file_path, operation, file_updated_at, retry_count, created_at";
    let lease = "INSERT INTO {s}.mcp_file_index_leases (job_id, worker, expires_at, token) VALUES ($1, $2, $3, $4) \
                 ON CONFLICT (job_id) DO UPDATE SET worker = $2, expires_at = $3, token = $4";
    let step = async {
        let expire = connection.prepare(bucket, expire).await?;
        let take = connection.prepare(bucket, take).await?;
        let lease = connection.prepare(bucket, lease).await?;
        let transaction = connection.client.transaction().await?;
        let now = to_system_time(claim.now);
        transaction.execute(&expire, &[&now, &(claim.retry_max as i32)]).await?;
        let rows = transaction.query(&take, &[&now, &(claim.batch as i64)]).await?;
        let mut jobs = Vec::with_capacity(rows.len());
        for row in &rows {
            let token = new_token();
            let job: i64 = row.get(0);
            let until = to_system_time(claim.lease_until);
            transaction.execute(&lease, &[&job, &claim.worker, &until, &token.to_string()]).await?;
            jobs.push((token, row));
        }
        let jobs: Vec<_> = jobs.into_iter().map(|(token, row)| job_of(bucket.number, token, row)).collect();
        transaction.commit().await?;
        Ok(jobs)
    };
    let jobs = step.await.map_err(|error: tokio_postgres::Error| DatabaseError::from(error))?;
    let mut jobs: Vec<IndexJob> = jobs.into_iter().collect::<Result<_, Failure>>()?;
    jobs.sort_by_key(|job| job.lease.job);
    Ok(jobs)
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
