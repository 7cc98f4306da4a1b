//! Jobs, leases and the rows of the index in SQLite.

use model::{ContentHash, Failure, TenantId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteStore;
use super::fault::{WorkError, WorkResult};
use super::index_rows;
use crate::backend::BackendFuture;
use crate::entry::StoreTime;
use crate::indexing::{
    ChunkVector, ChunkWithoutVector, IndexBackend, IndexJob, IndexQueue, IndexedMark, JobClaim, JobLease,
    JobOperation, LatestFile, LeasedWrite, NewChunks,
};
use crate::path::StorePath;
use crate::project::{ProjectName, ProjectScope};

impl IndexBackend for SqliteStore {
    fn buckets(&self) -> u32 {
        1
    }

    fn prepare_vectors<'a>(
        &'a self,
        model: &'a str,
        dimensions: usize,
        now: StoreTime,
    ) -> BackendFuture<'a, u64> {
        let wanted = format!("{model} {dimensions}");
        Box::pin(self.write(None, move |conn| prepare_vectors(conn, &wanted, now)))
    }

    fn claim<'a>(&'a self, _bucket: u32, claim: &'a JobClaim) -> BackendFuture<'a, Vec<IndexJob>> {
        Box::pin(async move {
            let (now, horizon) = (claim.now, claim.horizon);
            // A look costs nothing; a change, even of nothing, wakes everybody who waits for changes.
            if !self.read(move |conn| has_due_job(conn, now, horizon)).await? {
                return Ok(Vec::new());
            }
            let claim = claim.clone();
            self.write(None, move |conn| claim_jobs(conn, &claim)).await
        })
    }

    fn extend(&self, lease: JobLease, _now: StoreTime, until: StoreTime) -> BackendFuture<'_, bool> {
        let work = move |conn: &Connection| {
            let sql = "UPDATE mcp_file_index_leases SET expires_at = ?3 WHERE job_id = ?1 AND token = ?2";
            Ok(conn.prepare_cached(sql)?.execute(params![lease.job, lease.token, until.0])? > 0)
        };
        Box::pin(self.write(None, work))
    }

    fn latest<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
    ) -> BackendFuture<'a, Option<LatestFile>> {
        let (scope, path) = (scope.clone(), path.clone());
        Box::pin(self.read(move |conn| latest(conn, &scope, &path)))
    }

    fn replace_chunks<'a>(&'a self, job: &'a IndexJob, chunks: NewChunks) -> BackendFuture<'a, LeasedWrite> {
        let job = job.clone();
        let lane = Some(job.scope.clone());
        Box::pin(self.write(lane, move |conn| {
            if !holds(conn, job.lease)? {
                return Ok(LeasedWrite::LeaseLost);
            }
            if updated_at(conn, &job.scope, &job.path)? != Some(chunks.file_updated_at) {
                return Ok(LeasedWrite::FileChanged);
            }
            index_rows::replace(conn, &job.scope, &job.path, &chunks)?;
            Ok(LeasedWrite::Written)
        }))
    }

    fn remove_chunks<'a>(&'a self, job: &'a IndexJob) -> BackendFuture<'a, LeasedWrite> {
        let job = job.clone();
        let lane = Some(job.scope.clone());
        Box::pin(self.write(lane, move |conn| {
            if !holds(conn, job.lease)? {
                return Ok(LeasedWrite::LeaseLost);
            }
            if updated_at(conn, &job.scope, &job.path)?.is_some() {
                return Ok(LeasedWrite::FileChanged);
            }
            index_rows::remove(conn, &job.scope, &job.path)?;
            Ok(LeasedWrite::Written)
        }))
    }

    fn without_vectors<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        model: &'a str,
    ) -> BackendFuture<'a, Vec<ChunkWithoutVector>> {
        let (scope, path, model) = (scope.clone(), path.clone(), model.to_owned());
        Box::pin(self.read(move |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT c.id, c.chunk_content, c.content_hash FROM mcp_file_chunks c
                 LEFT JOIN mcp_file_chunk_embeddings e ON e.chunk_id = c.id AND e.model = ?4
                 WHERE c.apikey_hash = ?1 AND c.project = ?2 AND c.file_path = ?3 AND e.chunk_id IS NULL
                 ORDER BY c.chunk_index",
            )?;
            let rows = statement.query_map(
                params![scope.tenant.to_hex(), scope.project.as_str(), path.as_str(), model],
                |row| {
                    let content_hash = hash_of(&row.get::<_, String>(2)?);
                    Ok(ChunkWithoutVector { id: row.get(0)?, text: row.get(1)?, content_hash })
                },
            )?;
            Ok(rows.collect::<Result<_, _>>()?)
        }))
    }

    fn store_vectors<'a>(
        &'a self,
        job: &'a IndexJob,
        model: &'a str,
        vectors: Vec<ChunkVector>,
        now: StoreTime,
    ) -> BackendFuture<'a, LeasedWrite> {
        let (job, model) = (job.clone(), model.to_owned());
        let lane = Some(job.scope.clone());
        Box::pin(self.write(lane, move |conn| {
            if !holds(conn, job.lease)? {
                return Ok(LeasedWrite::LeaseLost);
            }
            let scope_id = index_rows::scope_id(conn, &job.scope)?;
            for each in &vectors {
                let sql =
                    "SELECT 1 FROM mcp_file_chunks WHERE id = ?1 AND apikey_hash = ?2 AND content_hash = ?3";
                let same = params![each.id, job.scope.tenant.to_hex(), each.content_hash.to_hex()];
                if !conn.prepare_cached(sql)?.exists(same)? {
                    return Ok(LeasedWrite::FileChanged);
                }
                index_rows::put_vector(conn, scope_id, each.id, &each.vector, &model, now)?;
            }
            Ok(LeasedWrite::Written)
        }))
    }

    fn finish(&self, leases: Vec<JobLease>, now: StoreTime) -> BackendFuture<'_, u64> {
        Box::pin(self.write(None, move |conn| {
            let mut finished = 0;
            for lease in &leases {
                finished += u64::from(end(conn, *lease, "done", None, now)?);
            }
            Ok(finished)
        }))
    }

    fn retry(&self, lease: JobLease, available_at: StoreTime, now: StoreTime) -> BackendFuture<'_, bool> {
        Box::pin(self.write(None, move |conn| end(conn, lease, "pending", Some(available_at), now)))
    }

    fn fail(&self, lease: JobLease, now: StoreTime) -> BackendFuture<'_, bool> {
        Box::pin(self.write(None, move |conn| end(conn, lease, "failed", Some(now), now)))
    }

    fn queue(&self) -> BackendFuture<'_, IndexQueue> {
        Box::pin(self.read(|conn| {
            let count = |status: &str| -> WorkResult<u64> {
                let sql = "SELECT count(*) FROM mcp_file_index_jobs WHERE status = ?1";
                Ok(conn.prepare_cached(sql)?.query_row([status], |row| row.get::<_, i64>(0))? as u64)
            };
            let sql =
                "SELECT min(created_at) FROM mcp_file_index_jobs WHERE status IN ('pending', 'processing')";
            let oldest: Option<i64> = conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
            Ok(IndexQueue {
                pending: count("pending")?,
                processing: count("processing")?,
                failed: count("failed")?,
                oldest: oldest.map(StoreTime),
            })
        }))
    }

    fn remove_ended(&self, before: StoreTime) -> BackendFuture<'_, u64> {
        Box::pin(self.write(None, move |conn| {
            // One that was given up stays as long as its file is found by nothing but its job.
            let sql =
                "DELETE FROM mcp_file_index_jobs AS j WHERE status IN ('done', 'failed') AND updated_at < ?1
                 AND (status = 'done' OR NOT EXISTS (SELECT 1 FROM mcp_files f
                     LEFT JOIN mcp_file_indexed i ON i.apikey_hash = f.apikey_hash AND i.project = f.project
                         AND i.file_path = f.path AND i.file_updated_at = f.updated_at
                     WHERE f.apikey_hash = j.apikey_hash AND f.project = j.project AND f.path = j.file_path
                         AND f.deleted = 0 AND i.file_path IS NULL))";
            Ok(conn.prepare_cached(sql)?.execute([before.0])? as u64)
        }))
    }
}

fn prepare_vectors(conn: &Connection, wanted: &str, now: StoreTime) -> WorkResult<u64> {
    let sql = "SELECT value FROM mcp_file_index_settings WHERE name = 'embedding'";
    let known: Option<String> = conn.query_row(sql, [], |row| row.get(0)).optional()?;
    if known.as_deref() == Some(wanted) {
        return Ok(0);
    }
    conn.execute("DELETE FROM mcp_file_chunk_embeddings", [])?;
    conn.execute("DELETE FROM mcp_file_scope_vectors", [])?;
    let sql = "INSERT OR REPLACE INTO mcp_file_index_settings (name, value) VALUES ('embedding', ?1)";
    conn.execute(sql, [wanted])?;
    if known.is_none() {
        // Files that were written before there was a worker have their jobs already.
        return Ok(0);
    }
    let written = conn.execute(
        "INSERT INTO mcp_file_index_jobs
             (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
         SELECT apikey_hash, project, path, 'UPSERT', updated_at, ?1, ?1, ?1 FROM mcp_files WHERE deleted = 0",
        [now.0],
    )?;
    Ok(written as u64)
}

const EXPIRED: &str = "FROM mcp_file_index_jobs j LEFT JOIN mcp_file_index_leases l ON l.job_id = j.id
     WHERE j.status = 'processing' AND (l.expires_at IS NULL OR l.expires_at <= ?1 OR l.expires_at > ?2)";

fn has_due_job(conn: &Connection, now: StoreTime, horizon: StoreTime) -> WorkResult<bool> {
    let due = "SELECT 1 FROM mcp_file_index_jobs WHERE status = 'pending' AND available_at <= ?1 LIMIT 1";
    let beyond = "SELECT 1 FROM mcp_file_index_jobs WHERE status = 'pending' AND available_at > ?1 LIMIT 1";
    if conn.prepare_cached(due)?.exists([now.0])? || conn.prepare_cached(beyond)?.exists([horizon.0])? {
        return Ok(true);
    }
    Ok(conn.prepare_cached(&format!("SELECT 1 {EXPIRED} LIMIT 1"))?.exists([now.0, horizon.0])?)
}

fn claim_jobs(conn: &Connection, claim: &JobClaim) -> WorkResult<Vec<IndexJob>> {
    // A job whose workers vanish again and again would take every worker with it.
    let mut statement = conn.prepare_cached(&format!("SELECT j.id {EXPIRED} ORDER BY j.id"))?;
    let expired: Vec<i64> =
        statement.query_map([claim.now.0, claim.horizon.0], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let forward =
        "UPDATE mcp_file_index_jobs SET available_at = ?1 WHERE status = 'pending' AND available_at > ?2";
    conn.prepare_cached(forward)?.execute([claim.now.0, claim.horizon.0])?;
    for id in expired {
        conn.prepare_cached("DELETE FROM mcp_file_index_leases WHERE job_id = ?1")?.execute([id])?;
        conn.prepare_cached(
            "UPDATE mcp_file_index_jobs SET retry_count = retry_count + 1, updated_at = ?2, available_at = ?2,
                 status = CASE WHEN retry_count >= ?3 THEN 'failed' ELSE 'pending' END WHERE id = ?1",
        )?
        .execute(params![id, claim.now.0, claim.retry_max])?;
    }
    let mut statement = conn.prepare_cached(
        "SELECT id, apikey_hash, project, file_path, operation, file_updated_at, retry_count, created_at
         FROM mcp_file_index_jobs WHERE status = 'pending' AND available_at <= ?1
         ORDER BY available_at, id LIMIT ?2",
    )?;
    let mut rows = statement.query(params![claim.now.0, claim.batch as i64])?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        jobs.push(job_of(row)?);
    }
    drop(rows);
    for job in &jobs {
        conn.prepare_cached(
            "UPDATE mcp_file_index_jobs SET status = 'processing', updated_at = ?2 WHERE id = ?1",
        )?
        .execute(params![job.lease.job, claim.now.0])?;
        conn.prepare_cached(
            "INSERT OR REPLACE INTO mcp_file_index_leases (job_id, worker, expires_at, token) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![job.lease.job, claim.worker, claim.lease_until.0, job.lease.token])?;
    }
    Ok(jobs)
}

fn job_of(row: &Row<'_>) -> WorkResult<IndexJob> {
    Ok(IndexJob {
        lease: JobLease { bucket: 0, job: row.get(0)?, token: new_token()? },
        scope: scope_of(&row.get::<_, String>(1)?, &row.get::<_, String>(2)?)?,
        path: StorePath::parse(&row.get::<_, String>(3)?)?,
        operation: JobOperation::parse(&row.get::<_, String>(4)?),
        file_updated_at: row.get::<_, Option<i64>>(5)?.map(StoreTime),
        retry_count: row.get(6)?,
        created_at: StoreTime(row.get(7)?),
    })
}

/// Ends a lease with a status for its job; with a time, one attempt more is counted. Whether it was held.
fn end(
    conn: &Connection,
    lease: JobLease,
    status: &str,
    attempt: Option<StoreTime>,
    now: StoreTime,
) -> WorkResult<bool> {
    let sql = "DELETE FROM mcp_file_index_leases WHERE job_id = ?1 AND token = ?2";
    if conn.prepare_cached(sql)?.execute(params![lease.job, lease.token])? == 0 {
        return Ok(false);
    }
    conn.prepare_cached(
        "UPDATE mcp_file_index_jobs SET status = ?2, updated_at = ?3, retry_count = retry_count + ?4,
             available_at = coalesce(?5, available_at) WHERE id = ?1",
    )?
    .execute(params![lease.job, status, now.0, i64::from(attempt.is_some()), attempt.map(|at| at.0)])?;
    Ok(true)
}

fn holds(conn: &Connection, lease: JobLease) -> WorkResult<bool> {
    let sql = "SELECT 1 FROM mcp_file_index_leases WHERE job_id = ?1 AND token = ?2";
    Ok(conn.prepare_cached(sql)?.exists(params![lease.job, lease.token])?)
}

fn updated_at(conn: &Connection, scope: &ProjectScope, path: &StorePath) -> WorkResult<Option<StoreTime>> {
    let sql = "SELECT updated_at FROM mcp_files WHERE apikey_hash = ?1 AND project = ?2 AND path = ?3 AND deleted = 0";
    let found = conn
        .prepare_cached(sql)?
        .query_row(params![scope.tenant.to_hex(), scope.project.as_str(), path.as_str()], |row| row.get(0))
        .optional()?;
    Ok(found.map(StoreTime))
}

fn latest(conn: &Connection, scope: &ProjectScope, path: &StorePath) -> WorkResult<Option<LatestFile>> {
    let mut statement = conn.prepare_cached(
        "SELECT f.content, f.updated_at, i.content_hash, i.chunker, i.tokenizer, i.file_updated_at FROM mcp_files f
         LEFT JOIN mcp_file_indexed i ON i.apikey_hash = f.apikey_hash AND i.project = f.project AND i.file_path = f.path
         WHERE f.apikey_hash = ?1 AND f.project = ?2 AND f.path = ?3 AND f.deleted = 0",
    )?;
    let found =
        statement.query_row(params![scope.tenant.to_hex(), scope.project.as_str(), path.as_str()], |row| {
            let updated_at = StoreTime(row.get(1)?);
            let indexed = match row.get::<_, Option<String>>(2)? {
                // The mark has to speak of this very state, or the search takes the file for unindexed.
                Some(hash) if row.get::<_, i64>(5)? == updated_at.0 => Some(IndexedMark {
                    content_hash: hash_of(&hash),
                    chunker: row.get(3)?,
                    tokenizer: row.get(4)?,
                }),
                _ => None,
            };
            Ok(LatestFile { content: row.get(0)?, updated_at, indexed })
        });
    Ok(found.optional()?)
}

pub(super) fn scope_of(tenant: &str, project: &str) -> WorkResult<ProjectScope> {
    let tenant = TenantId::from_hex(tenant).ok_or_else(|| broken("a tenant"))?;
    Ok(ProjectScope::new(tenant, ProjectName::parse(project)?))
}

/// Only what `to_hex` wrote is in these columns.
pub(super) fn hash_of(text: &str) -> ContentHash {
    ContentHash::from_hex(text).unwrap_or(ContentHash([0; 32]))
}

fn broken(what: &str) -> WorkError {
    Failure::new(model::ErrorCode::StoreCorrupt, format!("{what} in the file store cannot be read")).into()
}

fn new_token() -> WorkResult<i64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::new(model::ErrorCode::InternalError, format!("no random numbers: {error}"))
    })?;
    Ok(i64::from_le_bytes(bytes))
}
