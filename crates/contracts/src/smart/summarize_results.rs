//! `summarizeResults`: a short text made of results that the caller sends back.

use std::sync::Arc;
use std::time::Duration;

use engine::{GivenResult, SummaryRequest, SummaryStyle};
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{SmartContext, output};
use crate::arguments::{typed, whole};
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "summarizeResults",
    title: "Summarize results",
    description: "A concise summary of some results of searchFiles, from their snippets alone, written by the chat model. \
                  Without a model it picks the words that answer the query best.",
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
        "properties": {
            "query": { "type": "string", "minLength": 1, "description": "The question that was searched for." },
            "results": {
                "type": "array",
                "maxItems": 100,
                "description": "Items of searchFiles; more of their fields may come along.",
                "items": {
                    "type": "object",
                    "properties": {
                        "path": { "type": "string" },
                        "snippet": { "type": "string" }
                    },
                    "required": ["path", "snippet"]
                }
            },
            "style": { "type": "string", "enum": ["bullets", "paragraph", "table"], "default": "bullets" },
            "max_tokens": {
                "type": "integer", "minimum": 1, "description": "Most tokens of the summary; at most 800."
            }
        },
        "required": ["query", "results"]
    })
}

fn schema() -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    super::schema(json!({
        "summary": { "type": "string" },
        "tokens_used": {
            "type": "object",
            "description": "Tokens of a model; 0 where none was asked.",
            "properties": { "prompt": count, "completion": count },
            "required": ["prompt", "completion"]
        }
    }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    results: Vec<SummaryItem>,
    style: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    max_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct SummaryItem {
    path: String,
    snippet: String,
}

pub(super) async fn run(context: Arc<SmartContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    let style = match arguments.style.as_deref() {
        Some("paragraph") => SummaryStyle::Paragraph,
        Some("table") => SummaryStyle::Table,
        _ => SummaryStyle::Bullets,
    };
    let given = |item: SummaryItem| GivenResult { path: item.path, snippet: item.snippet };
    let results = arguments.results.into_iter().map(given).collect();
    let max_tokens = arguments.max_tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
    let request = SummaryRequest { query: arguments.query, results, style, max_tokens };
    let done = context.workspace.summarize(&invocation.call, request, context.rules()).await?;
    Ok(output(json!({
        "summary": done.summary,
        "tokens_used": { "prompt": done.prompt_tokens, "completion": done.completion_tokens },
    })))
}
