//! `/healthz`, `/readyz` and `/metrics`: whether the process lives, whether it can answer, and its numbers.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use tokio_util::sync::CancellationToken;
use tower::service_fn;

use crate::route::{Route, RouteGuard, RouteLimits, WaitsForTurn};

/// What the program behind the server says of itself.
pub trait Vitals: Send + Sync {
    /// Its first index is there: questions have answers.
    fn is_ready(&self) -> bool;

    /// In the text format of Prometheus, version 0.0.4.
    fn metrics(&self) -> String;
}

/// Of a program that has nothing to wait for and nothing to count.
pub struct NoVitals;

impl Vitals for NoVitals {
    fn is_ready(&self) -> bool {
        true
    }

    fn metrics(&self) -> String {
        String::new()
    }
}

const JSON: &str = "application/json";

pub(crate) fn routes(vitals: &Arc<dyn Vitals>, stopping: &CancellationToken) -> [Route; 3] {
    let (ready_of, metrics_of) = (Arc::clone(vitals), Arc::clone(vitals));
    let stopping = stopping.clone();
    let readiness = move || match () {
        () if stopping.is_cancelled() => (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"stopping"}"#),
        () if ready_of.is_ready() => (StatusCode::OK, r#"{"status":"ready"}"#),
        () => (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"indexing"}"#),
    };
    [
        route("/healthz", || document(StatusCode::OK, JSON, r#"{"status":"ok"}"#)),
        route("/readyz", move || {
            let (status, body) = readiness();
            document(status, JSON, body)
        }),
        // The numbers tell how the server is used, which is not for everyone who can reach it.
        route("/metrics", move || {
            document(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics_of.metrics())
        })
        .guard(RouteGuard::IdentifiedWhenExposed),
    ]
}

fn route(path: &str, answer: impl Fn() -> Response<Body> + Clone + Send + Sync + 'static) -> Route {
    let service = service_fn(move |_: Request<Body>| ready(Ok::<_, Infallible>(answer())));
    Route::new(path, service)
        .methods([Method::GET, Method::HEAD])
        .guard(RouteGuard::Open)
        .limits(RouteLimits { turn: WaitsForTurn::Never, ..RouteLimits::default() })
}

fn document(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
