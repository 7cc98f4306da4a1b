//! The plain HTTP API of the file store: the tools of the `files` contract for programs that speak no MCP, and its description.

mod answer;
mod openapi;
mod operation;
mod serve;

use std::sync::Arc;

pub(crate) use answer::call_json;
use contracts::Registry;
use dir2mcp_http::{Refusal, Route, RouteLimits, WaitsForTurn, Wording};
use engine::TenantFiles;
use serde_json::json;
pub(crate) use serve::call_time;

/// Where the operations are.
const API_PATH: &str = "/api/files";

/// Where they are described.
const OPENAPI_PATH: &str = "/api/openapi.json";

/// The routes of the API. Whoever has a key of the store may use them, and its own files only.
pub(crate) fn files_routes(registry: Registry, files: Arc<TenantFiles>, limits: RouteLimits) -> [Route; 2] {
    let description = openapi::document(&registry).to_string();
    let state = Arc::new(serve::ApiState { registry, files });
    let operations = axum::Router::new().fallback(serve::serve).with_state(state);
    let described = axum::Router::new().fallback(move || {
        let text = description.clone();
        async move { ([("content-type", "application/json")], text) }
    });
    [
        Route::new(API_PATH, operations)
            .with_subpaths()
            .admitting_guests()
            .limits(RouteLimits { turn: WaitsForTurn::BeforeService, ..limits })
            .wording(AS_TOOLS_DO),
        Route::new(OPENAPI_PATH, described)
            .methods([http::Method::GET])
            .admitting_guests()
            .limits(RouteLimits { turn: WaitsForTurn::Never, ..RouteLimits::default() })
            .wording(AS_TOOLS_DO),
    ]
}

/// What the server refuses looks like what a tool refuses.
const AS_TOOLS_DO: Wording = |Refusal { code, message, retryable, .. }| {
    let body = json!({ "code": code.as_str(), "message": message, "retryable": retryable });
    ("application/json", body.to_string().into())
};
