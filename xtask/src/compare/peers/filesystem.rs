//! The MCP project's filesystem server, from npm: it lists, reads and writes files, and searches in names only.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Client, Era, StdioServer};

use super::super::Site;
use super::{Peer, Session};

pub(super) struct Filesystem {
    modules: PathBuf,
}

impl Filesystem {
    pub(super) fn new(modules: &Path) -> Filesystem {
        Filesystem { modules: modules.to_owned() }
    }
}

impl Peer for Filesystem {
    fn name(&self) -> &'static str {
        "MCP filesystem"
    }

    fn version(&self) -> Result<String, String> {
        let file = self.modules.join("@modelcontextprotocol/server-filesystem/package.json");
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let package: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Ok(package["version"].as_str().unwrap_or_default().to_owned())
    }

    /// Without Node, and without the packages of codegraph, which are beside it.
    fn installed(&self) -> u64 {
        let size = testkit::measure::size_of;
        size(&self.modules).saturating_sub(size(&self.modules.join("@colbymchenry")))
    }

    fn index(&self, _: &Site) -> Result<Option<Command>, String> {
        Ok(None)
    }

    fn ask_once(&self, _: &Site, _: &str) -> Option<Command> {
        None
    }

    fn open(&self, _: &Site) -> Result<Option<Box<dyn Session>>, String> {
        Ok(None)
    }

    fn read(&self, site: &Site, paths: &[String]) -> Result<Option<Vec<String>>, String> {
        let mut command = Command::new(self.modules.join(".bin/mcp-server-filesystem"));
        command.arg(&site.folder).stderr(Stdio::null());
        let server = StdioServer::start(&mut command).map_err(|error| error.to_string())?;
        let mut server = server.connect(Era::Legacy);
        let mut read = |path: &String| {
            server.call("read_text_file", json!({ "path": site.folder.join(path) })).result.to_string()
        };
        Ok(Some(paths.iter().map(&mut read).collect()))
    }
}
