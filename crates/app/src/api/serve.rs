//! Serves the operations: finds the one that is asked for, turns its request into a call, and the answer into a response.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use contracts::{CallContext, CallRefused, Registry, ToolResult};
use dir2mcp_http::{Refusal, query_pairs};
use engine::{Call, CallFilter, Deadline, MutationGuard, MutationKey, StoreTime, TenantFiles, WriteIntent};
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method};
use model::{Caller, ContentHash, ErrorCode, Failure};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use super::answer;
use super::operation::{ApiAnswer, ApiBody, ApiKind, OPERATIONS, Operation};

/// What the operations are made of.
pub(super) struct ApiState {
    pub(super) registry: Registry,
    pub(super) files: Arc<TenantFiles>,
}

/// Calls of the log that are shown unless said, and at most.
const CALLS: (usize, usize) = (100, 1000);

const TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn serve(State(state): State<Arc<ApiState>>, request: Request) -> Response {
    let path = request.uri().path().strip_prefix(super::API_PATH).unwrap_or_default();
    let here: Vec<&Operation> = OPERATIONS.iter().filter(|operation| operation.path == path).collect();
    if here.is_empty() {
        return Refusal::no_such_path().into_response();
    }
    match here.iter().find(|operation| operation.method == *request.method()) {
        Some(operation) => match state.run(operation, request).await {
            Ok(response) => response,
            Err(failure) => answer::failed(&failure),
        },
        None => {
            let methods: Vec<&str> = here.iter().map(|operation| operation.method.as_str()).collect();
            let allow = HeaderValue::try_from(methods.join(", ")).unwrap_or(HeaderValue::from_static(""));
            Refusal::method_not_allowed(&allow).into_response()
        }
    }
}

impl ApiState {
    async fn run(&self, operation: &Operation, request: Request) -> Result<Response, Failure> {
        let (parts, body) = request.into_parts();
        let caller = parts.extensions.get::<Caller>().cloned().unwrap_or_else(Caller::unknown);
        let mut arguments = query(operation, parts.uri.query().unwrap_or_default())?;
        match operation.body {
            ApiBody::None => {}
            ApiBody::Text => {
                arguments.entry("mode").or_insert_with(|| "TRUNCATE".into());
                match String::from_utf8(read(body).await?) {
                    Ok(text) => {
                        arguments.insert("content".into(), text.into());
                    }
                    Err(bytes) => {
                        conditions(&parts.headers, &mut arguments)?;
                        let answer = self.write_bytes(&arguments, bytes.into_bytes(), caller).await?;
                        return Ok(answer::json_answer(&answer));
                    }
                }
            }
            ApiBody::Json => match serde_json::from_slice(&read(body).await?) {
                Ok(Value::Object(given)) => arguments.extend(given),
                _ => return Err(refused("the body must be a JSON object")),
            },
        }
        if matches!(operation.method, Method::PUT | Method::DELETE) {
            conditions(&parts.headers, &mut arguments)?;
        }
        let answered = match operation.answers {
            ApiAnswer::Tool(tool) => {
                answer::json_answer(&self.call(tool, arguments, caller).await?.structured)
            }
            ApiAnswer::Content(tool) => {
                let answer = self.call(tool, arguments.clone(), caller.clone()).await?.structured;
                match answer["content_hash"].as_str() {
                    Some(tag) if matches(&parts.headers, IF_NONE_MATCH.as_str(), tag) => {
                        answer::not_modified(tag)
                    }
                    _ if answer["is_lossy"] == true => {
                        answer::bytes(self.read_bytes(&arguments, caller).await?, &answer)
                    }
                    _ => answer::content(&answer),
                }
            }
            ApiAnswer::Projects => {
                let projects = self.files.projects(&direct(caller)).await?;
                answer::json_answer(&answer::projects(&projects))
            }
            ApiAnswer::Calls => {
                let calls = self.files.calls(&direct(caller), &filter(&arguments)?).await?;
                let calls: Vec<Value> = calls.iter().map(answer::call_json).collect();
                answer::json_answer(&json!({ "calls": calls }))
            }
        };
        Ok(answered)
    }

    /// What `file_write` does, for bytes that are no text and that no tool could be given.
    async fn write_bytes(
        &self,
        arguments: &Map<String, Value>,
        content: Vec<u8>,
        caller: Caller,
    ) -> Result<Value, Failure> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let (project, path) = (text("project").unwrap_or_default(), text("path").unwrap_or_default());
        let expected = match text("expected_hash").map(ContentHash::from_hex) {
            Some(None) => return Err(Failure::new(ErrorCode::PreconditionFailed, "the file is another one")),
            Some(expected) => expected,
            None => None,
        };
        let must_be_new = arguments.get("must_be_new").and_then(Value::as_bool).unwrap_or_default();
        let guard = MutationGuard {
            expected,
            must_be_new,
            key: text("idempotency_key").map(|key| MutationKey(key.to_owned())),
        };
        let mode = text("mode").map(str::to_owned);
        let offset = arguments.get("offset").and_then(Value::as_i64).unwrap_or(0);
        let call = Call { tool: "file_write", ..direct(caller) };
        let parameters = Value::Object(arguments.clone());
        let intent = WriteIntent { content, mode, offset, guard };
        let writing = self.files.write(&call, project, path, intent);
        let written = self.files.entered(&call, &parameters, writing).await?;
        Ok(json!({
            "bytes_written": written.bytes_written,
            "size": written.size,
            "content_hash": written.content_hash.to_hex(),
        }))
    }

    /// What was asked for, byte by byte, where a tool could only show a text of it.
    async fn read_bytes(&self, arguments: &Map<String, Value>, caller: Caller) -> Result<Vec<u8>, Failure> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let whole = |name: &str| arguments.get(name).and_then(Value::as_i64);
        let (call, project, path) = (direct(caller), text("project"), text("path"));
        match whole("version") {
            Some(version) => Ok(self.files.version_content(&call, project, path, version).await?.bytes),
            None => {
                let (offset, length) = (whole("offset").unwrap_or(0), whole("length").unwrap_or(-1));
                Ok(self.files.read(&call, project, path, offset, length).await?.bytes)
            }
        }
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: Caller,
    ) -> Result<ToolResult, Failure> {
        // A client that hangs up drops this future, and with it the work.
        let context =
            CallContext { caller, cancel: CancellationToken::new(), progress: None, request_id: None };
        match self.registry.call_typed(tool, arguments, context).await {
            Ok(done) => done,
            Err(CallRefused::UnknownTool(_) | CallRefused::BadArguments(_)) => {
                Err(Failure::new(ErrorCode::InternalError, "the operation has no tool"))
            }
        }
    }
}

fn direct(caller: Caller) -> Call {
    Call { tool: "api", caller, deadline: Some(Deadline::after(TIMEOUT)), cancel: CancellationToken::new() }
}

/// The body; the route has limited it.
async fn read(body: Body) -> Result<Vec<u8>, Failure> {
    let read = to_bytes(body, usize::MAX).await;
    read.map(|bytes| bytes.to_vec()).map_err(|_| refused("the body could not be read"))
}

/// The parameters of the URL as the arguments of a tool.
fn query(operation: &Operation, query: &str) -> Result<Map<String, Value>, Failure> {
    let mut arguments = Map::new();
    let pairs = query_pairs(query).ok_or_else(|| refused("the query of the URL cannot be read"))?;
    for (name, text) in pairs {
        let Some(parameter) = operation.parameters.iter().find(|parameter| parameter.name == name) else {
            let known: Vec<&str> = operation.parameters.iter().map(|parameter| parameter.name).collect();
            return Err(refused(format!("unknown parameter; known are: {}", known.join(", "))));
        };
        let value = match parameter.kind {
            ApiKind::Text => Some(Value::from(text)),
            ApiKind::Whole => text.parse::<i64>().ok().map(Value::from),
            ApiKind::Switch => text.parse::<bool>().ok().map(Value::from),
        };
        let value = value.ok_or_else(|| refused(format!("{name} is not acceptable")))?;
        if arguments.insert(name.clone(), value).is_some() {
            return Err(refused(format!("{name} is given twice")));
        }
    }
    let missing =
        operation.parameters.iter().find(|one| one.is_required && !arguments.contains_key(one.name));
    match missing {
        Some(parameter) => {
            Err(Failure::new(ErrorCode::MissingField, format!("{} is required", parameter.name)))
        }
        None => Ok(arguments),
    }
}

/// What a change depends on, as HTTP says it.
fn conditions(headers: &HeaderMap, arguments: &mut Map<String, Value>) -> Result<(), Failure> {
    if let Some(tag) = headers.get(IF_MATCH) {
        let tag = tag.to_str().ok().and_then(|tag| tag.strip_prefix('"')?.strip_suffix('"'));
        let tag = tag.ok_or_else(|| refused("If-Match takes one ETag"))?;
        arguments.insert("expected_hash".into(), tag.into());
    }
    match headers.get(IF_NONE_MATCH).map(HeaderValue::as_bytes) {
        None => Ok(()),
        Some(b"*") => {
            arguments.insert("must_be_new".into(), true.into());
            Ok(())
        }
        Some(_) => Err(refused("If-None-Match takes * here")),
    }
}

/// Whether a header names this entity tag.
fn matches(headers: &HeaderMap, name: &str, tag: &str) -> bool {
    let text = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(',')
        .map(|one| one.trim().trim_start_matches("W/").trim_matches('"'))
        .any(|one| one == tag || one == "*")
}

fn filter(arguments: &Map<String, Value>) -> Result<CallFilter, Failure> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
    let whole = |name: &str| arguments.get(name).and_then(Value::as_u64).map(|number| number as usize);
    let time = |name: &str| match text(name) {
        Some(text) => call_time(&text).map(Some).ok_or_else(|| refused(format!("{name} is no time"))),
        None => Ok(None),
    };
    Ok(CallFilter {
        tool: text("tool"),
        caller: text("caller"),
        failed_only: arguments.get("failed_only").and_then(Value::as_bool).unwrap_or_default(),
        from: time("from")?,
        to: time("to")?,
        offset: whole("offset").unwrap_or(0),
        limit: whole("limit").unwrap_or(CALLS.0).min(CALLS.1),
    })
}

/// A time as RFC 3339 has it.
pub(crate) fn call_time(text: &str) -> Option<StoreTime> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(StoreTime(time.as_microsecond()))
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidQuery, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded_and_checked() {
        let list = OPERATIONS.iter().find(|operation| operation.path == "/list").unwrap();
        let arguments = query(list, "project=a%2Eb&path=%2Fx+y&depth=2").unwrap();
        assert_eq!(Value::Object(arguments), json!({ "project": "a.b", "path": "/x y", "depth": 2 }));
        for bad in [
            "project=a&depth=x",
            "project=a&nope=1",
            "project=a&project=b",
            "project=%zz",
            "project=%2",
            "path=/",
        ] {
            assert!(query(list, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn entity_tags_are_compared() {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static("\"a\", W/\"b\""));
        assert!(matches(&headers, "if-none-match", "a") && matches(&headers, "if-none-match", "b"));
        assert!(!matches(&headers, "if-none-match", "c"));
        let mut arguments = Map::new();
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        headers.insert(IF_MATCH, HeaderValue::from_static("\"abc\""));
        conditions(&headers, &mut arguments).unwrap();
        assert_eq!(Value::Object(arguments), json!({ "expected_hash": "abc", "must_be_new": true }));
    }
}
