//! `repo.open_file`: numbered lines of one file (repo specification, section 11.3).

use std::sync::Arc;
use std::time::Duration;

use engine::LinesRequest;
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{RepoContext, output, schema};
use crate::arguments::typed;
use crate::tool::{Invocation, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "repo.open_file",
    title: "Open a file",
    description: "Numbered lines of one text file. Without end_line, as many as max_open_lines, and truncated says whether \
                  there are more; a larger range is blocked.",
    input,
    output: schema,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(15),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": schema::path(),
            "start_line": schema::lines("First line, from 1; 1 unless given."),
            "end_line": schema::lines("Last line, included.")
        },
        "required": ["path"]
    })
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string" },
            "numbered_lines": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "line": { "type": "integer" }, "text": { "type": "string" } },
                    "required": ["line", "text"]
                }
            },
            "total_lines": { "type": "integer" },
            "truncated": { "type": "boolean" }
        },
        "required": ["path", "numbered_lines", "total_lines", "truncated"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    start_line: Option<f64>,
    end_line: Option<f64>,
}

pub(super) async fn run(context: Arc<RepoContext>, invocation: Invocation) -> Result<ToolOutput, Failure> {
    let arguments: Arguments = typed(invocation.arguments)?;
    // The schema admits whole numbers only; one below 1 means the first line.
    let line = |number: f64| number.clamp(1.0, f64::from(u32::MAX)) as u32;
    let start = arguments.start_line.map_or(1, line);
    if arguments.end_line.is_some_and(|end| end < 1.0) {
        return Err(Failure::new(ErrorCode::InvalidField, "end_line is before start_line"));
    }
    let end = arguments.end_line.map(line);
    let request = LinesRequest { path: arguments.path, start, end, max_lines: context.limits.max_open_lines };
    let opened = context.engine.open_lines(&invocation.call, &context.config.view, request).await?;
    let mut warnings = Vec::new();
    if opened.lines.is_empty() && opened.total_lines > 0 {
        warnings.push(format!("the file has only {} lines", opened.total_lines));
    }
    let lines: Vec<Value> =
        opened.lines.into_iter().map(|(line, text)| json!({ "line": line, "text": text })).collect();
    let result = json!({
        "path": opened.path,
        "numbered_lines": lines,
        "total_lines": opened.total_lines,
        "truncated": opened.is_truncated,
    });
    Ok(output(result, warnings))
}
