//! Tools of the older revisions, where a server asks its client during a call: logging, sampling, elicitation.

#![expect(
    deprecated,
    reason = "revision 2026-07-28 deprecates logging and sampling; the older scenarios need them"
)]

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use super::{elicitation, string_argument, text, tool};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("test_tool_with_logging", "Sends three log messages", &[]),
        tool("test_sampling", "Asks the client's model", &["prompt"]),
        tool("test_elicitation", "Asks the user", &["message"]),
        tool("test_elicitation_sep1034_defaults", "Asks the user with default values", &[]),
        tool("test_elicitation_sep1330_enums", "Asks the user with every kind of choice", &[]),
        tool("test_reconnection", "Takes long enough for a client to reconnect", &[]),
    ]
}

pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    match request.name.as_ref() {
        "test_tool_with_logging" => with_logging(context).await,
        "test_sampling" => sampling(string_argument(request, "prompt"), context).await,
        "test_elicitation" => {
            let fields = json!({
                "username": { "type": "string", "description": "User's response" },
                "email": { "type": "string", "description": "User's email address" },
            });
            ask(string_argument(request, "message"), fields, context).await
        }
        "test_elicitation_sep1034_defaults" => ask("Check these values", defaults(), context).await,
        "test_elicitation_sep1330_enums" => ask("Choose", choices(), context).await,
        _ => {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok(text("Reconnection test completed"))
        }
    }
}

async fn with_logging(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let entry = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
        let _ = context.peer.notify_logging_message(entry).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(text("Three messages were logged"))
}

async fn sampling(prompt: &str, context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    let answer = context.peer.create_message(params).await.map_err(unanswered)?;
    let answer =
        answer.message.content.first().and_then(|block| block.as_text()).map(|text| text.text.clone());
    Ok(text(format!("LLM response: {}", answer.unwrap_or_default())))
}

async fn ask(
    message: &str,
    fields: Value,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let InputRequest::Elicitation(request) = elicitation(message, fields)? else {
        return Err(ErrorData::internal_error("not an elicitation", None));
    };
    let answer = context.peer.create_elicitation(request.params).await.map_err(unanswered)?;
    Ok(text(format!("User response: action={:?}, content={:?}", answer.action, answer.content)))
}

fn unanswered(error: rmcp::ServiceError) -> ErrorData {
    ErrorData::internal_error(format!("the client did not answer: {error}"), None)
}

fn defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    })
}

fn choices() -> Value {
    let titled = |kind: &str| {
        json!([
            { "const": "value1", "title": format!("First {kind}") },
            { "const": "value2", "title": format!("Second {kind}") },
            { "const": "value3", "title": format!("Third {kind}") },
        ])
    };
    json!({
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
        },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    })
}
