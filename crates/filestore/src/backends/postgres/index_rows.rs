//! The rows of one file's chunks in PostgreSQL, replaced in one transaction.

use std::collections::HashMap;

use futures::future::try_join_all;
use model::Failure;
use tokio_postgres::{Error, Statement, Transaction};

use super::bucket::Bucket;
use super::failure::DatabaseError;
use super::pool::PooledConnection;
use super::time::{to_store_time, to_system_time};
use crate::entry::StoreTime;
use crate::indexing::{ChunkVector, IndexJob, LeasedWrite, NewChunk, NewChunks, hash_bytes};

const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";
const HELD: &str = "SELECT 1 FROM {s}.mcp_file_index_leases WHERE job_id = $1 AND token = $2 FOR UPDATE";
const UPDATED_AT: &str = "SELECT updated_at FROM {s}.mcp_files WHERE apikey_hash = $1 AND project = $2 AND path = $3 AND deleted = FALSE";
const KNOWN: &str = "SELECT c.chunk_index, c.id, c.start_byte, c.end_byte, c.content_hash, b.tokenizer, b.token_count \
     FROM {s}.mcp_file_chunks c LEFT JOIN {s}.mcp_file_chunk_bm25 b ON b.chunk_id = c.id \
     WHERE c.apikey_hash = $1 AND c.project = $2 AND c.file_path = $3";
const REMOVE: &str = "DELETE FROM {s}.mcp_file_chunks WHERE id = ANY($1)";
const ADD: &str = "INSERT INTO {s}.mcp_file_chunks (apikey_hash, project, file_path, chunk_index, start_byte, end_byte, \
     chunk_content, content_hash, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) RETURNING id";
const ADD_BM25: &str = "INSERT INTO {s}.mcp_file_chunk_bm25 (chunk_id, tokens, token_count, tokenizer, created_at, updated_at) \
     VALUES ($1, $2, $3, $4, $5, $5)";
const ADD_WORDS: &str = "INSERT INTO {s}.mcp_file_chunk_words (chunk_id, apikey_hash, project, words) \
     VALUES ($1, $2, $3, array_to_tsvector($4::text[]))";
const PUT_VECTOR: &str = "INSERT INTO {s}.mcp_file_chunk_embeddings (chunk_id, embedding, model, created_at, updated_at) \
     VALUES ($1, ($2::real[])::vector, $3, $4, $4) \
     ON CONFLICT (chunk_id) DO UPDATE SET embedding = EXCLUDED.embedding, model = EXCLUDED.model, updated_at = EXCLUDED.updated_at";
const MARK: &str = "INSERT INTO {s}.mcp_file_indexed (apikey_hash, project, file_path, file_updated_at, content_hash, chunker, \
     tokenizer) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (apikey_hash, project, file_path) DO UPDATE SET \
     file_updated_at = EXCLUDED.file_updated_at, content_hash = EXCLUDED.content_hash, chunker = EXCLUDED.chunker, \
     tokenizer = EXCLUDED.tokenizer";
const UNMARK: &str =
    "DELETE FROM {s}.mcp_file_indexed WHERE apikey_hash = $1 AND project = $2 AND file_path = $3";
const TOTALS: &str = "INSERT INTO {s}.mcp_file_scopes AS known (apikey_hash, project, chunks, tokens) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (apikey_hash, project) DO UPDATE SET chunks = known.chunks + EXCLUDED.chunks, \
     tokens = known.tokens + EXCLUDED.tokens";
const SAME_CHUNKS: &str =
    "SELECT id, content_hash FROM {s}.mcp_file_chunks WHERE id = ANY($1) AND apikey_hash = $2";

/// Makes the rows of the job's file those of `new`, or removes them. What is the same stays.
pub(super) async fn replace(
    connection: &mut PooledConnection,
    bucket: &Bucket,
    job: &IndexJob,
    new: Option<&NewChunks>,
) -> Result<LeasedWrite, Failure> {
    let step = async {
        let statements = Statements::prepare(connection, bucket).await?;
        let transaction = connection.client.transaction().await?;
        let rows = FileRows { transaction: &transaction, statements: &statements, job };
        let written = rows.replace(new).await?;
        transaction.commit().await?;
        Ok(written)
    };
    Ok(step.await.map_err(|error: Error| DatabaseError::from(error))?)
}

pub(super) async fn store_vectors(
    connection: &mut PooledConnection,
    bucket: &Bucket,
    job: &IndexJob,
    model: &str,
    vectors: &[ChunkVector],
    now: StoreTime,
) -> Result<LeasedWrite, Failure> {
    let step = async {
        let statements = Statements::prepare(connection, bucket).await?;
        let transaction = connection.client.transaction().await?;
        let rows = FileRows { transaction: &transaction, statements: &statements, job };
        if !rows.lock_and_check().await? {
            return Ok(LeasedWrite::LeaseLost);
        }
        let ids: Vec<i64> = vectors.iter().map(|each| each.id).collect();
        let found = transaction.query(&statements.same_chunks, &[&ids, &job.scope.tenant.to_hex()]).await?;
        let hashes: HashMap<i64, String> = found.iter().map(|row| (row.get(0), row.get(1))).collect();
        let is_same = |each: &ChunkVector| hashes.get(&each.id) == Some(&each.content_hash.to_hex());
        if !vectors.iter().all(is_same) {
            return Ok(LeasedWrite::FileChanged);
        }
        try_join_all(vectors.iter().map(|each| rows.put_vector(each.id, &each.vector, model, now))).await?;
        transaction.commit().await?;
        Ok(LeasedWrite::Written)
    };
    Ok(step.await.map_err(|error: Error| DatabaseError::from(error))?)
}

struct Statements {
    lock: Statement,
    held: Statement,
    updated_at: Statement,
    known: Statement,
    remove: Statement,
    add: Statement,
    add_bm25: Statement,
    add_words: Statement,
    put_vector: Statement,
    mark: Statement,
    unmark: Statement,
    totals: Statement,
    same_chunks: Statement,
}

impl Statements {
    async fn prepare(connection: &mut PooledConnection, bucket: &Bucket) -> Result<Statements, Error> {
        Ok(Statements {
            lock: connection.prepare(bucket, LOCK).await?,
            held: connection.prepare(bucket, HELD).await?,
            updated_at: connection.prepare(bucket, UPDATED_AT).await?,
            known: connection.prepare(bucket, KNOWN).await?,
            remove: connection.prepare(bucket, REMOVE).await?,
            add: connection.prepare(bucket, ADD).await?,
            add_bm25: connection.prepare(bucket, ADD_BM25).await?,
            add_words: connection.prepare(bucket, ADD_WORDS).await?,
            put_vector: connection.prepare(bucket, PUT_VECTOR).await?,
            mark: connection.prepare(bucket, MARK).await?,
            unmark: connection.prepare(bucket, UNMARK).await?,
            totals: connection.prepare(bucket, TOTALS).await?,
            same_chunks: connection.prepare(bucket, SAME_CHUNKS).await?,
        })
    }
}

/// The lexemes that stand for a chunk's tenant and project. No token of a text or a path begins so. The columns decide what is
/// shown; these only make lists short, so that part of the digest is enough.
pub(super) fn scope_words(tenant: &str, project: &str) -> [String; 2] {
    let tenant = tenant.get(..16).unwrap_or(tenant);
    [format!("\u{1}{tenant}"), format!("\u{1}{tenant}{project}")]
}

/// The rows of one file inside a transaction.
struct FileRows<'a> {
    transaction: &'a Transaction<'a>,
    statements: &'a Statements,
    job: &'a IndexJob,
}

/// A chunk as it is stored.
struct Known {
    id: i64,
    range: (i64, i64),
    content_hash: String,
    tokenizer: Option<String>,
    length: i64,
}

impl FileRows<'_> {
    /// Waits for other workers on the same file. Whether the lease is held.
    async fn lock_and_check(&self) -> Result<bool, Error> {
        let IndexJob { scope, path, lease, .. } = self.job;
        let name = format!("index {} {} {path}", scope.tenant.to_hex(), scope.project);
        let hash = hash_bytes(name.as_bytes());
        let key = i64::from_be_bytes(std::array::from_fn(|at| hash.0[at]));
        self.transaction.execute(&self.statements.lock, &[&key]).await?;
        let held = self
            .transaction
            .query_opt(&self.statements.held, &[&lease.job, &lease.token.to_string()])
            .await?;
        Ok(held.is_some())
    }

    async fn replace(&self, new: Option<&NewChunks>) -> Result<LeasedWrite, Error> {
        let Statements { updated_at, known, remove, mark, unmark, totals, .. } = self.statements;
        if !self.lock_and_check().await? {
            return Ok(LeasedWrite::LeaseLost);
        }
        let (tenant, project) = (self.job.scope.tenant.to_hex(), self.job.scope.project.as_str());
        let path = self.job.path.as_str();
        let now_there = self.transaction.query_opt(updated_at, &[&tenant, &project, &path]).await?;
        if now_there.map(|row| to_store_time(row.get(0))) != new.map(|new| new.file_updated_at) {
            return Ok(LeasedWrite::FileChanged);
        }
        let rows = self.transaction.query(known, &[&tenant, &project, &path]).await?;
        let mut known: HashMap<u32, Known> = rows
            .iter()
            .map(|row| {
                let known = Known {
                    id: row.get(1),
                    range: (row.get(2), row.get(3)),
                    content_hash: row.get(4),
                    tokenizer: row.get(5),
                    length: row.get::<_, Option<i32>>(6).unwrap_or_default().into(),
                };
                (row.get::<_, i32>(0) as u32, known)
            })
            .collect();
        let mut fresh = Vec::new();
        for chunk in new.iter().flat_map(|new| &new.chunks) {
            let is_same = known.get(&chunk.index).is_some_and(|known| {
                known.range == (chunk.range.start as i64, chunk.range.end as i64)
                    && known.content_hash == chunk.content_hash.to_hex()
                    && known.tokenizer.as_ref() == new.map(|new| &new.mark.tokenizer)
            });
            if !is_same {
                fresh.push(chunk);
            } else if let Some(known) = known.remove(&chunk.index)
                && let (Some(vector), Some(new)) = (&chunk.vector, new)
            {
                self.put_vector(known.id, vector, &new.model, new.now).await?;
            }
        }
        let gone: Vec<i64> = known.values().map(|known| known.id).collect();
        self.transaction.execute(remove, &[&gone]).await?;
        let mut chunks = -(gone.len() as i64);
        let mut tokens = -known.values().map(|known| known.length).sum::<i64>();
        match new {
            None => {
                self.transaction.execute(unmark, &[&tenant, &project, &path]).await?;
            }
            Some(new) => {
                chunks += fresh.len() as i64;
                tokens += fresh.iter().map(|chunk| i64::from(chunk.words.length)).sum::<i64>();
                try_join_all(fresh.into_iter().map(|chunk| self.add(chunk, new))).await?;
                let hash = new.mark.content_hash.to_hex();
                let (at, chunker) = (to_system_time(new.file_updated_at), new.mark.chunker as i32);
                let values: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
                    [&tenant, &project, &path, &at, &hash, &chunker, &new.mark.tokenizer];
                self.transaction.execute(mark, &values).await?;
            }
        }
        // Last: all workers of a project meet at this row.
        if (chunks, tokens) != (0, 0) {
            self.transaction.execute(totals, &[&tenant, &project, &chunks, &tokens]).await?;
        }
        Ok(LeasedWrite::Written)
    }

    async fn add(&self, chunk: &NewChunk, new: &NewChunks) -> Result<(), Error> {
        let Statements { add, add_bm25, add_words, .. } = self.statements;
        let (tenant, project) = (self.job.scope.tenant.to_hex(), self.job.scope.project.as_str());
        let (start, end) = (chunk.range.start as i64, chunk.range.end as i64);
        let (hash, now, index) = (chunk.content_hash.to_hex(), to_system_time(new.now), chunk.index as i32);
        let path = self.job.path.as_str();
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] =
            [&tenant, &project, &path, &index, &start, &end, &chunk.text, &hash, &now];
        let id: i64 = self.transaction.query_one(add, &values).await?.get(0);
        let (tokens, length) = (chunk.words.to_json(), chunk.words.length as i32);
        let scope = scope_words(&tenant, project);
        let words: Vec<&str> =
            chunk.words.counts.keys().map(String::as_str).chain(scope.iter().map(String::as_str)).collect();
        let bm25: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&id, &tokens, &length, &new.mark.tokenizer, &now];
        let lexemes: [&(dyn tokio_postgres::types::ToSql + Sync); 4] = [&id, &tenant, &project, &words];
        let (bm25, words) =
            (self.transaction.execute(add_bm25, &bm25), self.transaction.execute(add_words, &lexemes));
        futures::future::try_join(bm25, words).await?;
        if let Some(vector) = &chunk.vector {
            self.put_vector(id, vector, &new.model, new.now).await?;
        }
        Ok(())
    }

    async fn put_vector(&self, id: i64, vector: &[f32], model: &str, now: StoreTime) -> Result<(), Error> {
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&id, &vector, &model, &to_system_time(now)];
        self.transaction.execute(&self.statements.put_vector, &values).await?;
        Ok(())
    }
}
