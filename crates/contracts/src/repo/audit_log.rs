//! `repo.audit_log`: the last calls, without what they asked (repo specification, sections 11.8 and 12).

use std::sync::Arc;
use std::time::Duration;

use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::schema::given;
use super::{RepoContext, output};
use crate::arguments::{typed, whole};
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "repo.audit_log",
    title: "Audit log",
    description: "The last calls of these tools, oldest first: time, tool, outcome and harmless arguments; never prompts, \
                  queries or contents.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(15),
    read_only: true,
    idempotent: true,
    price: PriceClass::Free,
};

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "since": { "type": "string", "description": "Only calls from this time on: 2026-01-31T12:00:00.000Z." },
            "limit": { "type": "integer", "minimum": 1, "description": "Most records; cut to max_search_hits." }
        }
    })
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "records": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "timestamp": { "type": "string" },
                        "request_id": { "type": "string" },
                        "tool": { "type": "string" },
                        "ok": { "type": "boolean" },
                        "blocked": { "type": "boolean" },
                        "error_code": { "type": ["string", "null"] },
                        "duration_ms": { "type": "integer" },
                        "metadata": { "type": "object" }
                    },
                    "required": ["timestamp", "request_id", "tool", "ok", "blocked", "error_code", "metadata"]
                }
            }
        },
        "required": ["records"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    since: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<u64>,
}

pub(super) async fn run(context: Arc<RepoContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    let limit = u64::from(context.limits.max_search_hits);
    let limit = arguments.limit.unwrap_or(limit).min(limit) as usize;
    let since = given(arguments.since);
    let records = context.log.last(&invocation.call, "repo.", since, limit).await?;
    Ok(output(json!({ "records": records }), Vec::new()))
}
