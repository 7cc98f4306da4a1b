//! `file_rename`: moves a file or a directory of files.

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
    name: "file_rename",
    title: "Rename file",
    description: "Move a file or a whole directory within a project, all files or none. overwrite lets a file replace another one; a directory replaces nothing.",
    input: arguments,
    output: schema,
    out_of_range: ErrorCode::InvalidQuery,
    timeout: Duration::from_secs(30),
    read_only: false,
    idempotent: false,
    price: PriceClass::Free,
};

fn arguments() -> Value {
    let own = json!({
        "from_path": path("The file or directory to move."),
        "to_path": path("Its new path."),
        "overwrite": { "type": "boolean", "default": false, "description": "A file may replace another file." }
    });
    changing(own, &["from_path", "to_path"])
}

fn schema() -> Value {
    answer(json!({ "moved_count": count("Files that were moved.") }), &[])
}

#[derive(Debug, Deserialize)]
struct RenameArguments {
    project: String,
    from_path: String,
    to_path: String,
    #[serde(default)]
    overwrite: bool,
    #[serde(flatten)]
    guard: GuardArguments,
}

pub(super) async fn run(store: Arc<TenantFiles>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: RenameArguments = typed(invocation.arguments)?;
    let RenameArguments { project, from_path, to_path, overwrite, guard } = arguments;
    let paths = (from_path.as_str(), to_path.as_str());
    let moved = store.rename(&invocation.call, &project, paths, overwrite, guard.guard()?).await?;
    Ok(output(json!({ "moved_count": moved })))
}
