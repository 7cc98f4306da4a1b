//! A server for the official MCP conformance suite: the product's MCP server and endpoint, with the fixtures beside the
//! tools that the suite looks for. `cargo xtask conformance` starts it and reads its URL from the first line of output.

mod fixtures;
#[path = "../../tests/it/streamable/mount.rs"]
mod mount;
mod no_tools;
mod server;

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use dir2mcp_http::{HttpConfig, bind};
use mcp::streamable::{Streamable, StreamableConfig, Variant};
use mcp::{CallerSource, McpOptions, McpServer};
use tokio_util::sync::CancellationToken;

use no_tools::NoTools;
use server::ConformanceServer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let bound = bind(HttpConfig::default()).await?;
    let streamable = Streamable::new(StreamableConfig {
        stopping: bound.shutdown().stopping.clone(),
        stopped: bound.shutdown().stopped.clone(),
        ..StreamableConfig::default()
    })?;
    let options = McpOptions::new(env!("CARGO_PKG_VERSION"), CallerSource::Http);
    let product = McpServer::new(Arc::new(NoTools), options);
    let variants = vec![Variant { query: None, server: ConformanceServer::new(product) }];
    let site = mount::site()
        .route(mount::route("/mcp", streamable.endpoint(variants, Vec::new())))
        .background(streamable.look_after_sessions());
    writeln!(std::io::stdout(), "{}", bound.url("/mcp"))?;
    // Runs until it is killed.
    Ok(bound.serve(site, CancellationToken::new()).await?)
}
