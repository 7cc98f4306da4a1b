//! `/healthz`, `/readyz` and `/metrics`: whether the process lives, whether it can answer, and its numbers.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Response, StatusCode};

use crate::errors::Refusal;
use crate::reply::Reply;

const LIVE: &str = "/healthz";
const READY: &str = "/readyz";
const METRICS: &str = "/metrics";

/// What the server behind the edge says of itself.
pub trait Vitals: Send + Sync {
    /// Its first index is there: questions have answers.
    fn is_ready(&self) -> bool;

    /// In the text format of Prometheus, version 0.0.4.
    fn metrics(&self) -> String;
}

/// Of a server that has nothing to wait for and nothing to count.
pub struct NoVitals;

impl Vitals for NoVitals {
    fn is_ready(&self) -> bool {
        true
    }

    fn metrics(&self) -> String {
        String::new()
    }
}

/// The paths that are answered here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    Live,
    Ready,
    Metrics,
}

impl Probe {
    pub(crate) fn at(path: &str) -> Option<Probe> {
        match path {
            LIVE => Some(Probe::Live),
            READY => Some(Probe::Ready),
            METRICS => Some(Probe::Metrics),
            _ => None,
        }
    }

    pub(crate) fn check(method: &Method) -> Result<(), Refusal> {
        match *method {
            Method::GET | Method::HEAD => Ok(()),
            _ => Err(Refusal::MethodNotAllowed { allow: "GET, HEAD" }),
        }
    }

    pub(crate) fn answer(self, vitals: &dyn Vitals, stopping: bool) -> Response<Reply> {
        const JSON: &str = "application/json";
        let fixed = |text: &'static str| Bytes::from_static(text.as_bytes());
        let (status, kind, body) = match self {
            Probe::Live => (StatusCode::OK, JSON, fixed(r#"{"status":"ok"}"#)),
            Probe::Ready if stopping => {
                (StatusCode::SERVICE_UNAVAILABLE, JSON, fixed(r#"{"status":"stopping"}"#))
            }
            Probe::Ready if vitals.is_ready() => (StatusCode::OK, JSON, fixed(r#"{"status":"ready"}"#)),
            Probe::Ready => (StatusCode::SERVICE_UNAVAILABLE, JSON, fixed(r#"{"status":"indexing"}"#)),
            Probe::Metrics => {
                (StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", vitals.metrics().into())
            }
        };
        let mut response = Response::new(Reply::full(body));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }
}
