//! Every way to say no: one table of HTTP status, JSON-RPC code, public code and whether trying again can help.

use std::borrow::Cow;
use std::path::PathBuf;

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use model::ErrorCode;
use serde_json::{Value, json};

use crate::reply::Reply;
use crate::sessions::Expiry;

/// Why the server did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot listen on {address}: {source}; {hint}")]
    Bind { address: String, source: std::io::Error, hint: &'static str },
    #[error("TLS cannot be set up with {}: {reason}; {hint}", path.display())]
    Tls { path: PathBuf, reason: String, hint: &'static str },
    #[error("{field}: {reason}")]
    Config { field: &'static str, reason: String },
}

impl HttpError {
    /// The canonical code of the dir2mcp specification, section 14.
    pub fn code(&self) -> &'static str {
        match self {
            HttpError::Bind { .. } => ErrorCode::BindFailed.as_str(),
            HttpError::Tls { .. } => ErrorCode::TlsConfigInvalid.as_str(),
            HttpError::Config { .. } => ErrorCode::ConfigInvalid.as_str(),
        }
    }

    pub(crate) fn config(field: &'static str, reason: impl Into<String>) -> HttpError {
        HttpError::Config { field, reason: reason.into() }
    }
}

/// Why a request was not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    ForbiddenHost,
    ForbiddenOrigin,
    Unauthorized,
    RateLimited,
    NoSuchPath,
    MethodNotAllowed {
        allow: &'static str,
    },
    NotAcceptable,
    NotJson,
    TooLarge {
        limit: usize,
    },
    BodyTooSlow,
    BodyBroken,
    /// The body is not a JSON-RPC message; `rpc` says what kind of fault that is.
    BadMessage {
        rpc: i32,
        detail: String,
    },
    BadField {
        detail: Cow<'static, str>,
    },
    MissingField {
        detail: &'static str,
    },
    SessionNotFound {
        expired: Option<Expiry>,
    },
    TooManySessions {
        retry_after: u64,
    },
    Stopping,
    Internal,
}

/// JSON-RPC's own codes, and the two the dir2mcp server has always used for refusals.
mod rpc {
    pub(super) const INVALID_REQUEST: i32 = -32600;
    pub(super) const METHOD_NOT_FOUND: i32 = -32601;
    pub(super) const INTERNAL: i32 = -32603;
    pub(super) const REFUSED: i32 = -32000;
    pub(super) const NO_SESSION: i32 = -32001;
}

impl Refusal {
    /// Status, JSON-RPC code, public code, retryable.
    fn row(&self) -> (StatusCode, i32, ErrorCode, bool) {
        use ErrorCode as C;
        use StatusCode as S;
        match self {
            Refusal::ForbiddenHost => (S::FORBIDDEN, rpc::REFUSED, C::ForbiddenHost, false),
            Refusal::ForbiddenOrigin => (S::FORBIDDEN, rpc::REFUSED, C::ForbiddenOrigin, false),
            Refusal::Unauthorized => (S::UNAUTHORIZED, rpc::REFUSED, C::Unauthorized, false),
            Refusal::RateLimited => (S::TOO_MANY_REQUESTS, rpc::REFUSED, C::RateLimitExceeded, true),
            Refusal::NoSuchPath => (S::NOT_FOUND, rpc::METHOD_NOT_FOUND, C::NotFound, false),
            Refusal::MethodNotAllowed { .. } => {
                (S::METHOD_NOT_ALLOWED, rpc::INVALID_REQUEST, C::MethodNotAllowed, false)
            }
            Refusal::NotAcceptable => (S::NOT_ACCEPTABLE, rpc::INVALID_REQUEST, C::InvalidField, false),
            Refusal::NotJson => (S::UNSUPPORTED_MEDIA_TYPE, rpc::INVALID_REQUEST, C::InvalidField, false),
            Refusal::TooLarge { .. } => {
                (S::PAYLOAD_TOO_LARGE, rpc::INVALID_REQUEST, C::RequestTooLarge, false)
            }
            Refusal::BodyTooSlow => (S::REQUEST_TIMEOUT, rpc::INVALID_REQUEST, C::Timeout, true),
            Refusal::BodyBroken => (S::BAD_REQUEST, rpc::INVALID_REQUEST, C::InvalidField, true),
            Refusal::BadMessage { rpc, .. } => (S::BAD_REQUEST, *rpc, C::InvalidField, false),
            Refusal::BadField { .. } => (S::BAD_REQUEST, rpc::INVALID_REQUEST, C::InvalidField, false),
            Refusal::MissingField { .. } => (S::BAD_REQUEST, rpc::INVALID_REQUEST, C::MissingField, false),
            Refusal::SessionNotFound { .. } => (S::NOT_FOUND, rpc::NO_SESSION, C::SessionNotFound, false),
            Refusal::TooManySessions { .. } => {
                (S::SERVICE_UNAVAILABLE, rpc::REFUSED, C::SessionLimitReached, true)
            }
            Refusal::Stopping => (S::SERVICE_UNAVAILABLE, rpc::REFUSED, C::Stopping, true),
            Refusal::Internal => (S::INTERNAL_SERVER_ERROR, rpc::INTERNAL, C::InternalError, true),
        }
    }

    fn message(&self) -> Cow<'static, str> {
        match self {
            Refusal::ForbiddenHost => {
                "the Host header does not name this server; add the name to server.allowed_hosts".into()
            }
            Refusal::ForbiddenOrigin => "the Origin is not allowed".into(),
            Refusal::Unauthorized => "a valid bearer token is required".into(),
            Refusal::RateLimited => "too many requests from this address".into(),
            Refusal::NoSuchPath => "there is nothing at this path".into(),
            Refusal::MethodNotAllowed { allow } => format!("use {allow}").into(),
            Refusal::NotAcceptable => "Accept must admit application/json and text/event-stream".into(),
            Refusal::NotJson => "Content-Type must be application/json, without Content-Encoding".into(),
            Refusal::TooLarge { limit } => format!("the body exceeds {limit} bytes").into(),
            Refusal::BodyTooSlow => "the body did not arrive in time".into(),
            Refusal::BodyBroken => "the body could not be read".into(),
            Refusal::BadMessage { detail, .. } => detail.clone().into(),
            Refusal::BadField { detail } => detail.clone(),
            Refusal::MissingField { detail } => (*detail).into(),
            Refusal::SessionNotFound { .. } => "no such session; send initialize to start a new one".into(),
            Refusal::TooManySessions { .. } => "too many sessions are open; try again soon".into(),
            Refusal::Stopping => "the server is stopping".into(),
            Refusal::Internal => "the server failed to handle this request".into(),
        }
    }

    /// The answer, as a JSON-RPC error. `id` is left out when unknown: MCP's schema has no null id.
    pub(crate) fn respond(&self, id: Option<&Value>) -> Response<Reply> {
        let (status, rpc_code, code, retryable) = self.row();
        let mut body = json!({
            "jsonrpc": "2.0",
            "error": {
                "code": rpc_code,
                "message": self.message(),
                "data": { "code": code.as_str(), "retryable": retryable },
            },
        });
        if let Some(id) = id {
            body["id"] = id.clone();
        }
        let mut response = Response::new(Reply::full(Bytes::from(body.to_string())));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self {
            Refusal::Unauthorized => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"dir2mcp\""));
            }
            Refusal::RateLimited => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Refusal::TooManySessions { retry_after } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(*retry_after));
            }
            Refusal::MethodNotAllowed { allow } => {
                headers.insert(ALLOW, HeaderValue::from_static(allow));
            }
            Refusal::SessionNotFound { expired: Some(expiry) } => {
                headers.insert("x-mcp-session-expired", HeaderValue::from_static(expiry.as_str()));
            }
            // The rest of the body is not worth reading.
            Refusal::TooLarge { .. } | Refusal::BodyTooSlow | Refusal::BodyBroken => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// A refusal and the request it answers, once that is known.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) refusal: Refusal,
    pub(crate) id: Option<Value>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        Refused { refusal, id: None }
    }
}
