//! recoll, from Debian: full text of a desktop, with a filter for each format, asked from the shell in "any term" mode.

use std::process::{Command, Stdio};

use super::super::Site;
use super::{Peer, ProcessEach, RESULTS, Session, debian_size, printed};
use crate::process::exists;
use crate::tools::apt;

pub(super) struct Recoll;

/// What its filters for PDF, office files and RTF call.
const HELPERS: &[&str] = &["poppler-utils", "python3-lxml", "python3-chardet", "unrtf"];

/// Endings that its settings do not know as text, or take for web pages.
const TEXT: &str = ".go = text/plain\n.php = text/plain\n.rs = text/plain\n.ts = text/plain\n";

impl Recoll {
    pub(super) fn install() -> Result<Recoll, String> {
        if !exists("recollindex") {
            apt("recollcmd")?;
            HELPERS.iter().try_for_each(|helper| apt(helper))?;
        }
        Ok(Recoll)
    }
}

/// Its filters want the Python that Debian installs.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", "/usr/bin:/bin").stderr(Stdio::null());
    command
}

fn search(site: &Site, question: &str) -> Command {
    let mut query = command("recollq");
    query.arg("-c").arg(&site.state).args(["-n", &RESULTS.to_string(), "-A", "-p", "3", "-o", question]);
    query
}

impl Peer for Recoll {
    fn name(&self) -> &'static str {
        "recoll"
    }

    fn version(&self) -> Result<String, String> {
        let mut query = Command::new("dpkg-query");
        printed(query.args(["--show", "--showformat=${source:Upstream-Version}", "recollcmd"]))
    }

    fn installed(&self) -> u64 {
        debian_size(&["recollcmd", "libxapian30", "python3-recoll"]) + debian_size(HELPERS)
    }

    fn index(&self, site: &Site) -> Result<Option<Command>, String> {
        let settings = format!("topdirs = {}\nnoaspell = 1\nloglevel = 1\n", site.folder.display());
        std::fs::write(site.state.join("recoll.conf"), settings)
            .and_then(|()| std::fs::write(site.state.join("mimemap"), TEXT))
            .map_err(|error| error.to_string())?;
        let mut index = command("recollindex");
        index.arg("-c").arg(&site.state).arg("-z");
        Ok(Some(index))
    }

    fn ask_once(&self, site: &Site, question: &str) -> Option<Command> {
        Some(search(site, question))
    }

    fn open(&self, site: &Site) -> Result<Option<Box<dyn Session>>, String> {
        Ok(Some(Box::new(ProcessEach { site: site.clone(), search, files })))
    }
}

/// The files of what was printed, best first.
fn files(site: &Site, _: &str, text: &str) -> Vec<String> {
    let prefix = format!("[file://{}/", site.folder.display());
    let places = text.lines().filter_map(|line| line.split('\t').nth(1)?.strip_prefix(&prefix));
    places.map(|place| place.trim_end_matches(']').to_owned()).collect()
}
