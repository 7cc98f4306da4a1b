//! Arguments as audit lines may have them.

use serde_json::{Map, Value, json};

/// Texts that tell nothing of what the caller thinks about.
const KEPT: [&str; 6] = ["path", "rel_path", "glob", "file_glob", "path_prefix", "since"];

/// Names of ways to work, which are few and short.
const CHOICES: [&str; 3] = ["mode", "strategy", "retrieval_mode"];

/// Numbers, switches and paths; of other texts that they were there and how long they were.
pub(crate) fn harmless(arguments: &Value) -> Map<String, Value> {
    let mut noted = Map::new();
    for (name, value) in arguments.as_object().into_iter().flatten().take(32) {
        // An argument that does not exist may have any name.
        let name: String = name.chars().take(40).collect();
        match value {
            Value::String(text) if KEPT.contains(&name.as_str()) && text.len() <= 1024 => {
                noted.insert(name, value.clone());
            }
            Value::String(text) if CHOICES.contains(&name.as_str()) && text.len() <= 16 => {
                noted.insert(name, value.clone());
            }
            Value::String(text) => {
                noted.insert(format!("{name}_present"), json!(true));
                noted.insert(format!("{name}_length"), json!(text.chars().count()));
            }
            Value::Bool(_) | Value::Number(_) | Value::Null => {
                noted.insert(name, value.clone());
            }
            Value::Array(items) => {
                noted.insert(name, json!({ "type": "list", "length": items.len() }));
            }
            Value::Object(map) => {
                let mut keys: Vec<&String> = map.keys().take(32).collect();
                keys.sort_unstable();
                noted.insert(name, json!({ "type": "object", "keys": keys }));
            }
        }
    }
    noted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r049_prompts_leave_only_their_length() {
        let noted = harmless(&json!({
            "prompt": "secret plan", "path": "a.py", "top_k": 3, "budget": {"max_files": 2}, "include_tests": true
        }));
        assert_eq!(
            Value::Object(noted).to_string(),
            r#"{"prompt_present":true,"prompt_length":11,"path":"a.py","top_k":3,"budget":{"type":"object","keys":["max_files"]},"include_tests":true}"#
        );
    }

    #[test]
    fn questions_and_long_texts_leave_only_their_length() {
        let noted =
            harmless(&json!({ "question": "why?", "path": "x".repeat(2000), "mode": "a".repeat(20) }));
        let text = Value::Object(noted).to_string();
        assert!(!text.contains("why") && !text.contains("xx") && !text.contains("aa"), "{text}");
        assert!(text.contains(r#""question_length":4"#), "{text}");
    }
}
