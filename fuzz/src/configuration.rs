//! Configuration: the config file, `.env` and `repo_mcp.toml` as they are found in a folder, and the config file that the
//! program edits for the user.

use std::path::Path;

use clap::Parser;
use tempfile::TempDir;

use crate::cli::Cli;
use crate::config::keys::KeySpec;
use crate::config::value::ConfigValue;
use crate::config::{ConfigError, FILE_NAME, Loaded, REPO_FILE_NAME, edit, look_at, render, yaml};
use crate::print::safe;

/// What a folder may bring along.
const FILES: [&str; 3] = [FILE_NAME, ".env", REPO_FILE_NAME];

pub(crate) fn check(variant: usize, bytes: &[u8]) {
    match FILES.get(variant) {
        Some(name) => load(name, bytes),
        None => set(&String::from_utf8_lossy(bytes)),
    }
}

thread_local! {
    static FOLDER: TempDir = TempDir::new().expect("there is room for a folder");
    /// With the repository tools, so that all three files are read.
    static ARGUMENTS: Cli = Cli::parse_from(["dir2mcp", "config", "print", "--tools", "dir2mcp,repo"]);
}

/// One file in an otherwise empty folder.
fn load(name: &str, bytes: &[u8]) {
    FOLDER.with(|folder| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("the file can be written");
        let loaded = ARGUMENTS.with(|cli| look_at(cli, folder.path()));
        std::fs::remove_file(&path).expect("the file can be removed");
        match loaded {
            Ok(loaded) => sound(&loaded, folder.path()),
            Err(error) => shown(&error),
        }
    });
}

/// What is printed is a config file, and nothing that came with the folder moves the terminal.
fn sound(loaded: &Loaded, folder: &Path) {
    for warning in &loaded.warnings {
        assert_eq!(safe(warning), *warning, "a warning holds what a terminal obeys");
    }
    for file in &loaded.untrusted {
        let text = file.to_string();
        assert_eq!(safe(&text), text, "a file that is not trusted");
        assert!(file.wishes.iter().all(|wish| safe(&wish.shown()) == wish.shown()));
    }
    let state = &loaded.settings.state_dir;
    let is_inside = state.starts_with(folder.canonicalize().expect("the folder is there"));
    assert!(is_inside || !loaded.untrusted.is_empty(), "{}", state.display());
    for origins in [false, true] {
        let printed = render::yaml(loaded, origins);
        if let Err(error) = yaml::parse(&printed) {
            panic!("line {}: {}\n{printed}", error.line, error.message);
        }
    }
    render::json(loaded);
}

fn shown(error: &ConfigError) {
    let text = error.to_string();
    assert_eq!(safe(&text), text, "a complaint holds what a terminal obeys");
}

/// A line with a key, a line with its value, and the file to set it in.
fn set(input: &str) {
    let mut parts = input.splitn(3, '\n');
    let (Some(key), Some(value), Some(text)) = (parts.next(), parts.next(), parts.next()) else { return };
    let Some(spec) = KeySpec::find(key) else { return };
    let Ok(value) = ConfigValue::parse(spec, value) else { return };
    if let Ok(edited) = edit::set(text, spec.path, &value) {
        // The same again changes nothing.
        assert_eq!(edit::set(&edited, spec.path, &value).as_deref(), Ok(edited.as_str()));
    }
}
