//! How these tools word a failure (MCP FileIO specification, sections 3.2 and 13), and what of a call goes into the audit line.

use engine::AuditVerdict;
use model::{ErrorCode, Failure};
use serde_json::{Map, Value, json};

use crate::audit::harmless;
use crate::service::ToolResult;
use crate::tool::{ResultEnvelope, ToolOutput};

pub(super) struct FilesEnvelope;

/// Texts that belong to the caller: they leave byte for byte.
const CONTENTS: [&str; 2] = ["content", "chunk_content"];

impl ResultEnvelope for FilesEnvelope {
    fn note(&self, arguments: &Value) -> Map<String, Value> {
        harmless(arguments)
    }

    fn is_verbatim(&self, key: Option<&str>) -> bool {
        key.is_some_and(|key| CONTENTS.contains(&key))
    }

    fn leaves_arguments_to_protocol(&self) -> bool {
        true
    }

    fn finish(&self, _: &str, outcome: Result<ToolOutput, Failure>) -> (ToolResult, AuditVerdict) {
        match outcome {
            Ok(ToolOutput { content, structured, .. }) => {
                let result = ToolResult { content, audio: Vec::new(), structured, is_error: false };
                (result, AuditVerdict::default())
            }
            Err(failure) => {
                let code = public_code(failure.code);
                let is_blocked = matches!(code, "PERMISSION_DENIED" | "RATE_LIMITED");
                let verdict =
                    AuditVerdict { error_code: Some(code.to_owned()), is_blocked, ..AuditVerdict::default() };
                let error = worded(&failure);
                let content = vec![error.to_string()];
                (ToolResult { content, audio: Vec::new(), structured: error.into(), is_error: true }, verdict)
            }
        }
    }

    fn published(&self, output: &Value) -> Map<String, Value> {
        published(output)
    }
}

/// What to do about it is a field of its own; the specification's three are always there.
fn worded(failure: &Failure) -> Value {
    let mut error = json!({
        "code": public_code(failure.code),
        "message": failure.message,
        "retryable": failure.retryable(),
    });
    if let Some(hint) = &failure.hint {
        error["hint"] = json!(hint);
    }
    error
}

/// The store's own codes are those of the specification. Failures that are not the store's keep theirs, but for arguments that
/// only a pipe can get wrong behind the schema.
fn public_code(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::MissingField | ErrorCode::InvalidField | ErrorCode::InvalidRange => "INVALID_QUERY",
        other => other.as_str(),
    }
}

/// The output schema as it is published: a result, or a failure.
pub(super) fn published(output: &Value) -> Map<String, Value> {
    let mut published = output.as_object().cloned().unwrap_or_default();
    let required = published.remove("required").unwrap_or_else(|| json!([]));
    if let Some(properties) = published.get_mut("properties").and_then(Value::as_object_mut) {
        let failure = [
            ("code", json!({ "type": "string", "description": "Only in a failed call: its code." })),
            ("message", json!({ "type": "string" })),
            ("retryable", json!({ "type": "boolean", "description": "The same call may succeed later." })),
            ("hint", json!({ "type": "string", "description": "What to do about it." })),
        ];
        for (name, schema) in failure {
            properties.insert(name.to_owned(), schema);
        }
    }
    let failed = json!({ "required": ["code", "message", "retryable"] });
    published.insert("anyOf".to_owned(), json!([{ "required": required }, failed]));
    published
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f140_f141_failures_have_code_message_and_retryable() {
        let failure = Failure::new(ErrorCode::InvalidPath, "path must start with '/'");
        let (result, verdict) = FilesEnvelope.finish("", Err(failure));
        assert!(result.is_error);
        assert_eq!(
            result.structured.to_string(),
            r#"{"code":"INVALID_PATH","message":"path must start with '/'","retryable":false}"#
        );
        assert_eq!(result.content, [result.structured.to_string()]);
        assert_eq!(verdict.error_code.as_deref(), Some("INVALID_PATH"));
        let busy = Failure::new(ErrorCode::ResourceBusy, "busy").hint("Try again.");
        let (result, _) = FilesEnvelope.finish("", Err(busy));
        assert_eq!(
            (result.structured["retryable"].clone(), &result.structured["hint"]),
            (json!(true), &json!("Try again."))
        );
    }

    #[test]
    fn f142_f144_audit_lines_hold_no_content() {
        let noted = FilesEnvelope.note(&json!({ "project": "p", "path": "/a", "content": "the whole text" }));
        let noted = Value::Object(noted).to_string();
        assert!(!noted.contains("whole") && noted.contains(r#""content_length":14"#), "{noted}");
    }
}
