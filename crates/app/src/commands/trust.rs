//! `dir2mcp trust`: lets a folder's own config file set what widens access, as it is now; lists and forgets such files.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::{Cli, TrustArgs};
use crate::config::trust::{UnnamedFile, Wish};
use crate::config::trust_store::TrustStore;
use crate::config::{self, ConfigError, Environment, FILE_NAME, REPO_FILE_NAME, files};
use crate::exit::Exit;
use crate::print::{self, safe};

pub(crate) fn run(cli: &Cli, args: &TrustArgs) -> Result<(), Exit> {
    let cwd = config::current_folder()?;
    let mut warnings = Vec::new();
    let store = TrustStore::read(Environment::read(&cwd)?.config_dir().as_deref(), &mut warnings);
    if !cli.global.quiet {
        warnings.iter().for_each(|warning| print::warn(warning));
    }
    if args.list {
        return list(cli, &store);
    }
    let named = args.folder.as_deref().or(cli.global.dir.as_deref()).unwrap_or(Path::new("."));
    let folder = files::open_root(&cwd.join(named));
    if args.remove {
        // A folder that is gone is known by the name it had.
        return remove(cli, store, &folder.unwrap_or_else(|_| cwd.join(named)));
    }
    let folder = folder.map_err(|error| ConfigError::Root { path: named.into(), error })?;
    add(cli, store, &folder)
}

fn add(cli: &Cli, mut store: TrustStore, folder: &Path) -> Result<(), Exit> {
    let untrusted = config::look_at(cli, folder)?.untrusted;
    for file in &untrusted {
        store.add(&file.file).map_err(|error| Exit::config(error.to_string()))?;
    }
    if cli.global.json {
        let files: Vec<_> = untrusted
            .iter()
            .map(|file| {
                let keys: Vec<String> = file.wishes.iter().map(Wish::to_string).collect();
                json!({ "path": file.file.path, "keys": keys })
            })
            .collect();
        return Ok(print::out_json(&json!({ "trusted": files }))?);
    }
    if cli.global.quiet {
        return Ok(());
    }
    if untrusted.is_empty() {
        let folder = folder.to_string_lossy();
        return Ok(print::out(&format!("Nothing in {} needs to be trusted.\n", safe(&folder)))?);
    }
    let mut text = String::new();
    for file in &untrusted {
        text.push_str(&format!("Trusted as it is now: {}\n", safe(&file.file.path.to_string_lossy())));
        for wish in &file.wishes {
            text.push_str(&format!("  {}\n", wish.shown()));
        }
    }
    Ok(print::out(&text)?)
}

fn remove(cli: &Cli, mut store: TrustStore, folder: &Path) -> Result<(), Exit> {
    let mut gone = Vec::new();
    for path in [FILE_NAME, REPO_FILE_NAME].map(|name| folder.join(name)) {
        if store.remove(&path)? {
            gone.push(path);
        }
    }
    if cli.global.json {
        return Ok(print::out_json(&json!({ "removed": gone }))?);
    }
    if cli.global.quiet {
        return Ok(());
    }
    let line = |path: &PathBuf| format!("Trusted no longer: {}\n", safe(&path.to_string_lossy()));
    let text = match gone.as_slice() {
        [] => format!("Nothing in {} was trusted.\n", safe(&folder.to_string_lossy())),
        gone => gone.iter().map(line).collect(),
    };
    Ok(print::out(&text)?)
}

fn list(cli: &Cli, store: &TrustStore) -> Result<(), Exit> {
    let state = |path: &Path, digest: &str| match files::read(path) {
        Ok(file) if UnnamedFile::new(path, &file.text).digest == digest => "unchanged",
        Ok(_) => "changed since; not trusted any more",
        Err(_) => "gone",
    };
    let rows: Vec<(&PathBuf, &str)> =
        store.files().iter().map(|(path, digest)| (path, state(path, digest))).collect();
    if cli.global.json {
        let rows: Vec<_> = rows.iter().map(|(path, state)| json!({ "path": path, "state": state })).collect();
        return Ok(print::out_json(&json!({ "trusted": rows }))?);
    }
    if rows.is_empty() {
        return Ok(print::out("No file is trusted.\n")?);
    }
    let line = |(path, state): &(&PathBuf, &str)| format!("{}  {state}\n", safe(&path.to_string_lossy()));
    Ok(print::out(&rows.iter().map(line).collect::<String>())?)
}
