//! Deleting a file or all files below a directory: rows are marked, their contents become versions.

use super::batch::StatementBatch;
use super::change::{Attempt, Frame, Opening, Step};
use super::connection::Connection;
use super::failure::Aborted;
use super::files::single_file_range;
use super::time::to_system_time;
use super::versions::SAVE;
use super::write::content_hash;
use crate::guard::{MutationOutcome, check_guard};
use crate::mutation::DeleteRequest;
use crate::rules::{self, DeleteFacts, DeletePlan};

/// The file at a path: its size and digest.
pub(super) const FILE_FACTS: &str = "SELECT f.size, h.content_hash FROM {s}.mcp_files f \
     JOIN {s}.mcp_file_hashes h ON h.file_id = f.id \
     WHERE f.apikey_hash = $1 AND f.project = $2 AND f.path = $3 AND f.deleted = FALSE";
const SUMS: &str = "SELECT count(*), COALESCE(sum(size), 0)::bigint FROM {s}.mcp_files \
     WHERE apikey_hash = $1 AND project = $2 AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE";
pub(super) const ADD_DELETE_JOBS: &str = "INSERT INTO {s}.mcp_file_index_jobs \
     (apikey_hash, project, file_path, operation, file_updated_at) \
     SELECT apikey_hash, project, path, 'DELETE', $5::timestamptz FROM {s}.mcp_files \
     WHERE apikey_hash = $1 AND project = $2 AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE ORDER BY id";
pub(super) const MARK_DELETED: &str = "UPDATE {s}.mcp_files SET deleted = TRUE, deleted_at = $5 \
     WHERE apikey_hash = $1 AND project = $2 AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE";

pub(super) async fn attempt(
    attempt: &Attempt<'_>,
    connection: &mut Connection,
    request: &DeleteRequest,
) -> Result<Step, Aborted> {
    let limits = attempt.store.limits();
    rules::check_delete(limits, request)?;
    let bucket = attempt.bucket;
    let frame = Frame::prepare(connection, bucket).await?;
    let file_facts = connection.prepare(bucket, FILE_FACTS).await?;
    let sums = connection.prepare(bucket, SUMS).await?;
    let save = connection.prepare(bucket, SAVE).await?;
    let add_jobs = connection.prepare(bucket, ADD_DELETE_JOBS).await?;
    let mark = connection.prepare(bucket, MARK_DELETED).await?;

    let client = &connection.client;
    let (tenant, project, path) = (&attempt.tenant, attempt.scope.project.as_str(), request.path.as_str());
    let (first, end) = request.path.descendant_range();
    let (opening, file, below) = futures::future::join3(
        attempt.begin(client, &frame),
        client.query_opt(&file_facts, &[tenant, &project, &path]),
        client.query_one(&sums, &[tenant, &project, &first, &end]),
    )
    .await;
    let mut opened = match opening? {
        Opening::Over(step) => return Ok(step),
        Opening::Open(opened) => opened,
    };
    let (file, below) = (file?, below?);
    let hash = file.as_ref().and_then(|row| content_hash(row.get(1)));
    check_guard(&request.guard, hash, file.is_none())?;
    let facts = DeleteFacts { is_file: file.is_some(), has_descendants: below.get::<_, i64>(0) > 0 };
    let plan = rules::plan_delete(limits, request, facts)?;
    let (count, bytes, (first, end)) = match (plan, &file) {
        (DeletePlan::TheFile, Some(row)) => (1, row.get::<_, i64>(0), single_file_range(&request.path)),
        _ => (below.get(0), below.get(1), (first, end)),
    };
    opened.files -= count;
    opened.bytes -= bytes;

    let at = to_system_time(opened.now);
    let mut batch = StatementBatch::default();
    batch.add(&save, &[tenant, &project, &first, &end, &at]);
    batch.add(&add_jobs, &[tenant, &project, &first, &end, &at]);
    batch.add(&mark, &[tenant, &project, &first, &end, &at]);
    attempt.finish(client, &frame, batch, opened, MutationOutcome::Counted(count as u64)).await
}
