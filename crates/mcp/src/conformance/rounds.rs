//! Tools of revision 2026-07-28, where a server that needs an answer ends the call and the client calls again.

#![expect(deprecated, reason = "the scenarios still ask for sampling, roots and log messages")]

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::{accepted, elicitation, question, text, tool};

/// Seals the state that travels through the client. The key protects a fixture, not a secret.
pub(super) struct Rounds {
    states: RequestStateCodec,
}

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("test_missing_capability", "Needs a client that offers sampling", &[]),
        tool("test_streaming_elicitation", "Asks the user in a response stream", &[]),
        tool("test_logging_tool", "Logs if the request asks for it", &[]),
        tool("test_input_required_result_elicitation", "Asks the user for a name", &[]),
        tool("test_input_required_result_sampling", "Asks the client's model", &[]),
        tool("test_input_required_result_list_roots", "Asks for the client's roots", &[]),
        tool("test_input_required_result_request_state", "Asks and keeps a state", &[]),
        tool("test_input_required_result_multiple_inputs", "Asks three things at once", &[]),
        tool("test_input_required_result_multi_round", "Asks two things, one after the other", &[]),
        tool("test_input_required_result_tampered_state", "Refuses a state it did not seal", &[]),
        tool("test_input_required_result_capabilities", "Asks only what the client can answer", &[]),
    ]
}

impl Rounds {
    pub(super) fn new() -> Rounds {
        Rounds { states: RequestStateCodec::new(*b"a key that seals fixtures only!!") }
    }

    pub(super) async fn call(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answers = request.input_responses.as_ref();
        let client = context.client_capabilities().unwrap_or_default();
        match request.name.as_ref() {
            "test_missing_capability" if client.sampling.is_none() => {
                let required = ClientCapabilities::builder().enable_sampling().build();
                Err(ErrorData::missing_required_client_capability(required))
            }
            "test_missing_capability" => Ok(text("The client offers sampling")),
            "test_logging_tool" => {
                if let Some(level) = context.meta.log_level() {
                    let entry = LoggingMessageNotificationParam::new(level, json!("Logged on request"));
                    let _ = context.peer.notify_logging_message(entry).await;
                }
                Ok(text("Logging was tried"))
            }
            "test_streaming_elicitation" | "test_input_required_result_elicitation" => {
                match accepted(answers, "user_name").and_then(|content| content.get("name")) {
                    Some(Value::String(name)) => Ok(text(format!("Hello, {name}!"))),
                    _ => ask([("user_name", user_name()?)], None),
                }
            }
            "test_input_required_result_sampling" => match answer(answers, "capital_question") {
                Some(answer) => Ok(text(format!("The model said: {answer}"))),
                None => ask([("capital_question", sampling("What is the capital of France?", 100)?)], None),
            },
            "test_input_required_result_list_roots" => match answer(answers, "client_roots") {
                Some(answer) => Ok(text(format!("Roots: {}", answer["roots"]))),
                None => ask([("client_roots", roots()?)], None),
            },
            "test_input_required_result_request_state" => match self.opened(request)? {
                Some(_) if answer(answers, "confirm").is_some() => Ok(text("state-ok")),
                _ => ask([("confirm", confirmation()?)], Some(self.sealed("confirm"))),
            },
            "test_input_required_result_tampered_state" => match self.opened(request)? {
                Some(_) if answer(answers, "confirm").is_some() => Ok(text("The state was ours")),
                _ => ask([("confirm", confirmation()?)], Some(self.sealed("tampered"))),
            },
            "test_input_required_result_multiple_inputs" => {
                let all = ["user_name", "greeting", "client_roots"]
                    .iter()
                    .all(|key| answer(answers, key).is_some());
                match self.opened(request)? {
                    Some(_) if all => Ok(text("All three answers arrived")),
                    _ => ask(
                        [
                            ("user_name", user_name()?),
                            ("greeting", sampling("Generate a greeting", 50)?),
                            ("client_roots", roots()?),
                        ],
                        Some(self.sealed("multiple")),
                    ),
                }
            }
            "test_input_required_result_multi_round" => match self.opened(request)?.as_deref() {
                Some("round 1") if answer(answers, "step1").is_some() => {
                    let second =
                        elicitation("Step 2: What is your favorite color?", json!({ "color": string() }))?;
                    ask([("step2", second)], Some(self.sealed("round 2")))
                }
                Some("round 2") if answer(answers, "step2").is_some() => Ok(text("Both rounds are done")),
                _ => {
                    let first = elicitation("Step 1: What is your name?", json!({ "name": string() }))?;
                    ask([("step1", first)], Some(self.sealed("round 1")))
                }
            },
            _ => {
                let mut questions = Vec::new();
                if client.sampling.is_some() {
                    questions.push(("greeting", sampling("Generate a greeting", 50)?));
                }
                if client.elicitation.is_some() {
                    questions.push(("user_name", user_name()?));
                }
                if client.roots.is_some() {
                    questions.push(("client_roots", roots()?));
                }
                if questions.is_empty() || answers.is_some() {
                    Ok(text("Nothing to ask"))
                } else {
                    ask(questions, None)
                }
            }
        }
    }

    fn sealed(&self, state: &str) -> String {
        self.states.seal(state.as_bytes())
    }

    fn opened(&self, request: &CallToolRequestParams) -> Result<Option<String>, ErrorData> {
        let Some(state) = &request.request_state else { return Ok(None) };
        let state =
            self.states.open(state).map_err(|_| ErrorData::invalid_params("invalid requestState", None))?;
        Ok(Some(String::from_utf8_lossy(&state).into_owned()))
    }
}

fn ask(
    questions: impl IntoIterator<Item = (&'static str, InputRequest)>,
    state: Option<String>,
) -> Result<CallToolResponse, ErrorData> {
    let questions = questions.into_iter().map(|(key, question)| (key.to_owned(), question)).collect();
    Ok(InputRequiredResult::new(Some(questions), state).into())
}

fn answer<'a>(answers: Option<&'a InputResponses>, key: &str) -> Option<&'a Value> {
    answers?.get(key).filter(|answer| answer.is_object())
}

fn string() -> Value {
    json!({ "type": "string" })
}

pub(super) fn user_name() -> Result<InputRequest, ErrorData> {
    elicitation("What is your name?", json!({ "name": string() }))
}

fn confirmation() -> Result<InputRequest, ErrorData> {
    elicitation("Please confirm", json!({ "ok": { "type": "boolean" } }))
}

fn sampling(prompt: &str, max_tokens: u32) -> Result<InputRequest, ErrorData> {
    question(json!({
        "method": "sampling/createMessage",
        "params": {
            "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }],
            "maxTokens": max_tokens,
        },
    }))
}

fn roots() -> Result<InputRequest, ErrorData> {
    question(json!({ "method": "roots/list", "params": {} }))
}
