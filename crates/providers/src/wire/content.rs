//! The text of a message: a string, or a list of parts of which some are text.

use serde_json::Value;

/// The text of it. What a model thinks before it answers is no part of the answer.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of_part).collect(),
        _ => String::new(),
    }
}

fn text_of_part(part: &Value) -> &str {
    match (part, &part["type"]) {
        (Value::String(text), _) => text,
        (part, Value::Null) => part["text"].as_str().unwrap_or_default(),
        (part, kind) if kind == "text" => part["text"].as_str().unwrap_or_default(),
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_and_parts() {
        assert_eq!(text_of(&json!("plain")), "plain");
        let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]});
        assert_eq!(text_of(&json!([thinking, {"type": "text", "text": "a"}, "b", {"text": "c"}])), "abc");
        assert_eq!(text_of(&Value::Null), "");
    }
}
