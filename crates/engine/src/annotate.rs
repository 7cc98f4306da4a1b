//! What a document says, as JSON of a caller's schema: written by the chat model, checked, stored with the document.

use std::sync::Arc;

use model::{
    AnswerSchema, ChatMessage, ChatModel, ChatRequest, ChatRole, ErrorCode, Failure, ProviderError,
    ProviderErrorKind,
};
use retrieve::fence::Fence;
use serde_json::Value;

use crate::annotation::NewAnnotation;
use crate::call::Call;
use crate::engine::Engine;
use crate::model_text::{cleaned, converse, new_fence};

/// Characters of the whole prompt.
const PROMPT_CHARS: usize = 200_000;
/// Tokens that the JSON may have.
const JSON_TOKENS: u32 = 4_096;

/// Says which part of the work has begun.
pub type StepSink = Arc<dyn Fn(u32, &str) + Send + Sync>;

/// What a value breaks of a schema, in words; nothing where it conforms.
pub type Violations = Arc<dyn Fn(&Value) -> Vec<String> + Send + Sync>;

/// What to extract from which document.
#[derive(Clone)]
pub struct AnnotateRequest {
    /// As the caller wrote it; the engine checks it.
    pub rel_path: String,
    /// A JSON Schema.
    pub schema: Value,
    /// Checks a value against the schema.
    pub violations: Violations,
    /// Make the flattened text searchable.
    pub index_text: bool,
    pub on_step: Option<StepSink>,
}

/// An annotation that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotated {
    pub rel_path: String,
    pub json: Value,
    /// One line of `key: value` for each value.
    pub text: String,
    pub stored: bool,
    pub flattened_indexed: bool,
}

impl Engine {
    pub async fn annotate(&self, call: &Call, request: AnnotateRequest) -> Result<Annotated, Failure> {
        let chat = self.providers().chat.clone().ok_or_else(|| {
            Failure::new(ErrorCode::AnnotateFailed, "no chat model is set up, and annotating needs one").hint(
                "Set chat.provider to mistral or openai (any server that speaks its API), with its key or address.",
            )
        })?;
        if let Some(holder) = self.held_by() {
            let message = format!("another process keeps this index ({holder})");
            return Err(Failure::new(ErrorCode::AnnotateFailed, message)
                .hint("Ask the server that runs for this directory."));
        }
        let step = |done: u32, message: &str| {
            if let Some(sink) = &request.on_step {
                sink(done, message);
            }
        };
        step(1, "reading the document");
        let document = self.document_text(call, &request.rel_path).await?;
        let fence = new_fence()?;
        let path = document.rel_path.clone();
        let (redactor, schema) = (Arc::clone(self.redactor()), request.schema.clone());
        let asked = call
            .blocking(move |_| {
                let text = cleaned(&redactor, &document.text());
                question(&fence, &cleaned(&redactor, &document.rel_path), &text, &schema)
            })
            .await?;
        step(2, "asking the model");
        let mut reply = said(call, chat.as_ref(), &asked).await?;
        let mut json = object(&reply, &request.violations);
        if let Err(violations) = &json {
            step(3, "asking the model to correct its answer");
            let again = repair(&asked, &reply, violations);
            reply = said(call, chat.as_ref(), &again).await?;
            json = object(&reply, &request.violations);
        }
        let json = json.map_err(|violations| {
            let provider = chat.provider();
            let first = violations.into_iter().next().unwrap_or_default();
            Failure::new(
                ErrorCode::AnnotateFailed,
                format!("the answer of {provider} does not conform to schema_json, also after a correction: {first}"),
            )
            .hint("Simplify the schema, or make fields that the document may lack optional.")
        })?;
        step(4, "storing the annotation");
        let text = flattened(&json);
        let annotation = NewAnnotation {
            path,
            json: json.clone(),
            text: text.clone(),
            index_it: request.index_text,
            provider: chat.provider().to_owned(),
            model: chat.model().to_owned(),
        };
        let stored = self.store_annotation(call, annotation).await?;
        Ok(Annotated {
            rel_path: stored.rel_path,
            json,
            text,
            stored: true,
            flattened_indexed: stored.is_indexed,
        })
    }
}

async fn said(call: &Call, chat: &dyn ChatModel, request: &ChatRequest) -> Result<String, Failure> {
    let failure = |error: ProviderError| error.failure(ErrorCode::AnnotateFailed);
    let answer = converse(call, chat, request, None).await?.map_err(failure)?;
    if answer.is_cut {
        let reason = format!("the JSON is longer than {JSON_TOKENS} tokens");
        let kind = ProviderErrorKind::BadAnswer { reason };
        return Err(failure(ProviderError::new(chat.provider(), kind)));
    }
    Ok(answer.text)
}

fn question(fence: &Fence, path: &str, text: &str, schema: &Value) -> Result<ChatRequest, Failure> {
    let system = format!(
        "You extract data from a document. Answer with one JSON object that conforms to the JSON Schema below, and nothing \
         else. Take values from the document only, as it writes them; leave out what it does not say, or use null where \
         the schema wants a value.\n{}\n\nJSON Schema:\n{schema}",
        fence.rule()
    );
    let user = format!("The document:\n{}\nWrite the JSON object.", fence.around(1, path, text));
    let size = system.chars().count() + user.chars().count();
    if size > PROMPT_CHARS {
        let message = format!(
            "{path} and the schema make a prompt of {size} characters; at most {PROMPT_CHARS} are sent"
        );
        return Err(Failure::new(ErrorCode::AnnotateFailed, message)
            .hint("Split the document, or annotate the members or pages that matter."));
    }
    Ok(ChatRequest {
        system,
        messages: vec![ChatMessage { role: ChatRole::User, text: user }],
        max_tokens: Some(JSON_TOKENS),
        schema: Some(AnswerSchema { name: "annotation".to_owned(), schema: schema.clone() }),
    })
}

/// The same conversation with the reply and what is wrong with it.
fn repair(asked: &ChatRequest, reply: &str, violations: &[String]) -> ChatRequest {
    let mut again = asked.clone();
    again.messages.push(ChatMessage { role: ChatRole::Assistant, text: reply.to_owned() });
    let told = format!(
        "That does not conform to the schema:\n{}\nWrite the whole corrected JSON object, and nothing else.",
        violations.join("\n")
    );
    again.messages.push(ChatMessage { role: ChatRole::User, text: told });
    again
}

/// The object in a reply, from its first brace to its last; or what is wrong with it.
fn object(reply: &str, violations: &Violations) -> Result<Value, Vec<String>> {
    let braces = reply.find('{').zip(reply.rfind('}')).filter(|(first, last)| first < last);
    let Some((first, last)) = braces else { return Err(vec!["it holds no JSON object".to_owned()]) };
    let value: Value = serde_json::from_str(&reply[first..=last])
        .map_err(|error| vec![format!("it is not JSON: {error}")])?;
    let told = violations(&value);
    if told.is_empty() { Ok(value) } else { Err(told) }
}

/// `a.b: value` and `a[0]: value`, a line each, with the keys of every object in order.
pub(crate) fn flattened(value: &Value) -> String {
    fn walk(path: &str, value: &Value, lines: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                let mut keys: Vec<&String> = map.keys().collect();
                keys.sort_unstable();
                for key in keys {
                    let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    walk(&inner, &map[key], lines);
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    walk(&format!("{path}[{at}]"), item, lines);
                }
            }
            Value::Null => {}
            Value::String(text) => {
                lines.push(format!("{path}: {}", text.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
            other => lines.push(format!("{path}: {other}")),
        }
    }
    let mut lines = Vec::new();
    walk("", value, &mut lines);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn any() -> Violations {
        Arc::new(|value| if value["n"].is_number() { Vec::new() } else { vec!["n is missing".to_owned()] })
    }

    #[test]
    fn d097_the_flattened_text_has_a_line_for_each_value_in_order() {
        let value = json!({"b": {"y": "two\nlines", "x": 1}, "a": [true, {"k": "v"}, null], "c": null});
        assert_eq!(flattened(&value), "a[0]: true\na[1].k: v\nb.x: 1\nb.y: two lines");
    }

    #[test]
    fn the_object_of_a_reply_is_between_its_first_and_last_brace() {
        assert_eq!(object("Sure:\n```json\n{\"n\": 1}\n```", &any()), Ok(json!({"n": 1})));
        assert_eq!(object("{}", &any()), Err(vec!["n is missing".to_owned()]));
        assert_eq!(object("no", &any()), Err(vec!["it holds no JSON object".to_owned()]));
        assert!(object("{\"n\": }", &any()).unwrap_err()[0].starts_with("it is not JSON"));
    }

    #[test]
    fn a_prompt_beyond_the_limit_is_refused() {
        let fence = Fence::new([0; 12]);
        let failure = question(&fence, "a.md", &"x".repeat(PROMPT_CHARS), &json!({})).unwrap_err();
        assert_eq!(failure.code, ErrorCode::AnnotateFailed);
        assert!(question(&fence, "a.md", "short", &json!({})).is_ok());
    }
}
