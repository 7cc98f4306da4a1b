//! Reading: what is at a path, its bytes, and a tenant's projects.

use std::time::{Duration, SystemTime};

use model::{Failure, TenantId};
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::bucket::Bucket;
use super::failure::DatabaseError;
use super::pool::PooledConnection;
use super::time::to_store_time;
use super::write::content_hash;
use crate::entry::{FileSlice, PathState, ProjectSummary};
use crate::path::StorePath;
use crate::project::{ProjectName, ProjectScope};
use crate::rules;

pub(super) const HAS_FILES: &str = "SELECT 1 FROM {s}.mcp_files \
     WHERE apikey_hash = $1 AND project = $2 AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE LIMIT 1";
const STAT: &str = "SELECT f.size, f.created_at, f.updated_at, h.content_hash FROM {s}.mcp_files f \
     JOIN {s}.mcp_file_hashes h ON h.file_id = f.id \
     WHERE f.apikey_hash = $1 AND f.project = $2 AND f.path = $3 AND f.deleted = FALSE";
const NEWEST_BELOW: &str = "SELECT max(updated_at) FROM {s}.mcp_files \
     WHERE apikey_hash = $1 AND project = $2 AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE";
const READ: &str = "SELECT substring(f.content FROM $4 FOR $5), f.size, f.updated_at, h.content_hash \
     FROM {s}.mcp_files f JOIN {s}.mcp_file_hashes h ON h.file_id = f.id \
     WHERE f.apikey_hash = $1 AND f.project = $2 AND f.path = $3 AND f.deleted = FALSE";
const PROJECTS: &str = "SELECT p.project, p.files, p.bytes, (SELECT max(f.updated_at) FROM {s}.mcp_files f \
     WHERE f.apikey_hash = p.apikey_hash AND f.project = p.project AND f.deleted = FALSE) \
     FROM {s}.mcp_file_projects p WHERE p.apikey_hash = $1 AND p.files > 0 ORDER BY p.project COLLATE \"C\"";

impl PostgresStore {
    pub(super) async fn stat_path(
        &self,
        scope: &ProjectScope,
        path: &StorePath,
    ) -> Result<PathState, Failure> {
        let (tenant, project, text) = (scope.tenant.to_hex(), scope.project.as_str(), path.as_str());
        let found = self.read_rows(scope, STAT, &[&tenant, &project, &text]).await?;
        if let Some(row) = found.first() {
            return Ok(PathState::File {
                size: row.get::<_, i64>(0) as u64,
                created_at: to_store_time(row.get(1)),
                updated_at: to_store_time(row.get(2)),
                content_hash: content_hash(row.get(3)).ok_or_else(damaged)?,
            });
        }
        let (first, end) = path.descendant_range();
        let newest = self.read_rows(scope, NEWEST_BELOW, &[&tenant, &project, &first, &end]).await?;
        let newest: Option<SystemTime> = newest.first().and_then(|row| row.get(0));
        Ok(match newest {
            None if !path.is_root() => PathState::Nothing,
            updated_at => PathState::Directory { updated_at: updated_at.map(to_store_time) },
        })
    }

    pub(super) async fn read_slice(
        &self,
        scope: &ProjectScope,
        path: &StorePath,
        offset: u64,
        length: Option<u64>,
    ) -> Result<FileSlice, Failure> {
        let (tenant, project, text) = (scope.tenant.to_hex(), scope.project.as_str(), path.as_str());
        // PostgreSQL counts from 1, and no value is longer than its longest number of bytes.
        let first = i32::try_from(offset).unwrap_or(i32::MAX).min(i32::MAX - 1) + 1;
        let length = i32::try_from(length.unwrap_or(u64::MAX)).unwrap_or(i32::MAX);
        let found = self.read_rows(scope, READ, &[&tenant, &project, &text, &first, &length]).await?;
        if let Some(row) = found.first() {
            return Ok(FileSlice {
                bytes: row.get(0),
                size: row.get::<_, i64>(1) as u64,
                updated_at: to_store_time(row.get(2)),
                content_hash: content_hash(row.get(3)).ok_or_else(damaged)?,
            });
        }
        let (first, end) = path.descendant_range();
        let below = self.read_rows(scope, HAS_FILES, &[&tenant, &project, &first, &end]).await?;
        let is_directory = path.is_root() || !below.is_empty();
        Err(if is_directory { rules::is_directory(path) } else { rules::not_found(path) })
    }

    pub(super) async fn list_projects(&self, tenant: TenantId) -> Result<Vec<ProjectSummary>, Failure> {
        // The projects of a tenant change with any of them: the primary knows.
        let bucket = self.bucket(tenant);
        let connection = self.connection(super::READ_PATIENCE).await?;
        let rows = self.rows_on(connection, bucket, PROJECTS, &[&tenant.to_hex()]).await?;
        let summary = |row: &Row| {
            Ok(ProjectSummary {
                project: ProjectName::parse(row.get(0))?,
                files: row.get::<_, i64>(1) as u64,
                bytes: row.get::<_, i64>(2) as u64,
                updated_at: row.get::<_, Option<SystemTime>>(3).map(to_store_time),
            })
        };
        rows.iter().map(summary).collect()
    }

    /// Rows of a project, from the replica if there is one that will do. A connection that turns out to be dead is replaced
    /// once, so that a restart of the database between two calls is not seen.
    pub(crate) async fn read_rows(
        &self,
        scope: &ProjectScope,
        template: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let bucket = self.bucket(scope.tenant);
        let connection = self.reading(scope).await?;
        match self.rows_on(connection, bucket, template, parameters).await {
            Err(DatabaseError::Unreachable(_)) => {
                let connection = self.connection(super::READ_PATIENCE).await?;
                Ok(self.rows_on(connection, bucket, template, parameters).await?)
            }
            result => Ok(result?),
        }
    }

    pub(crate) async fn rows_on(
        &self,
        mut connection: PooledConnection,
        bucket: &Bucket,
        template: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, DatabaseError> {
        let asking = async {
            let statement = connection.prepare(bucket, template).await?;
            connection.client.query(&statement, parameters).await
        };
        let silence = self.options.statement_timeout + Duration::from_secs(5);
        match timeout(silence, asking).await {
            Ok(rows) => Ok(rows?),
            Err(_) => {
                connection.discard();
                Err(DatabaseError::Unreachable("no answer".into()))
            }
        }
    }
}

/// The range of paths that holds one path only: no character of a path sorts before the one behind it here.
pub(super) fn single_file_range(path: &StorePath) -> (String, String) {
    (path.as_str().to_owned(), format!("{}\u{1}", path.as_str()))
}

pub(super) fn damaged() -> Failure {
    Failure::new(model::ErrorCode::StoreCorrupt, "a digest of the store has another length than digests have")
}
