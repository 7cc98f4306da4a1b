//! How these tools word the end of a call: results bare, failures in the shape of the dir2mcp specification, section 12.4.

use engine::AuditVerdict;
use model::Failure;
use serde_json::{Map, Value, json};

use crate::audit::harmless;
use crate::service::ToolResult;
use crate::text::failed;
use crate::tool::{ResultEnvelope, ToolOutput};

/// No envelope at all around a result.
pub(crate) struct Bare;

impl ResultEnvelope for Bare {
    fn note(&self, arguments: &Value) -> Map<String, Value> {
        harmless(arguments)
    }

    fn finish(&self, _: &str, outcome: Result<ToolOutput, Failure>) -> (ToolResult, AuditVerdict) {
        match outcome {
            Ok(output) => {
                let ToolOutput { content, audio, structured, .. } = output;
                (ToolResult { content, audio, structured, is_error: false }, AuditVerdict::default())
            }
            Err(failure) => {
                let error_code = Some(failure.code.as_str().to_owned());
                (failed(&failure), AuditVerdict { error_code, ..AuditVerdict::default() })
            }
        }
    }

    fn published(&self, output: &Value) -> Map<String, Value> {
        or_failure(output)
    }
}

/// The output schema as it is published: that of the specification, or the shape of a failure. Clients of the widely
/// used TypeScript SDK check failed results too, and would show a complaint about the schema instead of the error.
pub(crate) fn or_failure(schema: &Value) -> Map<String, Value> {
    let mut published = schema.as_object().cloned().unwrap_or_default();
    let required = published.remove("required").unwrap_or_else(|| json!([]));
    if let Some(properties) = published.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("error".to_owned(), failure_schema());
    }
    published.insert("anyOf".to_owned(), json!([{ "required": required }, { "required": ["error"] }]));
    published
}

/// Section 12.4 of the dir2mcp specification.
fn failure_schema() -> Value {
    json!({
        "type": "object",
        "description": "Only in a failed call, and then alone.",
        "properties": {
            "code": { "type": "string" },
            "message": { "type": "string" },
            "retryable": { "type": "boolean" }
        },
        "required": ["code", "message", "retryable"]
    })
}
