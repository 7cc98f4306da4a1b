//! Which formats a program finds words in: one document of each, made by the usual libraries, each with a word of its own.

use std::process::Command;

use serde_json::Value;

use super::peers::Peer;
use super::{Content, Work};
use crate::process::{capture, workspace};
use crate::tools::python;

pub(super) struct Format {
    pub name: String,
    /// For each program whether it finds the document; none where it cannot search.
    pub found: Vec<Option<bool>>,
}

pub(super) fn measure(peers: &[Box<dyn Peer>], work: &Work) -> Result<Vec<Format>, String> {
    let here = workspace().join("xtask/src");
    let python = python("documents", &here.join("documents/requirements.txt"))?;
    let folder = work.folder.join("formats-made");
    let done = capture(Command::new(python).arg(here.join("compare/formats.py")).arg(&folder))?;
    let list: Vec<Value> = serde_json::from_str(&done.stdout).map_err(|_| done.output())?;
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let mut formats: Vec<Format> =
        list.iter().map(|entry| Format { name: text(entry, "format"), found: Vec::new() }).collect();
    for peer in peers {
        let site = work.site(peer.as_ref(), "formats", &folder, Content::Everything)?;
        site.index(peer.as_ref())?;
        let mut session = peer.open(&site)?;
        for (format, entry) in formats.iter_mut().zip(&list) {
            let found = match &mut session {
                // A member of an archive has the path of the archive before its own.
                Some(session) => Some(
                    session
                        .ask(&text(entry, "word"))?
                        .files
                        .iter()
                        .any(|path| path.starts_with(&text(entry, "file"))),
                ),
                None => None,
            };
            format.found.push(found);
        }
    }
    println!("looked into the formats");
    Ok(formats)
}
