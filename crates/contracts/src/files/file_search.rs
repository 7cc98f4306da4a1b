//! `file_search`: passages of files that answer a query.

use std::sync::Arc;
use std::time::Duration;

use engine::{StoreHit, TenantFiles};
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use super::shapes::{answer, count, input, signed};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "file_search",
    title: "Search files",
    description: "Find passages of a project's files by words and meaning, best first, each with the range of its bytes for file_read. project * searches all of your projects.",
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
        "query": { "type": "string", "description": "What to look for." },
        "path_prefix": {
            "type": "string", "default": "",
            "description": "Only files whose path begins so: /do finds /docs/a."
        },
        "limit": { "type": "integer", "default": 5, "description": "Most passages; at most 20 unless the operator allows more." }
    });
    input(own, &["query"])
}

fn schema() -> Value {
    let chunk = answer(
        json!({
            "project": { "type": "string", "description": "Where all projects are searched." },
            "file_path": { "type": "string" },
            "file_seek_start_bytes": count("First byte."),
            "file_seek_end_bytes": count("The byte behind the last."),
            "chunk_content": { "type": "string" },
            "score": { "type": "number" },
            "is_full_file": { "type": "boolean", "description": "The passage is the whole file." }
        }),
        &["project"],
    );
    answer(json!({ "chunks": { "type": "array", "items": chunk } }), &[])
}

#[derive(Debug, Deserialize)]
struct SearchArguments {
    project: String,
    query: String,
    #[serde(default)]
    path_prefix: String,
    #[serde(default, deserialize_with = "signed")]
    limit: Option<i64>,
}

pub(super) async fn run(store: Arc<TenantFiles>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: SearchArguments = typed(invocation.arguments)?;
    let SearchArguments { project, query, path_prefix, limit } = arguments;
    let limit = limit.unwrap_or(0);
    let found = store.search(&invocation.call, &project, &query, &path_prefix, limit).await?;
    let chunks: Vec<Value> = found.iter().map(|passage| chunk(passage, project == "*")).collect();
    Ok(output(json!({ "chunks": chunks })))
}

fn chunk(passage: &StoreHit, names_project: bool) -> Value {
    let mut chunk = json!({});
    if names_project {
        chunk["project"] = json!(passage.project.as_str());
    }
    chunk["file_path"] = json!(passage.file_path);
    chunk["file_seek_start_bytes"] = json!(passage.start);
    chunk["file_seek_end_bytes"] = json!(passage.end);
    chunk["chunk_content"] = json!(passage.content);
    chunk["score"] = json!(f64::from(passage.score));
    chunk["is_full_file"] = json!(passage.is_full_file);
    chunk
}
