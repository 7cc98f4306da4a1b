//! `file_delete`: takes a file or a directory of files away.

use std::sync::Arc;
use std::time::Duration;

use engine::TenantFiles;
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use super::shapes::{GuardArguments, answer, changing, count, path};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "file_delete",
    title: "Delete file",
    description: "Delete a file, or with recursive all files of a directory. Former contents can be had back by file_restore for some days.",
    input: arguments,
    output: schema,
    out_of_range: ErrorCode::InvalidQuery,
    timeout: Duration::from_secs(30),
    read_only: false,
    idempotent: true,
    price: PriceClass::Free,
};

fn arguments() -> Value {
    let own = json!({
        "path": path("A file or a directory, absolute within the project."),
        "recursive": { "type": "boolean", "default": false, "description": "Delete all files of a directory." }
    });
    changing(own, &[])
}

fn schema() -> Value {
    answer(json!({ "deleted_count": count("Files that were deleted.") }), &[])
}

#[derive(Debug, Deserialize)]
struct DeleteArguments {
    project: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    recursive: bool,
    #[serde(flatten)]
    guard: GuardArguments,
}

pub(super) async fn run(store: Arc<TenantFiles>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: DeleteArguments = typed(invocation.arguments)?;
    let DeleteArguments { project, path, recursive, guard } = arguments;
    let deleted = store.delete(&invocation.call, &project, &path, recursive, guard.guard()?).await?;
    Ok(output(json!({ "deleted_count": deleted })))
}
