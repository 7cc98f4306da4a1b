//! `repo.references`: where a name is used.

use std::sync::Arc;
use std::time::Duration;

use engine::SymbolRequest;
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::schema::{given, within};
use super::{RepoContext, find_definition, incomplete, output};
use crate::arguments::{typed, whole};
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "repo.references",
    title: "Find references",
    description: "Where a name is used: imports, bases, calls, instantiations, types, reads and writes, each with its line \
                  as evidence, how it was found (ast or lexical) and how sure it is that this name is meant.",
    input: find_definition::input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(60),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "symbol": { "type": "string" },
            "references": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "symbol": { "type": "string", "description": "As written at this place." },
                        "path": { "type": "string" },
                        "line": { "type": "integer" },
                        "kind": { "type": "string" },
                        "evidence": { "type": "string" },
                        "strategy": { "type": "string", "enum": ["ast", "lexical"] },
                        "confidence": { "type": "string", "enum": ["high", "medium", "low"] }
                    },
                    "required": ["symbol", "path", "line", "kind", "evidence", "strategy", "confidence"]
                }
            },
            "truncated": { "type": "boolean" },
            "total_candidates": { "type": "integer" }
        },
        "required": ["symbol", "references", "truncated", "total_candidates"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    symbol: String,
    path: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    top_k: Option<u64>,
}

/// What is asked for, also by `repo.find_definition`.
pub(super) fn request(context: &RepoContext, arguments: Value) -> Result<SymbolRequest, Failure> {
    let Arguments { symbol, path, top_k } = typed(arguments)?;
    let limit = within(top_k, context.limits.max_references, "top_k", "max_references")?;
    Ok(SymbolRequest { symbol, path: given(path), limit })
}

pub(super) async fn run(context: Arc<RepoContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let request = request(&context, invocation.arguments)?;
    let symbol = request.symbol.clone();
    let found = context.engine.references(&invocation.call, &context.config.view, request).await?;
    let references: Vec<Value> = found
        .references
        .iter()
        .map(|each| {
            json!({
                "symbol": each.symbol,
                "path": each.path,
                "line": each.line,
                "kind": each.kind.as_str(),
                "evidence": each.evidence,
                "strategy": if each.from_syntax { "ast" } else { "lexical" },
                "confidence": each.confidence,
            })
        })
        .collect();
    let result = json!({
        "symbol": symbol,
        "truncated": found.total > references.len(),
        "references": references,
        "total_candidates": found.total,
    });
    Ok(output(result, incomplete(found.is_complete)))
}
