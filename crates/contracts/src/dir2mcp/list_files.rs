//! `dir2mcp.list_files`: what is there, by pages (dir2mcp specification, section 15.5).

use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, FileList, ListRequest, ListedFile};
use model::{DocStatus, ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::schema;
use crate::arguments::{typed, whole};
use crate::text::{Summary, one_line};
use crate::tool::{ContractFrame, Tool, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "dir2mcp.list_files",
    title: "List files",
    description: "List the files of the directory with type, size, time and status, ordered by path: to find \
                  your way around, or to choose filters for a search. Use limit and offset to page.",
    input,
    output,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(30),
    read_only: true,
    idempotent: true,
    price: PriceClass::Standard,
};

pub(super) fn tool(frame: &ContractFrame, engine: &Arc<Engine>) -> Tool {
    let engine = Arc::clone(engine);
    Tool::new(frame, SPEC, move |invocation| {
        let engine = Arc::clone(&engine);
        async move {
            let request = request(invocation.arguments)?;
            let list = engine.list_files(&invocation.call, request).await?;
            Ok(render(&list))
        }
    })
}

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path_prefix": schema::path_prefix(),
            "glob": schema::glob(),
            "limit": {
                "type": "integer", "minimum": 1, "maximum": 5000, "default": 200,
                "description": "Most files to return."
            },
            "offset": {
                "type": "integer", "minimum": 0, "default": 0,
                "description": "How many files to pass over first."
            }
        }
    })
}

fn output() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "limit": { "type": "integer" },
            "offset": { "type": "integer" },
            "total": { "type": "integer", "description": "How many files match in all." },
            "files": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "rel_path": { "type": "string" },
                        "doc_type": { "type": "string" },
                        "size_bytes": { "type": "integer" },
                        "mtime_unix": { "type": "integer" },
                        "status": { "type": "string", "enum": ["ok", "skipped", "error"] },
                        "deleted": { "type": "boolean" }
                    },
                    "required": ["rel_path", "doc_type", "size_bytes", "mtime_unix", "status", "deleted"]
                }
            }
        },
        "required": ["limit", "offset", "total", "files"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path_prefix: Option<String>,
    glob: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    offset: Option<u64>,
}

/// Files returned unless told otherwise; the schema publishes it.
const DEFAULT_LIMIT: u64 = 200;

fn request(arguments: Value) -> Result<ListRequest, Failure> {
    let arguments: Arguments = typed(arguments)?;
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    Ok(ListRequest {
        path_prefix: given(arguments.path_prefix),
        glob: given(arguments.glob),
        limit: arguments.limit.unwrap_or(DEFAULT_LIMIT) as usize,
        offset: usize::try_from(arguments.offset.unwrap_or(0)).unwrap_or(usize::MAX),
    })
}

fn render(list: &FileList) -> ToolOutput {
    let first = list.offset.saturating_add(1);
    let end = list.offset.saturating_add(list.files.len());
    let total = list.total;
    let mut summary = Summary::new(match list.files.len() {
        0 if total == 0 => "No files match.".to_owned(),
        0 => format!("Nothing at offset {}: {total} files match.", list.offset),
        _ => format!("Files {first} to {end} of {total}, by path:"),
    });
    for file in &list.files {
        summary.entry(&entry(file));
    }
    if summary.left_out() > 0 {
        let left_out = summary.left_out();
        summary.line(&format!("… and {left_out} more of this page, in the structured result."));
    }
    if !list.files.is_empty() && (end as u64) < total {
        summary.line(&format!("Next page: offset {end}."));
    }
    let files: Vec<Value> = list
        .files
        .iter()
        .map(|file| {
            json!({
                "rel_path": file.rel_path,
                "doc_type": file.doc_type.as_str(),
                "size_bytes": file.size_bytes,
                "mtime_unix": file.mtime_unix,
                "status": file.status.as_str(),
                // Deleted files leave the listing at once.
                "deleted": false,
            })
        })
        .collect();
    ToolOutput::new(
        summary.finish(),
        json!({ "limit": list.limit, "offset": list.offset, "total": total, "files": files }),
    )
}

/// `src/main.rs (code, 1.2 kB)`, and why a file is not searchable where it is not.
fn entry(file: &ListedFile) -> String {
    let path = one_line(&file.rel_path);
    let size = size(file.size_bytes);
    match file.status {
        DocStatus::Ok => format!("{path} ({}, {size})", file.doc_type),
        status => {
            let reason = file.reason.as_deref().map(|reason| format!(": {}", one_line(reason)));
            format!("{path} ({}, {size}) {status}{}", file.doc_type, reason.unwrap_or_default())
        }
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use model::DocType;

    use super::super::tests::sample;
    use super::*;
    use crate::arguments::Schema;

    pub(crate) fn reads_every_property(input: &Value) {
        request(sample(input)).unwrap();
    }

    #[test]
    fn d155_case_11_arguments() {
        let plain = request(json!({})).unwrap();
        assert_eq!((plain.limit, plain.offset), (200, 0));
        let schema = Schema::compile(input()).unwrap();
        let refused = |arguments: Value| schema.check(&arguments, SPEC.out_of_range).unwrap_err().code;
        assert_eq!(refused(json!({"limit": 0})), ErrorCode::InvalidRange);
        assert_eq!(refused(json!({"limit": 5001})), ErrorCode::InvalidRange);
        assert_eq!(refused(json!({"limit": "x"})), ErrorCode::InvalidField);
        assert_eq!(refused(json!({"limit": "10"})), ErrorCode::InvalidField);
        assert_eq!(refused(json!({"offset": -1})), ErrorCode::InvalidRange);
        assert_eq!(refused(json!({"offset": "0"})), ErrorCode::InvalidField);
        assert_eq!(refused(json!({"limit": 10, "offset": 0, "foo": "bar"})), ErrorCode::InvalidField);
        assert!(schema.check(&json!({"limit": 5000, "offset": 0}), SPEC.out_of_range).is_ok());
    }

    fn listed(count: usize, total: u64) -> FileList {
        let file = |i: usize| ListedFile {
            rel_path: format!("src/file_{i:04}.rs"),
            doc_type: DocType::Code,
            size_bytes: 1_234,
            mtime_unix: 1_700_000_000,
            status: if i == 1 { DocStatus::Skipped } else { DocStatus::Ok },
            reason: (i == 1).then(|| "BINARY_SKIPPED: the content is binary".into()),
        };
        FileList { limit: count, offset: 10, total, files: (0..count).map(file).collect() }
    }

    #[test]
    fn d156_the_list_and_its_text() {
        let output = render(&listed(3, 40));
        assert_eq!(Schema::compile(super::output()).unwrap().complaint(&output.structured), None);
        assert_eq!(output.structured["files"][0]["deleted"], false);
        assert_eq!(
            output.content[0],
            "Files 11 to 13 of 40, by path:\n\
             src/file_0000.rs (code, 1.2 kB)\n\
             src/file_0001.rs (code, 1.2 kB) skipped: BINARY_SKIPPED: the content is binary\n\
             src/file_0002.rs (code, 1.2 kB)\n\
             Next page: offset 13."
        );
    }

    #[test]
    fn a_page_of_five_thousand_has_a_small_text() {
        let output = render(&listed(5_000, 6_000));
        assert!(output.content[0].len() < 9 * 1024);
        assert_eq!(output.structured["files"].as_array().unwrap().len(), 5_000);
        assert!(output.content[0].contains("more of this page"));
    }

    #[test]
    fn an_empty_page_says_why() {
        assert_eq!(render(&listed(0, 0)).content, ["No files match."]);
        assert_eq!(render(&listed(0, 3)).content, ["Nothing at offset 10: 3 files match."]);
    }
}
