//! `repo.find_definition`: where a name is declared.

use std::sync::Arc;
use std::time::Duration;

use model::{ErrorCode, Failure, PriceClass};
use serde_json::{Value, json};

use super::references::request;
use super::schema;
use super::{RepoContext, incomplete, output};
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "repo.find_definition",
    title: "Find a definition",
    description: "Where a function, class, method, type or constant is declared, in every language with outlines: path, \
                  lines, kind and signature, by path and line.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(60),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

pub(super) fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": { "symbol": schema::symbol(), "path": schema::path_within(), "top_k": schema::top_k() },
        "required": ["symbol"]
    })
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "symbol": { "type": "string" },
            "definitions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "path": { "type": "string" },
                        "symbol": { "type": "string" },
                        "kind": { "type": "string" },
                        "signature": { "type": "string" },
                        "start_line": { "type": "integer" },
                        "end_line": { "type": "integer" },
                        "scope_kind": { "type": "string" }
                    },
                    "required": ["path", "symbol", "kind", "signature", "start_line", "end_line", "scope_kind"]
                }
            },
            "truncated": { "type": "boolean" },
            "total_candidates": { "type": "integer" }
        },
        "required": ["symbol", "definitions", "truncated", "total_candidates"]
    })
}

pub(super) async fn run(context: Arc<RepoContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let request = request(&context, invocation.arguments)?;
    let symbol = request.symbol.clone();
    let found = context.engine.find_definition(&invocation.call, &context.config.view, request).await?;
    let definitions: Vec<Value> = found
        .definitions
        .iter()
        .map(|each| {
            json!({
                "path": each.path,
                "symbol": each.symbol,
                "kind": each.kind.as_str(),
                "signature": each.signature,
                "start_line": each.start_line,
                "end_line": each.end_line,
                "scope_kind": each.scope_kind.as_str(),
            })
        })
        .collect();
    let result = json!({
        "symbol": symbol,
        "truncated": found.total > definitions.len(),
        "definitions": definitions,
        "total_candidates": found.total,
    });
    Ok(output(result, incomplete(found.is_complete)))
}
