//! Reading: what is at a path, its bytes, and what is below it.

use model::{ContentHash, TenantId};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::fault::WorkResult;
use crate::entry::{FileListing, FileSlice, PathState, ProjectSummary, StoreTime};
use crate::listing::{ListingScan, ScanRange, StoredFileRow, listing_of_state};
use crate::path::StorePath;
use crate::project::{ProjectName, ProjectScope};
use crate::rules;

/// A tenant and a project as the tables have them: the first two columns of every key.
pub(super) struct ScopeColumns {
    pub(super) tenant: String,
    pub(super) project: String,
}

impl ScopeColumns {
    pub(super) fn of(scope: &ProjectScope) -> ScopeColumns {
        ScopeColumns { tenant: scope.tenant.to_hex(), project: scope.project.as_str().to_owned() }
    }
}

pub(super) fn stat(conn: &Connection, scope: &ScopeColumns, path: &StorePath) -> WorkResult<PathState> {
    let found = conn
        .prepare_cached(
            "SELECT size, created_at, updated_at, content_hash FROM mcp_files JOIN mcp_file_hashes ON file_id = id
             WHERE apikey_hash = ?1 AND project = ?2 AND path = ?3 AND deleted = 0",
        )?
        .query_row(params![scope.tenant, scope.project, path.as_str()], |row| {
            Ok(PathState::File {
                size: unsigned(row, 0)?,
                created_at: StoreTime(row.get(1)?),
                updated_at: StoreTime(row.get(2)?),
                content_hash: ContentHash(row.get(3)?),
            })
        })
        .optional()?;
    if let Some(file) = found {
        return Ok(file);
    }
    Ok(match newest_below(conn, scope, path)? {
        None if !path.is_root() => PathState::Nothing,
        updated_at => PathState::Directory { updated_at },
    })
}

pub(super) fn read(
    conn: &Connection,
    scope: &ScopeColumns,
    path: &StorePath,
    offset: u64,
    length: Option<u64>,
) -> WorkResult<FileSlice> {
    let longest = i64::from(i32::MAX);
    // SQLite counts from 1, and longer than its longest value nothing can be.
    let first = i64::try_from(offset).unwrap_or(longest).min(longest) + 1;
    let length = length.map_or(longest, |length| i64::try_from(length).unwrap_or(longest).min(longest));
    // Of an empty value SQLite makes no part, but NULL.
    let found = conn
        .prepare_cached(
            "SELECT coalesce(substr(content, ?4, ?5), x''), size, updated_at, content_hash
             FROM mcp_files JOIN mcp_file_hashes ON file_id = id
             WHERE apikey_hash = ?1 AND project = ?2 AND path = ?3 AND deleted = 0",
        )?
        .query_row(params![scope.tenant, scope.project, path.as_str(), first, length], |row| {
            Ok(FileSlice {
                bytes: row.get(0)?,
                size: unsigned(row, 1)?,
                updated_at: StoreTime(row.get(2)?),
                content_hash: ContentHash(row.get(3)?),
            })
        })
        .optional()?;
    match found {
        Some(slice) => Ok(slice),
        None if path.is_root() || has_descendants(conn, scope, path)? => {
            Err(rules::is_directory(path).into())
        }
        None => Err(rules::not_found(path).into()),
    }
}

pub(super) fn list(
    conn: &Connection,
    scope: &ScopeColumns,
    path: &StorePath,
    depth: usize,
    limit: usize,
) -> WorkResult<FileListing> {
    if depth == 0 {
        let state = stat(conn, scope, path)?;
        return listing_of_state(path, state).ok_or_else(|| rules::not_found(path).into());
    }
    let mut scan = ListingScan::new(path, depth, limit);
    while let Some(range) = scan.next_range() {
        scan.take(files_in(conn, scope, &range)?);
    }
    let mut listing = scan.into_listing()?;
    for entry in listing.entries.iter_mut().filter(|entry| entry.is_directory) {
        entry.updated_at = newest_below(conn, scope, &entry.path)?;
    }
    if listing.entries.is_empty() && !path.is_root() {
        // A file is its own listing, as `ls` has it.
        let state = stat(conn, scope, path)?;
        return listing_of_state(path, state).ok_or_else(|| rules::not_found(path).into());
    }
    Ok(listing)
}

pub(super) fn projects(conn: &Connection, tenant: TenantId) -> WorkResult<Vec<ProjectSummary>> {
    let mut statement = conn.prepare_cached(
        "SELECT project, files, bytes,
                (SELECT max(updated_at) FROM mcp_files AS file
                 WHERE file.apikey_hash = ?1 AND file.project = listed.project AND deleted = 0)
         FROM mcp_file_projects AS listed WHERE apikey_hash = ?1 AND files > 0 ORDER BY project",
    )?;
    let rows = statement.query_map([tenant.to_hex()], |row| {
        let name: String = row.get(0)?;
        Ok((name, unsigned(row, 1)?, unsigned(row, 2)?, row.get::<_, Option<i64>>(3)?))
    })?;
    rows.map(|row| {
        let (name, files, bytes, updated_at) = row?;
        let project = ProjectName::parse(&name)?;
        Ok(ProjectSummary { project, files, bytes, updated_at: updated_at.map(StoreTime) })
    })
    .collect()
}

pub(super) fn has_descendants(conn: &Connection, scope: &ScopeColumns, path: &StorePath) -> WorkResult<bool> {
    let (first, end) = path.descendant_range();
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM mcp_files
             WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND deleted = 0 LIMIT 1",
        )?
        .exists(params![scope.tenant, scope.project, first, end])?)
}

pub(super) fn is_file(conn: &Connection, scope: &ScopeColumns, path: &StorePath) -> WorkResult<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM mcp_files WHERE apikey_hash = ?1 AND project = ?2 AND path = ?3 AND deleted = 0",
        )?
        .exists(params![scope.tenant, scope.project, path.as_str()])?)
}

/// The directory above a path that is a file.
pub(super) fn parent_file(
    conn: &Connection,
    scope: &ScopeColumns,
    path: &StorePath,
) -> WorkResult<Option<StorePath>> {
    for parent in path.ancestors() {
        if is_file(conn, scope, &parent)? {
            return Ok(Some(parent));
        }
    }
    Ok(None)
}

/// All active files below a path.
pub(super) fn paths_below(
    conn: &Connection,
    scope: &ScopeColumns,
    path: &StorePath,
) -> WorkResult<Vec<StorePath>> {
    let (first, end) = path.descendant_range();
    let mut statement = conn.prepare_cached(
        "SELECT path FROM mcp_files
         WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND deleted = 0 ORDER BY path",
    )?;
    let rows = statement
        .query_map(params![scope.tenant, scope.project, first, end], |row| row.get::<_, String>(0))?;
    rows.map(|row| Ok(StorePath::parse(&row?)?)).collect()
}

fn newest_below(conn: &Connection, scope: &ScopeColumns, path: &StorePath) -> WorkResult<Option<StoreTime>> {
    let (first, end) = path.descendant_range();
    let newest: Option<i64> = conn
        .prepare_cached(
            "SELECT max(updated_at) FROM mcp_files INDEXED BY idx_mcp_files_prefix
             WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND deleted = 0",
        )?
        .query_row(params![scope.tenant, scope.project, first, end], |row| row.get(0))?;
    Ok(newest.map(StoreTime))
}

fn files_in(conn: &Connection, scope: &ScopeColumns, range: &ScanRange) -> WorkResult<Vec<StoredFileRow>> {
    let mut statement = conn.prepare_cached(
        "SELECT path, size, created_at, updated_at FROM mcp_files
         WHERE apikey_hash = :tenant AND project = :project AND path >= :from AND path < :end AND deleted = 0
         ORDER BY path LIMIT :rows",
    )?;
    let rows = i64::try_from(range.rows).unwrap_or(i64::MAX);
    let parameters = named_params! {
        ":tenant": scope.tenant, ":project": scope.project, ":from": range.from, ":end": range.end, ":rows": rows,
    };
    let listed = |row: &Row| {
        Ok(StoredFileRow {
            path: row.get(0)?,
            size: unsigned(row, 1)?,
            created_at: StoreTime(row.get(2)?),
            updated_at: StoreTime(row.get(3)?),
        })
    };
    let files = statement.query_map(parameters, listed)?.collect::<rusqlite::Result<Vec<StoredFileRow>>>();
    Ok(files?)
}

/// A size or a count, which is never negative.
pub(super) fn unsigned(row: &Row, column: usize) -> rusqlite::Result<u64> {
    row.get(column).map(|number: i64| number.max(0).unsigned_abs())
}
