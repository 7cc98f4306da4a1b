//! dir2mcp itself, as an agent uses it: `dir2mcp stdio`, and the command line.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use testkit::{Client, Era, Program, StdioServer};

use super::super::Site;
use super::{Answer, Peer, RESULTS, Session, printed};

pub(super) struct Dir2mcp {
    binary: PathBuf,
}

impl Dir2mcp {
    pub(super) fn new(binary: &Path) -> Dir2mcp {
        Dir2mcp { binary: binary.to_owned() }
    }

    fn program(&self, site: &Site) -> Program {
        Program::at(&self.binary, &site.folder).state_dir(&site.state)
    }

    fn server(&self, site: &Site) -> StdioServer {
        let mut server = self.program(site).stdio(&[]).connect(Era::Modern);
        server.wait_indexed();
        server
    }
}

impl Peer for Dir2mcp {
    fn name(&self) -> &'static str {
        "dir2mcp"
    }

    fn version(&self) -> Result<String, String> {
        let text = printed(Command::new(&self.binary).arg("--version"))?;
        Ok(text.trim().trim_start_matches("dir2mcp ").to_owned())
    }

    fn installed(&self) -> u64 {
        std::fs::metadata(&self.binary).map_or(0, |metadata| metadata.len())
    }

    fn index(&self, site: &Site) -> Result<Option<Command>, String> {
        Ok(Some(self.program(site).command(&["index", "--quiet"])))
    }

    fn ask_once(&self, site: &Site, question: &str) -> Option<Command> {
        Some(self.program(site).command(&["search", question]))
    }

    fn open(&self, site: &Site) -> Result<Option<Box<dyn Session>>, String> {
        Ok(Some(Box::new(self.server(site))))
    }

    fn read(&self, site: &Site, paths: &[String]) -> Result<Option<Vec<String>>, String> {
        let mut server = self.server(site);
        let mut open = |path: &String| server.call("dir2mcp.open_file", json!({ "rel_path": path }));
        Ok(Some(paths.iter().map(|path| open(path).result.to_string()).collect()))
    }
}

impl Session for StdioServer {
    fn ask(&mut self, question: &str) -> Result<Answer, String> {
        let answer = self.expect("dir2mcp.search", json!({ "query": question, "k": RESULTS }));
        let hits = answer["hits"].as_array().into_iter().flatten();
        let files = hits.filter_map(|hit| hit["rel_path"].as_str()).map(str::to_owned).collect();
        Ok(Answer { files, text: answer.to_string() })
    }

    fn resident(&self) -> Option<u64> {
        Some(testkit::measure::resident(self.id()))
    }
}
