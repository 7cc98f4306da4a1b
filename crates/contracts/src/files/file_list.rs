//! `file_list`: the files and directories below a path.

use std::sync::Arc;
use std::time::Duration;

use engine::TenantFiles;
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use super::shapes::{answer, count, entry, input, path, signed, time};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "file_list",
    title: "List files",
    description: "List what is below a path of a project, in the order of paths: its children (depth 1), deeper levels, or with depth 0 the path itself. has_more says that limit cut the list.",
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
        "path": path("A directory; empty, absent or / is the project's root."),
        "depth": { "type": "integer", "default": 1, "description": "Levels below the path." },
        "limit": { "type": "integer", "default": 256, "description": "Most entries." }
    });
    input(own, &[])
}

fn schema() -> Value {
    let properties = json!({
        "entries": {
            "type": "array",
            "items": answer(
                json!({
                    "name": { "type": "string" },
                    "path": { "type": "string" },
                    "type": { "type": "string", "enum": ["FILE", "DIRECTORY"] },
                    "size": count("Bytes; 0 for directories."),
                    "created_at": time("RFC 3339, UTC; 0001-01-01T00:00:00Z for directories."),
                    "updated_at": time("Of a directory: of its newest file.")
                }),
                &[],
            )
        },
        "has_more": { "type": "boolean", "description": "There are more entries than the limit." }
    });
    answer(properties, &[])
}

#[derive(Debug, Deserialize)]
struct ListArguments {
    project: String,
    #[serde(default)]
    path: String,
    #[serde(default, deserialize_with = "signed")]
    depth: Option<i64>,
    #[serde(default, deserialize_with = "signed")]
    limit: Option<i64>,
}

pub(super) async fn run(store: Arc<TenantFiles>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: ListArguments = typed(invocation.arguments)?;
    let ListArguments { project, path, depth, limit } = arguments;
    // What many clients call a root; of these tools only this one takes it.
    let path = if path == "/" { "" } else { &path };
    let (depth, limit) = (depth.unwrap_or(1), limit.unwrap_or(0));
    let listing = store.list(&invocation.call, &project, path, depth, limit).await?;
    let entries: Vec<Value> = listing.entries.iter().map(entry).collect();
    Ok(output(json!({ "entries": entries, "has_more": listing.has_more })))
}
