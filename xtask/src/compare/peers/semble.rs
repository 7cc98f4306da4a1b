//! semble, from PyPI: its command line, and its library in a Python process that stays.

use std::io::Write;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};

use serde_json::Value;
use testkit::{DEADLINE, Process, Semble};

use super::super::{Content, Site};
use super::{Answer, RESULTS, Session};
use crate::tools;

pub(super) struct Peer {
    semble: Semble,
}

impl Peer {
    pub(super) fn install() -> Result<Peer, String> {
        Ok(Peer { semble: tools::install_semble()? })
    }
}

fn content(site: &Site) -> &'static str {
    match site.content {
        Content::Code => "code",
        Content::Everything => "all",
    }
}

impl super::Peer for Peer {
    fn name(&self) -> &'static str {
        "semble"
    }

    fn version(&self) -> Result<String, String> {
        let text = self.semble.version().map_err(|error| error.to_string())?;
        Ok(text.split_whitespace().last().unwrap_or_default().to_owned())
    }

    fn installed(&self) -> u64 {
        let environment: PathBuf = self.semble.programs.join("..");
        testkit::measure::size_of(&environment)
    }

    /// It has no command for indexing alone: the first question builds the index.
    fn index(&self, site: &Site) -> Result<Option<Command>, String> {
        Ok(Some(self.semble.search(&site.folder, &site.state, "index", content(site))))
    }

    fn ask_once(&self, site: &Site, question: &str) -> Option<Command> {
        let mut command = self.semble.search(&site.folder, &site.state, question, content(site));
        command.args(["--top-k", &RESULTS.to_string()]);
        Some(command)
    }

    fn open(&self, site: &Site) -> Result<Option<Box<dyn Session>>, String> {
        let mut command = self.semble.answers(&site.folder, &site.state, RESULTS, content(site));
        let mut process = Process::start(command.stdin(Stdio::piped())).map_err(|error| error.to_string())?;
        let input = process.stdin().ok_or("semble has no input")?;
        process.next_line(DEADLINE).ok_or("semble does not start")?;
        Ok(Some(Box::new(Running { process, input })))
    }
}

struct Running {
    process: Process,
    input: ChildStdin,
}

impl Session for Running {
    fn ask(&mut self, question: &str) -> Result<Answer, String> {
        writeln!(self.input, "{question}").map_err(|error| error.to_string())?;
        let line = self.process.next_line(DEADLINE).ok_or("semble does not answer")?;
        let answer: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        let found: Vec<&Value> = answer["found"].as_array().into_iter().flatten().collect();
        let files = found.iter().filter_map(|hit| hit["path"].as_str()).map(str::to_owned).collect();
        Ok(Answer { files, text: answer["found"].to_string() })
    }

    fn resident(&self) -> Option<u64> {
        Some(testkit::measure::resident(self.process.id()))
    }
}
