//! Why a request was not served: facts, which each route puts into its own words.
//!
//! Those of the server itself are the constructors below. A gate or a handler makes its own from the same facts and
//! returns it as its response; the site words it like the others.

use std::borrow::Cow;

use axum::response::IntoResponse;
use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use model::ErrorCode;
use serde_json::json;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    pub code: ErrorCode,
    /// Whether the same request may succeed later without a change.
    pub retryable: bool,
    pub message: Cow<'static, str>,
    /// What a client has to know beside the words: how to authenticate, when to try again, which methods there are.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// Makes the body of a refusal, and names its media type. Status and headers come from the facts.
pub type Wording = fn(&Refusal) -> (&'static str, Bytes);

/// The usual wording: `{"error":{"code":…,"message":…,"retryable":…}}`.
pub fn plain_json(refusal: &Refusal) -> (&'static str, Bytes) {
    let Refusal { code, message, retryable, .. } = refusal;
    let body = json!({ "error": { "code": code.as_str(), "message": message, "retryable": retryable } });
    ("application/json", Bytes::from(body.to_string()))
}

impl Refusal {
    /// One that trying again does not change.
    pub fn new(status: StatusCode, code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { status, code, retryable: false, message: message.into(), headers: Vec::new() }
    }

    #[must_use]
    pub fn retryable(self) -> Refusal {
        Refusal { retryable: true, ..self }
    }

    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Refusal {
        self.retryable().header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Refusal {
        self.headers.push((name, value));
        self
    }

    pub fn forbidden_host() -> Refusal {
        Refusal::new(
            StatusCode::FORBIDDEN,
            ErrorCode::ForbiddenHost,
            "the Host header does not name this server; add the name to server.allowed_hosts",
        )
    }

    pub fn forbidden_origin() -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, ErrorCode::ForbiddenOrigin, "the Origin is not allowed")
    }

    pub fn unauthorized() -> Refusal {
        Refusal::new(StatusCode::UNAUTHORIZED, ErrorCode::Unauthorized, "a valid bearer token is required")
            .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"dir2mcp\""))
    }

    pub fn rate_limited() -> Refusal {
        Refusal::new(
            StatusCode::TOO_MANY_REQUESTS,
            ErrorCode::RateLimitExceeded,
            "too many requests from this address",
        )
        .retry_after(1)
    }

    pub fn no_such_path() -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, "there is nothing at this path")
    }

    /// `allow` lists the methods there are.
    pub fn method_not_allowed(allow: &HeaderValue) -> Refusal {
        let methods = allow.to_str().unwrap_or_default();
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, ErrorCode::MethodNotAllowed, format!("use {methods}"))
            .header(ALLOW, allow.clone())
    }

    pub fn body_too_large(limit: usize) -> Refusal {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::RequestTooLarge,
            format!("the body exceeds {limit} bytes"),
        )
        .closing()
    }

    pub fn body_too_slow() -> Refusal {
        Refusal::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::Timeout, "the body did not arrive in time")
            .retryable()
            .closing()
    }

    pub fn body_broken() -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidField, "the body could not be read")
            .retryable()
            .closing()
    }

    /// Ends the connection with the answer: the rest of the body is not worth reading.
    fn closing(self) -> Refusal {
        self.header(CONNECTION, HeaderValue::from_static("close"))
    }

    pub(crate) fn worded(&self, wording: Wording) -> Response<axum::body::Body> {
        let (media_type, body) = wording(self);
        let mut response = Response::new(axum::body::Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        response
    }
}

/// The site finds the facts in the response and words them as the route does.
impl IntoResponse for Refusal {
    fn into_response(self) -> axum::response::Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_become_status_headers_and_words() {
        let refusal = Refusal::rate_limited();
        let response = refusal.worded(plain_json);
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "1");
        assert_eq!(response.headers()["content-type"], "application/json");
        let (_, body) = plain_json(&refusal);
        assert_eq!(
            body,
            r#"{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"too many requests from this address","retryable":true}}"#
        );
    }

    #[test]
    fn a_body_that_is_refused_ends_the_connection() {
        for refusal in [Refusal::body_too_large(1), Refusal::body_too_slow(), Refusal::body_broken()] {
            assert_eq!(refusal.worded(plain_json).headers()["connection"], "close");
        }
    }
}
