//! `openFile`: a short, redacted look into a file.

use std::sync::Arc;
use std::time::Duration;

use engine::PreviewRequest;
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{SmartContext, output};
use crate::arguments::{typed, whole};
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "openFile",
    title: "Preview file",
    description: "A safe preview of a file at a pointer of searchFiles (page 3, slide 7, sheet 'Q2', lines 10-20), or of \
                  its beginning. At most 2 kB; e-mail addresses, phone numbers and secrets are blanked. Whole files are \
                  never returned.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(90),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": { "type": "string", "minLength": 1, "description": "Absolute path within the roots." },
            "pointer": { "type": "string", "description": "Where to look; absent, at the beginning." },
            "before": {
                "type": "integer", "minimum": 0, "default": 200,
                "description": "Characters before the place; fewer where the preview would grow too long."
            },
            "after": {
                "type": "integer", "minimum": 0, "default": 200, "description": "Characters behind the place."
            }
        },
        "required": ["path"]
    })
}

fn schema() -> Value {
    super::schema(json!({
        "path": { "type": "string" },
        "pointer": { "type": "string" },
        "preview": { "type": "string", "description": "Redacted; … stands where the file goes on." },
        "truncated": { "type": "boolean", "description": "The file has more than the preview shows." }
    }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    pointer: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    before: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    after: Option<u64>,
}

pub(super) async fn run(context: Arc<SmartContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    let request = PreviewRequest {
        path: arguments.path,
        pointer: arguments.pointer,
        before: arguments.before.map(|chars| chars as usize),
        after: arguments.after.map(|chars| chars as usize),
    };
    let preview = context.workspace.preview(&invocation.call, request, context.rules()).await?;
    Ok(output(json!({
        "path": preview.path,
        "pointer": preview.pointer,
        "preview": preview.text,
        "truncated": preview.truncated,
    })))
}
