//! `rewriteQuery`: a plain question as filters and a full-text query.

use std::sync::Arc;
use std::time::Duration;

use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{SmartContext, output};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "rewriteQuery",
    title: "Rewrite query",
    description: "How a plain question is understood: the extensions and years it speaks of as filters, the rest as a \
                  full-text query in the syntax of SQLite FTS5.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(120),
    read_only: true,
    idempotent: true,
    price: PriceClass::Model,
};

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": { "query": { "type": "string", "minLength": 1, "description": "A question in plain words." } },
        "required": ["query"]
    })
}

fn schema() -> Value {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    super::schema(json!({
        "fts": { "type": "string" },
        "filters": {
            "type": "object",
            "properties": { "exts": list, "years": list },
            "required": ["exts", "years"]
        },
        "notes": { "type": "string" }
    }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
}

pub(super) async fn run(context: Arc<SmartContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    if arguments.query.trim().is_empty() {
        return Err(Failure::new(ErrorCode::MissingField, "query is required"));
    }
    let rewritten = context.workspace.rewrite(&invocation.call, &arguments.query).await?;
    Ok(output(json!({
        "fts": rewritten.fts,
        "filters": { "exts": rewritten.exts, "years": rewritten.years },
        "notes": rewritten.notes,
    })))
}
