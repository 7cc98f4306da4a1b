//! What a provider says when it refuses: the sentence in an error's body, whatever its shape.

use serde_json::Value;

/// Characters of a provider's sentence that are kept.
const LONGEST: usize = 300;

/// The sentence, and the provider's own code for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorBody {
    pub(super) message: String,
    pub(super) code: String,
}

impl ErrorBody {
    pub(super) fn parse(body: &[u8]) -> ErrorBody {
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            let text = String::from_utf8_lossy(body);
            // A page for people, such as a proxy's, says nothing that fits into a line.
            let is_page = text.trim_start().starts_with('<');
            return ErrorBody {
                message: if is_page { String::new() } else { one_line(&text) },
                code: String::new(),
            };
        };
        // OpenAI, Ollama: `{"error": {"message", "code"}}` or `{"error": "…"}`; Mistral: `{"message", "code"}`; FastAPI:
        // `{"detail": …}`; Cohere and TEI: `{"message"}`, `{"error", "error_type"}`.
        let inner = match &value["error"] {
            Value::Null => &value,
            error => error,
        };
        let said = match inner {
            Value::String(text) => text.clone(),
            _ => match (&inner["message"], &inner["detail"]) {
                (Value::String(text), _) => text.clone(),
                (Value::Null, detail) => sentence(detail),
                (message, _) => sentence(message),
            },
        };
        let code = ["code", "type", "status", "error_type"]
            .iter()
            .flat_map(|name| [&inner[*name], &inner["detail"][*name]])
            .find_map(Value::as_str)
            .unwrap_or_default();
        ErrorBody { message: one_line(&said), code: code.to_owned() }
    }
}

/// FastAPI's detail: a sentence, an object with one, or a list of places with a sentence each.
fn sentence(detail: &Value) -> String {
    match detail {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().take(3).map(sentence).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => {
            let text = ["msg", "message", "detail"].iter().find_map(|name| fields.get(*name)?.as_str());
            let place: Vec<String> =
                fields.get("loc").and_then(Value::as_array).map_or_else(Vec::new, |loc| {
                    loc.iter()
                        .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
                        .collect()
                });
            match text {
                Some(text) if place.is_empty() => text.to_owned(),
                Some(text) => format!("{}: {text}", place.join(".")),
                None => fields.get("detail").map_or_else(|| detail.to_string(), sentence),
            }
        }
        other => other.to_string(),
    }
}

/// Without line breaks and control characters, and bounded.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &str) -> String {
        ErrorBody::parse(body.as_bytes()).message
    }

    #[test]
    fn every_known_shape() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"No such model","type":"invalid_request_error","param":null,"code":"x"}}"#,
                "No such model",
            ),
            (
                r#"{"error":"model \"m\" not found, try pulling it first"}"#,
                "model \"m\" not found, try pulling it first",
            ),
            (
                r#"{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}"#,
                "Rate limit exceeded",
            ),
            (r#"{"detail":"Not found"}"#, "Not found"),
            (
                r#"{"detail":[{"type":"missing","loc":["body","input",0],"msg":"Field required","input":null}]}"#,
                "body.input.0: Field required",
            ),
            (r#"{"detail":{"status":"quota_exceeded","message":"No credits left"}}"#, "No credits left"),
            (
                r#"{"object":"error","message":{"detail":[{"loc":["body"],"msg":"Extra inputs"}]},"type":"invalid_request_error"}"#,
                "body: Extra inputs",
            ),
            (r#"{"message":"invalid request: model is required"}"#, "invalid request: model is required"),
            ("upstream\r\n  is\u{7} busy", "upstream is busy"),
            ("<html><body>502</body></html>", ""),
            ("", ""),
            ("[]", ""),
        ] {
            assert_eq!(message(body), expected, "{body}");
        }
        assert_eq!(
            ErrorBody::parse(br#"{"error":{"message":"m","code":"insufficient_quota"}}"#).code,
            "insufficient_quota"
        );
        assert_eq!(ErrorBody::parse(br#"{"detail":{"status":"quota_exceeded"}}"#).code, "quota_exceeded");
    }

    #[test]
    fn a_long_message_is_cut() {
        let long = message(&format!("{{\"message\":\"{}\"}}", "é".repeat(5000)));
        assert_eq!(long.chars().count(), LONGEST + 1);
    }
}
