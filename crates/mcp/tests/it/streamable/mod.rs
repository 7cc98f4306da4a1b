//! MCP over HTTP as clients and attackers meet it: the endpoint mounted in the HTTP server, real sockets, requests
//! written byte by byte.

mod bodies;
mod checks;
mod harness;
mod lifecycle;
mod limits;
mod mount;
mod secrecy;
mod sessions;
#[path = "../../../../http/tests/it/wire.rs"]
mod wire;
