//! Why the transport did not serve a message: one table of HTTP status, JSON-RPC code, public code and whether trying
//! again can help; and the words of every refusal, those of the HTTP server in front included.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use model::ErrorCode;
use serde_json::{Value, json};

use super::sessions::Expiry;

/// Why a message got an HTTP status instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TransportRefusal {
    MethodNotAllowed {
        allow: &'static str,
    },
    NotAcceptable,
    NotJson,
    HandshakeTooLong {
        limit: usize,
    },
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

/// A refusal of the HTTP server in front as a JSON-RPC error.
pub fn word_refusal(status: StatusCode, code: ErrorCode, message: &str, retryable: bool) -> Bytes {
    let rpc_code = match status {
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::TOO_MANY_REQUESTS
        | StatusCode::SERVICE_UNAVAILABLE => rpc::REFUSED,
        StatusCode::NOT_FOUND => rpc::METHOD_NOT_FOUND,
        StatusCode::INTERNAL_SERVER_ERROR => rpc::INTERNAL,
        _ => rpc::INVALID_REQUEST,
    };
    error_body(rpc_code, code, message, retryable, None)
}

/// `id` is left out when unknown: MCP's schema has no null id.
fn error_body(rpc_code: i32, code: ErrorCode, message: &str, retryable: bool, id: Option<&Value>) -> Bytes {
    let mut body = json!({
        "jsonrpc": "2.0",
        "error": {
            "code": rpc_code,
            "message": message,
            "data": { "code": code.as_str(), "retryable": retryable },
        },
    });
    if let Some(id) = id {
        body["id"] = id.clone();
    }
    Bytes::from(body.to_string())
}

impl TransportRefusal {
    /// Status, JSON-RPC code, public code, retryable.
    fn row(&self) -> (StatusCode, i32, ErrorCode, bool) {
        use ErrorCode as C;
        use StatusCode as S;
        use TransportRefusal as R;
        match self {
            R::MethodNotAllowed { .. } => {
                (S::METHOD_NOT_ALLOWED, rpc::INVALID_REQUEST, C::MethodNotAllowed, false)
            }
            R::NotAcceptable => (S::NOT_ACCEPTABLE, rpc::INVALID_REQUEST, C::InvalidField, false),
            R::NotJson => (S::UNSUPPORTED_MEDIA_TYPE, rpc::INVALID_REQUEST, C::InvalidField, false),
            R::HandshakeTooLong { .. } => {
                (S::PAYLOAD_TOO_LARGE, rpc::INVALID_REQUEST, C::RequestTooLarge, false)
            }
            R::BadMessage { rpc, .. } => (S::BAD_REQUEST, *rpc, C::InvalidField, false),
            R::BadField { .. } => (S::BAD_REQUEST, rpc::INVALID_REQUEST, C::InvalidField, false),
            R::MissingField { .. } => (S::BAD_REQUEST, rpc::INVALID_REQUEST, C::MissingField, false),
            R::SessionNotFound { .. } => (S::NOT_FOUND, rpc::NO_SESSION, C::SessionNotFound, false),
            R::TooManySessions { .. } => (S::SERVICE_UNAVAILABLE, rpc::REFUSED, C::SessionLimitReached, true),
            R::Stopping => (S::SERVICE_UNAVAILABLE, rpc::REFUSED, C::Stopping, true),
            R::Internal => (S::INTERNAL_SERVER_ERROR, rpc::INTERNAL, C::InternalError, true),
        }
    }

    fn message(&self) -> Cow<'static, str> {
        use TransportRefusal as R;
        match self {
            R::MethodNotAllowed { allow } => format!("use {allow}").into(),
            R::NotAcceptable => "Accept must admit application/json and text/event-stream".into(),
            R::NotJson => "Content-Type must be application/json, without Content-Encoding".into(),
            R::HandshakeTooLong { limit } => format!("the body exceeds {limit} bytes").into(),
            R::BadMessage { detail, .. } => detail.clone().into(),
            R::BadField { detail } => detail.clone(),
            R::MissingField { detail } => (*detail).into(),
            R::SessionNotFound { .. } => "no such session; send initialize to start a new one".into(),
            R::TooManySessions { .. } => "too many sessions are open; try again soon".into(),
            R::Stopping => "the server is stopping".into(),
            R::Internal => "the server failed to handle this request".into(),
        }
    }

    fn respond(&self, id: Option<&Value>) -> Response<Bytes> {
        let (status, rpc_code, code, retryable) = self.row();
        let mut response = Response::new(error_body(rpc_code, code, &self.message(), retryable, id));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self {
            TransportRefusal::TooManySessions { retry_after } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(*retry_after));
            }
            TransportRefusal::MethodNotAllowed { allow } => {
                headers.insert(ALLOW, HeaderValue::from_static(allow));
            }
            TransportRefusal::SessionNotFound { expired: Some(expiry) } => {
                headers.insert("x-mcp-session-expired", HeaderValue::from_static(expiry.as_str()));
            }
            TransportRefusal::HandshakeTooLong { .. } => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// A refusal and the request it answers, once that is known.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) refusal: TransportRefusal,
    pub(super) id: Option<Value>,
}

impl Refused {
    pub(super) fn respond(&self) -> Response<Bytes> {
        self.refusal.respond(self.id.as_ref())
    }
}

impl From<TransportRefusal> for Refused {
    fn from(refusal: TransportRefusal) -> Refused {
        Refused { refusal, id: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_the_server_in_front_have_the_codes_of_ours() {
        let rpc_code = |status: StatusCode| {
            let body = word_refusal(status, ErrorCode::NotFound, "no", false);
            serde_json::from_slice::<Value>(&body).unwrap()["error"]["code"].as_i64().unwrap()
        };
        assert_eq!(rpc_code(StatusCode::FORBIDDEN), -32000);
        assert_eq!(rpc_code(StatusCode::UNAUTHORIZED), -32000);
        assert_eq!(rpc_code(StatusCode::TOO_MANY_REQUESTS), -32000);
        assert_eq!(rpc_code(StatusCode::NOT_FOUND), -32601);
        assert_eq!(rpc_code(StatusCode::METHOD_NOT_ALLOWED), -32600);
        assert_eq!(rpc_code(StatusCode::PAYLOAD_TOO_LARGE), -32600);
        assert_eq!(rpc_code(StatusCode::REQUEST_TIMEOUT), -32600);
        assert_eq!(
            word_refusal(StatusCode::NOT_FOUND, ErrorCode::NotFound, "no", false),
            r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"no","data":{"code":"NOT_FOUND","retryable":false}}}"#
        );
    }
}
