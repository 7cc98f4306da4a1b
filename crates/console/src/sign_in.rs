//! Signing in: a one-time code for the token, and a fresh code for whoever has the token.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use dir2mcp_http::Refusal;
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use model::{ErrorCode, Failure};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::json;

use crate::ConsoleParts;
use crate::answer::{json_response, refusal, refused};
use crate::codes::FRESH_LIFE;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    code: String,
}

pub(crate) async fn exchange(State(state): State<Arc<ConsoleParts>>, request: Request<Body>) -> Response {
    // A form of a foreign page cannot send this type without being asked first.
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        return refusal(&refused("the body must be JSON: Content-Type: application/json")).into_response();
    }
    let Ok(body) = to_bytes(request.into_body(), usize::MAX).await else {
        return Refusal::body_broken().into_response();
    };
    let Ok(Exchange { code }) = serde_json::from_slice(&body) else {
        return refusal(&refused("the body must be {\"code\": …}")).into_response();
    };
    let Some(token) = &state.token else { return json_response(json!({ "token": null })) };
    if !state.codes.redeem(&code) {
        let message = "this sign-in link was used already or is too old; `dir2mcp console` prints a new one";
        return Refusal::new(StatusCode::UNAUTHORIZED, ErrorCode::Unauthorized, message).into_response();
    }
    json_response(json!({ "token": token.expose_secret() }))
}

pub(crate) async fn fresh(State(state): State<Arc<ConsoleParts>>) -> Response {
    match state.codes.issue(FRESH_LIFE) {
        Some(code) => json_response(json!({ "code": code, "expires_in_s": FRESH_LIFE.as_secs() })),
        None => {
            let failure = Failure::new(ErrorCode::InternalError, "the system has no random numbers");
            refusal(&failure).into_response()
        }
    }
}
