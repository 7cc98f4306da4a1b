//! Former contents of files.

use model::Failure;
use tokio_postgres::Row;

use super::PostgresStore;
use super::time::to_store_time;
use crate::entry::{FileVersion, VersionContent};
use crate::path::StorePath;
use crate::project::ProjectScope;
use crate::rules;

/// Keeps the contents of the active files in a range of paths; they do not leave the database for it.
pub(super) const SAVE: &str = "INSERT INTO {s}.mcp_file_versions \
     (apikey_hash, project, path, content, size, created_at) \
     SELECT apikey_hash, project, path, content, size, $5::timestamptz FROM {s}.mcp_files \
     WHERE apikey_hash = $1 AND project = $2 AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE ORDER BY id";
pub(super) const VERSION_CONTENT: &str = "SELECT id, size, created_at, content FROM {s}.mcp_file_versions \
     WHERE apikey_hash = $1 AND project = $2 AND path = $3 AND id = $4";
const VERSIONS: &str = "SELECT id, size, created_at FROM {s}.mcp_file_versions \
     WHERE apikey_hash = $1 AND project = $2 AND path = $3 ORDER BY id DESC";

impl PostgresStore {
    pub(super) async fn list_versions(
        &self,
        scope: &ProjectScope,
        path: &StorePath,
    ) -> Result<Vec<FileVersion>, Failure> {
        let (tenant, project, text) = (scope.tenant.to_hex(), scope.project.as_str(), path.as_str());
        let rows = self.read_rows(scope, VERSIONS, &[&tenant, &project, &text]).await?;
        Ok(rows.iter().map(version).collect())
    }

    pub(super) async fn read_version(
        &self,
        scope: &ProjectScope,
        path: &StorePath,
        id: i64,
    ) -> Result<VersionContent, Failure> {
        let (tenant, project, text) = (scope.tenant.to_hex(), scope.project.as_str(), path.as_str());
        let rows = self.read_rows(scope, VERSION_CONTENT, &[&tenant, &project, &text, &id]).await?;
        let row = rows.first().ok_or_else(|| rules::not_found(path))?;
        Ok(VersionContent { version: version(row), bytes: row.get(3) })
    }
}

fn version(row: &Row) -> FileVersion {
    FileVersion { id: row.get(0), size: row.get::<_, i64>(1) as u64, created_at: to_store_time(row.get(2)) }
}
