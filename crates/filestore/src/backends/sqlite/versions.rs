//! Former contents: saved before a content is replaced or deleted, found again by path, forgotten in time.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::WorkResult;
use super::files::{ScopeColumns, unsigned};
use crate::entry::{FileVersion, StoreTime, VersionContent};
use crate::limits::StoreLimits;
use crate::path::StorePath;
use crate::rules;

/// Newest first.
pub(super) fn list(
    conn: &Connection,
    scope: &ScopeColumns,
    path: &StorePath,
) -> WorkResult<Vec<FileVersion>> {
    let mut statement = conn.prepare_cached(
        "SELECT id, size, created_at FROM mcp_file_versions
         WHERE apikey_hash = ?1 AND project = ?2 AND path = ?3 ORDER BY id DESC",
    )?;
    let rows = statement.query_map(params![scope.tenant, scope.project, path.as_str()], version)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn content(
    conn: &Connection,
    scope: &ScopeColumns,
    path: &StorePath,
    id: i64,
) -> WorkResult<VersionContent> {
    conn.prepare_cached(
        "SELECT id, size, created_at, content FROM mcp_file_versions
         WHERE id = ?4 AND apikey_hash = ?1 AND project = ?2 AND path = ?3",
    )?
    .query_row(params![scope.tenant, scope.project, path.as_str(), id], |row| {
        Ok(VersionContent { version: version(row)?, bytes: row.get(3)? })
    })
    .optional()?
    .ok_or_else(|| rules::not_found(path).into())
}

/// Saves the contents of the active files in a range of paths, and forgets what they have too many of.
pub(super) fn save(
    conn: &Connection,
    scope: &ScopeColumns,
    (first, end): (&str, &str),
    limits: &StoreLimits,
    now: StoreTime,
) -> WorkResult<()> {
    conn.prepare_cached(
        "INSERT INTO mcp_file_versions (apikey_hash, project, path, size, created_at, content)
         SELECT apikey_hash, project, path, size, ?5, content FROM mcp_files
         WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND deleted = 0",
    )?
    .execute(params![scope.tenant, scope.project, first, end, now.0])?;
    prune(conn, scope, (first, end), limits, now)
}

/// The histories of the active files in a range of paths go to other paths along with them.
pub(super) fn rename(
    conn: &Connection,
    scope: &ScopeColumns,
    (first, end): (&str, &str),
    from: &StorePath,
    to: &StorePath,
) -> WorkResult<()> {
    let kept = i64::try_from(from.as_str().len()).unwrap_or(i64::MAX) + 1;
    conn.prepare_cached(
        "UPDATE mcp_file_versions SET path = ?5 || substr(path, ?6)
         WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND path IN (
             SELECT path FROM mcp_files
             WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND deleted = 0)",
    )?
    .execute(params![scope.tenant, scope.project, first, end, to.as_str(), kept])?;
    Ok(())
}

/// Forgets what is neither among the newest of its path nor young.
pub(super) fn prune(
    conn: &Connection,
    scope: &ScopeColumns,
    (first, end): (&str, &str),
    limits: &StoreLimits,
    now: StoreTime,
) -> WorkResult<()> {
    conn.prepare_cached(
        "DELETE FROM mcp_file_versions WHERE id IN (
             SELECT id FROM (
                 SELECT id, created_at, row_number() OVER (PARTITION BY path ORDER BY id DESC) AS age
                 FROM mcp_file_versions
                 WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4)
             WHERE age > ?5 AND created_at <= ?6)",
    )?
    .execute(params![
        scope.tenant,
        scope.project,
        first,
        end,
        i64::try_from(limits.versions_kept).unwrap_or(i64::MAX),
        before(now, limits.version_retention).0,
    ])?;
    Ok(())
}

/// The same for all tenants. How many went.
pub(super) fn prune_all(conn: &Connection, limits: &StoreLimits, now: StoreTime) -> WorkResult<usize> {
    Ok(conn
        .prepare_cached(
            "DELETE FROM mcp_file_versions WHERE id IN (
                 SELECT id FROM (
                     SELECT id, created_at,
                            row_number() OVER (PARTITION BY apikey_hash, project, path ORDER BY id DESC) AS age
                     FROM mcp_file_versions)
                 WHERE age > ?1 AND created_at <= ?2)",
        )?
        .execute(params![
            i64::try_from(limits.versions_kept).unwrap_or(i64::MAX),
            before(now, limits.version_retention).0,
        ])?)
}

pub(super) fn before(now: StoreTime, age: Duration) -> StoreTime {
    StoreTime(now.0.saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX)))
}

fn version(row: &Row) -> rusqlite::Result<FileVersion> {
    Ok(FileVersion { id: row.get(0)?, size: unsigned(row, 1)?, created_at: StoreTime(row.get(2)?) })
}
