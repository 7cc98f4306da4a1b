//! The programs that are compared: how each is installed, indexes a folder and is asked.

mod codegraph;
mod dir2mcp;
mod filesystem;
mod recoll;
mod ripgrep;
mod semble;

use std::path::Path;
use std::process::Command;

use super::Site;
use crate::process::workspace;
use crate::tools;

/// How many results a program is asked for.
const RESULTS: usize = 10;

/// A program that is compared.
pub(super) trait Peer {
    fn name(&self) -> &'static str;

    fn version(&self) -> Result<String, String>;

    /// Bytes that the program takes on the disk, with the runtime and the libraries that came with it.
    fn installed(&self) -> u64;

    /// Builds the index of a folder from nothing; none where the program has no index.
    fn index(&self, site: &Site) -> Result<Option<Command>, String>;

    /// One question from the shell; none where the program is a server only.
    fn ask_once(&self, site: &Site, question: &str) -> Option<Command>;

    /// What answers many questions; none where the program cannot search in contents.
    fn open(&self, site: &Site) -> Result<Option<Box<dyn Session>>, String>;

    /// What the program shows of a file when it is told to open it; none where it opens nothing.
    fn read(&self, _site: &Site, _paths: &[String]) -> Result<Option<Vec<String>>, String> {
        Ok(None)
    }
}

/// A program that is ready for questions about one folder.
pub(super) trait Session {
    fn ask(&mut self, question: &str) -> Result<Answer, String>;

    /// Resident bytes of a server that keeps running; none where each question starts a process.
    fn resident(&self) -> Option<u64>;
}

pub(super) struct Answer {
    /// Paths below the folder, best first, perhaps several times each.
    pub files: Vec<String>,
    /// What the caller gets to see.
    pub text: String,
}

/// A program that is started anew for each question.
struct ProcessEach {
    site: Site,
    search: fn(&Site, &str) -> Command,
    /// The files of what it printed in answer to a question, best first.
    files: fn(&Site, &str, &str) -> Vec<String>,
}

impl Session for ProcessEach {
    fn ask(&mut self, question: &str) -> Result<Answer, String> {
        let text = printed(&mut (self.search)(&self.site, question))?;
        Ok(Answer { files: (self.files)(&self.site, question, &text), text })
    }

    fn resident(&self) -> Option<u64> {
        None
    }
}

/// Installs what is missing, by package name. The first one is dir2mcp.
pub(super) fn install(binary: &Path) -> Result<Vec<Box<dyn Peer>>, String> {
    let modules = tools::npm(
        &crate::process::target().join("tools/peers"),
        &workspace().join("benches/peers/package.json"),
    )?;
    Ok(vec![
        Box::new(dir2mcp::Dir2mcp::new(binary)),
        Box::new(ripgrep::Ripgrep::install()?),
        Box::new(semble::Peer::install()?),
        Box::new(codegraph::Codegraph::new(&modules)),
        Box::new(recoll::Recoll::install()?),
        Box::new(filesystem::Filesystem::new(&modules)),
    ])
}

/// What a program prints.
fn printed(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The size of a Debian package once it is installed.
fn debian_size(packages: &[&str]) -> u64 {
    let mut query = Command::new("dpkg-query");
    let sizes = printed(query.args(["--show", "--showformat=${Installed-Size}\n"]).args(packages));
    let kilobytes =
        sizes.unwrap_or_default().lines().filter_map(|line| line.parse::<u64>().ok()).sum::<u64>();
    kilobytes * 1024
}
