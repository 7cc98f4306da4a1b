//! Mounts an MCP endpoint in the HTTP server, as the program does.

use dir2mcp_http::{Cors, HttpSite, Refusal, Route, Wording};
use mcp::Direct;
use mcp::streamable::{self, Endpoint};
use rmcp::ServerHandler;

const AS_JSON_RPC: Wording = |Refusal { status, code, message, retryable, .. }| {
    ("application/json", streamable::word_refusal(*status, *code, message, *retryable))
};

pub(crate) fn site() -> HttpSite {
    HttpSite::default().wording(AS_JSON_RPC).response_headers(streamable::RESPONSE_HEADERS)
}

pub(crate) fn route<H>(path: &str, endpoint: Endpoint<H>) -> Route
where
    H: ServerHandler + Direct + Clone + Send + Sync + 'static,
{
    Route::new(path, endpoint).wording(AS_JSON_RPC).endless_when(streamable::is_endless).cors(Cors {
        methods: streamable::METHODS,
        request_headers: streamable::REQUEST_HEADERS,
        request_header_prefix: Some(streamable::REQUEST_HEADER_PREFIX),
        response_headers: streamable::RESPONSE_HEADERS,
    })
}
