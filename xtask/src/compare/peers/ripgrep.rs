//! ripgrep, asked as agents do: the telling words of the question in one call, files with the most different words first.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use super::super::Site;
use super::{Peer, ProcessEach, RESULTS, Session, debian_size, printed};
use crate::process::exists;
use crate::tools::apt;

pub(super) struct Ripgrep;

/// Words that an agent would leave out of a search.
const COMMON: &[&str] = &[
    "about",
    "all",
    "and",
    "any",
    "are",
    "between",
    "but",
    "can",
    "code",
    "did",
    "does",
    "file",
    "files",
    "for",
    "from",
    "get",
    "has",
    "have",
    "how",
    "implement",
    "implementation",
    "into",
    "its",
    "like",
    "not",
    "one",
    "other",
    "our",
    "out",
    "should",
    "that",
    "the",
    "their",
    "them",
    "there",
    "these",
    "they",
    "this",
    "used",
    "uses",
    "using",
    "was",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "why",
    "will",
    "with",
    "you",
];

impl Ripgrep {
    pub(super) fn install() -> Result<Ripgrep, String> {
        if !exists("rg") {
            apt("ripgrep")?;
        }
        Ok(Ripgrep)
    }
}

/// Every match with the path of its file.
fn search(site: &Site, question: &str) -> Command {
    let mut rg = Command::new("rg");
    rg.current_dir(&site.folder).args(["--ignore-case", "--with-filename", "--no-heading", "--line-number"]);
    rg.args(["--fixed-strings", "--max-columns", "200"]);
    for word in words(question) {
        rg.args(["-e", &word]);
    }
    rg.arg("./");
    rg
}

fn words(question: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let all = question.split(|letter: char| !is_part(letter)).map(str::to_lowercase);
    let telling: Vec<String> =
        all.filter(|word| word.len() > 2 && !COMMON.contains(&word.as_str())).collect();
    if telling.is_empty() { vec![question.to_owned()] } else { telling }
}

impl Peer for Ripgrep {
    fn name(&self) -> &'static str {
        "ripgrep"
    }

    fn version(&self) -> Result<String, String> {
        let text = printed(Command::new("rg").arg("--version"))?;
        Ok(text.split_whitespace().nth(1).unwrap_or_default().to_owned())
    }

    fn installed(&self) -> u64 {
        debian_size(&["ripgrep"])
    }

    fn index(&self, _: &Site) -> Result<Option<Command>, String> {
        Ok(None)
    }

    fn ask_once(&self, site: &Site, question: &str) -> Option<Command> {
        Some(search(site, question))
    }

    fn open(&self, site: &Site) -> Result<Option<Box<dyn Session>>, String> {
        Ok(Some(Box::new(ProcessEach { site: site.clone(), search, files })))
    }
}

/// The files of what was printed: those with the most different words first.
fn files(_: &Site, question: &str, text: &str) -> Vec<String> {
    let words = words(question);
    let mut files: BTreeMap<&str, (BTreeSet<&str>, usize)> = BTreeMap::new();
    for line in text.lines() {
        let Some((path, rest)) = line.trim_start_matches("./").split_once(':') else { continue };
        let (seen, count) = files.entry(path).or_default();
        let rest = rest.to_lowercase();
        seen.extend(words.iter().filter(|word| rest.contains(*word)).map(String::as_str));
        *count += 1;
    }
    let mut ranked: Vec<(&str, usize, usize)> =
        files.into_iter().map(|(path, (seen, count))| (path, seen.len(), count)).collect();
    ranked.sort_by(|one, other| (other.1, other.2, one.0).cmp(&(one.1, one.2, other.0)));
    ranked.into_iter().take(RESULTS).map(|(path, ..)| path.to_owned()).collect()
}
