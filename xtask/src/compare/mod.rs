//! `cargo xtask compare`: dir2mcp beside the programs that people would use instead, measured in one run on the same
//! folders. `--write` puts the figures into `docs/comparison.md`.
//!
//! Every program has its own copy of each folder, because some keep their index inside it. The programs take turns, so that
//! whatever else the machine does falls on all of them, and the medians are reported.

mod code;
mod formats;
mod mixed;
mod page;
mod peers;
mod secrets;

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::measure::{Cost, run as run_measured};

use crate::Args;
use crate::process::{Profile, build, target, workspace};
use peers::Peer;

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let write = args.switch("--write");
    let rounds = args.number("--rounds", 3)?;
    args.done()?;
    let peers = peers::install(&build(Profile::Release)?)?;
    let work = Work { folder: target().join("compare") };
    let versions = peers.iter().map(|peer| peer.version()).collect::<Result<Vec<_>, _>>()?;
    for (peer, version) in peers.iter().zip(&versions) {
        println!("{}: {version}", peer.name());
    }
    let code = code::measure(&peers, &work, rounds)?;
    let mixed = mixed::measure(&peers, &work)?;
    let formats = formats::measure(&peers, &work)?;
    let secrets = secrets::measure(&peers, &work)?;
    let installed: Vec<u64> = peers.iter().map(|peer| peer.installed()).collect();
    let page = page::Page { rounds, versions, code, mixed, formats, secrets, installed }.text(&peers);
    print!("{page}");
    if write {
        let file = workspace().join("docs/comparison.md");
        std::fs::write(&file, page).map_err(|error| format!("{}: {error}", file.display()))?;
        println!("wrote {}", file.display());
    }
    Ok(())
}

/// Where the copies of the folders and the indexes are.
struct Work {
    folder: PathBuf,
}

/// One program's copy of a folder, and the place for its index.
#[derive(Clone)]
struct Site {
    folder: PathBuf,
    state: PathBuf,
    content: Content,
}

/// What a folder holds, for programs that have to be told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Code,
    Everything,
}

impl Work {
    /// Copies a folder for a program; a copy and an index of an earlier run are removed.
    fn site(&self, peer: &dyn Peer, name: &str, from: &Path, content: Content) -> Result<Site, String> {
        let place = self.folder.join(name).join(peer.name().replace(' ', "-"));
        let site = Site { folder: place.join("files"), state: place.join("state"), content };
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&site.folder).map_err(|error| format!("{}: {error}", place.display()))?;
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(from.join(".")).arg(&site.folder);
        run_measured(&mut copy)?;
        Ok(site)
    }
}

impl Site {
    /// Builds the index from nothing, where the program has one.
    fn index(&self, peer: &dyn Peer) -> Result<Option<Cost>, String> {
        let _ = std::fs::remove_dir_all(&self.state);
        std::fs::create_dir_all(&self.state).map_err(|error| error.to_string())?;
        peer.index(self)?.map(|mut command| run_measured(&mut command)).transpose()
    }
}
