//! Published projects in SQLite.

use model::{ContentHash, ErrorCode, Failure, TenantId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteStore;
use super::fault::WorkResult;
use crate::backend::BackendFuture;
use crate::entry::StoreTime;
use crate::project::{ProjectName, ProjectScope};
use crate::publication::{
    ManifestEntry, PublicationBackend, PublicationCursor, PublicationHead, PublishedBody, PublishedChange,
    PublishedRow, Publisher, held_by, lease_micros, lost, new_epoch, newer, tombstone_micros,
};

const HEAD: &str = "SELECT epoch, format, revision, floor, is_complete, finished_at, publisher, publisher_name, \
     lease_until, project FROM mcp_published_projects WHERE apikey_hash = ?1";

impl PublicationBackend for SqliteStore {
    fn published(&self, tenant: TenantId) -> BackendFuture<'_, Vec<(ProjectName, PublicationHead)>> {
        Box::pin(self.read(move |conn| {
            let mut statement = conn.prepare_cached(&format!("{HEAD} ORDER BY project"))?;
            let rows =
                statement.query_map([tenant.to_hex()], |row| Ok((row.get::<_, String>(9)?, head(row)?)))?;
            let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            rows.into_iter().map(|(name, head)| Ok((ProjectName::parse(&name)?, head))).collect()
        }))
    }

    fn publication<'a>(&'a self, scope: &'a ProjectScope) -> BackendFuture<'a, Option<PublicationHead>> {
        let scope = scope.clone();
        Box::pin(self.read(move |conn| head_of(conn, &scope)))
    }

    fn begin_publication<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
        format: u32,
    ) -> BackendFuture<'a, PublicationHead> {
        let (settings, publisher) = (self.settings.clone(), publisher.clone());
        let (of, scope) = (scope.clone(), scope.clone());
        let epoch = new_epoch();
        Box::pin(
            self.write(Some(of), move |conn| begin(conn, &scope, &publisher, format, settings.now(), &epoch)),
        )
    }

    fn renew_publication<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
    ) -> BackendFuture<'a, ()> {
        let (settings, publisher) = (self.settings.clone(), publisher.clone());
        let (of, scope) = (scope.clone(), scope.clone());
        Box::pin(self.write(Some(of), move |conn| hold(conn, &scope, &publisher, settings.now())))
    }

    fn manifest<'a>(
        &'a self,
        scope: &'a ProjectScope,
        after: &'a str,
        limit: usize,
    ) -> BackendFuture<'a, Vec<ManifestEntry>> {
        let (scope, after) = (scope.clone(), after.to_owned());
        Box::pin(self.read(move |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT path, facts, body_digest FROM mcp_published_documents
                 WHERE apikey_hash = ?1 AND project = ?2 AND path > ?3 AND facts IS NOT NULL
                 ORDER BY path LIMIT ?4",
            )?;
            let key = params![scope.tenant.to_hex(), scope.project.as_str(), after, limit as i64];
            let rows = statement.query_map(key, |row| {
                Ok(ManifestEntry { path: row.get(0)?, facts: row.get(1)?, body_digest: digest(row, 2)? })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        }))
    }

    fn publish<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
        changes: Vec<PublishedChange>,
    ) -> BackendFuture<'a, u64> {
        let (settings, publisher) = (self.settings.clone(), publisher.clone());
        let (of, scope) = (scope.clone(), scope.clone());
        Box::pin(self.write(Some(of), move |conn| change(conn, &scope, &publisher, &changes, settings.now())))
    }

    fn end_publication<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
        is_complete: bool,
    ) -> BackendFuture<'a, ()> {
        let (settings, publisher) = (self.settings.clone(), publisher.clone());
        let (of, scope) = (scope.clone(), scope.clone());
        Box::pin(self.write(Some(of), move |conn| end(conn, &scope, &publisher, is_complete, settings.now())))
    }

    fn published_changes<'a>(
        &'a self,
        scope: &'a ProjectScope,
        after: &'a PublicationCursor,
        limit: usize,
    ) -> BackendFuture<'a, Vec<PublishedRow>> {
        let (scope, after) = (scope.clone(), after.clone());
        Box::pin(self.read(move |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT path, revision, facts, body_digest FROM mcp_published_documents
                 WHERE apikey_hash = ?1 AND project = ?2 AND (revision, path) > (?3, ?4)
                 ORDER BY revision, path LIMIT ?5",
            )?;
            let key = params![
                scope.tenant.to_hex(),
                scope.project.as_str(),
                after.revision as i64,
                after.path,
                limit as i64
            ];
            let rows = statement.query_map(key, |row| {
                let facts: Option<String> = row.get(2)?;
                let content =
                    facts.map(|facts| Ok::<_, rusqlite::Error>((facts, digest(row, 3)?))).transpose()?;
                Ok(PublishedRow { path: row.get(0)?, revision: row.get::<_, i64>(1)? as u64, content })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        }))
    }

    fn published_bodies<'a>(
        &'a self,
        scope: &'a ProjectScope,
        paths: Vec<String>,
    ) -> BackendFuture<'a, Vec<PublishedBody>> {
        let scope = scope.clone();
        Box::pin(self.read(move |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT body_digest, body FROM mcp_published_documents
                 WHERE apikey_hash = ?1 AND project = ?2 AND path = ?3 AND body IS NOT NULL",
            )?;
            let mut found = Vec::with_capacity(paths.len());
            for path in paths {
                let key = params![scope.tenant.to_hex(), scope.project.as_str(), path];
                let body = statement.query_row(key, |row| Ok((digest(row, 0)?, row.get(1)?))).optional()?;
                found.extend(body.map(|(body_digest, body)| PublishedBody { path, body_digest, body }));
            }
            Ok(found)
        }))
    }
}

fn head_of(conn: &Connection, scope: &ProjectScope) -> WorkResult<Option<PublicationHead>> {
    let found = conn
        .prepare_cached(&format!("{HEAD} AND project = ?2"))?
        .query_row(params![scope.tenant.to_hex(), scope.project.as_str()], head)
        .optional()?;
    Ok(found)
}

fn head(row: &Row<'_>) -> rusqlite::Result<PublicationHead> {
    let holder = match (row.get::<_, Option<String>>(6)?, row.get::<_, Option<i64>>(8)?) {
        (Some(id), Some(until)) => {
            let name = row.get::<_, Option<String>>(7)?.unwrap_or_default();
            Some((Publisher { id, name }, StoreTime(until)))
        }
        _ => None,
    };
    Ok(PublicationHead {
        epoch: row.get(0)?,
        format: row.get::<_, i64>(1)? as u32,
        revision: row.get::<_, i64>(2)? as u64,
        floor: row.get::<_, i64>(3)? as u64,
        is_complete: row.get(4)?,
        finished_at: row.get::<_, Option<i64>>(5)?.map(StoreTime),
        holder,
    })
}

fn begin(
    conn: &Connection,
    scope: &ProjectScope,
    publisher: &Publisher,
    format: u32,
    now: StoreTime,
    epoch: &str,
) -> WorkResult<PublicationHead> {
    if let Some(head) = head_of(conn, scope)? {
        if head.format > format {
            return Err(newer(scope, head.format, format).into());
        }
        match &head.holder {
            Some((holder, until)) if holder.id != publisher.id && *until > now => {
                return Err(held_by(scope, &holder.name).into());
            }
            _ => {}
        }
    }
    conn.prepare_cached(
        "INSERT INTO mcp_published_projects (apikey_hash, project, epoch, format, revision, floor, is_complete,
         publisher, publisher_name, lease_until) VALUES (?1, ?2, ?3, ?4, 0, 0, 0, ?5, ?6, ?7)
         ON CONFLICT (apikey_hash, project) DO UPDATE SET format = excluded.format,
         publisher = excluded.publisher, publisher_name = excluded.publisher_name,
         lease_until = excluded.lease_until",
    )?
    .execute(params![
        scope.tenant.to_hex(),
        scope.project.as_str(),
        epoch,
        format,
        publisher.id,
        publisher.name,
        now.0 + lease_micros()
    ])?;
    head_of(conn, scope)?
        .ok_or_else(|| Failure::new(ErrorCode::InternalError, "the project was not written").into())
}

/// Renews the lease; fails where somebody else has it.
fn hold(conn: &Connection, scope: &ProjectScope, publisher: &Publisher, now: StoreTime) -> WorkResult<()> {
    let held = conn
        .prepare_cached(
            "UPDATE mcp_published_projects SET lease_until = ?4
             WHERE apikey_hash = ?1 AND project = ?2 AND publisher = ?3",
        )?
        .execute(params![
            scope.tenant.to_hex(),
            scope.project.as_str(),
            publisher.id,
            now.0 + lease_micros()
        ])?;
    if held == 0 { Err(lost(scope).into()) } else { Ok(()) }
}

fn change(
    conn: &Connection,
    scope: &ProjectScope,
    publisher: &Publisher,
    changes: &[PublishedChange],
    now: StoreTime,
) -> WorkResult<u64> {
    hold(conn, scope, publisher, now)?;
    let (tenant, project) = (scope.tenant.to_hex(), scope.project.as_str());
    let revision: i64 = conn
        .prepare_cached(
            "UPDATE mcp_published_projects SET revision = revision + 1, is_complete = 0
             WHERE apikey_hash = ?1 AND project = ?2 RETURNING revision",
        )?
        .query_row(params![tenant, project], |row| row.get(0))?;
    for change in changes {
        match change {
            PublishedChange::Put { path, facts, body_digest, body: Some(body) } => {
                conn.prepare_cached(
                    "INSERT INTO mcp_published_documents
                     (apikey_hash, project, path, revision, changed_at, body_digest, facts, body)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                     ON CONFLICT (apikey_hash, project, path) DO UPDATE SET revision = excluded.revision,
                     changed_at = excluded.changed_at, body_digest = excluded.body_digest,
                     facts = excluded.facts, body = excluded.body",
                )?
                .execute(params![
                    tenant,
                    project,
                    path,
                    revision,
                    now.0,
                    &body_digest.0[..],
                    facts,
                    body
                ])?;
            }
            PublishedChange::Put { path, facts, body_digest, body: None } => {
                let known = conn
                    .prepare_cached(
                        "UPDATE mcp_published_documents SET revision = ?4, changed_at = ?5, facts = ?7
                         WHERE apikey_hash = ?1 AND project = ?2 AND path = ?3 AND body_digest = ?6",
                    )?
                    .execute(params![tenant, project, path, revision, now.0, &body_digest.0[..], facts])?;
                if known == 0 {
                    return Err(lost(scope).into());
                }
            }
            PublishedChange::Remove { path } => {
                conn.prepare_cached(
                    "UPDATE mcp_published_documents SET revision = ?4, changed_at = ?5, facts = NULL,
                     body_digest = NULL, body = NULL WHERE apikey_hash = ?1 AND project = ?2 AND path = ?3",
                )?
                .execute(params![tenant, project, path, revision, now.0])?;
            }
        }
    }
    Ok(revision as u64)
}

fn end(
    conn: &Connection,
    scope: &ProjectScope,
    publisher: &Publisher,
    is_complete: bool,
    now: StoreTime,
) -> WorkResult<()> {
    hold(conn, scope, publisher, now)?;
    let (tenant, project) = (scope.tenant.to_hex(), scope.project.as_str());
    if is_complete {
        let forgotten: Option<i64> = conn
            .prepare_cached(
                "SELECT max(revision) FROM mcp_published_documents
                 WHERE apikey_hash = ?1 AND project = ?2 AND facts IS NULL AND changed_at < ?3",
            )?
            .query_row(params![tenant, project, now.0 - tombstone_micros()], |row| row.get(0))?;
        if let Some(floor) = forgotten {
            conn.prepare_cached(
                "DELETE FROM mcp_published_documents
                 WHERE apikey_hash = ?1 AND project = ?2 AND facts IS NULL AND revision <= ?3",
            )?
            .execute(params![tenant, project, floor])?;
            conn.prepare_cached(
                "UPDATE mcp_published_projects SET floor = ?3 WHERE apikey_hash = ?1 AND project = ?2",
            )?
            .execute(params![tenant, project, floor])?;
        }
    }
    conn.prepare_cached(
        "UPDATE mcp_published_projects SET publisher = NULL, publisher_name = NULL, lease_until = NULL,
         is_complete = iif(?3, 1, is_complete), finished_at = iif(?3, ?4, finished_at)
         WHERE apikey_hash = ?1 AND project = ?2",
    )?
    .execute(params![tenant, project, is_complete, now.0])?;
    Ok(())
}

fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<ContentHash> {
    let bytes: Vec<u8> = row.get(column)?;
    // One of another length matches nothing.
    Ok(ContentHash(bytes.try_into().unwrap_or([0; 32])))
}
