//! What a server does not understand, learned from its refusals: not every server that speaks OpenAI's words speaks all of them.

use std::sync::atomic::{AtomicBool, Ordering};

use model::ProviderErrorKind;
use serde_json::{Value, json};

/// How servers name what they cannot do with a schema.
const SCHEMA_SIGNS: [&str; 5] =
    ["response_format", "json_schema", "response format", "grammar", "structured output"];

/// What was learned about one model of one server. It holds for as long as the process.
#[derive(Debug, Default)]
pub(crate) struct Quirks {
    /// Wants `max_completion_tokens` instead of `max_tokens`.
    other_token_limit: AtomicBool,
    no_temperature: AtomicBool,
    no_stream_options: AtomicBool,
    /// Cannot be held to a schema, so that the prompt has to ask for it.
    no_schema: AtomicBool,
}

impl Quirks {
    /// Whether the refusal taught something, so that another form of the same request may pass.
    pub(super) fn learn(&self, kind: &ProviderErrorKind, body: &Value) -> bool {
        let ProviderErrorKind::Refused { reason } = kind else { return false };
        let reason = reason.to_lowercase();
        let has = |field: &str| body.get(field).is_some();
        let flag = if has("max_tokens") && reason.contains("max_completion_tokens") {
            &self.other_token_limit
        } else if has("stream_options") && reason.contains("stream_options") {
            &self.no_stream_options
        } else if has("temperature") && reason.contains("temperature") {
            &self.no_temperature
        } else if has("response_format") && SCHEMA_SIGNS.iter().any(|sign| reason.contains(sign)) {
            &self.no_schema
        } else {
            return false;
        };
        !flag.swap(true, Ordering::Relaxed)
    }

    /// Brings a request into a form that the server understands.
    pub(super) fn apply(&self, body: &mut Value) {
        let Some(fields) = body.as_object_mut() else { return };
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        if is_set(&self.other_token_limit)
            && let Some(limit) = fields.remove("max_tokens")
        {
            fields.insert("max_completion_tokens".to_owned(), limit);
        }
        if is_set(&self.no_temperature) {
            fields.remove("temperature");
        }
        if is_set(&self.no_stream_options) {
            fields.remove("stream_options");
        }
        if is_set(&self.no_schema)
            && let Some(format) = fields.remove("response_format")
        {
            let schema = &format["json_schema"]["schema"];
            let wish = format!(
                "Answer with JSON alone, without a code fence. It has to match this JSON Schema: {schema}"
            );
            if let Some(messages) = fields.get_mut("messages").and_then(Value::as_array_mut) {
                messages.insert(0, json!({ "role": "system", "content": wish }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(reason: &str) -> ProviderErrorKind {
        ProviderErrorKind::Refused { reason: reason.to_owned() }
    }

    #[test]
    fn each_refusal_is_learned_once() {
        let quirks = Quirks::default();
        let full = || {
            json!({
                "messages": [{"role": "user", "content": "x"}], "max_tokens": 5, "temperature": 0,
                "stream_options": {"include_usage": true},
                "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}},
            })
        };
        for reason in [
            "HTTP 400: Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "HTTP 400: Unsupported value: 'temperature' does not support 0",
            "HTTP 422: body.stream_options: Extra inputs are not permitted",
            "HTTP 400: This response_format type is unavailable now",
        ] {
            assert!(quirks.learn(&refused(reason), &full()), "{reason}");
            assert!(!quirks.learn(&refused(reason), &full()), "{reason}");
        }
        let mut body = full();
        quirks.apply(&mut body);
        assert_eq!(body["max_completion_tokens"], 5);
        for field in ["max_tokens", "temperature", "stream_options", "response_format"] {
            assert!(body.get(field).is_none(), "{field}");
        }
        assert!(body["messages"][0]["content"].as_str().unwrap().contains(r#"{"type":"object"}"#));
        assert_eq!(body["messages"][1]["content"], "x");
    }

    #[test]
    fn other_refusals_teach_nothing() {
        let quirks = Quirks::default();
        let body = json!({ "messages": [], "temperature": 0 });
        assert!(!quirks.learn(&refused("HTTP 404: no such model"), &body));
        assert!(!quirks.learn(&refused("HTTP 400: response_format"), &body), "it was not sent");
        assert!(!quirks.learn(&ProviderErrorKind::Auth, &body));
    }
}
