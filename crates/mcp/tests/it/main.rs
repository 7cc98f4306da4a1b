//! The MCP server seen from its wire: lines in, lines out, with stand-in tools.

mod calls;
mod conformance;
#[path = "../../examples/conformance/server.rs"]
mod conformance_server;
#[path = "../../examples/conformance/fixtures/mod.rs"]
mod fixtures;
mod handshake;
mod hostile;
mod isolation;
mod library_transport;
mod life;
mod lists;
mod streamable;
mod stub;
mod wire;
