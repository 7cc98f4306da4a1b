//! `indexFolder`: brings the index of a folder up to date.

use std::sync::Arc;
use std::time::Duration;

use engine::{FolderReport, FolderRequest, Priority};
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{SmartContext, output};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "indexFolder",
    title: "Index folder",
    description: "Bring the index of a folder up to date: files whose size and time are unchanged are skipped. Folders \
                  are followed by themselves, so this is needed only to be sure. CONFLICT while the same root is \
                  indexed. Long work goes on after the answer, with running true.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(120),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "root": { "type": "string", "minLength": 1, "description": "Absolute path of a folder within the roots." },
            "full": {
                "type": "boolean", "default": false,
                "description": "Drop what is known of the root and build its index anew."
            },
            "priority": {
                "type": "string", "enum": ["low", "normal", "high"], "default": "normal",
                "description": "Who goes first among folders that wait."
            }
        },
        "required": ["root"]
    })
}

fn schema() -> Value {
    let count = |what: &str| json!({ "type": "integer", "minimum": 0, "description": what });
    super::schema(json!({
        "indexed": count("Files that were new or changed since the last call for this folder."),
        "skipped": count("Files that were as before, or that no text can be had of."),
        "removed": count("Files that are gone since the last call."),
        "duration_ms": count("How long this call took."),
        "running": { "type": "boolean", "description": "The work goes on; the counts are those of the way so far." }
    }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    root: String,
    #[serde(default)]
    full: bool,
    #[serde(default)]
    priority: Option<String>,
}

pub(super) async fn run(context: Arc<SmartContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    let priority = match arguments.priority.as_deref() {
        Some("low") => Priority::Low,
        Some("high") => Priority::High,
        _ => Priority::Normal,
    };
    let report = invocation
        .progress
        .map(|sink| -> FolderReport { Arc::new(move |done, text| sink(done as f64, None, text)) });
    let request = FolderRequest { folder: arguments.root, full: arguments.full, priority, report };
    let done = context.workspace.index_folder(&invocation.call, request).await?;
    Ok(output(json!({
        "indexed": done.indexed,
        "skipped": done.skipped,
        "removed": done.removed,
        "duration_ms": done.duration_ms,
        "running": done.is_running,
    })))
}
