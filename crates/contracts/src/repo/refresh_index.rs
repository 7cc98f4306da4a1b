//! `repo.refresh_index`: brings the index up to date and says what changed (repo specification, section 11.6).

use std::sync::Arc;
use std::time::Duration;

use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{RepoContext, output};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "repo.refresh_index",
    title: "Refresh the index",
    description: "Looks at all files now and brings the index up to date; with force, builds it anew. The index also follows \
                  changes by itself. Counts what was added, updated and removed since the last refresh.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(900),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "force": { "type": "boolean", "default": false, "description": "Build the index anew; every file counts as updated." }
        }
    })
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "added": { "type": "integer" },
            "updated": { "type": "integer" },
            "removed": { "type": "integer" },
            "duration_ms": { "type": "integer" },
            "timestamp": { "type": "string" }
        },
        "required": ["added", "updated", "removed", "duration_ms", "timestamp"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    force: Option<bool>,
}

pub(super) async fn run(context: Arc<RepoContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    let (config, force) = (&context.config, arguments.force.unwrap_or(false));
    let done =
        context.engine.refresh_view(&invocation.call, &config.view, config.data_dir.clone(), force).await?;
    let warnings = done
        .held_by
        .map(|holder| format!("another process ({holder}) keeps this index up to date"))
        .into_iter()
        .collect();
    let result = json!({
        "added": done.added,
        "updated": done.updated,
        "removed": done.removed,
        "duration_ms": done.duration_ms,
        "timestamp": done.timestamp,
    });
    Ok(output(result, warnings))
}
