//! `dir2mcp.annotate`: what a document says, as JSON of a given schema (dir2mcp specification, section 15.8).

use std::sync::Arc;
use std::time::Duration;

use engine::{AnnotateRequest, Annotated, Engine};
use jsonschema::{PatternOptions, Validator};
use model::{ErrorCode, Failure, PriceClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::filter::not_blank;
use super::schema;
use crate::arguments::typed;
use crate::text::one_line;
use crate::tool::{ContractFrame, Tool, ToolOutput, ToolSpec};

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: "dir2mcp.annotate",
    title: "Annotate",
    description: "Extract structured data from one document: the chat model fills the JSON Schema that you give, the result \
                  is validated against it, stored with the document and, unless index_flattened_text is false, made \
                  searchable as lines of `key: value`. Needs a chat model (chat.provider).",
    input,
    output,
    out_of_range: ErrorCode::InvalidRange,
    timeout: Duration::from_secs(240),
    read_only: false,
    idempotent: true,
    price: PriceClass::Model,
};

/// Bytes of a schema; a larger one would be most of the prompt.
const SCHEMA_BYTES: usize = 64 * 1024;
/// Violations that a model is told of.
const TOLD: usize = 20;
/// Characters of the preview of the flattened text.
const PREVIEW: usize = 240;

pub(super) fn tool(frame: &ContractFrame, engine: &Arc<Engine>) -> Tool {
    let engine = Arc::clone(engine);
    Tool::new(frame, SPEC, move |invocation| {
        let engine = Arc::clone(&engine);
        async move {
            let arguments: Arguments = typed(invocation.arguments)?;
            let validator = Arc::new(compiled(&arguments.schema_json)?);
            let request = AnnotateRequest {
                rel_path: not_blank(arguments.rel_path, "rel_path")?,
                schema: arguments.schema_json,
                violations: Arc::new(move |value| violations(&validator, value)),
                index_text: arguments.index_flattened_text.unwrap_or(true),
                on_step: invocation.progress.map(|progress| {
                    Arc::new(move |done: u32, message: &str| {
                        progress(f64::from(done), None, message.to_owned())
                    }) as engine::StepSink
                }),
            };
            let done = engine.annotate(&invocation.call, request).await?;
            Ok(render(&done))
        }
    })
}

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "rel_path": schema::rel_path(
                "Path of the document relative to the indexed directory, as search and list_files give it."
            ),
            "schema_json": {
                "type": "object",
                "description": "The JSON Schema of the wanted object, e.g. {\"type\":\"object\",\"properties\":{\"total\":{\"type\":\"number\"}},\"required\":[\"total\"]}."
            },
            "index_flattened_text": {
                "type": "boolean", "default": true,
                "description": "Make the result searchable as lines of key: value."
            }
        },
        "required": ["rel_path", "schema_json"]
    })
}

fn output() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "rel_path": { "type": "string" },
            "stored": { "type": "boolean" },
            "flattened_indexed": { "type": "boolean" },
            "annotation_json": { "type": "object" },
            "annotation_text_preview": { "type": "string" }
        },
        "required": ["rel_path", "stored", "flattened_indexed", "annotation_json"]
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    rel_path: String,
    schema_json: Value,
    index_flattened_text: Option<bool>,
}

/// The caller's schema. Its patterns run in linear time, and references out of the document lead nowhere.
fn compiled(schema: &Value) -> Result<Validator, Failure> {
    let invalid = |message: String| Failure::new(ErrorCode::InvalidField, message);
    let size = schema.to_string().len();
    if size > SCHEMA_BYTES {
        return Err(invalid(format!("schema_json has {size} bytes; at most {SCHEMA_BYTES} are taken")));
    }
    jsonschema::options().with_pattern_options(PatternOptions::regex()).build(schema).map_err(|error| {
        invalid(format!("schema_json is not a usable JSON Schema: {}", one_line(&error.to_string())))
    })
}

fn violations(validator: &Validator, value: &Value) -> Vec<String> {
    validator
        .iter_errors(value)
        .take(TOLD)
        .map(|error| {
            let place = error.instance_path().to_string();
            format!(
                "{}: {}",
                if place.is_empty() { "the object" } else { &place },
                one_line(&error.to_string())
            )
        })
        .collect()
}

fn render(done: &Annotated) -> ToolOutput {
    let preview = preview(&done.text);
    let state = match (done.stored, done.flattened_indexed) {
        (true, true) => "stored and searchable",
        (true, false) => "stored",
        _ => "not stored",
    };
    let path = one_line(&done.rel_path);
    let mut structured = json!({
        "rel_path": done.rel_path,
        "stored": done.stored,
        "flattened_indexed": done.flattened_indexed,
        "annotation_json": done.json,
    });
    if !preview.is_empty() {
        structured["annotation_text_preview"] = json!(preview);
    }
    ToolOutput::new(format!("{path}: annotated, {state}.\n{preview}").trim_end().to_owned(), structured)
}

fn preview(text: &str) -> String {
    match text.char_indices().nth(PREVIEW) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::sample;
    use super::*;
    use crate::arguments::Schema;

    pub(crate) fn reads_every_property(input: &Value) {
        let _: Arguments = typed(sample(input)).unwrap();
    }

    #[test]
    fn d161_arguments() {
        let schema = Schema::compile(input()).unwrap();
        let refused = |arguments: Value| schema.check(&arguments, SPEC.out_of_range).unwrap_err().code;
        assert_eq!(refused(json!({"rel_path": "a"})), ErrorCode::MissingField);
        assert_eq!(refused(json!({"rel_path": "a", "schema_json": "x"})), ErrorCode::InvalidField);
        assert_eq!(
            refused(json!({"rel_path": "a", "schema_json": {}, "max_chars": 5})),
            ErrorCode::InvalidField
        );
        assert!(schema.check(&json!({"rel_path": "a", "schema_json": {}}), SPEC.out_of_range).is_ok());
    }

    #[test]
    fn a_schema_of_the_caller_is_compiled_safely() {
        assert_eq!(compiled(&json!({"type": 5})).unwrap_err().code, ErrorCode::InvalidField);
        assert!(compiled(&json!({"$ref": "http://127.0.0.1:9/schema.json"})).is_err());
        assert!(compiled(&json!({"$ref": "file:///etc/passwd"})).is_err());
        let large = json!({ "description": "x".repeat(SCHEMA_BYTES) });
        assert!(compiled(&large).unwrap_err().message.contains("bytes"));
        let validator = compiled(&json!({
            "type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]
        }))
        .unwrap();
        assert_eq!(violations(&validator, &json!({"n": 3})), [""; 0]);
        let told = violations(&validator, &json!({"n": 0}));
        assert!(told.len() == 1 && told[0].starts_with("/n: "), "{told:?}");
    }

    #[test]
    fn d162_the_result_and_its_preview() {
        let done = Annotated {
            rel_path: "a.md".into(),
            json: json!({"a": 1}),
            text: format!("key: {}", "x".repeat(400)),
            stored: true,
            flattened_indexed: true,
        };
        let output = render(&done);
        assert_eq!(Schema::compile(super::output()).unwrap().complaint(&output.structured), None);
        let preview = output.structured["annotation_text_preview"].as_str().unwrap();
        assert_eq!((preview.chars().count(), preview.ends_with("...")), (243, true));
    }
}
