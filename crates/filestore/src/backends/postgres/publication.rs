//! Published projects in PostgreSQL.
//!
//! Changes lock the row of their project, so that publishers take turns whatever their clocks say; leases are measured by the
//! clock of the database.

use std::time::SystemTime;

use model::{ContentHash, ErrorCode, Failure, TenantId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::bucket::Bucket;
use super::failure::{Aborted, DatabaseError};
use super::pool::PooledConnection;
use super::time::to_store_time;
use super::{PostgresStore, READ_PATIENCE};
use crate::backend::BackendFuture;
use crate::project::{ProjectName, ProjectScope};
use crate::publication::{
    LEASE, ManifestEntry, PublicationBackend, PublicationCursor, PublicationHead, PublishedBody,
    PublishedChange, PublishedRow, Publisher, TOMBSTONE_AGE, held_by, lost, new_epoch, newer,
};

/// The tables, beside those of files. A removed document has neither facts nor body.
pub(super) const PUBLICATIONS: &str = "
CREATE TABLE IF NOT EXISTS {s}.mcp_published_projects (
    apikey_hash    CHAR(64)     NOT NULL,
    project        VARCHAR(128) NOT NULL,
    epoch          TEXT         NOT NULL,
    format         BIGINT       NOT NULL,
    revision       BIGINT       NOT NULL,
    floor          BIGINT       NOT NULL,
    is_complete    BOOLEAN      NOT NULL,
    finished_at    TIMESTAMPTZ,
    publisher      TEXT,
    publisher_name TEXT,
    lease_until    TIMESTAMPTZ,
    PRIMARY KEY (apikey_hash, project)
);
CREATE TABLE IF NOT EXISTS {s}.mcp_published_documents (
    apikey_hash CHAR(64)         NOT NULL,
    project     VARCHAR(128)     NOT NULL,
    path        TEXT COLLATE \"C\" NOT NULL,
    revision    BIGINT           NOT NULL,
    changed_at  TIMESTAMPTZ      NOT NULL,
    body_digest BYTEA,
    facts       TEXT,
    body        BYTEA,
    PRIMARY KEY (apikey_hash, project, path)
);
ALTER TABLE {s}.mcp_published_documents ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX IF NOT EXISTS idx_mcp_published_documents_revision
ON {s}.mcp_published_documents (apikey_hash, project, revision, path);
";

const HEADS: &str = "SELECT epoch, format, revision, floor, is_complete, finished_at, publisher, publisher_name, \
     lease_until, project, lease_until > clock_timestamp() FROM {s}.mcp_published_projects \
     WHERE apikey_hash = $1 ORDER BY project COLLATE \"C\"";
const HEAD: &str = "SELECT epoch, format, revision, floor, is_complete, finished_at, publisher, publisher_name, \
     lease_until, project, lease_until > clock_timestamp() FROM {s}.mcp_published_projects \
     WHERE apikey_hash = $1 AND project = $2";
const HEAD_LOCKED: &str = "SELECT epoch, format, revision, floor, is_complete, finished_at, publisher, \
     publisher_name, lease_until, project, lease_until > clock_timestamp() FROM {s}.mcp_published_projects \
     WHERE apikey_hash = $1 AND project = $2 FOR UPDATE";
const NEW_PROJECT: &str = "INSERT INTO {s}.mcp_published_projects \
     (apikey_hash, project, epoch, format, revision, floor, is_complete) VALUES ($1, $2, $3, $4, 0, 0, FALSE) \
     ON CONFLICT (apikey_hash, project) DO NOTHING";
const BEGIN_PUBLISHING: &str = "UPDATE {s}.mcp_published_projects SET format = $3, publisher = $4, \
     publisher_name = $5, lease_until = clock_timestamp() + make_interval(secs => $6) \
     WHERE apikey_hash = $1 AND project = $2";
const HOLD: &str = "UPDATE {s}.mcp_published_projects \
     SET lease_until = clock_timestamp() + make_interval(secs => $4) \
     WHERE apikey_hash = $1 AND project = $2 AND publisher = $3";
const NEXT_REVISION: &str = "UPDATE {s}.mcp_published_projects SET revision = revision + 1, is_complete = FALSE, \
     lease_until = clock_timestamp() + make_interval(secs => $4) \
     WHERE apikey_hash = $1 AND project = $2 AND publisher = $3 RETURNING revision";
const PUT: &str = "INSERT INTO {s}.mcp_published_documents \
     (apikey_hash, project, path, revision, changed_at, body_digest, facts, body) \
     VALUES ($1, $2, $3, $4, clock_timestamp(), $5, $6, $7) \
     ON CONFLICT (apikey_hash, project, path) DO UPDATE SET revision = EXCLUDED.revision, \
     changed_at = EXCLUDED.changed_at, body_digest = EXCLUDED.body_digest, facts = EXCLUDED.facts, \
     body = EXCLUDED.body";
const PUT_FACTS: &str = "UPDATE {s}.mcp_published_documents \
     SET revision = $4, changed_at = clock_timestamp(), facts = $6 \
     WHERE apikey_hash = $1 AND project = $2 AND path = $3 AND body_digest = $5";
const REMOVE: &str = "UPDATE {s}.mcp_published_documents SET revision = $4, changed_at = clock_timestamp(), \
     facts = NULL, body_digest = NULL, body = NULL WHERE apikey_hash = $1 AND project = $2 AND path = $3";
const FORGET: &str = "WITH old AS (SELECT max(revision) AS floor FROM {s}.mcp_published_documents \
     WHERE apikey_hash = $1 AND project = $2 AND facts IS NULL \
     AND changed_at < clock_timestamp() - make_interval(secs => $3)), \
     gone AS (DELETE FROM {s}.mcp_published_documents d USING old WHERE d.apikey_hash = $1 AND d.project = $2 \
     AND d.facts IS NULL AND d.revision <= old.floor) \
     UPDATE {s}.mcp_published_projects p SET floor = old.floor FROM old \
     WHERE p.apikey_hash = $1 AND p.project = $2 AND old.floor IS NOT NULL";
const END: &str = "UPDATE {s}.mcp_published_projects SET publisher = NULL, publisher_name = NULL, \
     lease_until = NULL, is_complete = is_complete OR $4, \
     finished_at = CASE WHEN $4 THEN clock_timestamp() ELSE finished_at END \
     WHERE apikey_hash = $1 AND project = $2 AND publisher = $3";
const MANIFEST: &str = "SELECT path, facts, body_digest FROM {s}.mcp_published_documents \
     WHERE apikey_hash = $1 AND project = $2 AND path > $3 AND facts IS NOT NULL ORDER BY path LIMIT $4";
const CHANGES: &str = "SELECT path, revision, facts, body_digest FROM {s}.mcp_published_documents \
     WHERE apikey_hash = $1 AND project = $2 AND (revision, path) > ($3, $4) \
     ORDER BY revision, path LIMIT $5";
const BODIES: &str = "SELECT path, body_digest, body FROM {s}.mcp_published_documents \
     WHERE apikey_hash = $1 AND project = $2 AND path = ANY($3) AND body IS NOT NULL";

impl PublicationBackend for PostgresStore {
    fn published(&self, tenant: TenantId) -> BackendFuture<'_, Vec<(ProjectName, PublicationHead)>> {
        Box::pin(async move {
            let connection = self.connection(READ_PATIENCE).await?;
            let rows = self.rows_on(connection, self.bucket(tenant), HEADS, &[&tenant.to_hex()]).await?;
            rows.iter().map(|row| Ok((ProjectName::parse(row.get(9))?, head(row)))).collect()
        })
    }

    fn publication<'a>(&'a self, scope: &'a ProjectScope) -> BackendFuture<'a, Option<PublicationHead>> {
        Box::pin(async move {
            let (tenant, project) = key(scope);
            let rows = self.read_rows(scope, HEAD, &[&tenant, &project]).await?;
            Ok(rows.first().map(head))
        })
    }

    fn begin_publication<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
        format: u32,
    ) -> BackendFuture<'a, PublicationHead> {
        Box::pin(async move {
            let (tenant, project) = key(scope);
            let mut change = PublicationChange::begin(self, scope).await?;
            change.execute(NEW_PROJECT, &[&tenant, &project, &new_epoch(), &i64::from(format)]).await?;
            let rows = change.query(HEAD_LOCKED, &[&tenant, &project]).await?;
            let row = rows.first().ok_or_else(unwritten)?;
            let found = head(row);
            if found.format > format {
                return Err(newer(scope, found.format, format));
            }
            let is_held = row.get::<_, Option<bool>>(10).unwrap_or_default();
            if let Some((holder, _)) = found.holder.as_ref().filter(|(holder, _)| holder.id != publisher.id)
                && is_held
            {
                return Err(held_by(scope, &holder.name));
            }
            change
                .execute(
                    BEGIN_PUBLISHING,
                    &[&tenant, &project, &i64::from(format), &publisher.id, &publisher.name, &lease()],
                )
                .await?;
            change.commit().await?;
            Ok(PublicationHead { format, ..found })
        })
    }

    fn renew_publication<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
    ) -> BackendFuture<'a, ()> {
        Box::pin(async move {
            let (tenant, project) = key(scope);
            let mut change = PublicationChange::begin(self, scope).await?;
            if change.execute(HOLD, &[&tenant, &project, &publisher.id, &lease()]).await? == 0 {
                return Err(lost(scope));
            }
            change.commit().await
        })
    }

    fn manifest<'a>(
        &'a self,
        scope: &'a ProjectScope,
        after: &'a str,
        limit: usize,
    ) -> BackendFuture<'a, Vec<ManifestEntry>> {
        Box::pin(async move {
            let ((tenant, project), limit) = (key(scope), limit as i64);
            // From the primary: a publisher compares with what it has just written.
            let connection = self.connection(READ_PATIENCE).await?;
            let parameters: [&(dyn ToSql + Sync); 4] = [&tenant, &project, &after, &limit];
            let rows = self.rows_on(connection, self.bucket(scope.tenant), MANIFEST, &parameters).await?;
            let entry = |row: &Row| ManifestEntry {
                path: row.get(0),
                facts: row.get(1),
                body_digest: digest(row.get(2)),
            };
            Ok(rows.iter().map(entry).collect())
        })
    }

    fn publish<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
        changes: Vec<PublishedChange>,
    ) -> BackendFuture<'a, u64> {
        Box::pin(async move {
            let (tenant, project) = key(scope);
            let mut change = PublicationChange::begin(self, scope).await?;
            let rows = change.query(NEXT_REVISION, &[&tenant, &project, &publisher.id, &lease()]).await?;
            let revision: i64 = rows.first().ok_or_else(|| lost(scope))?.get(0);
            for each in &changes {
                match each {
                    PublishedChange::Put { path, facts, body_digest, body: Some(body) } => {
                        let digest = &body_digest.0[..];
                        change
                            .execute(PUT, &[&tenant, &project, path, &revision, &digest, facts, body])
                            .await?;
                    }
                    PublishedChange::Put { path, facts, body_digest, body: None } => {
                        let digest = &body_digest.0[..];
                        let known = change
                            .execute(PUT_FACTS, &[&tenant, &project, path, &revision, &digest, facts])
                            .await?;
                        if known == 0 {
                            return Err(lost(scope));
                        }
                    }
                    PublishedChange::Remove { path } => {
                        change.execute(REMOVE, &[&tenant, &project, path, &revision]).await?;
                    }
                }
            }
            change.commit().await?;
            self.note_change(scope);
            Ok(revision as u64)
        })
    }

    fn end_publication<'a>(
        &'a self,
        scope: &'a ProjectScope,
        publisher: &'a Publisher,
        is_complete: bool,
    ) -> BackendFuture<'a, ()> {
        Box::pin(async move {
            let (tenant, project) = key(scope);
            let mut change = PublicationChange::begin(self, scope).await?;
            if change.execute(END, &[&tenant, &project, &publisher.id, &is_complete]).await? == 0 {
                return Err(lost(scope));
            }
            if is_complete {
                change.execute(FORGET, &[&tenant, &project, &TOMBSTONE_AGE.as_secs_f64()]).await?;
            }
            change.commit().await
        })
    }

    fn published_changes<'a>(
        &'a self,
        scope: &'a ProjectScope,
        after: &'a PublicationCursor,
        limit: usize,
    ) -> BackendFuture<'a, Vec<PublishedRow>> {
        Box::pin(async move {
            let ((tenant, project), limit) = (key(scope), limit as i64);
            let revision = after.revision as i64;
            let parameters: [&(dyn ToSql + Sync); 5] = [&tenant, &project, &revision, &after.path, &limit];
            let rows = self.read_rows(scope, CHANGES, &parameters).await?;
            let row = |row: &Row| PublishedRow {
                path: row.get(0),
                revision: row.get::<_, i64>(1) as u64,
                content: row.get::<_, Option<String>>(2).map(|facts| (facts, digest(row.get(3)))),
            };
            Ok(rows.iter().map(row).collect())
        })
    }

    fn published_bodies<'a>(
        &'a self,
        scope: &'a ProjectScope,
        paths: Vec<String>,
    ) -> BackendFuture<'a, Vec<PublishedBody>> {
        Box::pin(async move {
            let (tenant, project) = key(scope);
            let rows = self.read_rows(scope, BODIES, &[&tenant, &project, &paths]).await?;
            let body = |row: &Row| PublishedBody {
                path: row.get(0),
                body_digest: digest(row.get(1)),
                body: row.get(2),
            };
            Ok(rows.iter().map(body).collect())
        })
    }
}

/// A transaction. Dropped without a commit, it is rolled back with its connection.
struct PublicationChange<'a> {
    bucket: &'a Bucket,
    connection: PooledConnection,
}

impl<'a> PublicationChange<'a> {
    async fn begin(store: &'a PostgresStore, scope: &ProjectScope) -> Result<PublicationChange<'a>, Failure> {
        let mut connection = store.connection(store.options.limits.lock_timeout).await?;
        connection.in_transaction = true;
        connection.client.batch_execute("BEGIN").await.map_err(DatabaseError::from)?;
        Ok(PublicationChange { bucket: store.bucket(scope.tenant), connection })
    }

    async fn query(
        &mut self,
        template: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let work = async {
            let statement = self.connection.prepare(self.bucket, template).await?;
            self.connection.client.query(&statement, parameters).await
        };
        work.await.map_err(|error| DatabaseError::from(error).into())
    }

    async fn execute(
        &mut self,
        template: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Failure> {
        let work = async {
            let statement = self.connection.prepare(self.bucket, template).await?;
            self.connection.client.execute(&statement, parameters).await
        };
        work.await.map_err(|error| DatabaseError::from(error).into())
    }

    async fn commit(mut self) -> Result<(), Failure> {
        self.connection.client.batch_execute("COMMIT").await.map_err(Aborted::from)?;
        self.connection.in_transaction = false;
        Ok(())
    }
}

fn key(scope: &ProjectScope) -> (String, &str) {
    (scope.tenant.to_hex(), scope.project.as_str())
}

fn lease() -> f64 {
    LEASE.as_secs_f64()
}

fn head(row: &Row) -> PublicationHead {
    let until: Option<SystemTime> = row.get(8);
    let holder = row.get::<_, Option<String>>(6).zip(until).map(|(id, until)| {
        let name = row.get::<_, Option<String>>(7).unwrap_or_default();
        (Publisher { id, name }, to_store_time(until))
    });
    PublicationHead {
        epoch: row.get(0),
        format: row.get::<_, i64>(1) as u32,
        revision: row.get::<_, i64>(2) as u64,
        floor: row.get::<_, i64>(3) as u64,
        is_complete: row.get(4),
        finished_at: row.get::<_, Option<SystemTime>>(5).map(to_store_time),
        holder,
    }
}

/// One of another length matches nothing.
fn digest(bytes: &[u8]) -> ContentHash {
    ContentHash(bytes.try_into().unwrap_or([0; 32]))
}

fn unwritten() -> Failure {
    Failure::new(ErrorCode::InternalError, "the project was not written")
}
