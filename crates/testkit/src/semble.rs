//! semble, the nearest peer: how the measurements start it, without asking a model hub for anything.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where `cargo xtask` has put semble.
#[derive(Debug)]
pub struct Semble {
    /// `bin` of its virtual environment.
    pub programs: PathBuf,
    /// `benches/peers/drive.py`.
    pub script: PathBuf,
    /// The embedding table it is given, as a Model2Vec folder: its own has to be downloaded from a model hub.
    pub model: PathBuf,
}

impl Semble {
    /// Its command line: brings the index up to date, answers, keeps the index.
    pub fn search(&self, tree: &Path, cache: &Path, query: &str, content: &str) -> Command {
        let mut command = self.command("semble", cache);
        command.args(["search", query]).arg(tree).args(["--content", content]);
        command
    }

    /// `drive.py search`: answers queries in process, from an index that exists.
    pub fn answers(&self, tree: &Path, cache: &Path, count: usize, content: &str) -> Command {
        let mut command = self.command("python", cache);
        command.arg(&self.script).arg("search").arg(tree).arg(count.to_string()).arg(content);
        command
    }

    pub fn version(&self) -> io::Result<String> {
        let output = self.command("semble", &self.model).arg("--version").output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn command(&self, program: &str, cache: &Path) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.env("SEMBLE_MODEL_NAME", &self.model).env("SEMBLE_CACHE_LOCATION", cache);
        command.env("HF_HUB_OFFLINE", "1").stderr(Stdio::null());
        command
    }
}
