//! The MCP server seen from its wire: lines in, lines out, with stand-in tools.

mod calls;
mod fixtures;
mod handshake;
mod hostile;
mod http_edge;
mod isolation;
mod life;
mod lists;
mod stub;
mod wire;
