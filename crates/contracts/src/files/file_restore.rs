//! `file_restore`: makes a former content of a file its present one.

use std::sync::Arc;
use std::time::Duration;

use engine::TenantFiles;
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use super::shapes::{GuardArguments, answer, changing, count, file_path, hash, signed};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "file_restore",
    title: "Restore version",
    description: "Make a former content of a file its present one, by its number in file_versions; also for a file that was deleted. The present content becomes a version.",
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
        "path": file_path(),
        "version": { "type": "integer", "description": "Its number in file_versions." }
    });
    changing(own, &["path", "version"])
}

fn schema() -> Value {
    answer(json!({ "size": count("Bytes of the file now."), "content_hash": hash() }), &[])
}

#[derive(Debug, Deserialize)]
struct RestoreArguments {
    project: String,
    path: String,
    #[serde(deserialize_with = "signed")]
    version: Option<i64>,
    #[serde(flatten)]
    guard: GuardArguments,
}

pub(super) async fn run(store: Arc<TenantFiles>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: RestoreArguments = typed(invocation.arguments)?;
    let RestoreArguments { project, path, version, guard } = arguments;
    let version = version.unwrap_or_default();
    let restored = store.restore(&invocation.call, &project, &path, version, guard.guard()?).await?;
    Ok(output(json!({ "size": restored.size, "content_hash": restored.content_hash.to_hex() })))
}
