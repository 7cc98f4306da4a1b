//! `dir2mcp.open_file`: an exact slice of a file, to verify a citation (dir2mcp specification, section 15.4).

use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, OpenRequest, OpenSelection, OpenedFile};
use model::citation::citation_text;
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::filter::not_blank;
use super::hits::span_json;
use super::schema;
use crate::arguments::{typed, whole};
use crate::text::{one_line, visible};
use crate::tool::{ContractFrame, Tool, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "dir2mcp.open_file",
    title: "Open file",
    description: "Open an exact slice of a file to verify or read around a citation: lines (start_line, \
                  end_line), a page, or a time range (start_ms, end_ms). Give one of the three, or none for \
                  the beginning of the file.",
    input,
    output,
    // Sizes and spans out of range are invalid fields for this tool.
    out_of_range: ErrorCode::InvalidField,
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
            let opened = engine.open_file(&invocation.call, request).await?;
            Ok(render(&opened))
        }
    })
}

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "rel_path": schema::rel_path("Path relative to the indexed directory, or absolute within it."),
            "start_line": { "type": "integer", "minimum": 1, "description": "First line, counted from 1; alone, from there on." },
            "end_line": { "type": "integer", "minimum": 1, "description": "Last line, included; alone, from the first line." },
            "page": { "type": "integer", "minimum": 1, "description": "Page of a paged document, counted from 1." },
            "start_ms": { "type": "integer", "minimum": 0, "description": "Start of a transcript excerpt; alone, from there on." },
            "end_ms": { "type": "integer", "minimum": 0, "description": "End of a transcript excerpt; alone, from the start." },
            "max_chars": {
                "type": "integer", "minimum": 200, "maximum": 50000, "default": 20000,
                "description": "Most characters to return; more is cut off and truncated is true."
            }
        },
        "required": ["rel_path"]
    })
}

fn output() -> Value {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "rel_path": { "type": "string" },
            "doc_type": { "type": "string" },
            "span": { "$ref": "#/definitions/Span" },
            "content": { "type": "string" },
            "truncated": { "type": "boolean" }
        },
        "required": ["rel_path", "doc_type", "content", "truncated"]
    });
    schema::with_definitions(schema, &["Span"])
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    rel_path: String,
    #[serde(default, deserialize_with = "whole")]
    start_line: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    end_line: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    page: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    start_ms: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    end_ms: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    max_chars: Option<u64>,
}

/// Characters returned unless told otherwise; the schema publishes it.
const DEFAULT_MAX_CHARS: u64 = 20_000;

fn request(arguments: Value) -> Result<OpenRequest, Failure> {
    let arguments: Arguments = typed(arguments)?;
    Ok(OpenRequest {
        selection: selection(&arguments)?,
        rel_path: not_blank(arguments.rel_path, "rel_path")?,
        max_chars: arguments.max_chars.unwrap_or(DEFAULT_MAX_CHARS) as usize,
    })
}

/// Page, time and lines exclude each other. A range with one end runs from the start or to the end.
fn selection(arguments: &Arguments) -> Result<OpenSelection, Failure> {
    let refuse = |message: String| Err(Failure::new(ErrorCode::InvalidField, message));
    let lines = ends((arguments.start_line, "start_line"), (arguments.end_line, "end_line"), 1)?;
    let time = ends((arguments.start_ms, "start_ms"), (arguments.end_ms, "end_ms"), 0)?;
    // A number beyond any file is its end.
    let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    match (arguments.page, time, lines) {
        (None, None, None) => Ok(OpenSelection::Start),
        (Some(page), None, None) => Ok(OpenSelection::Page(narrow(page))),
        (None, Some((start_ms, end_ms)), None) => Ok(OpenSelection::Time { start_ms, end_ms }),
        (None, None, Some((start, end))) => {
            Ok(OpenSelection::Lines { start: narrow(start), end: narrow(end) })
        }
        _ => refuse("give only one of page, start_ms with end_ms, or start_line with end_line".into()),
    }
}

fn ends(
    (start, start_name): (Option<u64>, &str),
    (end, end_name): (Option<u64>, &str),
    first: u64,
) -> Result<Option<(u64, u64)>, Failure> {
    if start.is_none() && end.is_none() {
        return Ok(None);
    }
    let (start, end) = (start.unwrap_or(first), end.unwrap_or(u64::MAX));
    if start > end {
        let message = format!("{start_name} must not be greater than {end_name}");
        return Err(Failure::new(ErrorCode::InvalidField, message));
    }
    Ok(Some((start, end)))
}

fn render(opened: &OpenedFile) -> ToolOutput {
    let mut structured = json!({
        "rel_path": opened.rel_path,
        "doc_type": opened.doc_type.as_str(),
    });
    if let Some(span) = opened.span {
        structured["span"] = span_json(span);
    }
    structured["content"] = json!(marked(opened));
    structured["truncated"] = json!(opened.truncated);
    let mut content = vec![visible(&opened.content)];
    content.extend(note(opened));
    ToolOutput { content, audio: Vec::new(), structured: structured.into(), warnings: Vec::new() }
}

/// The content as a model sees it. Where the file has changed since it was indexed, a first line says so: a citation may
/// have moved, and nothing else in this result could tell.
fn marked(opened: &OpenedFile) -> String {
    match opened.changed_since_indexed {
        true => format!("{CHANGED_NOTICE}\n{}", opened.content),
        false => opened.content.clone(),
    }
}

const CHANGED_NOTICE: &str =
    "[dir2mcp: this file has changed since it was indexed; cited lines may have moved]";

/// What the reader should know beyond the content, as an item of its own, so that the content stays exact.
fn note(opened: &OpenedFile) -> Option<String> {
    let mut notes = Vec::new();
    if opened.content.is_empty() {
        notes.push("there is nothing at this place");
    }
    if opened.truncated {
        notes.push("cut off at max_chars: ask for a smaller span, or for the lines that follow");
    }
    if opened.changed_since_indexed {
        notes.push("the file has changed since it was indexed, so a citation may have moved");
    }
    if notes.is_empty() {
        return None;
    }
    let place = match opened.span {
        Some(span) => citation_text(&opened.rel_path, span),
        None => opened.rel_path.clone(),
    };
    Some(format!("Note on {}: {}.", one_line(&place), notes.join("; ")))
}

#[cfg(test)]
pub(super) mod tests {
    use model::{DocType, Span};

    use super::super::tests::sample;
    use super::*;
    use crate::arguments::Schema;

    pub(crate) fn reads_every_property(input: &Value) {
        let _: Arguments = typed(sample(input)).unwrap();
    }

    fn refused(arguments: Value) -> ErrorCode {
        let schema = Schema::compile(input()).unwrap();
        match schema.check(&arguments, SPEC.out_of_range) {
            Err(failure) => failure.code,
            Ok(()) => request(arguments).unwrap_err().code,
        }
    }

    #[test]
    fn d150_d153_selections_and_their_defaults() {
        let of = |arguments: Value| request(arguments).unwrap();
        let plain = of(json!({"rel_path": "a.rs"}));
        assert_eq!((plain.selection, plain.max_chars), (OpenSelection::Start, 20_000));
        let lines = of(json!({"rel_path": "a.rs", "start_line": 3, "end_line": 9.0, "max_chars": 200}));
        assert_eq!((lines.selection, lines.max_chars), (OpenSelection::Lines { start: 3, end: 9 }, 200));
        assert_eq!(of(json!({"rel_path": "a.pdf", "page": 2})).selection, OpenSelection::Page(2));
        assert_eq!(
            of(json!({"rel_path": "a.wav", "start_ms": 0, "end_ms": 5})).selection,
            OpenSelection::Time { start_ms: 0, end_ms: 5 }
        );
        let from = of(json!({"rel_path": "a.rs", "start_line": 7}));
        assert_eq!(from.selection, OpenSelection::Lines { start: 7, end: u32::MAX });
        let until = of(json!({"rel_path": "a.rs", "end_line": 7}));
        assert_eq!(until.selection, OpenSelection::Lines { start: 1, end: 7 });
        let rest = of(json!({"rel_path": "a.wav", "start_ms": 5}));
        assert_eq!(rest.selection, OpenSelection::Time { start_ms: 5, end_ms: u64::MAX });
        let beginning = of(json!({"rel_path": "a.wav", "end_ms": 5}));
        assert_eq!(beginning.selection, OpenSelection::Time { start_ms: 0, end_ms: 5 });
        let far = of(json!({"rel_path": "a.rs", "start_line": 1, "end_line": 1e300}));
        assert_eq!(far.selection, OpenSelection::Lines { start: 1, end: u32::MAX });
    }

    #[test]
    fn d150_d152_case_18_what_is_refused() {
        for arguments in [
            json!({"rel_path": "a", "start_line": 2, "end_line": 1}),
            json!({"rel_path": "a", "start_ms": 2, "end_ms": 1}),
            json!({"rel_path": "a", "page": 1, "start_line": 1, "end_line": 1}),
            json!({"rel_path": "a", "page": 1, "start_ms": 1, "end_ms": 1}),
            json!({"rel_path": "a", "start_line": 1, "end_line": 1, "start_ms": 1, "end_ms": 1}),
            json!({"rel_path": "a", "start_line": 0, "end_line": 1}),
            json!({"rel_path": "a", "page": 0}),
            json!({"rel_path": "a", "start_ms": -1, "end_ms": 1}),
            json!({"rel_path": "a", "max_chars": 100}),
            json!({"rel_path": "a", "max_chars": 50_001}),
            json!({"rel_path": "a", "path": "b"}),
            json!({"rel_path": ""}),
            json!({"rel_path": " "}),
            json!({"rel_path": 3}),
        ] {
            assert_eq!(refused(arguments.clone()), ErrorCode::InvalidField, "{arguments}");
        }
        assert_eq!(refused(json!({})), ErrorCode::MissingField);
    }

    fn opened() -> OpenedFile {
        OpenedFile {
            rel_path: "src/a.rs".into(),
            doc_type: DocType::Code,
            span: Some(Span::Lines { start_line: 3, end_line: 4 }),
            content: "fn a() {\n}".into(),
            truncated: false,
            changed_since_indexed: false,
        }
    }

    #[test]
    fn d154_the_content_is_the_text() {
        let output = render(&opened());
        assert_eq!(output.content, ["fn a() {\n}"]);
        assert_eq!(Schema::compile(super::output()).unwrap().complaint(&output.structured), None);
        let keys: Vec<&String> = output.structured.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["rel_path", "doc_type", "span", "content", "truncated"]);
    }

    #[test]
    fn what_should_be_known_comes_as_its_own_item() {
        let cut = OpenedFile { truncated: true, changed_since_indexed: true, ..opened() };
        let output = render(&cut);
        assert_eq!(output.content[0], "fn a() {\n}");
        assert!(output.content[1].starts_with("Note on [src/a.rs:L3-L4]: cut off at max_chars"));
        assert!(output.content[1].contains("changed since it was indexed"));
        assert_eq!(output.structured["content"], format!("{CHANGED_NOTICE}\nfn a() {{\n}}"));

        let empty = OpenedFile { span: None, content: String::new(), ..opened() };
        let output = render(&empty);
        assert_eq!(output.structured.get("span"), None);
        assert_eq!(output.content[1], "Note on src/a.rs: there is nothing at this place.");
        assert_eq!(Schema::compile(super::output()).unwrap().complaint(&output.structured), None);
    }
}
