//! Writing a file, or a former content of it again.

use model::ContentHash;
use tokio_postgres::{Client, Error, Row, Statement};

use super::batch::StatementBatch;
use super::bucket::Bucket;
use super::change::{Attempt, Frame, Opened, Opening, Step};
use super::connection::Connection;
use super::failure::Aborted;
use super::files::{HAS_FILES, single_file_range};
use super::time::to_system_time;
use super::versions::{SAVE, VERSION_CONTENT};
use crate::guard::{MutationOutcome, check_guard};
use crate::limits::StoreLimits;
use crate::mutation::{RestoreRequest, WriteMode, WriteOutcome, WriteRequest};
use crate::path::StorePath;
use crate::quota::check_tenant_quota;
use crate::rules::{self, WriteFacts};

const CURRENT: &str = "SELECT f.content, h.content_hash FROM {s}.mcp_files f \
     JOIN {s}.mcp_file_hashes h ON h.file_id = f.id \
     WHERE f.apikey_hash = $1 AND f.project = $2 AND f.path = $3 AND f.deleted = FALSE";
pub(super) const FILE_AMONG: &str = "SELECT path FROM {s}.mcp_files \
     WHERE apikey_hash = $1 AND project = $2 AND path = ANY($3) AND deleted = FALSE ORDER BY length(path) LIMIT 1";
const INSERT: &str = "INSERT INTO {s}.mcp_files (apikey_hash, project, path, content, size, created_at, updated_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $6)";
const UPDATE: &str = "UPDATE {s}.mcp_files SET content = $4, size = $5, updated_at = $6 \
     WHERE apikey_hash = $1 AND project = $2 AND path = $3 AND deleted = FALSE";
const SET_HASH: &str = "INSERT INTO {s}.mcp_file_hashes (file_id, content_hash) \
     SELECT id, $4::bytea FROM {s}.mcp_files \
     WHERE apikey_hash = $1 AND project = $2 AND path = $3 AND deleted = FALSE \
     ON CONFLICT (file_id) DO UPDATE SET content_hash = EXCLUDED.content_hash";
const TENANT_BYTES: &str =
    "SELECT coalesce(sum(bytes), 0)::bigint FROM {s}.mcp_file_projects WHERE apikey_hash = $1";
const ADD_JOB: &str = "INSERT INTO {s}.mcp_file_index_jobs \
     (apikey_hash, project, file_path, operation, file_updated_at) VALUES ($1, $2, $3, 'UPSERT', $4)";

/// The statements of a write.
struct Prepared {
    current: Statement,
    has_files: Statement,
    file_among: Statement,
    /// Only where the tenant has a limit.
    tenant_bytes: Option<Statement>,
    save: Statement,
    insert: Statement,
    update: Statement,
    set_hash: Statement,
    add_job: Statement,
}

impl Prepared {
    async fn prepare(
        connection: &mut Connection,
        bucket: &Bucket,
        limits: &StoreLimits,
    ) -> Result<Prepared, Error> {
        let tenant_bytes = match limits.needs_tenant_bytes() {
            true => Some(connection.prepare(bucket, TENANT_BYTES).await?),
            false => None,
        };
        Ok(Prepared {
            tenant_bytes,
            current: connection.prepare(bucket, CURRENT).await?,
            has_files: connection.prepare(bucket, HAS_FILES).await?,
            file_among: connection.prepare(bucket, FILE_AMONG).await?,
            save: connection.prepare(bucket, SAVE).await?,
            insert: connection.prepare(bucket, INSERT).await?,
            update: connection.prepare(bucket, UPDATE).await?,
            set_hash: connection.prepare(bucket, SET_HASH).await?,
            add_job: connection.prepare(bucket, ADD_JOB).await?,
        })
    }
}

pub(super) async fn attempt(
    attempt: &Attempt<'_>,
    connection: &mut Connection,
    request: &WriteRequest,
) -> Result<Step, Aborted> {
    let limits = attempt.store.limits();
    rules::check_write(limits, request)?;
    let frame = Frame::prepare(connection, attempt.bucket).await?;
    let prepared = Prepared::prepare(connection, attempt.bucket, attempt.store.limits()).await?;
    let client = &connection.client;
    let (opening, found) = futures::future::join(
        attempt.begin(client, &frame),
        gather(client, &prepared, attempt, &request.path),
    )
    .await;
    match opening? {
        Opening::Over(step) => Ok(step),
        Opening::Open(opened) => {
            put(attempt, client, (&frame, &prepared), request, limits, opened, found?).await
        }
    }
}

pub(super) async fn attempt_restore(
    attempt: &Attempt<'_>,
    connection: &mut Connection,
    request: &RestoreRequest,
) -> Result<Step, Aborted> {
    let frame = Frame::prepare(connection, attempt.bucket).await?;
    let prepared = Prepared::prepare(connection, attempt.bucket, attempt.store.limits()).await?;
    let version_content = connection.prepare(attempt.bucket, VERSION_CONTENT).await?;
    let client = &connection.client;
    let (project, path) = (attempt.scope.project.as_str(), request.path.as_str());
    let (opening, found, version) = futures::future::join3(
        attempt.begin(client, &frame),
        gather(client, &prepared, attempt, &request.path),
        client.query_opt(&version_content, &[&attempt.tenant, &project, &path, &request.version]),
    )
    .await;
    let opened = match opening? {
        Opening::Over(step) => return Ok(step),
        Opening::Open(opened) => opened,
    };
    let version = version?.ok_or_else(|| rules::not_found(&request.path))?;
    let write = WriteRequest {
        path: request.path.clone(),
        content: version.get(3),
        mode: WriteMode::Truncate,
        offset: 0,
        guard: request.guard.clone(),
    };
    // It was not sent, so that only the limits of what is stored apply.
    let limits = StoreLimits { max_payload_bytes: u64::MAX, ..attempt.store.limits().clone() };
    put(attempt, client, (&frame, &prepared), &write, &limits, opened, found?).await
}

/// What is at the path, below it and above it.
struct Found {
    current: Option<Row>,
    has_descendants: bool,
    parent_file: Option<StorePath>,
    /// 0 where nobody asks.
    tenant_bytes: i64,
}

async fn gather(
    client: &Client,
    prepared: &Prepared,
    attempt: &Attempt<'_>,
    path: &StorePath,
) -> Result<Found, Aborted> {
    let (tenant, project, text) = (&attempt.tenant, attempt.scope.project.as_str(), path.as_str());
    let (first, end) = path.descendant_range();
    let ancestors = ancestor_texts(path);
    let kept = async {
        match &prepared.tenant_bytes {
            Some(statement) => Ok(client.query_one(statement, &[tenant]).await?.get(0)),
            None => Ok::<i64, Error>(0),
        }
    };
    let (current, below, above, kept) = futures::future::join4(
        client.query_opt(&prepared.current, &[tenant, &project, &text]),
        client.query_opt(&prepared.has_files, &[tenant, &project, &first, &end]),
        client.query_opt(&prepared.file_among, &[tenant, &project, &ancestors]),
        kept,
    )
    .await;
    let parent_file = match above? {
        Some(row) => Some(StorePath::parse(row.get(0))?),
        None => None,
    };
    Ok(Found { current: current?, has_descendants: below?.is_some(), parent_file, tenant_bytes: kept? })
}

pub(super) fn ancestor_texts(path: &StorePath) -> Vec<String> {
    path.ancestors().map(|ancestor| ancestor.as_str().to_owned()).collect()
}

/// Makes the file have the content that the rules give it.
async fn put(
    attempt: &Attempt<'_>,
    client: &Client,
    (frame, prepared): (&Frame, &Prepared),
    request: &WriteRequest,
    limits: &StoreLimits,
    mut opened: Opened,
    found: Found,
) -> Result<Step, Aborted> {
    let current: Option<&[u8]> = found.current.as_ref().map(|row| row.get(0));
    let current_hash = found.current.as_ref().and_then(|row| content_hash(row.get(1)));
    check_guard(&request.guard, current_hash, current.is_none())?;
    let facts = WriteFacts {
        current,
        has_descendants: found.has_descendants,
        parent_file: found.parent_file,
        project_bytes: u64::try_from(opened.bytes).unwrap_or_default(),
    };
    let content = rules::plan_write(limits, request, &facts)?;
    let hash = ContentHash(*blake3::hash(&content).as_bytes());
    let (size, before) = (content.len() as i64, current.map_or(0, |current| current.len() as i64));
    check_tenant_quota(limits, found.tenant_bytes.max(0) as u64, before as u64, size as u64)?;
    opened.bytes += size - before;
    opened.files += i64::from(current.is_none());

    let (tenant, project, path) = (&attempt.tenant, attempt.scope.project.as_str(), request.path.as_str());
    let (at, hash_bytes) = (to_system_time(opened.now), hash.0.as_slice());
    let (first, end) = single_file_range(&request.path);
    let mut batch = StatementBatch::default();
    if current.is_some() && current_hash != Some(hash) {
        batch.add(&prepared.save, &[tenant, &project, &first, &end, &at]);
    }
    let change = if current.is_some() { &prepared.update } else { &prepared.insert };
    batch.add(change, &[tenant, &project, &path, &content, &size, &at]);
    batch.add(&prepared.set_hash, &[tenant, &project, &path, &hash_bytes]);
    batch.add(&prepared.add_job, &[tenant, &project, &path, &at]);
    let outcome = WriteOutcome {
        bytes_written: request.content.len() as u64,
        size: content.len() as u64,
        updated_at: opened.now,
        content_hash: hash,
        is_new: current.is_none(),
    };
    attempt.finish(client, frame, batch, opened, MutationOutcome::Written(outcome)).await
}

/// A digest as its column holds it.
pub(super) fn content_hash(bytes: &[u8]) -> Option<ContentHash> {
    bytes.try_into().ok().map(ContentHash)
}
