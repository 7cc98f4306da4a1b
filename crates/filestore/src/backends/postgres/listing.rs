//! Listings: directories are made up by the database, so that only what is shown is sent.

use std::time::SystemTime;

use model::Failure;
use tokio_postgres::Row;

use super::PostgresStore;
use super::time::to_store_time;
use crate::entry::{FileEntry, FileListing};
use crate::listing::listing_of_state;
use crate::path::StorePath;
use crate::project::ProjectScope;
use crate::rules;

/// Every file stands for an entry at each level from the first below the listed path ($5) down to the last one asked for
/// ($6): for itself at its own level, for a directory above.
const ENTRIES: &str = "SELECT entry, bool_or(is_directory), max(size), max(created_at), max(updated_at) FROM (\
     SELECT CASE WHEN level = levels THEN path::text \
       ELSE array_to_string((string_to_array(path, '/'))[1:level + 1], '/') END AS entry, \
       level < levels AS is_directory, size, created_at, updated_at \
     FROM (SELECT path, size, created_at, updated_at, length(path) - length(replace(path, '/', '')) AS levels \
       FROM {s}.mcp_files WHERE apikey_hash = $1 AND project = $2 \
       AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE) files, \
     LATERAL generate_series($5::int, LEAST(levels, $6::int)) AS level) entries \
     GROUP BY entry ORDER BY entry COLLATE \"C\" LIMIT $7";

impl PostgresStore {
    pub(super) async fn list_entries(
        &self,
        scope: &ProjectScope,
        path: &StorePath,
        depth: usize,
        limit: usize,
    ) -> Result<FileListing, Failure> {
        if depth == 0 {
            return self.list_itself(scope, path).await;
        }
        let (tenant, project) = (scope.tenant.to_hex(), scope.project.as_str());
        let (first, end) = path.descendant_range();
        let level = |level: usize| i32::try_from(level).unwrap_or(i32::MAX);
        let (top, bottom) = (level(path.depth() + 1), level(path.depth().saturating_add(depth)));
        // One more than asked tells that there is more.
        let rows = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let found =
            self.read_rows(scope, ENTRIES, &[&tenant, &project, &first, &end, &top, &bottom, &rows]).await?;
        if found.is_empty() && !path.is_root() {
            // A file is its own listing, as `ls` has it.
            return self.list_itself(scope, path).await;
        }
        let entries = found.iter().take(limit).map(entry).collect::<Result<_, Failure>>()?;
        Ok(FileListing { entries, has_more: found.len() > limit })
    }

    async fn list_itself(&self, scope: &ProjectScope, path: &StorePath) -> Result<FileListing, Failure> {
        let state = self.stat_path(scope, path).await?;
        listing_of_state(path, state).ok_or_else(|| rules::not_found(path))
    }
}

fn entry(row: &Row) -> Result<FileEntry, Failure> {
    let is_directory: bool = row.get(1);
    Ok(FileEntry {
        path: StorePath::parse(row.get(0))?,
        created_at: (!is_directory).then(|| to_store_time(row.get::<_, SystemTime>(3))),
        updated_at: Some(to_store_time(row.get::<_, SystemTime>(4))),
        size: if is_directory { 0 } else { row.get::<_, i64>(2) as u64 },
        is_directory,
    })
}
