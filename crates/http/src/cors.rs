//! What a browser must be told before it lets an allowed page talk to us.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::reply::Reply;

pub(crate) const METHODS: &str = "GET, POST, DELETE, OPTIONS";

const REQUEST_HEADERS: &str = "Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, \
     MCP-Session-Id, Mcp-Method, Mcp-Name, PAYMENT-SIGNATURE";

const RESPONSE_HEADERS: &str = "MCP-Session-Id, MCP-Protocol-Version, PAYMENT-REQUIRED, PAYMENT-RESPONSE, \
     X-MCP-Session-Expired, WWW-Authenticate, Retry-After";

/// Lets the page at `origin` read this answer. Only called for origins that passed the check.
pub(crate) fn share(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(RESPONSE_HEADERS));
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// The answer to `OPTIONS`: a preflight carries no credential, so it says nothing that needs one.
pub(crate) fn preflight(request: &HeaderMap) -> Response<Reply> {
    let mut response = Response::new(Reply::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, request_headers(request));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

/// `Mcp-Param-*` names depend on the tool, and a wildcard does not cover them: those asked for are granted.
fn request_headers(request: &HeaderMap) -> HeaderValue {
    let mut granted = String::from(REQUEST_HEADERS);
    if let Some(asked) = request.get(ACCESS_CONTROL_REQUEST_HEADERS).and_then(|value| value.to_str().ok()) {
        for name in asked.split(',').map(str::trim) {
            let is_param = name.get(..10).is_some_and(|start| start.eq_ignore_ascii_case("mcp-param-"));
            if is_param && http::HeaderName::from_bytes(name.as_bytes()).is_ok() {
                granted.push_str(", ");
                granted.push_str(name);
            }
        }
    }
    HeaderValue::try_from(granted).unwrap_or(HeaderValue::from_static(REQUEST_HEADERS))
}
