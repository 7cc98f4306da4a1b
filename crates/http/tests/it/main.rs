//! The HTTP server with routes as other crates add them: real sockets, requests written byte by byte.

mod gate;
mod harness;
mod json_route;
mod router;
mod sse;
mod turns;
#[allow(dead_code, reason = "the tests of MCP over HTTP use the rest")]
mod wire;
