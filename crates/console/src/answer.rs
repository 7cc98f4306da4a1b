//! What the routes answer: JSON without hidden characters, and failures in one shape.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use dir2mcp_http::Refusal;
use engine::{Call, Deadline};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use model::{Caller, ErrorCode, Failure};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// How long one answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A failure of the engine, worded by the route.
pub(crate) fn refusal(failure: &Failure) -> Refusal {
    let row = failure.code.row();
    let status = StatusCode::from_u16(row.http_status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let sentence = contracts::failure_sentence(failure);
    let refusal = Refusal::new(status, failure.code, engine::visible(&sentence).into_owned());
    if row.retryable { refusal.retry_after(1) } else { refusal }
}

pub(crate) fn refused(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidField, message)
}

/// The answer of a route, or its failure.
pub(crate) fn answered(answer: Result<Value, Failure>) -> Response {
    match answer {
        Ok(value) => json_response(value),
        Err(failure) => refusal(&failure).into_response(),
    }
}

/// A document without hidden characters: names and texts of files are not ours to trust.
pub(crate) fn json_response(mut value: Value) -> Response {
    spell_out(&mut value);
    let mut response = value.to_string().into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(crate) fn spell_out(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(visible) = engine::visible(text) {
                *text = visible;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(spell_out),
        Value::Object(map) => map.values_mut().for_each(spell_out),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A call of the engine by the console. A client that hangs up drops its future, and with it the work.
pub(crate) fn call(caller: Caller) -> Call {
    Call {
        tool: "console",
        caller,
        deadline: Some(Deadline::after(TIMEOUT)),
        cancel: CancellationToken::new(),
    }
}

/// A moment as RFC 3339 has it.
pub(crate) fn time_text(unix_seconds: i64) -> Value {
    jiff::Timestamp::from_second(unix_seconds).map_or(Value::Null, |time| time.to_string().into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_characters_are_spelled_out_wherever_they_are() {
        let mut value = json!({ "a": ["x\u{202e}y"], "b": { "c": "\u{1b}[2J" }, "d": 1 });
        spell_out(&mut value);
        assert_eq!(value, json!({ "a": ["x\\u{202e}y"], "b": { "c": "\\u{1b}[2J" }, "d": 1 }));
    }

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(time_text(0), "1970-01-01T00:00:00Z");
        assert_eq!(time_text(i64::MAX), Value::Null);
    }
}
