//! Moving a file or a directory: paths change, rows, contents and their times of creation stay; histories go along.

use super::batch::StatementBatch;
use super::change::{Attempt, Frame, Opening, Step};
use super::connection::Connection;
use super::delete::{ADD_DELETE_JOBS, FILE_FACTS, MARK_DELETED};
use super::failure::Aborted;
use super::files::{HAS_FILES, single_file_range};
use super::time::to_system_time;
use super::versions::SAVE;
use super::write::{FILE_AMONG, ancestor_texts, content_hash};
use crate::guard::{MutationOutcome, check_guard};
use crate::mutation::RenameRequest;
use crate::path::StorePath;
use crate::rules::{self, RenameFacts};

const PATHS_BELOW: &str = "SELECT path FROM {s}.mcp_files \
     WHERE apikey_hash = $1 AND project = $2 AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE \
     ORDER BY path USING ~<~";
const MOVE_FILES: &str = "UPDATE {s}.mcp_files SET path = $5 || substr(path, $6), updated_at = $7 \
     WHERE apikey_hash = $1 AND project = $2 AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE";
/// Only of active files: the history of one that was deleted stays where it was.
const MOVE_VERSIONS: &str = "UPDATE {s}.mcp_file_versions SET path = $5 || substr(path, $6) \
     WHERE apikey_hash = $1 AND project = $2 AND path ~>=~ $3 AND path ~<~ $4 AND path IN (\
     SELECT path FROM {s}.mcp_files WHERE apikey_hash = $1 AND project = $2 \
     AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE)";
const ADD_UPSERT_JOBS: &str = "INSERT INTO {s}.mcp_file_index_jobs \
     (apikey_hash, project, file_path, operation, file_updated_at) \
     SELECT apikey_hash, project, path, 'UPSERT', updated_at FROM {s}.mcp_files \
     WHERE apikey_hash = $1 AND project = $2 AND path ~>=~ $3 AND path ~<~ $4 AND deleted = FALSE ORDER BY id";

pub(super) async fn attempt(
    attempt: &Attempt<'_>,
    connection: &mut Connection,
    request: &RenameRequest,
) -> Result<Step, Aborted> {
    let bucket = attempt.bucket;
    let frame = Frame::prepare(connection, bucket).await?;
    let file_facts = connection.prepare(bucket, FILE_FACTS).await?;
    let paths_below = connection.prepare(bucket, PATHS_BELOW).await?;
    let has_files = connection.prepare(bucket, HAS_FILES).await?;
    let file_among = connection.prepare(bucket, FILE_AMONG).await?;
    let save = connection.prepare(bucket, SAVE).await?;
    let mark_deleted = connection.prepare(bucket, MARK_DELETED).await?;
    let add_delete_jobs = connection.prepare(bucket, ADD_DELETE_JOBS).await?;
    let add_upsert_jobs = connection.prepare(bucket, ADD_UPSERT_JOBS).await?;
    let move_files = connection.prepare(bucket, MOVE_FILES).await?;
    let move_versions = connection.prepare(bucket, MOVE_VERSIONS).await?;

    let client = &connection.client;
    let (tenant, project) = (&attempt.tenant, attempt.scope.project.as_str());
    let (from, to) = (request.from.as_str(), request.to.as_str());
    let (source_first, source_end) = request.from.descendant_range();
    let (target_first, target_end) = request.to.descendant_range();
    let ancestors = ancestor_texts(&request.to);
    let ((opening, source, below), (target, target_below, target_above)) = futures::future::join(
        futures::future::join3(
            attempt.begin(client, &frame),
            client.query_opt(&file_facts, &[tenant, &project, &from]),
            client.query(&paths_below, &[tenant, &project, &source_first, &source_end]),
        ),
        futures::future::join3(
            client.query_opt(&file_facts, &[tenant, &project, &to]),
            client.query_opt(&has_files, &[tenant, &project, &target_first, &target_end]),
            client.query_opt(&file_among, &[tenant, &project, &ancestors]),
        ),
    )
    .await;
    let mut opened = match opening? {
        Opening::Over(step) => return Ok(step),
        Opening::Open(opened) => opened,
    };
    let (source, target) = (source?, target?);
    let hash = source.as_ref().and_then(|row| content_hash(row.get(1)));
    check_guard(&request.guard, hash, target.is_none())?;
    let facts = RenameFacts {
        source_is_file: source.is_some(),
        source_files: below?.iter().map(|row| StorePath::parse(row.get(0))).collect::<Result<_, _>>()?,
        destination_is_file: target.is_some(),
        destination_has_descendants: target_below?.is_some(),
        destination_parent_file: target_above?.map(|row| StorePath::parse(row.get(0))).transpose()?,
    };
    let plan = rules::plan_rename(request, &facts)?;

    let at = to_system_time(opened.now);
    let rest = i32::try_from(from.len()).unwrap_or(i32::MAX) + 1;
    let (replaced_first, replaced_end) = single_file_range(&request.to);
    let ((old_first, old_end), (new_first, new_end)) = if facts.source_is_file {
        (single_file_range(&request.from), single_file_range(&request.to))
    } else {
        ((source_first, source_end), (target_first, target_end))
    };
    let mut batch = StatementBatch::default();
    if let (Some(_), Some(row)) = (&plan.replaced, &target) {
        batch.add(&save, &[tenant, &project, &replaced_first, &replaced_end, &at]);
        batch.add(&mark_deleted, &[tenant, &project, &replaced_first, &replaced_end, &at]);
        opened.files -= 1;
        opened.bytes -= row.get::<_, i64>(0);
    }
    batch.add(&add_delete_jobs, &[tenant, &project, &old_first, &old_end, &at]);
    batch.add(&move_versions, &[tenant, &project, &old_first, &old_end, &to, &rest]);
    batch.add(&move_files, &[tenant, &project, &old_first, &old_end, &to, &rest, &at]);
    batch.add(&add_upsert_jobs, &[tenant, &project, &new_first, &new_end]);
    let moved = MutationOutcome::Counted(plan.moves.len() as u64);
    attempt.finish(client, &frame, batch, opened, moved).await
}
