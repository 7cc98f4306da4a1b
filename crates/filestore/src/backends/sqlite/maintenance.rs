//! The rows of the embedded store for checks, repairs and copies, beside a server that may be running.

use std::path::Path;
use std::time::Duration;

use model::{ErrorCode, Failure, TenantId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::connection;
use super::fault::{WorkError, WorkResult};
use super::index::scope_of;
use super::index_rows;
use crate::entry::StoreTime;
use crate::maintenance::{
    ChunkRow, FileKey, FileRow, JobRow, LoadedRow, OrphanCounts, ProjectRow, RepairAction, StoreMaintenance,
    StoreSnapshot, VersionRow,
};
use crate::path::StorePath;
use crate::record::KeyRecord;

/// How long a repair waits for a server that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// A view of the database as it was when it was opened.
pub struct SqliteSnapshot(Connection);

impl SqliteSnapshot {
    pub fn open(path: &Path) -> Result<SqliteSnapshot, Failure> {
        let conn = connection::open_reader(path, PATIENCE)?;
        let begin = || -> rusqlite::Result<()> {
            conn.execute_batch("BEGIN")?;
            // The view is fixed by the first look.
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        };
        begin().map_err(WorkError::from)?;
        Ok(SqliteSnapshot(conn))
    }

    fn page<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Failure> {
        let read = || -> WorkResult<Vec<T>> {
            let mut statement = self.0.prepare_cached(sql)?;
            Ok(statement.query_map(values, row)?.collect::<Result<_, _>>()?)
        };
        Ok(read()?)
    }

    fn count(&self, sql: &str) -> Result<u64, Failure> {
        let counted = self.page(sql, [], |row| row.get::<_, i64>(0))?;
        Ok(counted.first().copied().unwrap_or_default() as u64)
    }
}

fn key(row: &Row<'_>, at: usize) -> rusqlite::Result<FileKey> {
    Ok(FileKey { tenant: row.get(at)?, project: row.get(at + 1)?, path: row.get(at + 2)? })
}

/// Before all keys, for the first page.
fn texts(after: Option<&FileKey>) -> (&str, &str, &str) {
    after.map_or(("", "", ""), |key| (&key.tenant, &key.project, &key.path))
}

impl StoreSnapshot for SqliteSnapshot {
    fn files(&mut self, after: Option<&FileKey>, limit: usize) -> Result<Vec<FileRow>, Failure> {
        let (tenant, project, path) = texts(after);
        self.page(
            "SELECT f.id, f.apikey_hash, f.project, f.path, f.content, f.size, f.created_at, f.updated_at, h.content_hash
             FROM mcp_files f LEFT JOIN mcp_file_hashes h ON h.file_id = f.id
             WHERE f.deleted = 0 AND (f.apikey_hash, f.project, f.path) > (?1, ?2, ?3)
             ORDER BY f.apikey_hash, f.project, f.path LIMIT ?4",
            params![tenant, project, path, limit as i64],
            |row| {
                Ok(FileRow {
                    id: row.get(0)?,
                    key: key(row, 1)?,
                    content: row.get(4)?,
                    size: row.get(5)?,
                    created_at: row.get(6)?,
                    updated_at: row.get(7)?,
                    content_hash: row.get(8)?,
                })
            },
        )
    }

    fn chunks(&mut self, after: Option<(&FileKey, i64)>, limit: usize) -> Result<Vec<ChunkRow>, Failure> {
        let (tenant, project, path) = texts(after.map(|(key, _)| key));
        let index = after.map_or(-1, |(_, index)| index);
        self.page(
            "SELECT c.id, c.apikey_hash, c.project, c.file_path, c.chunk_index, c.start_byte, c.end_byte, c.chunk_content,
                 c.content_hash, EXISTS (SELECT 1 FROM mcp_file_chunk_embeddings e WHERE e.chunk_id = c.id),
                 EXISTS (SELECT 1 FROM mcp_file_chunk_bm25 b WHERE b.chunk_id = c.id)
             FROM mcp_file_chunks c WHERE (c.apikey_hash, c.project, c.file_path, c.chunk_index) > (?1, ?2, ?3, ?4)
             ORDER BY c.apikey_hash, c.project, c.file_path, c.chunk_index LIMIT ?5",
            params![tenant, project, path, index, limit as i64],
            |row| {
                Ok(ChunkRow {
                    id: row.get(0)?,
                    key: key(row, 1)?,
                    index: row.get(4)?,
                    start: row.get(5)?,
                    end: row.get(6)?,
                    text: row.get(7)?,
                    content_hash: row.get(8)?,
                    has_vector: row.get(9)?,
                    has_words: row.get(10)?,
                })
            },
        )
    }

    fn jobs(&mut self, after: Option<i64>, limit: usize) -> Result<Vec<JobRow>, Failure> {
        self.page(
            "SELECT j.id, j.apikey_hash, j.project, j.file_path, j.operation, j.status, j.available_at, l.expires_at
             FROM mcp_file_index_jobs j LEFT JOIN mcp_file_index_leases l ON l.job_id = j.id
             WHERE j.status <> 'done' AND j.id > ?1 ORDER BY j.id LIMIT ?2",
            params![after.unwrap_or(i64::MIN), limit as i64],
            |row| {
                Ok(JobRow {
                    id: row.get(0)?,
                    key: key(row, 1)?,
                    operation: row.get(4)?,
                    status: row.get(5)?,
                    available_at: row.get(6)?,
                    leased_until: row.get(7)?,
                })
            },
        )
    }

    fn versions(&mut self, after: Option<i64>, limit: usize) -> Result<Vec<VersionRow>, Failure> {
        self.page(
            "SELECT id, apikey_hash, project, path, size, created_at, content FROM mcp_file_versions
             WHERE id > ?1 ORDER BY id LIMIT ?2",
            params![after.unwrap_or(i64::MIN), limit as i64],
            |row| {
                Ok(VersionRow {
                    id: row.get(0)?,
                    key: key(row, 1)?,
                    size: row.get(4)?,
                    created_at: row.get(5)?,
                    content: row.get(6)?,
                })
            },
        )
    }

    fn projects(&mut self, after: Option<(&str, &str)>, limit: usize) -> Result<Vec<ProjectRow>, Failure> {
        let (tenant, project) = after.unwrap_or(("", ""));
        self.page(
            "SELECT apikey_hash, project, files, bytes FROM mcp_file_projects
             WHERE (apikey_hash, project) > (?1, ?2) ORDER BY apikey_hash, project LIMIT ?3",
            params![tenant, project, limit as i64],
            |row| {
                Ok(ProjectRow {
                    tenant: row.get(0)?,
                    project: row.get(1)?,
                    files: row.get(2)?,
                    bytes: row.get(3)?,
                })
            },
        )
    }

    fn orphans(&mut self) -> Result<OrphanCounts, Failure> {
        Ok(OrphanCounts {
            vectors: self
                .count(&format!("SELECT count(*) FROM mcp_file_chunk_embeddings WHERE {OF_NO_CHUNK}"))?
                + self.count(&format!("SELECT count(*) FROM mcp_file_scope_vectors WHERE {OF_NO_CHUNK}"))?,
            words: self.count(&format!("SELECT count(*) FROM mcp_file_chunk_bm25 WHERE {OF_NO_CHUNK}"))?
                + self.count(&format!("SELECT count(*) FROM mcp_file_postings WHERE {OF_NO_CHUNK}"))?,
            leases: self.count(&format!("SELECT count(*) FROM mcp_file_index_leases WHERE {OF_NO_JOB}"))?,
        })
    }

    fn deleted_files(&mut self) -> Result<u64, Failure> {
        self.count("SELECT count(*) FROM mcp_files WHERE deleted = 1")
    }

    fn keys(&mut self) -> Result<Vec<KeyRecord>, Failure> {
        let rows = self.page(
            "SELECT name, apikey_hash, created_at, revoked_at FROM mcp_file_keys ORDER BY created_at, name",
            [],
            |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get::<_, Option<i64>>(3)?)),
        )?;
        let record = |(name, tenant, created, revoked): (String, String, i64, Option<i64>)| {
            let tenant = TenantId::from_hex(&tenant)?;
            let (created_at, revoked_at) = (StoreTime(created), revoked.map(StoreTime));
            Some(KeyRecord { name, tenant, created_at, revoked_at })
        };
        Ok(rows.into_iter().filter_map(record).collect())
    }
}

const OF_NO_CHUNK: &str = "chunk_id NOT IN (SELECT id FROM mcp_file_chunks)";
const OF_NO_JOB: &str = "job_id NOT IN (SELECT id FROM mcp_file_index_jobs WHERE status = 'processing')";

/// Mends the embedded store, and fills an empty one. It waits its turn among the changes of a server that is running.
pub struct SqliteMaintenance {
    conn: Connection,
    now: StoreTime,
}

impl SqliteMaintenance {
    /// `now` is the time of the jobs that it leaves.
    pub fn open(path: &Path, now: StoreTime) -> Result<SqliteMaintenance, Failure> {
        connection::prepare(path)?;
        Ok(SqliteMaintenance { conn: connection::open(path, PATIENCE)?, now })
    }

    fn in_transaction<T>(&mut self, work: impl FnOnce(&Connection) -> WorkResult<T>) -> Result<T, Failure> {
        let run = || -> WorkResult<T> {
            let behavior = rusqlite::TransactionBehavior::Immediate;
            let transaction = rusqlite::Transaction::new_unchecked(&self.conn, behavior)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        Ok(run()?)
    }
}

impl StoreMaintenance for SqliteMaintenance {
    fn repair(&mut self, action: &RepairAction) -> Result<u64, Failure> {
        let now = self.now.0;
        self.in_transaction(|conn| {
            Ok(match action {
                RepairAction::Reindex(key) => {
                    remove_chunks(conn, key)?;
                    conn.execute(
                        "INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at,
                             available_at, created_at, updated_at)
                         SELECT apikey_hash, project, path, 'UPSERT', updated_at, ?4, ?4, ?4 FROM mcp_files
                         WHERE apikey_hash = ?1 AND project = ?2 AND path = ?3 AND deleted = 0",
                        params![key.tenant, key.project, key.path, now],
                    )?
                }
                RepairAction::DeleteChunks(key) => {
                    remove_chunks(conn, key)?;
                    1
                }
                RepairAction::Remeasure { file } => {
                    let sql = "SELECT content FROM mcp_files WHERE id = ?1";
                    let content: Option<Vec<u8>> =
                        conn.query_row(sql, [file], |row| row.get(0)).optional()?;
                    let Some(content) = content else { return Ok(0) };
                    conn.execute("UPDATE mcp_files SET size = ?2 WHERE id = ?1", params![file, content.len() as i64])?;
                    let hash = *blake3::hash(&content).as_bytes();
                    let sql = "INSERT OR REPLACE INTO mcp_file_hashes (file_id, content_hash) VALUES (?1, ?2)";
                    conn.execute(sql, params![file, hash])?
                }
                RepairAction::RemeasureVersion { version } => conn
                    .execute("UPDATE mcp_file_versions SET size = length(content) WHERE id = ?1", [version])?,
                RepairAction::RecountProject { tenant, project } => recount(conn, tenant, project, now)?,
                RepairAction::RequeueJob { job } => {
                    conn.execute("DELETE FROM mcp_file_index_leases WHERE job_id = ?1", [job])?;
                    conn.execute(
                        "UPDATE mcp_file_index_jobs SET status = 'pending', retry_count = 0, available_at = ?2,
                             updated_at = ?2 WHERE id = ?1",
                        params![job, now],
                    )?
                }
                RepairAction::DeleteOrphanVectors => {
                    conn.execute(&format!("DELETE FROM mcp_file_scope_vectors WHERE {OF_NO_CHUNK}"), [])?
                        + conn.execute(&format!("DELETE FROM mcp_file_chunk_embeddings WHERE {OF_NO_CHUNK}"), [])?
                }
                RepairAction::DeleteOrphanWords => {
                    conn.execute(&format!("DELETE FROM mcp_file_postings WHERE {OF_NO_CHUNK}"), [])?
                        + conn.execute(&format!("DELETE FROM mcp_file_chunk_bm25 WHERE {OF_NO_CHUNK}"), [])?
                }
                RepairAction::DeleteOrphanLeases => {
                    conn.execute(&format!("DELETE FROM mcp_file_index_leases WHERE {OF_NO_JOB}"), [])?
                }
            } as u64)
        })
    }

    fn load(&mut self, rows: &mut dyn Iterator<Item = Result<LoadedRow, Failure>>) -> Result<(), Failure> {
        let now = self.now.0;
        self.in_transaction(|conn| {
            let files: i64 = conn.query_row("SELECT count(*) FROM mcp_files", [], |row| row.get(0))?;
            if files > 0 {
                return Err(not_empty().into());
            }
            for row in rows {
                load_row(conn, row?, now)?;
            }
            let sums = "INSERT INTO mcp_file_projects (apikey_hash, project, files, bytes, changed_at)
                 SELECT apikey_hash, project, count(*), sum(size), max(updated_at) FROM mcp_files
                 WHERE deleted = 0 GROUP BY apikey_hash, project";
            conn.execute(sums, [])?;
            Ok(())
        })
    }

    fn is_empty(&mut self) -> Result<bool, Failure> {
        let files = self.conn.query_row("SELECT count(*) FROM mcp_files", [], |row| row.get::<_, i64>(0));
        Ok(files.map_err(WorkError::from)? == 0)
    }
}

pub(crate) fn not_empty() -> Failure {
    Failure::new(
        ErrorCode::AlreadyExists,
        "the store holds files; a backup is only restored into an empty one",
    )
    .hint("Name another store: files.path, or another database in files.postgres.url.")
}

fn remove_chunks(conn: &Connection, key: &FileKey) -> WorkResult<()> {
    let path = StorePath::parse(&key.path)?;
    index_rows::remove(conn, &scope_of(&key.tenant, &key.project)?, &path)
}

fn recount(conn: &Connection, tenant: &str, project: &str, now: i64) -> WorkResult<usize> {
    Ok(conn.execute(
        "INSERT INTO mcp_file_projects (apikey_hash, project, files, bytes, changed_at)
         SELECT ?1, ?2, count(*), coalesce(sum(length(content)), 0), coalesce(max(updated_at), ?3) FROM mcp_files
         WHERE apikey_hash = ?1 AND project = ?2 AND deleted = 0
         ON CONFLICT (apikey_hash, project) DO UPDATE SET files = excluded.files, bytes = excluded.bytes",
        params![tenant, project, now],
    )?)
}

fn load_row(conn: &Connection, row: LoadedRow, now: i64) -> WorkResult<()> {
    match row {
        LoadedRow::File { key, content, created_at, updated_at } => {
            let id = conn
                .prepare_cached(
                    "INSERT INTO mcp_files (apikey_hash, project, path, size, created_at, updated_at, content)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .insert(params![
                    key.tenant,
                    key.project,
                    key.path,
                    content.len() as i64,
                    created_at,
                    updated_at,
                    content
                ])?;
            let hash = *blake3::hash(&content).as_bytes();
            conn.prepare_cached("INSERT INTO mcp_file_hashes (file_id, content_hash) VALUES (?1, ?2)")?
                .execute(params![id, hash])?;
            conn.prepare_cached(
                "INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at,
                     available_at, created_at, updated_at) VALUES (?1, ?2, ?3, 'UPSERT', ?4, ?5, ?5, ?5)",
            )?
            .execute(params![key.tenant, key.project, key.path, updated_at, now])?;
        }
        LoadedRow::Version { key, content, created_at } => {
            conn.prepare_cached(
                "INSERT INTO mcp_file_versions (apikey_hash, project, path, size, created_at, content)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                key.tenant,
                key.project,
                key.path,
                content.len() as i64,
                created_at,
                content
            ])?;
        }
        LoadedRow::Key(record) => {
            conn.prepare_cached(
                "INSERT OR IGNORE INTO mcp_file_keys (name, apikey_hash, created_at, revoked_at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                record.name,
                record.tenant.to_hex(),
                record.created_at.0,
                record.revoked_at.map(|at| at.0)
            ])?;
        }
    }
    Ok(())
}
