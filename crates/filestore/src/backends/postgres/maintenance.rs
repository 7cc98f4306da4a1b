//! The rows of a store in PostgreSQL for checks, repairs and copies, beside servers that may be running. A bucket at a time; the
//! transaction and with it the moment is the same for all.

use std::time::Duration;

use model::{ErrorCode, Failure, TenantId};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::bucket::{Bucket, SHARED_SCHEMA, bucket_number};
use super::connection::{Connection, ServerAddress};
use super::failure::DatabaseError;
use crate::backends::sqlite::not_empty;
use crate::entry::StoreTime;
use crate::maintenance::{
    ChunkRow, FileKey, FileRow, JobRow, LoadedRow, OrphanCounts, ProjectRow, RepairAction, StoreMaintenance,
    StoreSnapshot, VersionRow,
};
use crate::record::KeyRecord;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A page of a large table takes longer than any statement of a server.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(600);

/// A connection of its own, on a runtime of its own: the checks run on a thread that may wait.
struct Waiting {
    runtime: Runtime,
    connection: Connection,
    buckets: Vec<Bucket>,
    /// The one that is looked at.
    current: usize,
}

impl Waiting {
    fn open(url: &str) -> Result<Waiting, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            Failure::new(ErrorCode::InternalError, "no runtime for the database").because(error)
        })?;
        let address = ServerAddress::parse(url, CONNECT_TIMEOUT, STATEMENT_TIMEOUT)?;
        let connection = runtime.block_on(address.connect())?;
        let mut waiting = Waiting { runtime, connection, buckets: Vec::new(), current: 0 };
        let known = waiting.rows_of("SELECT to_regclass('dir2mcp_files.store_settings') IS NOT NULL", &[])?;
        if !known.first().is_some_and(|row| row.get::<_, bool>(0)) {
            return Err(Failure::new(ErrorCode::NotFound, "the database holds no file store")
                .hint("The server makes it when it is first used."));
        }
        let sql = "SELECT value FROM dir2mcp_files.store_settings WHERE name = 'buckets'";
        let buckets = waiting.rows_of(sql, &[])?.first().map(|row| row.get::<_, String>(0));
        let buckets: u32 = buckets.and_then(|text| text.parse().ok()).unwrap_or(1);
        waiting.buckets = (0..buckets).map(Bucket::new).collect();
        Ok(waiting)
    }

    fn sql(&self, template: &str) -> String {
        self.buckets.get(self.current).map_or_else(|| template.to_owned(), |bucket| bucket.sql(template))
    }

    fn rows(&mut self, template: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Failure> {
        let sql = self.sql(template);
        self.rows_of(&sql, values)
    }

    fn rows_of(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Failure> {
        let asked = self.runtime.block_on(self.connection.client.query(sql, values));
        Ok(asked.map_err(DatabaseError::from)?)
    }

    fn run(&mut self, sql: &str) -> Result<(), Failure> {
        let run = self.runtime.block_on(self.connection.client.batch_execute(sql));
        Ok(run.map_err(DatabaseError::from)?)
    }

    fn count(&mut self, template: &str) -> Result<u64, Failure> {
        Ok(self.rows(template, &[])?.first().map_or(0, |row| row.get::<_, i64>(0)) as u64)
    }
}

/// Microseconds since 1970.
macro_rules! micros {
    ($column:literal) => {
        concat!("(extract(epoch FROM ", $column, ") * 1000000)::bigint")
    };
}

fn key(row: &Row, at: usize) -> FileKey {
    FileKey { tenant: row.get(at), project: row.get(at + 1), path: row.get(at + 2) }
}

fn texts(after: Option<&FileKey>) -> (&str, &str, &str) {
    after.map_or(("", "", ""), |key| (&key.tenant, &key.project, &key.path))
}

/// A view of all tables as they were when it was opened.
pub struct PostgresSnapshot(Waiting);

impl PostgresSnapshot {
    pub fn open(url: &str) -> Result<PostgresSnapshot, Failure> {
        let mut waiting = Waiting::open(url)?;
        waiting.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        Ok(PostgresSnapshot(waiting))
    }

    pub fn buckets(&self) -> usize {
        self.0.buckets.len()
    }

    /// Turns to another bucket.
    pub fn look_at(&mut self, bucket: usize) {
        self.0.current = bucket;
    }
}

impl StoreSnapshot for PostgresSnapshot {
    fn files(&mut self, after: Option<&FileKey>, limit: usize) -> Result<Vec<FileRow>, Failure> {
        let (tenant, project, path) = texts(after);
        let rows = self.0.rows(
            concat!(
                "SELECT f.id, f.apikey_hash::text, f.project, f.path, f.content, f.size, ",
                micros!("f.created_at"),
                ", ",
                micros!("f.updated_at"),
                ", h.content_hash FROM {s}.mcp_files f LEFT JOIN {s}.mcp_file_hashes h ON h.file_id = f.id \
                 WHERE f.deleted = FALSE AND (f.apikey_hash::text COLLATE \"C\", f.project::text COLLATE \"C\", \
                 f.path::text COLLATE \"C\") > ($1, $2, $3) \
                 ORDER BY f.apikey_hash::text COLLATE \"C\", f.project::text COLLATE \"C\", f.path::text COLLATE \"C\" LIMIT $4"
            ),
            &[&tenant, &project, &path, &(limit as i64)],
        )?;
        let file = |row: &Row| FileRow {
            id: row.get(0),
            key: key(row, 1),
            content: row.get(4),
            size: row.get(5),
            created_at: row.get(6),
            updated_at: row.get(7),
            content_hash: row.get(8),
        };
        Ok(rows.iter().map(file).collect())
    }

    fn chunks(&mut self, after: Option<(&FileKey, i64)>, limit: usize) -> Result<Vec<ChunkRow>, Failure> {
        let (tenant, project, path) = texts(after.map(|(key, _)| key));
        let index = after.map_or(-1, |(_, index)| index as i32);
        let rows = self.0.rows(
            "SELECT c.id, c.apikey_hash::text, c.project, c.file_path, c.chunk_index, c.start_byte, c.end_byte, \
             c.chunk_content, c.content_hash::text, \
             EXISTS (SELECT 1 FROM {s}.mcp_file_chunk_embeddings e WHERE e.chunk_id = c.id), \
             EXISTS (SELECT 1 FROM {s}.mcp_file_chunk_bm25 b JOIN {s}.mcp_file_chunk_words w ON w.chunk_id = b.chunk_id \
                 WHERE b.chunk_id = c.id) \
             FROM {s}.mcp_file_chunks c WHERE (c.apikey_hash::text COLLATE \"C\", c.project::text COLLATE \"C\", \
             c.file_path::text COLLATE \"C\", c.chunk_index) > ($1, $2, $3, $4) \
             ORDER BY c.apikey_hash::text COLLATE \"C\", c.project::text COLLATE \"C\", c.file_path::text COLLATE \"C\", \
             c.chunk_index LIMIT $5",
            &[&tenant, &project, &path, &index, &(limit as i64)],
        )?;
        let chunk = |row: &Row| ChunkRow {
            id: row.get(0),
            key: key(row, 1),
            index: row.get::<_, i32>(4).into(),
            start: row.get(5),
            end: row.get(6),
            text: row.get(7),
            content_hash: row.get(8),
            has_vector: row.get(9),
            has_words: row.get(10),
        };
        Ok(rows.iter().map(chunk).collect())
    }

    fn jobs(&mut self, after: Option<i64>, limit: usize) -> Result<Vec<JobRow>, Failure> {
        let rows = self.0.rows(
            concat!(
                "SELECT j.id, j.apikey_hash::text, j.project, j.file_path, j.operation, j.status, ",
                micros!("j.available_at"),
                ", ",
                micros!("l.expires_at"),
                " FROM {s}.mcp_file_index_jobs j LEFT JOIN {s}.mcp_file_index_leases l ON l.job_id = j.id \
                 WHERE j.status <> 'done' AND j.id > $1 ORDER BY j.id LIMIT $2"
            ),
            &[&after.unwrap_or(i64::MIN), &(limit as i64)],
        )?;
        let job = |row: &Row| JobRow {
            id: row.get(0),
            key: key(row, 1),
            operation: row.get(4),
            status: row.get(5),
            available_at: row.get(6),
            leased_until: row.get(7),
        };
        Ok(rows.iter().map(job).collect())
    }

    fn versions(&mut self, after: Option<i64>, limit: usize) -> Result<Vec<VersionRow>, Failure> {
        let rows = self.0.rows(
            concat!(
                "SELECT id, apikey_hash::text, project, path, size, ",
                micros!("created_at"),
                ", content FROM {s}.mcp_file_versions WHERE id > $1 ORDER BY id LIMIT $2"
            ),
            &[&after.unwrap_or(i64::MIN), &(limit as i64)],
        )?;
        let version = |row: &Row| VersionRow {
            id: row.get(0),
            key: key(row, 1),
            size: row.get(4),
            created_at: row.get(5),
            content: row.get(6),
        };
        Ok(rows.iter().map(version).collect())
    }

    fn projects(&mut self, after: Option<(&str, &str)>, limit: usize) -> Result<Vec<ProjectRow>, Failure> {
        let (tenant, project) = after.unwrap_or(("", ""));
        let rows = self.0.rows(
            "SELECT apikey_hash::text, project, files, bytes FROM {s}.mcp_file_projects \
             WHERE (apikey_hash::text COLLATE \"C\", project::text COLLATE \"C\") > ($1, $2) \
             ORDER BY apikey_hash::text COLLATE \"C\", project::text COLLATE \"C\" LIMIT $3",
            &[&tenant, &project, &(limit as i64)],
        )?;
        let project = |row: &Row| ProjectRow {
            tenant: row.get(0),
            project: row.get(1),
            files: row.get(2),
            bytes: row.get(3),
        };
        Ok(rows.iter().map(project).collect())
    }

    /// The database itself keeps vectors and words from outliving their chunks.
    fn orphans(&mut self) -> Result<OrphanCounts, Failure> {
        let leases =
            self.0.count(&format!("SELECT count(*) FROM {{s}}.mcp_file_index_leases l WHERE {OF_NO_JOB}"))?;
        Ok(OrphanCounts { vectors: 0, words: 0, leases })
    }

    fn deleted_files(&mut self) -> Result<u64, Failure> {
        self.0.count("SELECT count(*) FROM {s}.mcp_files WHERE deleted = TRUE")
    }

    /// They belong to no bucket, and come with the first.
    fn keys(&mut self) -> Result<Vec<KeyRecord>, Failure> {
        if self.0.current != 0 {
            return Ok(Vec::new());
        }
        let rows = self.0.rows_of(
            concat!(
                "SELECT name, apikey_hash::text, ",
                micros!("created_at"),
                ", ",
                micros!("revoked_at"),
                " FROM dir2mcp_files.mcp_file_keys ORDER BY created_at, name"
            ),
            &[],
        )?;
        let record = |row: &Row| {
            Some(KeyRecord {
                name: row.get(0),
                tenant: TenantId::from_hex(row.get(1))?,
                created_at: StoreTime(row.get(2)),
                revoked_at: row.get::<_, Option<i64>>(3).map(StoreTime),
            })
        };
        Ok(rows.iter().filter_map(record).collect())
    }
}

const OF_NO_JOB: &str =
    "NOT EXISTS (SELECT 1 FROM {s}.mcp_file_index_jobs j WHERE j.id = l.job_id AND j.status = 'processing')";

/// Mends a store in PostgreSQL, and fills an empty one.
pub struct PostgresMaintenance(Waiting);

impl PostgresMaintenance {
    pub fn open(url: &str) -> Result<PostgresMaintenance, Failure> {
        Ok(PostgresMaintenance(Waiting::open(url)?))
    }

    /// Turns to another bucket.
    pub fn look_at(&mut self, bucket: usize) {
        self.0.current = bucket;
    }

    /// All statements, or none. The rows that the last one changed.
    fn all(&mut self, statements: &[(&str, &[&(dyn ToSql + Sync)])]) -> Result<u64, Failure> {
        let statements: Vec<_> = statements.iter().map(|(sql, with)| (self.0.sql(sql), *with)).collect();
        let client = &mut self.0.connection.client;
        let step = async {
            let transaction = client.transaction().await?;
            let mut changed = 0;
            for (sql, with) in &statements {
                changed = transaction.execute(sql, with).await?;
            }
            transaction.commit().await?;
            Ok::<u64, Error>(changed)
        };
        Ok(self.0.runtime.block_on(step).map_err(DatabaseError::from)?)
    }

    fn remove_chunks(&mut self, key: &FileKey, then: &str) -> Result<u64, Failure> {
        let file: [&(dyn ToSql + Sync); 3] = [&key.tenant, &key.project, &key.path];
        let with: &[&(dyn ToSql + Sync)] = if then.contains("$3") { &file } else { &[] };
        self.all(&[
            ("DELETE FROM {s}.mcp_file_chunks WHERE apikey_hash = $1 AND project = $2 AND file_path = $3", &file),
            ("DELETE FROM {s}.mcp_file_indexed WHERE apikey_hash = $1 AND project = $2 AND file_path = $3", &file),
            (
                "UPDATE {s}.mcp_file_scopes t SET (chunks, tokens) = (SELECT count(*), coalesce(sum(b.token_count), 0) \
                 FROM {s}.mcp_file_chunks c JOIN {s}.mcp_file_chunk_bm25 b ON b.chunk_id = c.id \
                 WHERE c.apikey_hash = t.apikey_hash AND c.project = t.project) \
                 WHERE t.apikey_hash = $1 AND t.project = $2",
                &file[..2],
            ),
            (then, with),
        ])
    }
}

impl StoreMaintenance for PostgresMaintenance {
    fn repair(&mut self, action: &RepairAction) -> Result<u64, Failure> {
        match action {
            RepairAction::Reindex(key) => self.remove_chunks(
                key,
                "INSERT INTO {s}.mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at) \
                 SELECT apikey_hash, project, path, 'UPSERT', updated_at FROM {s}.mcp_files \
                 WHERE apikey_hash = $1 AND project = $2 AND path = $3 AND deleted = FALSE",
            ),
            RepairAction::DeleteChunks(key) => self.remove_chunks(key, "SELECT 1"),
            RepairAction::Remeasure { file } => {
                let rows = self.0.rows("SELECT content FROM {s}.mcp_files WHERE id = $1", &[file])?;
                let Some(row) = rows.first() else { return Ok(0) };
                let hash = blake3::hash(row.get::<_, &[u8]>(0));
                let hash = hash.as_bytes().as_slice();
                self.all(&[
                    ("UPDATE {s}.mcp_files SET size = length(content) WHERE id = $1", &[file]),
                    (
                        "INSERT INTO {s}.mcp_file_hashes (file_id, content_hash) VALUES ($1, $2) \
                         ON CONFLICT (file_id) DO UPDATE SET content_hash = EXCLUDED.content_hash",
                        &[file, &hash],
                    ),
                ])
            }
            RepairAction::RemeasureVersion { version } => {
                let sql = "UPDATE {s}.mcp_file_versions SET size = length(content) WHERE id = $1";
                self.all(&[(sql, &[version])])
            }
            RepairAction::RecountProject { tenant, project } => {
                let sql = "INSERT INTO {s}.mcp_file_projects (apikey_hash, project, files, bytes, changed_at) \
                           SELECT $1::char(64), $2::varchar, count(*), coalesce(sum(length(content)), 0), \
                           coalesce(max(updated_at), now()) FROM {s}.mcp_files \
                           WHERE apikey_hash = $1 AND project = $2 AND deleted = FALSE \
                           ON CONFLICT (apikey_hash, project) DO UPDATE SET files = EXCLUDED.files, bytes = EXCLUDED.bytes";
                self.all(&[(sql, &[tenant, project])])
            }
            RepairAction::RequeueJob { job } => self.all(&[
                ("DELETE FROM {s}.mcp_file_index_leases WHERE job_id = $1", &[job]),
                (
                    "UPDATE {s}.mcp_file_index_jobs SET status = 'pending', retry_count = 0, available_at = now(), \
                     updated_at = now() WHERE id = $1",
                    &[job],
                ),
            ]),
            RepairAction::DeleteOrphanVectors | RepairAction::DeleteOrphanWords => Ok(0),
            RepairAction::DeleteOrphanLeases => {
                self.all(&[(&format!("DELETE FROM {{s}}.mcp_file_index_leases l WHERE {OF_NO_JOB}"), &[])])
            }
        }
    }

    fn load(&mut self, rows: &mut dyn Iterator<Item = Result<LoadedRow, Failure>>) -> Result<(), Failure> {
        if !self.is_empty()? {
            return Err(not_empty());
        }
        self.0.run("BEGIN")?;
        for row in rows {
            self.load_row(row?)?;
        }
        for bucket in 0..self.0.buckets.len() {
            self.0.current = bucket;
            let sums = self.0.sql(
                "INSERT INTO {s}.mcp_file_projects (apikey_hash, project, files, bytes, changed_at) \
                 SELECT apikey_hash, project, count(*), sum(size), max(updated_at) FROM {s}.mcp_files \
                 WHERE deleted = FALSE GROUP BY apikey_hash, project",
            );
            self.0.run(&sums)?;
        }
        self.0.run("COMMIT")
    }

    fn is_empty(&mut self) -> Result<bool, Failure> {
        for bucket in 0..self.0.buckets.len() {
            self.0.current = bucket;
            if !self.0.rows("SELECT 1 FROM {s}.mcp_files LIMIT 1", &[])?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl PostgresMaintenance {
    fn load_row(&mut self, row: LoadedRow) -> Result<(), Failure> {
        const AT: &str = "to_timestamp(0) + $N::bigint * INTERVAL '1 microsecond'";
        let at = |number: usize| AT.replace("$N", &format!("${number}"));
        match row {
            LoadedRow::File { key, content, created_at, updated_at } => {
                self.turn_to(&key);
                let hash = *blake3::hash(&content).as_bytes();
                let size = content.len() as i64;
                let file: [&(dyn ToSql + Sync); 7] =
                    [&key.tenant, &key.project, &key.path, &content, &size, &created_at, &updated_at];
                let sql = format!(
                    "INSERT INTO {{s}}.mcp_files (apikey_hash, project, path, content, size, created_at, updated_at) \
                     VALUES ($1, $2, $3, $4, $5, {}, {}) RETURNING id",
                    at(6),
                    at(7)
                );
                let made = self.0.rows(&sql, &file)?;
                let id: i64 = made.first().map_or(0, |row| row.get(0));
                let sql = "INSERT INTO {s}.mcp_file_hashes (file_id, content_hash) VALUES ($1, $2)";
                self.0.rows(sql, &[&id, &hash.as_slice()])?;
                let sql = format!(
                    "INSERT INTO {{s}}.mcp_file_index_jobs (apikey_hash, project, file_path, operation, file_updated_at) \
                     VALUES ($1, $2, $3, 'UPSERT', {})",
                    at(4)
                );
                self.0.rows(&sql, &[&key.tenant, &key.project, &key.path, &updated_at])?;
            }
            LoadedRow::Version { key, content, created_at } => {
                self.turn_to(&key);
                let sql = format!(
                    "INSERT INTO {{s}}.mcp_file_versions (apikey_hash, project, path, content, size, created_at) \
                     VALUES ($1, $2, $3, $4, $5, {})",
                    at(6)
                );
                let size = content.len() as i64;
                self.0.rows(&sql, &[&key.tenant, &key.project, &key.path, &content, &size, &created_at])?;
            }
            LoadedRow::Key(record) => {
                let sql = format!(
                    "INSERT INTO {SHARED_SCHEMA}.mcp_file_keys (name, apikey_hash, created_at, revoked_at) \
                     VALUES ($1, $2, {}, {}) ON CONFLICT DO NOTHING",
                    at(3),
                    at(4)
                );
                let revoked = record.revoked_at.map(|at| at.0);
                self.0.rows_of(
                    &sql,
                    &[&record.name, &record.tenant.to_hex(), &record.created_at.0, &revoked],
                )?;
            }
        }
        Ok(())
    }

    fn turn_to(&mut self, key: &FileKey) {
        let buckets = self.0.buckets.len() as u32;
        self.0.current =
            TenantId::from_hex(&key.tenant).map_or(0, |tenant| bucket_number(tenant, buckets) as usize);
    }
}
