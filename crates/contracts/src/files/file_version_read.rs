//! `file_version_read`: a former content of a file.

use std::sync::Arc;
use std::time::Duration;

use engine::TenantFiles;
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use super::shapes::{answer, as_text, count, file_path, input, signed, time};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "file_version_read",
    title: "Read version",
    description: "Read a former content of a file, by its number in file_versions.",
    input: arguments,
    output: schema,
    out_of_range: ErrorCode::InvalidQuery,
    timeout: Duration::from_secs(30),
    read_only: true,
    idempotent: true,
    price: PriceClass::Free,
};

fn arguments() -> Value {
    let own = json!({
        "path": file_path(),
        "version": { "type": "integer", "description": "Its number in file_versions." }
    });
    input(own, &["path", "version"])
}

fn schema() -> Value {
    let properties = json!({
        "content": { "type": "string" },
        "content_encoding": { "type": "string", "const": "utf-8" },
        "size": count("Bytes."),
        "created_at": time("When this content was replaced or deleted.")
    });
    answer(properties, &[])
}

#[derive(Debug, Deserialize)]
struct VersionReadArguments {
    project: String,
    path: String,
    #[serde(deserialize_with = "signed")]
    version: Option<i64>,
}

pub(super) async fn run(store: Arc<TenantFiles>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: VersionReadArguments = typed(invocation.arguments)?;
    let VersionReadArguments { project, path, version } = arguments;
    let found = store.version_content(&invocation.call, &project, &path, version.unwrap_or_default()).await?;
    Ok(output(json!({
        "content": as_text(found.bytes).0,
        "content_encoding": "utf-8",
        "size": found.version.size,
        "created_at": super::store_time_text(Some(found.version.created_at)),
    })))
}
