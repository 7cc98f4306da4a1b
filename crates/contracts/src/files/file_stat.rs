//! `file_stat`: what is at a path.

use std::sync::Arc;
use std::time::Duration;

use engine::{PathState, TenantFiles};
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use super::shapes::{answer, count, hash, input, path, store_time_text, time};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "file_stat",
    title: "Stat file",
    description: "What is at a path of a project: a file, a directory (implied by the files below it), or nothing (exists false, no error). Without a path, the project's root, which always exists.",
    input: arguments,
    output: schema,
    out_of_range: ErrorCode::InvalidQuery,
    timeout: Duration::from_secs(30),
    read_only: true,
    idempotent: true,
    price: PriceClass::Free,
};

fn arguments() -> Value {
    input(json!({ "path": path("Absolute within the project; empty or absent is its root.") }), &[])
}

fn schema() -> Value {
    let properties = json!({
        "exists": { "type": "boolean" },
        "type": { "type": "string", "enum": ["FILE", "DIRECTORY", ""], "description": "Empty where nothing is." },
        "size": count("Bytes of a file; 0 for directories."),
        "created_at": time("RFC 3339, UTC; 0001-01-01T00:00:00Z for directories."),
        "updated_at": time("Of a directory: of its newest file."),
        "content_hash": hash()
    });
    answer(properties, &["content_hash"])
}

#[derive(Debug, Deserialize)]
struct StatArguments {
    project: String,
    #[serde(default)]
    path: String,
}

pub(super) async fn run(store: Arc<TenantFiles>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: StatArguments = typed(invocation.arguments)?;
    let state = store.stat(&invocation.call, &arguments.project, &arguments.path).await?;
    let shape = |exists: bool, kind: &str, size: u64, created, updated| {
        json!({
            "exists": exists,
            "type": kind,
            "size": size,
            "created_at": store_time_text(created),
            "updated_at": store_time_text(updated),
        })
    };
    Ok(output(match state {
        PathState::Nothing => shape(false, "", 0, None, None),
        PathState::Directory { updated_at } => shape(true, "DIRECTORY", 0, None, updated_at),
        PathState::File { size, created_at, updated_at, content_hash } => {
            let mut answer = shape(true, "FILE", size, Some(created_at), Some(updated_at));
            answer["content_hash"] = json!(content_hash.to_hex());
            answer
        }
    }))
}
