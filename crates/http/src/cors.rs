//! What a browser must be told before it lets an allowed page talk to us.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

/// What pages of an allowed origin may send to a route, and read of its answers.
#[derive(Debug, Clone, Copy)]
pub struct Cors {
    /// The methods of the route, separated by commas.
    pub methods: &'static str,
    /// The names of the headers that a page may send.
    pub request_headers: &'static str,
    /// Headers whose names begin like this are granted by name: a wildcard does not cover them.
    pub request_header_prefix: Option<&'static str>,
    /// The names of the headers that a page may read.
    pub response_headers: &'static str,
}

/// Lets the page at `origin` read this answer. Only called for origins that passed the check.
pub(crate) fn share(headers: &mut HeaderMap, origin: HeaderValue, response_headers: &'static str) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(response_headers));
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

impl Cors {
    /// The answer to `OPTIONS`: a preflight carries no credential, so it says nothing that needs one.
    pub(crate) fn preflight(&self, request: &HeaderMap) -> Response<axum::body::Body> {
        let mut response = Response::new(axum::body::Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(ALLOW, HeaderValue::from_static(self.methods));
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(self.methods));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, self.granted(request));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
        response
    }

    fn granted(&self, request: &HeaderMap) -> HeaderValue {
        let mut granted = String::from(self.request_headers);
        let asked = request.get(ACCESS_CONTROL_REQUEST_HEADERS).and_then(|value| value.to_str().ok());
        if let (Some(asked), Some(prefix)) = (asked, self.request_header_prefix) {
            let names = asked.split(',').map(str::trim);
            for name in names.filter(|name| {
                name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
                    && HeaderName::from_bytes(name.as_bytes()).is_ok()
            }) {
                granted.push_str(", ");
                granted.push_str(name);
            }
        }
        HeaderValue::try_from(granted).unwrap_or(HeaderValue::from_static(self.request_headers))
    }
}
