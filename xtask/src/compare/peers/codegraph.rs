//! codegraph, from npm: a graph of symbols, asked over MCP with the one tool that it lists.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use testkit::{Client, Era, StdioServer};

use super::super::Site;
use super::{Answer, Peer, RESULTS, Session, printed};

pub(super) struct Codegraph {
    modules: PathBuf,
}

impl Codegraph {
    pub(super) fn new(modules: &Path) -> Codegraph {
        Codegraph { modules: modules.to_owned() }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.modules.join(".bin/codegraph"));
        // No reports to its makers, and no process that outlives the measurement.
        command
            .env("DO_NOT_TRACK", "1")
            .env("CODEGRAPH_NO_UPDATE_CHECK", "1")
            .env("CODEGRAPH_NO_DAEMON", "1");
        command.env("NO_COLOR", "1").stderr(Stdio::null());
        command
    }
}

impl Peer for Codegraph {
    fn name(&self) -> &'static str {
        "codegraph"
    }

    fn version(&self) -> Result<String, String> {
        Ok(printed(self.command().arg("--version"))?.trim().to_owned())
    }

    fn installed(&self) -> u64 {
        testkit::measure::size_of(&self.modules.join("@colbymchenry"))
    }

    fn index(&self, site: &Site) -> Result<Option<Command>, String> {
        // It keeps the index inside the folder.
        let _ = std::fs::remove_dir_all(site.folder.join(".codegraph"));
        let mut command = self.command();
        command.args(["init", "--yes"]).arg(&site.folder);
        Ok(Some(command))
    }

    fn ask_once(&self, site: &Site, question: &str) -> Option<Command> {
        let mut command = self.command();
        command
            .args(["explore", "--max-files", &RESULTS.to_string(), "--path"])
            .arg(&site.folder)
            .arg(question);
        Some(command)
    }

    fn open(&self, site: &Site) -> Result<Option<Box<dyn Session>>, String> {
        let mut command = self.command();
        command.args(["serve", "--mcp", "--path"]).arg(&site.folder);
        let server = StdioServer::start(&mut command).map_err(|error| error.to_string())?;
        Ok(Some(Box::new(Running { server: server.connect(Era::Legacy) })))
    }
}

struct Running {
    server: StdioServer,
}

impl Session for Running {
    fn ask(&mut self, question: &str) -> Result<Answer, String> {
        let arguments = json!({ "query": question, "maxFiles": RESULTS });
        let text = self.server.call("codegraph_explore", arguments).text();
        // Each file is a line such as **`src/redact.rs`** — what of it is shown.
        let headings = text.lines().filter_map(|line| line.strip_prefix("**`")?.split_once("`**"));
        let files = headings.map(|(path, _)| path.to_owned()).collect();
        Ok(Answer { files, text })
    }

    fn resident(&self) -> Option<u64> {
        Some(testkit::measure::resident(self.server.id()))
    }
}
