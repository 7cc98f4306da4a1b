//! The one way out of every tool, and the way back in.
//!
//! Whatever a handler answers passes here before its contract words it: each text, each string of the structured result,
//! failures, warnings and reports of progress. Two things happen to it. What the contract must not show is blanked
//! ([`ResultEnvelope::blanked`]), and hidden characters are spelled out, because names and texts of files are not ours to trust.
//! A tool therefore cannot forget either.

use std::borrow::Cow;
use std::sync::Arc;

use model::Failure;
use serde_json::{Map, Value};

use crate::service::ProgressSink;
use crate::tool::{ResultEnvelope, ToolOutput};

/// A call's outcome as it may be shown.
pub(crate) fn leave(
    envelope: &dyn ResultEnvelope,
    outcome: Result<ToolOutput, Failure>,
) -> Result<ToolOutput, Failure> {
    match outcome {
        Ok(output) => Ok(answer(envelope, output)),
        Err(failure) => Err(Failure {
            message: shown(envelope, None, &failure.message).unwrap_or(failure.message),
            hint: failure.hint.map(|hint| shown(envelope, None, &hint).unwrap_or(hint)),
            ..failure
        }),
    }
}

/// The same for what a tool reports on the way.
pub(crate) fn reports(envelope: &Arc<dyn ResultEnvelope>, sink: ProgressSink) -> ProgressSink {
    let envelope = Arc::clone(envelope);
    Arc::new(move |done, total, message: String| {
        sink(done, total, shown(&*envelope, None, &message).unwrap_or(message));
    })
}

/// One string; `None` where it may leave as it is.
pub(crate) fn shown(envelope: &dyn ResultEnvelope, key: Option<&str>, text: &str) -> Option<String> {
    if envelope.is_verbatim(key) {
        return None;
    }
    let blanked = envelope.blanked(key, text);
    match engine::visible(blanked.as_deref().unwrap_or(text)) {
        Cow::Owned(visible) => Some(visible),
        Cow::Borrowed(_) => blanked,
    }
}

/// Names as they were shown become what they are: a caller gives a path or a pointer back as it was told.
pub(crate) fn enter(arguments: Map<String, Value>) -> Map<String, Value> {
    const NAMES: [&str; 5] = ["path", "glob", "pointer", "root", "folder"];
    let raw = |key: Option<&str>, text: &str| {
        let is_name = key.is_some_and(|key| NAMES.iter().any(|name| key.contains(name)));
        match engine::invisible(text) {
            Cow::Owned(raw) if is_name => Some(raw),
            _ => None,
        }
    };
    let arguments = Value::Object(arguments);
    let changed = mapped(&arguments, None, &raw);
    match changed.unwrap_or(arguments) {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    }
}

/// The value without hidden characters, for what is kept beside an answer.
pub(crate) fn visible_value(value: &Value) -> Cow<'_, Value> {
    let spelled = |_: Option<&str>, text: &str| match engine::visible(text) {
        Cow::Owned(visible) => Some(visible),
        Cow::Borrowed(_) => None,
    };
    mapped(value, None, &spelled).map_or(Cow::Borrowed(value), Cow::Owned)
}

fn answer(envelope: &dyn ResultEnvelope, output: ToolOutput) -> ToolOutput {
    let ToolOutput { content, audio, structured, warnings } = output;
    let each = |key: Option<&str>, text: &str| shown(envelope, key, text);
    let changed = mapped(&structured, None, &each);
    let text = |text: String| match &changed {
        // A text that is the structured result in writing stays so, and stays JSON.
        Some(changed) if text == structured.to_string() => changed.to_string(),
        None if text.starts_with('{') && text == structured.to_string() => text,
        _ => each(None, &text).unwrap_or(text),
    };
    let content = content.into_iter().map(text).collect();
    let warnings = warnings.into_iter().map(|text| each(None, &text).unwrap_or(text)).collect();
    ToolOutput { content, audio, structured: changed.map_or(structured, Arc::new), warnings }
}

type Each<'f> = dyn Fn(Option<&str>, &str) -> Option<String> + 'f;

/// The value with its strings changed; `None` where none is. Items of a list have the key of the list.
fn mapped(value: &Value, key: Option<&str>, each: &Each<'_>) -> Option<Value> {
    match value {
        Value::String(text) => each(key, text).map(Value::String),
        Value::Array(items) => {
            let changed: Vec<Option<Value>> = items.iter().map(|item| mapped(item, key, each)).collect();
            changed.iter().any(Option::is_some).then(|| {
                let pairs = changed.into_iter().zip(items);
                Value::Array(pairs.map(|(changed, item)| changed.unwrap_or_else(|| item.clone())).collect())
            })
        }
        Value::Object(map) => {
            let changed: Vec<(Option<String>, Option<Value>)> =
                map.iter().map(|(name, value)| (each(None, name), mapped(value, Some(name), each))).collect();
            changed.iter().any(|(name, value)| name.is_some() || value.is_some()).then(|| {
                let pairs = changed.into_iter().zip(map);
                let entry = |((new_name, new), (name, value)): (
                    (Option<String>, Option<Value>),
                    (&String, &Value),
                )| {
                    (new_name.unwrap_or_else(|| name.clone()), new.unwrap_or_else(|| value.clone()))
                };
                Value::Object(pairs.map(entry).collect())
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use engine::AuditVerdict;
    use model::ErrorCode;
    use serde_json::json;

    use super::*;
    use crate::service::ToolResult;

    /// Blanks one word, and in paths another.
    struct Blanking;

    impl ResultEnvelope for Blanking {
        fn note(&self, _: &Value) -> Map<String, Value> {
            Map::new()
        }

        fn finish(&self, _: &str, _: Result<ToolOutput, Failure>) -> (ToolResult, AuditVerdict) {
            unreachable!("these tests look at what comes before")
        }

        fn published(&self, _: &Value) -> Map<String, Value> {
            Map::new()
        }

        fn blanked(&self, key: Option<&str>, text: &str) -> Option<String> {
            let word = if key == Some("path") { "anna" } else { "jane" };
            text.contains(word).then(|| text.replace(word, "[NAME]"))
        }
    }

    #[test]
    fn every_string_passes() {
        let structured = json!({
            "path": "/jane/anna\u{1b}.txt",
            "items": [{"pointer": "jane\u{202e}", "n": 1}, "jane", null],
            "by\u{9b}name": true,
        });
        let output = ToolOutput {
            content: vec![structured.to_string(), "jane\u{e0041}".into()],
            audio: Vec::new(),
            structured: structured.into(),
            warnings: vec!["jane".into()],
        };
        let left = leave(&Blanking, Ok(output)).unwrap();
        let expected = json!({
            "path": "/jane/[NAME]\\u{1b}.txt",
            "items": [{"pointer": "[NAME]\\u{202e}", "n": 1}, "[NAME]", null],
            "by\\u{9b}name": true,
        });
        assert_eq!(*left.structured, expected);
        assert_eq!(left.content, [expected.to_string(), "[NAME]\\u{e0041}".into()]);
        assert_eq!(left.warnings, ["[NAME]"]);

        let failure = Failure::new(ErrorCode::FileNotFound, "jane\u{7}").hint("jane");
        let left = leave(&Blanking, Err(failure)).unwrap_err();
        assert_eq!((left.message.as_str(), left.hint.as_deref()), ("[NAME]\\u{7}", Some("[NAME]")));
    }

    #[test]
    fn what_is_harmless_is_not_copied() {
        let structured = Arc::new(json!({"a": ["b", {"c": "d"}]}));
        let output = ToolOutput {
            content: vec!["text\n".into()],
            audio: Vec::new(),
            structured: Arc::clone(&structured),
            warnings: vec![],
        };
        let left = leave(&Blanking, Ok(output.clone())).unwrap();
        assert_eq!(left, output);
        assert!(Arc::ptr_eq(&left.structured, &structured));
    }

    #[test]
    fn names_come_back_as_they_were_shown() {
        let arguments =
            json!({"rel_path": "a\\u{1b}.md", "roots": ["\\u{202e}"], "query": "\\u{1b}", "k": 1});
        let arguments = enter(arguments.as_object().cloned().unwrap());
        let expected = json!({"rel_path": "a\u{1b}.md", "roots": ["\u{202e}"], "query": "\\u{1b}", "k": 1});
        assert_eq!(Value::Object(arguments), expected);
    }
}
