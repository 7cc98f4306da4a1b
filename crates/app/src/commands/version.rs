//! `dir2mcp version`.

use serde_json::json;

use crate::config::keys::PROTOCOL_VERSIONS;
use crate::exit::Exit;
use crate::print;

pub(crate) fn run(json: bool) -> Result<(), Exit> {
    let version = env!("CARGO_PKG_VERSION");
    if json {
        print::out_json(&json!({
            "name": "dir2mcp",
            "version": version,
            "mcp_protocol_versions": PROTOCOL_VERSIONS,
        }))?;
    } else {
        print::out(&format!("dir2mcp {version}\n"))?;
    }
    Ok(())
}
