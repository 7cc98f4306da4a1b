//! `searchFiles`: files that answer a question in everyday words.

use std::sync::Arc;
use std::time::Duration;

use engine::{MatchingFile, ResultPage, Retrieval, SearchFilter, SearchRequest};
use model::{ErrorCode, Failure, IndexChoice, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{SmartContext, output};
use crate::arguments::{typed, whole};
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "searchFiles",
    title: "Search files",
    description: "Find files by keywords and meaning. Plain questions work: file types and years in them become filters \
                  (\"contracts about vendor X from 2021 in ppt or docx\"). One item per file, best first, with a \
                  pointer to its best passage for openFile. Page with offset.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(30),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

const DEFAULT_K: u64 = 10;

fn input() -> Value {
    let list = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "maxItems": 100, "description": what });
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "query": { "type": "string", "minLength": 1, "description": "What to look for, in your own words." },
            "k": {
                "type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "Most items."
            },
            "offset": { "type": "integer", "minimum": 0, "default": 0, "description": "Items to pass over." },
            "exts": list("Only files with one of these extensions, such as .docx."),
            "years": list("Only files that name one of these years, in their name or their text."),
            "roots": list("Only files below these folders, which must lie within the roots.")
        },
        "required": ["query"]
    })
}

fn schema() -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    super::schema(json!({
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "Absolute." },
                    "pointer": { "type": "string", "description": "Where in the file, for openFile." },
                    "snippet": { "type": "string", "description": "Redacted." },
                    "score": { "type": "number", "minimum": 0, "maximum": 1 },
                    "ext": { "type": "string" },
                    "modified": { "type": "string", "description": "UTC, ISO 8601." }
                },
                "required": ["path", "pointer", "snippet", "score", "ext", "modified"]
            }
        },
        "pagination": {
            "type": "object",
            "properties": {
                "offset": count,
                "returned": count,
                "total_estimate": count
            },
            "required": ["offset", "returned", "total_estimate"]
        },
        "indexing_complete": {
            "type": "boolean", "description": "False while folders are still indexed; more may be found later."
        }
    }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    #[serde(default, deserialize_with = "whole")]
    k: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    offset: Option<u64>,
    exts: Option<Vec<String>>,
    years: Option<Vec<String>>,
    roots: Option<Vec<String>>,
}

pub(super) async fn run(context: Arc<SmartContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    if arguments.query.trim().is_empty() {
        return Err(Failure::new(ErrorCode::MissingField, "query is required"));
    }
    let offset = arguments.offset.unwrap_or(0);
    let some = |list: Option<Vec<String>>| list.filter(|list| !list.is_empty());
    let request = SearchRequest {
        text: arguments.query,
        roots: arguments.roots.unwrap_or_default(),
        scope: None,
        retrieval: Retrieval::Hybrid,
        index: IndexChoice::Both,
        filter: SearchFilter {
            exts: some(arguments.exts),
            years: some(arguments.years),
            ..SearchFilter::default()
        },
        page: ResultPage { offset: offset as usize, limit: arguments.k.unwrap_or(DEFAULT_K) as usize },
    };
    let found = context.workspace.search_files(&invocation.call, request, context.rules()).await?;
    let items: Vec<Value> = found.items.iter().map(item).collect();
    Ok(output(json!({
        "items": items,
        "pagination": { "offset": offset, "returned": found.items.len(), "total_estimate": found.total },
        "indexing_complete": found.is_complete,
    })))
}

fn item(file: &MatchingFile) -> Value {
    json!({
        "path": file.path,
        "pointer": file.pointer,
        "snippet": file.snippet,
        // Four digits tell files apart; more would be noise.
        "score": (f64::from(file.score) * 10_000.0).round() / 10_000.0,
        "ext": file.ext,
        "modified": iso(file.modified_ns),
    })
}

/// Whole seconds, UTC.
fn iso(nanoseconds: i64) -> String {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    let time = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s018_items_in_the_specified_shape() {
        let file = MatchingFile {
            path: "/mnt/a.docx".into(),
            pointer: "page 3".into(),
            snippet: "text".into(),
            score: 0.912_345,
            ext: ".docx".into(),
            modified_ns: 1_730_815_391_999_000_000,
        };
        assert_eq!(
            item(&file).to_string(),
            r#"{"path":"/mnt/a.docx","pointer":"page 3","snippet":"text","score":0.9123,"ext":".docx","modified":"2024-11-05T14:03:11Z"}"#
        );
        assert_eq!(iso(-1), "1969-12-31T23:59:59Z");
    }
}
