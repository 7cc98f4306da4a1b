//! `file_versions`: the former contents of a file.

use std::sync::Arc;
use std::time::Duration;

use engine::{FileVersion, TenantFiles};
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use super::shapes::{answer, count, file_path, input, time};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "file_versions",
    title: "List versions",
    description: "The former contents of a file, newest first: the content before each write, and before it was deleted. Read one with file_version_read, bring it back with file_restore.",
    input: arguments,
    output: schema,
    out_of_range: ErrorCode::InvalidQuery,
    timeout: Duration::from_secs(30),
    read_only: true,
    idempotent: true,
    price: PriceClass::Free,
};

fn arguments() -> Value {
    input(json!({ "path": file_path() }), &["path"])
}

fn schema() -> Value {
    let version = answer(
        json!({
            "version": { "type": "integer" },
            "size": count("Bytes."),
            "created_at": time("When this content was replaced or deleted.")
        }),
        &[],
    );
    answer(json!({ "versions": { "type": "array", "items": version } }), &[])
}

#[derive(Debug, Deserialize)]
struct VersionsArguments {
    project: String,
    path: String,
}

pub(super) async fn run(store: Arc<TenantFiles>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: VersionsArguments = typed(invocation.arguments)?;
    let versions = store.versions(&invocation.call, &arguments.project, &arguments.path).await?;
    let shown = |version: &FileVersion| {
        let created_at = super::store_time_text(Some(version.created_at));
        json!({ "version": version.id, "size": version.size, "created_at": created_at })
    };
    Ok(output(json!({ "versions": versions.iter().map(shown).collect::<Vec<Value>>() })))
}
