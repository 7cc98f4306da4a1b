//! `POST /chat/completions`, as OpenAI, Mistral and most local servers understand it.

use std::time::Duration;

use model::{
    AnswerSchema, Capability, ChatAnswer, ChatModel, ChatRequest, ChatRole, ProviderError, ProviderErrorKind,
    ProviderFuture, Usage,
};
use serde_json::{Value, json};

use super::content::text_of;
use super::quirks::Quirks;
use crate::http::{HttpCall, ProviderEndpoint, StreamItem};

const DEADLINE: Duration = Duration::from_secs(300);

/// The chat model of a service that is asked by `POST /chat/completions`.
pub(crate) struct RemoteChat {
    pub(crate) endpoint: ProviderEndpoint,
    pub(crate) model: String,
    /// Whether the use of tokens has to be asked for when an answer is streamed.
    pub(crate) asks_for_usage: bool,
    pub(crate) quirks: Quirks,
}

impl RemoteChat {
    async fn answer(
        &self,
        request: &ChatRequest,
        on_text: Option<&(dyn Fn(&str) + Send + Sync)>,
    ) -> Result<ChatAnswer, ProviderError> {
        let metered = self.endpoint.admit(Capability::Chat)?;
        let answer = loop {
            let mut body = self.body(request, on_text.is_some());
            self.quirks.apply(&mut body);
            match self.send(&body, on_text).await {
                Err(error) if self.quirks.learn(&error.kind, &body) => {}
                result => break result?,
            }
        };
        let ChatAnswer { tokens_in, tokens_out, .. } = answer;
        let used = Usage { tokens_in, tokens_out, ..Usage::default() };
        metered.record(&self.model, used);
        Ok(answer)
    }

    fn body(&self, request: &ChatRequest, is_streamed: bool) -> Value {
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(json!({ "role": "system", "content": request.system }));
        }
        messages.extend(request.messages.iter().map(|message| {
            let role = match message.role {
                ChatRole::User => "user",
                ChatRole::Assistant => "assistant",
            };
            json!({ "role": role, "content": message.text })
        }));
        // The answer has to keep to its sources, so the likeliest words are the right ones.
        let mut body = json!({ "model": self.model, "messages": messages, "temperature": 0 });
        if let Some(limit) = request.max_tokens {
            body["max_tokens"] = json!(limit);
        }
        if let Some(schema) = &request.schema {
            body["response_format"] = response_format(schema);
        }
        if is_streamed {
            body["stream"] = json!(true);
            if self.asks_for_usage {
                body["stream_options"] = json!({ "include_usage": true });
            }
        }
        body
    }

    async fn send(
        &self,
        body: &Value,
        on_text: Option<&(dyn Fn(&str) + Send + Sync)>,
    ) -> Result<ChatAnswer, ProviderError> {
        let call = HttpCall::json("chat/completions", body).within(DEADLINE);
        let mut answer = Growing::default();
        let Some(on_text) = on_text else {
            let whole: Value = self.endpoint.json(call).await?;
            return answer.take_whole(&whole).map_err(|kind| self.endpoint.error(kind));
        };
        let mut whole = None;
        let mut on_item = |item: StreamItem| match item {
            StreamItem::Event(data) => answer.take_event(&data, on_text),
            StreamItem::Whole(bytes) => {
                whole = Some(bytes);
                Ok(true)
            }
        };
        let is_done = self.endpoint.stream(call, &mut on_item).await?;
        if let Some(bytes) = whole {
            let answer =
                answer.take_whole(&self.endpoint.parse(&bytes)?).map_err(|kind| self.endpoint.error(kind))?;
            on_text(&answer.text);
            return Ok(answer);
        }
        if !is_done && !answer.is_finished {
            let reason = "the answer broke off before its end".to_owned();
            return Err(self.endpoint.error(ProviderErrorKind::Unreachable { reason }));
        }
        Ok(answer.answer)
    }
}

impl ChatModel for RemoteChat {
    fn provider(&self) -> &str {
        self.endpoint.provider()
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
        on_text: Option<&'a (dyn Fn(&str) + Send + Sync)>,
    ) -> ProviderFuture<'a, ChatAnswer> {
        Box::pin(self.answer(request, on_text))
    }
}

/// An answer as far as it has arrived.
#[derive(Default)]
struct Growing {
    answer: ChatAnswer,
    /// The model said why it stopped.
    is_finished: bool,
}

impl Growing {
    fn take_whole(&mut self, whole: &Value) -> Result<ChatAnswer, ProviderErrorKind> {
        let choice = &whole["choices"][0];
        let message = &choice["message"];
        if !message.is_object() {
            let reason = "there is no message in it".to_owned();
            return Err(ProviderErrorKind::BadAnswer { reason });
        }
        self.answer.text = text_of(&message["content"]);
        if let (true, Some(refusal)) = (self.answer.text.is_empty(), message["refusal"].as_str()) {
            return Err(ProviderErrorKind::Refused { reason: refusal.to_owned() });
        }
        self.note(choice, &whole["usage"]);
        Ok(std::mem::take(&mut self.answer))
    }

    /// Whether it was the last one.
    fn take_event(
        &mut self,
        data: &str,
        on_text: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<bool, ProviderErrorKind> {
        if data.trim() == "[DONE]" {
            return Ok(true);
        }
        let event: Value = serde_json::from_str(data).map_err(|_| ProviderErrorKind::BadAnswer {
            reason: "an event of the stream is not JSON".to_owned(),
        })?;
        let failure = match (&event["error"], &event["object"]) {
            (Value::Null, Value::String(kind)) if kind == "error" => Some(&event),
            (Value::Null, _) => None,
            (error, _) => Some(error),
        };
        if let Some(failure) = failure {
            let said = failure["message"].as_str().or(failure.as_str()).unwrap_or("no reason given");
            let reason = format!("the answer broke off: {}", said.chars().take(300).collect::<String>());
            return Err(ProviderErrorKind::Unreachable { reason });
        }
        // The last event of some servers has no choice, only what was used.
        let choice = &event["choices"][0];
        let piece = text_of(&choice["delta"]["content"]);
        if !piece.is_empty() {
            self.answer.text.push_str(&piece);
            on_text(&piece);
        }
        self.note(choice, &event["usage"]);
        Ok(false)
    }

    fn note(&mut self, choice: &Value, usage: &Value) {
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.is_finished = true;
            self.answer.is_cut = matches!(reason, "length" | "model_length");
        }
        for (field, count) in [
            ("prompt_tokens", &mut self.answer.tokens_in),
            ("completion_tokens", &mut self.answer.tokens_out),
        ] {
            *count = usage[field].as_u64().unwrap_or(*count);
        }
    }
}

fn response_format(schema: &AnswerSchema) -> Value {
    json!({
        "type": "json_schema",
        "json_schema": {
            "name": schema.name,
            "schema": schema.schema,
            "strict": can_be_strict(&schema.schema),
        },
    })
}

/// Services refuse to be strict about a schema with an object that leaves properties open or optional.
fn can_be_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let properties = fields.get("properties").and_then(Value::as_object);
            let is_object = fields.get("type").is_some_and(|kind| kind == "object") || properties.is_some();
            let required = fields.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let is_closed = fields.get("additionalProperties") == Some(&Value::Bool(false))
                && properties
                    .is_some_and(|all| all.keys().all(|name| required.iter().any(|one| one == name)));
            (!is_object || is_closed) && fields.values().all(can_be_strict)
        }
        Value::Array(items) => items.iter().all(can_be_strict),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_only_where_services_allow_it() {
        let closed = json!({
            "type": "object", "properties": {"a": {"type": "string"}},
            "required": ["a"], "additionalProperties": false,
        });
        assert!(can_be_strict(&closed));
        for open in [
            json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}),
            json!({"type": "array", "items": {"type": "object"}}),
        ] {
            assert!(!can_be_strict(&open), "{open}");
        }
    }
}
