//! `indexFolder`: brings the index of a folder up to date.

use std::sync::Arc;
use std::time::Duration;

use engine::smart::{Priority, Smart};
use model::{ErrorCode, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use crate::arguments::typed;
use crate::tool::{Invocation, Output, Spec};

pub(super) const SPEC: Spec = Spec {
    name: "indexFolder",
    title: "Index folder",
    description: "Bring the index of a folder up to date: files whose size and time are unchanged are skipped. Folders \
                  are followed by themselves, so this is needed only to be sure. CONFLICT while the same root is \
                  indexed. Long work goes on after the answer, with running true.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(120),
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

pub(super) async fn run(smart: Smart, invocation: Invocation) -> Result<Output, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    let priority = match arguments.priority.as_deref() {
        Some("low") => Priority::Low,
        Some("high") => Priority::High,
        _ => Priority::Normal,
    };
    let report = invocation
        .progress
        .map(|sink| -> engine::smart::Report { Arc::new(move |done, text| sink(done as f64, None, text)) });
    let done =
        smart.index_folder(&invocation.call, &arguments.root, arguments.full, priority, report).await?;
    Ok(output(json!({
        "indexed": done.indexed,
        "skipped": done.skipped,
        "removed": done.removed,
        "duration_ms": done.duration_ms,
        "running": done.is_running,
    })))
}
