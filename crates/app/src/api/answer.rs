//! What the API answers: a tool's answer, a content, or a failure with the status of its code.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use contracts::files::store_time_text;
use dir2mcp_http::Refusal;
use engine::{CallRecord, ProjectSummary};
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderValue, StatusCode};
use model::Failure;
use serde_json::{Value, json};

/// Refused in the words of the route, so that clients meet one shape.
pub(super) fn failed(failure: &Failure) -> Response {
    let row = failure.code.row();
    let status = StatusCode::from_u16(row.http_status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let message: Cow<'static, str> = contracts::failure_sentence(failure).into();
    let refusal = Refusal::new(status, failure.code, message);
    let refusal = if row.retryable { refusal.retry_after(1) } else { refusal };
    refusal.into_response()
}

pub(super) fn json_answer(answer: &Value) -> Response {
    let mut response = answer.to_string().into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    tagged(response, answer)
}

/// The `content` of an answer as the body.
pub(super) fn content(answer: &Value) -> Response {
    let text = answer["content"].as_str().unwrap_or_default().to_owned();
    let mut response = text.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    tagged(response, answer)
}

/// A content that is no text.
pub(super) fn bytes(content: Vec<u8>, answer: &Value) -> Response {
    let mut response = content.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    tagged(response, answer)
}

/// The client has this content already.
pub(super) fn not_modified(tag: &str) -> Response {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    if let Ok(tag) = HeaderValue::try_from(format!("\"{tag}\"")) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

fn tagged(mut response: Response, answer: &Value) -> Response {
    let tag =
        answer["content_hash"].as_str().and_then(|tag| HeaderValue::try_from(format!("\"{tag}\"")).ok());
    if let Some(tag) = tag {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

pub(super) fn projects(projects: &[ProjectSummary]) -> Value {
    let shown = |project: &ProjectSummary| {
        json!({
            "project": project.project.as_str(),
            "files": project.files,
            "bytes": project.bytes,
            "updated_at": store_time_text(project.updated_at),
        })
    };
    json!({ "projects": projects.iter().map(shown).collect::<Vec<Value>>() })
}

/// One call of the log.
pub(crate) fn call_json(call: &CallRecord) -> Value {
    json!({
        "at": store_time_text(Some(call.at)),
        "tool": call.tool,
        "caller": call.caller,
        "parameters": call.parameters,
        "error_code": call.error_code,
        "duration_ms": call.duration_ms,
        "cost": call.cost,
    })
}
