//! Changing: each change is one savepoint that gathers facts, lets the rules decide, and leaves rows, former contents,
//! index jobs and its outcome behind, or nothing.

use model::ContentHash;
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::WorkResult;
use super::files::{self, ScopeColumns};
use super::versions;
use crate::entry::StoreTime;
use crate::guard::{MutationOutcome, RequestDigest, check_guard, reused_key};
use crate::limits::StoreLimits;
use crate::mutation::{
    DeleteRequest, MutationGuard, MutationKey, RenameRequest, RestoreRequest, WriteMode, WriteOutcome,
    WriteRequest,
};
use crate::path::StorePath;
use crate::quota::check_tenant_quota;
use crate::rules::{self, DeleteFacts, DeletePlan, RenameFacts, WriteFacts};

/// A change of one project under way.
pub(super) struct ProjectChange<'a> {
    conn: &'a Connection,
    scope: &'a ScopeColumns,
    limits: &'a StoreLimits,
    /// When the change happens: later than every change of the project before, whatever the clock says.
    now: StoreTime,
    files: i64,
    bytes: i64,
}

/// The active file at a path.
struct Present {
    id: i64,
    content_hash: ContentHash,
}

impl<'a> ProjectChange<'a> {
    pub(super) fn begin(
        conn: &'a Connection,
        scope: &'a ScopeColumns,
        limits: &'a StoreLimits,
        clock: StoreTime,
    ) -> WorkResult<ProjectChange<'a>> {
        let known = conn
            .prepare_cached(
                "SELECT files, bytes, changed_at FROM mcp_file_projects WHERE apikey_hash = ?1 AND project = ?2",
            )?
            .query_row(params![scope.tenant, scope.project], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?))
            })
            .optional()?;
        let (files, bytes, changed_at) = known.unwrap_or((0, 0, i64::MIN));
        let now = StoreTime(clock.0.max(changed_at.saturating_add(1)));
        Ok(ProjectChange { conn, scope, limits, now, files, bytes })
    }

    pub(super) fn write(mut self, request: &WriteRequest) -> WorkResult<WriteOutcome> {
        let digest = RequestDigest::of_write(request);
        if let Some(outcome) = self.remembered(&request.guard, &digest)? {
            return Ok(outcome.into_written()?);
        }
        let outcome = self.put(request, self.limits)?;
        self.finish(&request.guard, &digest, MutationOutcome::Written(outcome.clone()))?;
        Ok(outcome)
    }

    pub(super) fn restore(mut self, request: &RestoreRequest) -> WorkResult<WriteOutcome> {
        let digest = RequestDigest::of_restore(request);
        if let Some(outcome) = self.remembered(&request.guard, &digest)? {
            return Ok(outcome.into_written()?);
        }
        let version = versions::content(self.conn, self.scope, &request.path, request.version)?;
        let write = WriteRequest {
            path: request.path.clone(),
            content: version.bytes,
            mode: WriteMode::Truncate,
            offset: 0,
            guard: request.guard.clone(),
        };
        // It was not sent, so that only the limits of what is stored apply.
        let limits = StoreLimits { max_payload_bytes: u64::MAX, ..self.limits.clone() };
        let outcome = self.put(&write, &limits)?;
        self.finish(&request.guard, &digest, MutationOutcome::Written(outcome.clone()))?;
        Ok(outcome)
    }

    pub(super) fn delete(mut self, request: &DeleteRequest) -> WorkResult<u64> {
        let digest = RequestDigest::of_delete(request);
        if let Some(outcome) = self.remembered(&request.guard, &digest)? {
            return Ok(outcome.into_count()?);
        }
        let present = self.present(&request.path)?;
        self.check(&request.guard, present.as_ref(), present.is_none())?;
        let is_file = present.is_some();
        let has_descendants = !is_file && files::has_descendants(self.conn, self.scope, &request.path)?;
        let plan = rules::plan_delete(self.limits, request, DeleteFacts { is_file, has_descendants })?;
        let (first, end) = match plan {
            DeletePlan::TheFile => only(&request.path),
            DeletePlan::Descendants => request.path.descendant_range(),
        };
        self.add_jobs("DELETE", (&first, &end))?;
        let count = self.remove((&first, &end))?;
        self.finish(&request.guard, &digest, MutationOutcome::Counted(count))?;
        Ok(count)
    }

    pub(super) fn rename(mut self, request: &RenameRequest) -> WorkResult<u64> {
        let digest = RequestDigest::of_rename(request);
        if let Some(outcome) = self.remembered(&request.guard, &digest)? {
            return Ok(outcome.into_count()?);
        }
        let (conn, scope, from, to) = (self.conn, self.scope, &request.from, &request.to);
        let present = self.present(from)?;
        let destination_is_file = files::is_file(conn, scope, to)?;
        self.check(&request.guard, present.as_ref(), !destination_is_file)?;
        let source_is_file = present.is_some();
        let facts = RenameFacts {
            source_is_file,
            source_files: if source_is_file { Vec::new() } else { files::paths_below(conn, scope, from)? },
            destination_is_file,
            destination_has_descendants: files::has_descendants(conn, scope, to)?,
            destination_parent_file: files::parent_file(conn, scope, to)?,
        };
        let plan = rules::plan_rename(request, &facts)?;
        if let Some(replaced) = &plan.replaced {
            let (first, end) = only(replaced);
            self.remove((&first, &end))?;
        }
        let (first, end) = if source_is_file { only(from) } else { from.descendant_range() };
        self.add_jobs("DELETE", (&first, &end))?;
        versions::rename(conn, scope, (&first, &end), from, to)?;
        self.relocate((&first, &end), from, to)?;
        let (first, end) = if source_is_file { only(to) } else { to.descendant_range() };
        self.add_jobs("UPSERT", (&first, &end))?;
        versions::prune(conn, scope, (&first, &end), self.limits, self.now)?;
        let count = plan.moves.len() as u64;
        self.finish(&request.guard, &digest, MutationOutcome::Counted(count))?;
        Ok(count)
    }

    /// Makes a file have the content that the rules give it.
    fn put(&mut self, request: &WriteRequest, limits: &StoreLimits) -> WorkResult<WriteOutcome> {
        let path = &request.path;
        let present = self.present(path)?;
        self.check(&request.guard, present.as_ref(), present.is_none())?;
        let current: Option<Vec<u8>> = match &present {
            Some(present) => Some(
                self.conn
                    .prepare_cached("SELECT content FROM mcp_files WHERE id = ?1")?
                    .query_row([present.id], |row| row.get(0))?,
            ),
            None => None,
        };
        let facts = WriteFacts {
            current: current.as_deref(),
            // Where there is a file, nothing is below it and no file above.
            has_descendants: present.is_none() && files::has_descendants(self.conn, self.scope, path)?,
            parent_file: match present {
                Some(_) => None,
                None => files::parent_file(self.conn, self.scope, path)?,
            },
            project_bytes: u64::try_from(self.bytes).unwrap_or_default(),
        };
        let content = rules::plan_write(limits, request, &facts)?;
        if limits.needs_tenant_bytes() {
            let sql = "SELECT coalesce(sum(bytes), 0) FROM mcp_file_projects WHERE apikey_hash = ?1";
            let kept: i64 =
                self.conn.prepare_cached(sql)?.query_row([&self.scope.tenant], |row| row.get(0))?;
            let before = current.as_ref().map_or(0, Vec::len) as u64;
            check_tenant_quota(
                limits,
                u64::try_from(kept).unwrap_or_default(),
                before,
                content.len() as u64,
            )?;
        }
        let content_hash = ContentHash(*blake3::hash(&content).as_bytes());
        let size = content.len() as i64;
        let (first, end) = only(path);
        match &present {
            Some(present) => {
                if present.content_hash != content_hash {
                    versions::save(self.conn, self.scope, (&first, &end), self.limits, self.now)?;
                }
                self.conn
                    .prepare_cached(
                        "UPDATE mcp_files SET content = ?2, size = ?3, updated_at = ?4 WHERE id = ?1",
                    )?
                    .execute(params![present.id, content, size, self.now.0])?;
                self.set_hash(present.id, content_hash)?;
                self.bytes += size - current.map_or(0, |current| current.len() as i64);
            }
            None => {
                let id = self
                    .conn
                    .prepare_cached(
                        "INSERT INTO mcp_files (apikey_hash, project, path, size, created_at, updated_at, content)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)",
                    )?
                    .insert(params![
                        self.scope.tenant,
                        self.scope.project,
                        path.as_str(),
                        size,
                        self.now.0,
                        content
                    ])?;
                self.set_hash(id, content_hash)?;
                self.files += 1;
                self.bytes += size;
            }
        }
        self.add_jobs("UPSERT", (&first, &end))?;
        Ok(WriteOutcome {
            bytes_written: request.content.len() as u64,
            size: content.len() as u64,
            updated_at: self.now,
            content_hash,
            is_new: present.is_none(),
        })
    }

    /// Deletes the active files of a range, and keeps their contents. How many there were.
    fn remove(&mut self, (first, end): (&str, &str)) -> WorkResult<u64> {
        let scope = self.scope;
        versions::save(self.conn, scope, (first, end), self.limits, self.now)?;
        let range = params![scope.tenant, scope.project, first, end];
        let (count, bytes): (i64, i64) = self
            .conn
            .prepare_cached(
                "SELECT count(*), coalesce(sum(size), 0) FROM mcp_files
                 WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND deleted = 0",
            )?
            .query_row(range, |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.conn
            .prepare_cached(
                "DELETE FROM mcp_file_hashes WHERE file_id IN (SELECT id FROM mcp_files
                 WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND deleted = 0)",
            )?
            .execute(range)?;
        self.conn
            .prepare_cached(
                "UPDATE mcp_files SET deleted = 1, deleted_at = ?5
                 WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND deleted = 0",
            )?
            .execute(params![scope.tenant, scope.project, first, end, self.now.0])?;
        self.files -= count;
        self.bytes -= bytes;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    fn relocate(&self, (first, end): (&str, &str), from: &StorePath, to: &StorePath) -> WorkResult<()> {
        let kept = i64::try_from(from.as_str().len()).unwrap_or(i64::MAX) + 1;
        self.conn
            .prepare_cached(
                "UPDATE mcp_files SET path = ?5 || substr(path, ?6), updated_at = ?7
                 WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND deleted = 0",
            )?
            .execute(params![
                self.scope.tenant,
                self.scope.project,
                first,
                end,
                to.as_str(),
                kept,
                self.now.0
            ])?;
        Ok(())
    }

    /// One for each active file of a range.
    fn add_jobs(&self, operation: &str, (first, end): (&str, &str)) -> WorkResult<()> {
        self.conn
            .prepare_cached(
                "INSERT INTO mcp_file_index_jobs
                     (apikey_hash, project, file_path, operation, file_updated_at, available_at, created_at, updated_at)
                 SELECT apikey_hash, project, path, ?5, ?6, ?6, ?6, ?6 FROM mcp_files
                 WHERE apikey_hash = ?1 AND project = ?2 AND path >= ?3 AND path < ?4 AND deleted = 0
                 ORDER BY path",
            )?
            .execute(params![
                self.scope.tenant,
                self.scope.project,
                first,
                end,
                operation,
                self.now.0
            ])?;
        Ok(())
    }

    fn present(&self, path: &StorePath) -> WorkResult<Option<Present>> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT id, content_hash FROM mcp_files JOIN mcp_file_hashes ON file_id = id
                 WHERE apikey_hash = ?1 AND project = ?2 AND path = ?3 AND deleted = 0",
            )?
            .query_row(params![self.scope.tenant, self.scope.project, path.as_str()], |row| {
                Ok(Present { id: row.get(0)?, content_hash: ContentHash(row.get(1)?) })
            })
            .optional()?)
    }

    fn check(&self, guard: &MutationGuard, present: Option<&Present>, would_be_new: bool) -> WorkResult<()> {
        Ok(check_guard(guard, present.map(|present| present.content_hash), would_be_new)?)
    }

    fn set_hash(&self, file: i64, hash: ContentHash) -> WorkResult<()> {
        self.conn
            .prepare_cached("INSERT OR REPLACE INTO mcp_file_hashes (file_id, content_hash) VALUES (?1, ?2)")?
            .execute(params![file, hash.0])?;
        Ok(())
    }

    /// The outcome of a change that was made under the same key before.
    fn remembered(
        &self,
        guard: &MutationGuard,
        digest: &RequestDigest,
    ) -> WorkResult<Option<MutationOutcome>> {
        let Some(MutationKey(key)) = &guard.key else { return Ok(None) };
        let found = self
            .conn
            .prepare_cached(
                "SELECT request_digest, outcome FROM mcp_file_mutations
                 WHERE apikey_hash = ?1 AND project = ?2 AND mutation_key = ?3",
            )?
            .query_row(params![self.scope.tenant, self.scope.project, key], |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?))
            })
            .optional()?;
        let Some((stored, outcome)) = found else { return Ok(None) };
        if stored != digest.as_bytes() {
            return Err(reused_key().into());
        }
        let outcome =
            serde_json::from_str(&outcome).ok().and_then(|value| MutationOutcome::from_json(&value));
        outcome.map(Some).ok_or_else(|| reused_key().into())
    }

    /// Keeps the totals of the project, and the outcome under its key.
    fn finish(
        self,
        guard: &MutationGuard,
        digest: &RequestDigest,
        outcome: MutationOutcome,
    ) -> WorkResult<()> {
        let scope = self.scope;
        self.conn
            .prepare_cached(
                "INSERT INTO mcp_file_projects (apikey_hash, project, files, bytes, changed_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE SET files = ?3, bytes = ?4, changed_at = ?5",
            )?
            .execute(params![scope.tenant, scope.project, self.files, self.bytes, self.now.0])?;
        if let Some(MutationKey(key)) = &guard.key {
            self.conn
                .prepare_cached(
                    "INSERT INTO mcp_file_mutations
                         (apikey_hash, project, mutation_key, request_digest, outcome, created_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![
                    scope.tenant,
                    scope.project,
                    key,
                    digest.as_bytes(),
                    outcome.to_json().to_string(),
                    self.now.0
                ])?;
        }
        Ok(())
    }
}

/// Removes for good what the limits do not keep. How many rows went.
pub(super) fn purge(conn: &Connection, limits: &StoreLimits, now: StoreTime) -> WorkResult<u64> {
    let deleted_before = versions::before(now, limits.delete_retention).0;
    let mut count = conn
        .prepare_cached("DELETE FROM mcp_files WHERE deleted = 1 AND deleted_at <= ?1")?
        .execute([deleted_before])?;
    for sql in
        ["DELETE FROM mcp_file_mutations WHERE created_at <= ?1", "DELETE FROM mcp_file_calls WHERE at <= ?1"]
    {
        count += conn.prepare_cached(sql)?.execute([deleted_before])?;
    }
    count += versions::prune_all(conn, limits, now)?;
    Ok(count as u64)
}

/// The range of paths that holds one path: no character of a path sorts before the one behind it here.
fn only(path: &StorePath) -> (String, String) {
    (path.as_str().to_owned(), format!("{}\u{1}", path.as_str()))
}
