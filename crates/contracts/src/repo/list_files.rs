//! `repo.list_files`: the files of the repository (repo specification, section 11.2).

use std::sync::Arc;
use std::time::Duration;

use engine::DiskListRequest;
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::schema::{self, given};
use super::{RepoContext, output};
use crate::arguments::{typed, whole};
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "repo.list_files",
    title: "List files",
    description: "The files of the repository, sorted by path, with size and modification time (nanoseconds). Hidden files \
                  only on request; forbidden, excluded and oversized files never.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(60),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "glob": schema::glob(),
            "max_results": { "type": "integer", "minimum": 1, "description": "Most files; cut to max_search_hits." },
            "include_hidden": { "type": "boolean", "default": false, "description": "Also names that begin with a dot." }
        }
    })
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "files": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "path": { "type": "string" },
                        "size": { "type": "integer" },
                        "mtime": { "type": "integer", "description": "Nanoseconds since 1970." }
                    },
                    "required": ["path", "size", "mtime"]
                }
            },
            "total": { "type": "integer", "description": "How many files match, shown or not." },
            "truncated": { "type": "boolean" }
        },
        "required": ["files", "total", "truncated"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    glob: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    max_results: Option<u64>,
    include_hidden: Option<bool>,
}

pub(super) async fn run(context: Arc<RepoContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    let limit = u64::from(context.limits.max_search_hits);
    let limit = arguments.max_results.unwrap_or(limit).min(limit) as usize;
    let hidden = arguments.include_hidden.unwrap_or(false);
    let request = DiskListRequest { glob: given(arguments.glob), hidden, limit };
    let (total, files) = context.engine.list_disk(&invocation.call, &context.config.view, request).await?;
    let truncated = total > files.len() as u64;
    let files: Vec<Value> = files
        .into_iter()
        .map(|file| json!({ "path": file.path, "size": file.size, "mtime": file.mtime_ns }))
        .collect();
    Ok(output(json!({ "files": files, "total": total, "truncated": truncated }), Vec::new()))
}
