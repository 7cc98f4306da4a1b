//! The Model Context Protocol side of the server: the handshake, `tools/list`, `tools/call`, and the two transports, stdio
//! and Streamable HTTP.
//!
//! Two eras are spoken at once. A request that carries its protocol version in `_meta` is served by itself, as
//! revision 2026-07-28 wants; an `initialize` request opens a session of the older kind. The tools come from a
//! [`contracts::ToolService`]; nothing here knows what they do.

mod direct;
pub mod envelope;
mod negotiate;
mod progress;
mod server;
mod stdio;
pub mod streamable;
pub mod strict;

pub use direct::Direct;
pub use negotiate::{version, versions};
pub use rmcp::model::ProtocolVersion;
pub use server::{CallerSource, McpOptions, McpServer};
pub use stdio::{MAX_LINE_BYTES, StdioError, serve_io, serve_stdio};
