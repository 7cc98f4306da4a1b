//! `dir2mcp roots`: the folders of the workspace, with what is indexed of each; and the way to add or remove one.

#![allow(clippy::disallowed_methods, reason = "the index of a removed root is our own")]

use std::path::{Path, PathBuf};

use engine::Corpus;
use model::ErrorCode;
use serde_json::{Value, json};

use crate::cli::{Cli, RootsArgs, RootsChange};
use crate::config::keys::{Key, KeySpec};
use crate::config::{self, FILE_NAME, Loaded, edit, files, value};
use crate::exit::{Exit, ExitCode};
use crate::print::{self, safe};
use crate::workspace::{self, FoundRoot, RootPlace};

pub(crate) fn run(cli: &Cli, args: &RootsArgs) -> Result<(), Exit> {
    let loaded = config::load(cli)?;
    match &args.change {
        None => list(&loaded),
        Some(RootsChange::Add { path }) => add(&loaded, path),
        Some(RootsChange::Remove { path }) => remove(&loaded, path),
    }
}

/// A root as it is shown.
struct RootRow {
    path: PathBuf,
    status: String,
    /// None for a root without an index of its own, or not indexed yet.
    corpus: Option<Corpus>,
}

fn list(loaded: &Loaded) -> Result<(), Exit> {
    let settings = &loaded.settings;
    let indexed = |state_dir: &Path| {
        let corpus = engine::read_corpus(state_dir);
        let status = match &corpus {
            None => "not indexed yet",
            Some(corpus) if corpus.indexing.running => "indexing, or interrupted",
            Some(_) => "indexed",
        };
        (status.to_owned(), corpus)
    };
    let (status, corpus) = indexed(&RootPlace::primary(settings).state_dir);
    let mut rows = vec![RootRow { path: settings.root.clone(), status, corpus }];
    for (path, found) in workspace::further(settings) {
        let (status, corpus) = match found {
            FoundRoot::Own(place) => indexed(&place.state_dir),
            FoundRoot::Same(_) => continue,
            FoundRoot::Within(_) => ("within another root".to_owned(), None),
            FoundRoot::Away(why) => (format!("cannot be read: {why}"), None),
        };
        rows.push(RootRow { path, status, corpus });
    }
    if settings.output.json {
        print::out_json(&json!({ "roots": rows.iter().map(RootRow::json).collect::<Vec<_>>() }))?;
        return Ok(());
    }
    print::out(&rows.iter().map(RootRow::line).collect::<String>())?;
    Ok(())
}

impl RootRow {
    fn json(&self) -> Value {
        json!({
            "path": self.path,
            "status": self.status,
            "documents": self.corpus.as_ref().map(documents),
            "chunks": self.corpus.as_ref().map(|corpus| corpus.indexing.chunks_total),
        })
    }

    fn line(&self) -> String {
        let counts = self.corpus.as_ref().map_or(String::new(), |corpus| {
            format!(", {} documents, {} chunks", documents(corpus), corpus.indexing.chunks_total)
        });
        format!("{}  {}{counts}\n", safe(&self.path.to_string_lossy()), safe(&self.status))
    }
}

fn documents(corpus: &Corpus) -> u64 {
    corpus.profile.doc_counts.values().sum()
}

fn add(loaded: &Loaded, path: &Path) -> Result<(), Exit> {
    let root = files::open_root(path).map_err(|error| {
        let message = format!("{} cannot be added: {error}", safe(&path.to_string_lossy()));
        Exit::new(ExitCode::RootInaccessible, ErrorCode::RootInaccessible.as_str(), message)
            .hint("Name a folder that is there and that you may read.")
    })?;
    let settings = &loaded.settings;
    if root == settings.root || settings.workspace.roots.contains(&root) {
        return said(loaded, "is a root already", &root);
    }
    let mut roots = settings.workspace.roots.clone();
    roots.push(root.clone());
    write(loaded, &roots)?;
    said(loaded, "is a root from the next start on", &root)
}

fn remove(loaded: &Loaded, path: &Path) -> Result<(), Exit> {
    let settings = &loaded.settings;
    // A folder that is gone is known by the name it was added under.
    let named = files::open_root(path)
        .unwrap_or_else(|_| std::env::current_dir().map_or_else(|_| path.to_owned(), |cwd| cwd.join(path)));
    let is_it = |root: &PathBuf| *root == named || files::open_root(root).is_ok_and(|real| real == named);
    let (gone, kept): (Vec<PathBuf>, Vec<PathBuf>) =
        settings.workspace.roots.iter().cloned().partition(is_it);
    if gone.is_empty() {
        let message = format!("{} is no further root of this workspace", safe(&named.to_string_lossy()));
        return Err(Exit::generic(message).hint("dir2mcp roots lists them."));
    }
    write(loaded, &kept)?;
    let state_dir = workspace::state_dir(settings, &named);
    match std::fs::remove_dir_all(&state_dir) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            return Err(Exit::generic(format!(
                "the root is removed, but its index {} cannot be deleted: {error}",
                safe(&state_dir.to_string_lossy())
            )));
        }
    }
    said(loaded, "is no longer a root; its index is deleted", &named)
}

/// Sets `workspace.roots` in the config file, which is made if there is none.
fn write(loaded: &Loaded, roots: &[PathBuf]) -> Result<(), Exit> {
    let settings = &loaded.settings;
    let file = settings.config_file.clone().unwrap_or_else(|| settings.root.join(FILE_NAME));
    let before = files::read_if_present(&file)?;
    let text = before.as_ref().map_or("version: 1\n", |file| file.text.as_str());
    let list = roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
    let path = KeySpec::of(Key::WorkspaceRoots).path;
    let edited = edit::set(text, path, &value::ConfigValue::List(list))
        .map_err(|error| Exit::generic(format!("{}: {error}", safe(&file.to_string_lossy()))))?;
    files::write(&file, &edited, before.map_or(0o644, |file| file.mode))?;
    config::trust_written(loaded, &file, &edited)?;
    Ok(())
}

fn said(loaded: &Loaded, what: &str, root: &Path) -> Result<(), Exit> {
    if loaded.settings.output.json {
        print::out_json(&json!({ "root": root, "result": what }))?;
    } else if !loaded.settings.output.quiet {
        print::out(&format!("{} {what}.\n", safe(&root.to_string_lossy())))?;
    }
    Ok(())
}
