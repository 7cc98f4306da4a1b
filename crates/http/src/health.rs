//! `/healthz` and `/readyz`: whether the process lives, and whether it still takes requests. They tell nothing else.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Response, StatusCode};

use crate::errors::Refusal;
use crate::reply::Reply;

const LIVE: &str = "/healthz";
const READY: &str = "/readyz";

pub(crate) fn is_health(path: &str) -> bool {
    path == LIVE || path == READY
}

pub(crate) fn answer(path: &str, method: &Method, stopping: bool) -> Result<Response<Reply>, Refusal> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Refusal::MethodNotAllowed { allow: "GET, HEAD" });
    }
    let (status, body) = match path {
        READY if stopping => (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"stopping"}"#),
        READY => (StatusCode::OK, r#"{"status":"ready"}"#),
        _ => (StatusCode::OK, r#"{"status":"ok"}"#),
    };
    let mut response = Response::new(Reply::full(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
