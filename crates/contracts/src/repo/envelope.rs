//! The envelope of the repo specification, section 11, around every answer, and what its audit lines call an end.

use engine::AuditVerdict;
use model::{ErrorCode, Failure};
use serde_json::{Map, Value, json};

use crate::audit::harmless;
use crate::service::ToolResult;
use crate::tool::{ResultEnvelope, ToolOutput};

pub(crate) struct RepoEnvelope {
    pub(crate) max_bytes: u64,
}

const BLOCKED: &str = "PATH_BLOCKED";

impl ResultEnvelope for RepoEnvelope {
    fn note(&self, arguments: &Value) -> Map<String, Value> {
        harmless(arguments)
    }

    fn request_id(&self, given: Option<String>) -> String {
        given.unwrap_or_else(fresh_id)
    }

    fn finish(&self, request_id: &str, outcome: Result<ToolOutput, Failure>) -> (ToolResult, AuditVerdict) {
        let (mut envelope, mut error_code) = enveloped(request_id, outcome);
        let mut text = envelope.to_string();
        let size = wire_bytes(&text);
        if envelope["ok"] == true && size > self.max_bytes {
            let failure = Failure::new(
                ErrorCode::LimitExceeded,
                format!(
                    "the response has {size} bytes, more than max_total_bytes_per_response ({})",
                    self.max_bytes
                ),
            )
            .hint("Ask for fewer hits, fewer lines or a smaller budget.");
            envelope = enveloped(request_id, Err(failure)).0;
            text = envelope.to_string();
            error_code = Some("RESPONSE_TOO_LARGE".to_owned());
        }
        let is_error = envelope["ok"] != true;
        let is_blocked = envelope["blocked"] == true;
        let verdict = AuditVerdict { error_code, is_blocked, ..AuditVerdict::default() };
        (
            ToolResult { content: vec![text], audio: Vec::new(), structured: envelope.into(), is_error },
            verdict,
        )
    }

    fn published(&self, output: &Value) -> Map<String, Value> {
        published(output)
    }
}

/// What an answer takes on the wire: the envelope as structured content and once more as text, where every quotation
/// mark and line end is escaped, and the JSON-RPC message around both.
fn wire_bytes(envelope: &str) -> u64 {
    const AROUND: usize = 300;
    // What JSON escapes with a backslash, and with `\u00XX`.
    let escaped = envelope.bytes().map(|byte| match byte {
        b'"' | b'\\' | 0x08 | 0x09 | 0x0a | 0x0c | 0x0d => 2,
        0x00..=0x1f => 6,
        _ => 1,
    });
    (envelope.len() + escaped.sum::<usize>() + 2 + AROUND) as u64
}

/// The envelope, and the code for the audit line of a call that failed.
fn enveloped(request_id: &str, outcome: Result<ToolOutput, Failure>) -> (Value, Option<String>) {
    let failure = match outcome {
        Ok(output) => {
            let envelope = json!({
                "request_id": request_id,
                "ok": true,
                "result": *output.structured,
                "warnings": output.warnings,
                "blocked": false,
            });
            return (envelope, None);
        }
        Err(failure) => failure,
    };
    if let Some(audited) = block_code(failure.code) {
        let hint = failure.hint.unwrap_or_else(|| default_hint(failure.code).to_owned());
        let envelope = json!({
            "request_id": request_id,
            "ok": false,
            "result": { "reason": failure.message, "hint": hint },
            "warnings": [],
            "blocked": true,
            "error": { "code": BLOCKED, "message": failure.message },
        });
        return (envelope, Some(audited.to_owned()));
    }
    let code = error_code(failure.code);
    let message = match failure.hint {
        Some(hint) => format!("{}. {hint}", failure.message),
        None => failure.message,
    };
    let envelope = json!({
        "request_id": request_id,
        "ok": false,
        "result": {},
        "warnings": [],
        "blocked": false,
        "error": { "code": code, "message": message },
    });
    (envelope, Some(code.to_owned()))
}

/// What the audit log calls a refusal; `None` for what is no refusal.
fn block_code(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::Forbidden | ErrorCode::PathOutsideRoot | ErrorCode::BinarySkipped => Some(BLOCKED),
        ErrorCode::LimitExceeded | ErrorCode::FileTooLarge => Some("POLICY_BLOCKED"),
        _ => None,
    }
}

fn default_hint(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::PathOutsideRoot => "Use a path below the repository's root.",
        ErrorCode::LimitExceeded | ErrorCode::FileTooLarge => {
            "Ask for less, or raise the limit in repo_mcp.toml."
        }
        _ => "Use repo.list_files to see what can be opened.",
    }
}

/// The code that callers of these tools see.
pub(crate) fn public_code(code: ErrorCode) -> &'static str {
    if block_code(code).is_some() { BLOCKED } else { error_code(code) }
}

fn error_code(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::MissingField | ErrorCode::InvalidField | ErrorCode::InvalidRange => "INVALID_PARAMS",
        ErrorCode::IndexVersionMismatch => "INDEX_SCHEMA_UNSUPPORTED",
        other => other.as_str(),
    }
}

/// A version 4 UUID, for calls whose transport names none.
fn fresh_id() -> String {
    let mut bytes = [0u8; 16];
    // Without randomness every call has the same id, which is no reason to refuse it.
    let _ = getrandom::fill(&mut bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The schema of the whole envelope, for a tool whose result has this schema.
pub(super) fn published(output: &Value) -> Map<String, Value> {
    let properties = output.get("properties").cloned().unwrap_or_else(|| json!({}));
    let mut result = json!({
        "type": "object",
        "description": "What the tool found; reason and hint if the call was blocked; empty if it failed.",
        "properties": properties,
    });
    for (name, text) in [("reason", "Why the call was blocked."), ("hint", "What to do about it.")] {
        result["properties"][name] = json!({ "type": "string", "description": text });
    }
    let envelope = json!({
        "type": "object",
        "properties": {
            "request_id": { "type": "string" },
            "ok": { "type": "boolean" },
            "result": result,
            "warnings": { "type": "array", "items": { "type": "string" } },
            "blocked": { "type": "boolean" },
            "error": {
                "type": "object",
                "description": "Only where ok is false.",
                "properties": { "code": { "type": "string" }, "message": { "type": "string" } },
                "required": ["code", "message"]
            }
        },
        "required": ["request_id", "ok", "result", "warnings", "blocked"]
    });
    envelope.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r014_a_refusal_has_reason_and_hint() {
        let failure = Failure::new(ErrorCode::Forbidden, "the path is on the fixed deny list (.env)");
        let (envelope, code) = enveloped("7", Err(failure));
        assert_eq!(envelope["blocked"], true);
        assert_eq!(envelope["ok"], false);
        assert_eq!(envelope["error"]["code"], "PATH_BLOCKED");
        assert_eq!(envelope["result"]["reason"], "the path is on the fixed deny list (.env)");
        assert!(!envelope["result"]["hint"].as_str().unwrap().is_empty());
        assert_eq!(code.as_deref(), Some("PATH_BLOCKED"));
    }

    #[test]
    fn r038_errors_keep_the_shape() {
        let (envelope, _) = enveloped("7", Err(Failure::new(ErrorCode::MissingField, "path is required")));
        assert_eq!(
            envelope.to_string(),
            r#"{"request_id":"7","ok":false,"result":{},"warnings":[],"blocked":false,"error":{"code":"INVALID_PARAMS","message":"path is required"}}"#
        );
    }

    #[test]
    fn c45_an_id_of_our_own_is_a_uuid() {
        let id = fresh_id();
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'4');
        assert_ne!(id, fresh_id());
    }

    #[test]
    fn r050_the_size_on_the_wire_counts_what_json_escapes() {
        let text = json!({ "a": "quote \" tab \t bell \u{7} line \n é" }).to_string();
        let twice = Value::String(text.clone()).to_string();
        assert_eq!(wire_bytes(&text), (text.len() + twice.len() + 300) as u64);
    }
}
