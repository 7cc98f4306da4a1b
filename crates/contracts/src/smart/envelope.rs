//! How these tools word a failure, and the audit line behind every call (Smart File Search specification, "Common Error
//! Shape" and "Permissions & Guardrails").

use std::sync::Arc;

use engine::AuditVerdict;
use model::{ErrorCode, Failure, Pointer};
use serde_json::{Map, Value, json};

use super::{MCP_VERSION, SmartContext};
use crate::service::ToolResult;
use crate::tool::{ResultEnvelope, ToolOutput};

pub(crate) struct SmartEnvelope {
    pub(crate) context: Arc<SmartContext>,
}

/// Texts that say what a caller thinks about.
const ASKED: [&str; 1] = ["query"];

impl ResultEnvelope for SmartEnvelope {
    /// Numbers, switches, lists by their length; what was asked only where the operator wants it kept.
    fn note(&self, arguments: &Value) -> Map<String, Value> {
        let mut noted = Map::new();
        for (name, value) in arguments.as_object().into_iter().flatten().take(32) {
            // An argument that does not exist may have any name.
            let name: String = name.chars().take(40).collect();
            match value {
                Value::String(text) if ASKED.contains(&name.as_str()) => {
                    noted.insert(format!("{name}_length"), json!(text.chars().count()));
                    if self.context.config.audit_queries {
                        let kept: String = self.context.redacted(text).chars().take(1024).collect();
                        noted.insert(name, json!(kept));
                    }
                }
                Value::String(text) if name == "pointer" => {
                    noted.insert(name, json!(place(text)));
                }
                Value::String(text) if text.len() <= 1024 => {
                    noted.insert(name, value.clone());
                }
                Value::Bool(_) | Value::Number(_) => {
                    noted.insert(name, value.clone());
                }
                Value::Array(items) => {
                    noted.insert(format!("{name}_count"), json!(items.len()));
                }
                _ => {}
            }
        }
        noted
    }

    /// Nothing leaves these tools unredacted.
    fn blanked(&self, key: Option<&str>, text: &str) -> Option<String> {
        let is_path = key.is_some_and(|key| ["path", "roots"].contains(&key));
        let blanked = if is_path { self.context.redacted_path(text) } else { self.context.redacted(text) };
        (blanked != text).then_some(blanked)
    }

    fn finish(&self, _: &str, outcome: Result<ToolOutput, Failure>) -> (ToolResult, AuditVerdict) {
        match outcome {
            Ok(output) => {
                let metadata = counts(&output.structured);
                let ToolOutput { content, structured, .. } = output;
                let verdict = AuditVerdict { metadata, ..AuditVerdict::default() };
                (ToolResult { content, audio: Vec::new(), structured, is_error: false }, verdict)
            }
            Err(failure) => {
                let code = public_code(failure.code);
                let error = worded(failure);
                let is_blocked = matches!(code, "FORBIDDEN" | "RATE_LIMITED");
                let error_code = Some(code.to_owned());
                let verdict = AuditVerdict { error_code, is_blocked, ..AuditVerdict::default() };
                let content = vec![error.to_string()];
                (ToolResult { content, audio: Vec::new(), structured: error.into(), is_error: true }, verdict)
            }
        }
    }

    fn published(&self, output: &Value) -> Map<String, Value> {
        published(output)
    }
}

/// What of a pointer tells nothing of the document: its kind and its numbers. Titles, names of sheets and the words that it
/// quotes are left out.
fn place(pointer: &str) -> String {
    match Pointer::parse(pointer.split(" near ").next().unwrap_or_default()) {
        Some(Pointer::Rows { sheet: Some(_), first_row, last_row }) => match last_row {
            u32::MAX => "sheet".to_owned(),
            _ => format!("sheet rows {first_row}-{last_row}"),
        },
        Some(Pointer::Section { title: Some(_), .. }) => "section".to_owned(),
        Some(place) => place.to_string(),
        None => "unknown".to_owned(),
    }
}

/// What an answer counts, for the audit line.
fn counts(answer: &Value) -> Map<String, Value> {
    let mut counts = Map::new();
    for (name, value) in answer.as_object().into_iter().flatten() {
        match value {
            Value::Number(_) => {
                counts.insert(name.clone(), value.clone());
            }
            Value::Array(items) => {
                counts.insert(format!("{name}_returned"), json!(items.len()));
            }
            _ => {}
        }
    }
    if let Some(total) = answer.pointer("/pagination/total_estimate") {
        counts.insert("total_estimate".to_owned(), total.clone());
    }
    counts
}

fn worded(failure: Failure) -> Value {
    let mut error = json!({ "code": public_code(failure.code), "message": failure.message });
    if let Some(hint) = failure.hint {
        error["details"] = json!({ "hint": hint });
    }
    json!({ "mcp_version": MCP_VERSION, "error": error })
}

/// The codes of this specification, and CONFLICT, which it uses without listing it.
pub(crate) fn public_code(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::MissingField | ErrorCode::InvalidField | ErrorCode::InvalidRange => "BAD_REQUEST",
        ErrorCode::Forbidden | ErrorCode::PathOutsideRoot => "FORBIDDEN",
        ErrorCode::FileNotFound => "NOT_FOUND",
        ErrorCode::RateLimitExceeded => "RATE_LIMITED",
        ErrorCode::Conflict => "CONFLICT",
        ErrorCode::Provider(..) => "LLM_UPSTREAM",
        _ => "INTERNAL_ERROR",
    }
}

/// The output schema as it is published: a result, or a failure.
pub(super) fn published(output: &Value) -> Map<String, Value> {
    let mut published = output.as_object().cloned().unwrap_or_default();
    let required = published.remove("required").unwrap_or_else(|| json!([]));
    if let Some(properties) = published.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(
            "error".to_owned(),
            json!({
                "type": "object",
                "description": "Only in a failed call.",
                "properties": {
                    "code": {
                        "type": "string",
                        "enum": [
                            "FORBIDDEN", "BAD_REQUEST", "NOT_FOUND", "CONFLICT", "RATE_LIMITED", "INTERNAL_ERROR",
                            "LLM_UPSTREAM"
                        ]
                    },
                    "message": { "type": "string" },
                    "details": { "type": "object", "properties": { "hint": { "type": "string" } } }
                },
                "required": ["code", "message"]
            }),
        );
    }
    published.insert("anyOf".to_owned(), json!([{ "required": required }, { "required": ["error"] }]));
    published
}

#[cfg(test)]
mod tests {
    use model::Provider;

    use super::*;

    #[test]
    fn s006_s007_failures_in_the_common_shape() {
        let failure = Failure::new(ErrorCode::PathOutsideRoot, "outside").hint("Call listRoots.");
        assert_eq!(
            worded(failure).to_string(),
            r#"{"mcp_version":"v1.0.0","error":{"code":"FORBIDDEN","message":"outside","details":{"hint":"Call listRoots."}}}"#
        );
        for (ours, theirs) in [
            (ErrorCode::MissingField, "BAD_REQUEST"),
            (ErrorCode::InvalidRange, "BAD_REQUEST"),
            (ErrorCode::FileNotFound, "NOT_FOUND"),
            (ErrorCode::RateLimitExceeded, "RATE_LIMITED"),
            (ErrorCode::Conflict, "CONFLICT"),
            (ErrorCode::Provider(Provider::Mistral, model::ProviderFault::Failed), "LLM_UPSTREAM"),
            (ErrorCode::Provider(Provider::Other, model::ProviderFault::Auth), "LLM_UPSTREAM"),
            (ErrorCode::StoreCorrupt, "INTERNAL_ERROR"),
            (ErrorCode::Timeout, "INTERNAL_ERROR"),
        ] {
            assert_eq!(public_code(ours), theirs);
        }
    }

    #[test]
    fn s034_a_pointer_leaves_no_words_of_the_document() {
        for (pointer, noted) in [
            ("page 3 near \"Vendor X agrees\"", "page 3"),
            ("lines 10-20", "lines 10-20"),
            ("sheet 'jane@example.com' rows 1-40 near \"x\"", "sheet rows 1-40"),
            ("sheet 'Q2'", "sheet"),
            ("page 2, section 'Call Jane'", "page 2"),
            ("section 'Call Jane'", "section"),
            ("Jane's number", "unknown"),
        ] {
            assert_eq!(place(pointer), noted, "{pointer}");
        }
    }

    #[test]
    fn s034_answers_are_counted() {
        let answer =
            json!({ "items": [1, 2], "pagination": { "total_estimate": 9 }, "indexed": 3, "x": "text" });
        assert_eq!(
            Value::Object(counts(&answer)),
            json!({ "items_returned": 2, "indexed": 3, "total_estimate": 9 })
        );
    }
}
