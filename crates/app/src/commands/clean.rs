//! `dir2mcp clean`: deletes what this program keeps about a folder, and nothing that it did not make.
#![allow(clippy::disallowed_methods, reason = "the state directory is our own")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use engine::state_dir;
use serde_json::json;

use super::confirm::{self, Confirmation};
use crate::cli::Cli;
use crate::config::{self, Loaded};
use crate::exit::{Exit, ExitCode};
use crate::print::connection::SavedConnection;
use crate::print::{self, safe};

#[derive(Debug, Clone, Args)]
pub(crate) struct CleanArgs {
    /// Delete the keys in secret.env too, which `config init` may have put there
    #[arg(long)]
    pub keys: bool,
}

/// The keys that a person typed.
const KEYS: &str = "secret.env";

/// What agents wrote, which nothing can make again.
const STORE: &str = "files.sqlite";

/// The names of state directories in which everything is our own.
const OWN_FOLDERS: [&str; 2] = [".dir2mcp", ".repo_mcp"];

/// What our files are called in a state directory of another name.
const OWN_FILES: [&str; 28] = [
    "root.json",
    "meta.sqlite",
    "meta.sqlite-wal",
    "meta.sqlite-shm",
    "meta.sqlite.new",
    "meta.sqlite.damaged",
    "rebuild",
    "rebuilt",
    "servers",
    "lexical",
    "vectors_text.hnsw",
    "vectors_code.hnsw",
    "vectors_text.former.hnsw",
    "vectors_code.former.hnsw",
    "embedders.json",
    "corpus.json",
    "connection.json",
    "secret.token",
    ".dir2mcp.yaml.snapshot",
    "locks",
    "audit.jsonl",
    "costs.jsonl",
    "costs.new",
    "command",
    "refreshed.json",
    "indexed.json",
    "roots",
    ".gitignore",
];

pub(crate) fn run(cli: &Cli, args: &CleanArgs) -> Result<(), Exit> {
    let loaded = config::load(cli)?;
    let folders = folders(&loaded);
    let (mut found, mut kept) = (Vec::new(), Vec::new());
    for folder in &folders {
        refuse_links(folder)?;
        // What belongs to another root is not this one's to delete.
        state_dir::check(&loaded.settings.root, folder)?;
        refuse_while_in_use(folder)?;
        let (own, other) = contents(folder, args.keys)?;
        found.extend(own);
        kept.extend(other);
    }
    if found.is_empty() {
        return said(&loaded, &found, &kept, "There is nothing to delete.\n");
    }
    let names: Vec<String> =
        folders.iter().map(|folder| safe(&folder.to_string_lossy()).into_owned()).collect();
    let names = names.join(" and ");
    let question = format!("Delete the index and everything else in {names}? The folder's own files stay.");
    match confirm::ask(&loaded, cli.global.yes, &question)? {
        Confirmation::Yes => {}
        Confirmation::No => return said(&loaded, &[], &[], "Nothing was deleted.\n"),
        Confirmation::Unasked => {
            return Err(Exit::config(format!("{names} would be deleted")).hint("Add --yes to delete it."));
        }
    }
    for path in &found {
        let metadata = fs::symlink_metadata(path);
        let deleted = match metadata {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match deleted {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(Exit::generic(format!(
                    "cannot delete {}: {error}",
                    safe(&path.to_string_lossy())
                )));
            }
        }
    }
    for folder in &folders {
        // It stays where something was kept.
        let _ = fs::remove_dir(folder);
    }
    said(&loaded, &found, &kept, &format!("Deleted {names}.\n"))
}

/// The state directory, and that of the repository tools where it is another.
fn folders(loaded: &Loaded) -> Vec<PathBuf> {
    let settings = &loaded.settings;
    let mut folders = vec![settings.state_dir.clone()];
    if settings.repo.data_dir != settings.state_dir {
        folders.push(settings.repo.data_dir.clone());
    }
    folders.retain(|folder| fs::symlink_metadata(folder).is_ok());
    folders
}

/// What will be deleted and what will stay.
fn contents(folder: &Path, keys: bool) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Exit> {
    let all_own = folder.file_name().is_some_and(|name| OWN_FOLDERS.iter().any(|own| name == *own));
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(|error| {
            Exit::generic(format!("cannot list {}: {error}", safe(&folder.to_string_lossy())))
        })?;
    entries.sort();
    let is_own = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == KEYS {
            keys
        } else if name.starts_with(STORE) {
            false
        } else {
            all_own || OWN_FILES.contains(&name.as_ref()) || name.starts_with("last_bundle.")
        }
    };
    Ok(entries.into_iter().partition(is_own))
}

/// A link could lead anywhere.
fn refuse_links(folder: &Path) -> Result<(), Exit> {
    let is_link = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_symlink());
    if is_link {
        let message = format!("{} is a symbolic link", safe(&folder.to_string_lossy()));
        return Err(Exit::config(message).hint("Remove the link. What it leads to is not deleted."));
    }
    Ok(())
}

fn refuse_while_in_use(folder: &Path) -> Result<(), Exit> {
    let conflict = |who: String| {
        Exit::new(ExitCode::Generic, "CONFLICT", format!("{who} uses {}", safe(&folder.to_string_lossy())))
            .hint("Stop it, then run `dir2mcp clean` again.")
    };
    if let Some(saved) = SavedConnection::running(folder) {
        return Err(conflict(format!("the server at {}", safe(&saved.url))));
    }
    match engine::writer_of(folder) {
        Some(holder) => Err(conflict(format!("another process ({})", safe(&holder)))),
        None => Ok(()),
    }
}

fn said(loaded: &Loaded, found: &[PathBuf], kept: &[PathBuf], text: &str) -> Result<(), Exit> {
    let output = &loaded.settings.output;
    if output.json {
        return Ok(print::out_json(&json!({ "deleted": found, "kept": kept }))?);
    }
    if output.quiet {
        return Ok(());
    }
    let mut text = text.to_owned();
    for path in kept {
        let why = if path.ends_with(KEYS) { " (add --keys to delete it)" } else { "" };
        text.push_str(&format!("Kept: {}{why}\n", safe(&path.to_string_lossy())));
    }
    Ok(print::out(&text)?)
}
