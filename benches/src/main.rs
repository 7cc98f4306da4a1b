//! Speed as ratios: each figure is measured beside a program that everybody knows, in one run on one machine.
//! Started by `cargo xtask bench`.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

mod bare;
mod figures;
mod growth;
mod indexing;
mod load;
mod measure;
mod ready;
mod searching;
mod vectors;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use figures::Report;

/// What all measurements share.
struct Setting {
    /// The release build of `dir2mcp`.
    binary: PathBuf,
    /// The folder that is indexed.
    tree: PathBuf,
    /// For state directories and generated folders; ends with the program.
    scratch: testkit::Folder,
}

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == bare::COMMAND) {
        return bare::serve(Path::new(&args[1]));
    }
    match run(&mut args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &mut Vec<String>) -> Result<(), String> {
    let mut switch = |name: &str| {
        let before = args.len();
        args.retain(|arg| arg != name);
        args.len() < before
    };
    let (growth, write) = (switch("--growth"), switch("--write"));
    let mut value = |name: &str| {
        let position = args.iter().position(|arg| arg == name)?;
        args.remove(position);
        (position < args.len()).then(|| args.remove(position))
    };
    let binary = PathBuf::from(value("--binary").ok_or("--binary is missing")?);
    let tree = match value("--tree") {
        Some(path) => PathBuf::from(path),
        None => registry().ok_or("--tree PATH is missing, and there is no cargo registry to take instead")?,
    };
    let only = value("--only");
    if let Some(arg) = args.first() {
        return Err(format!("unknown argument {arg:?}"));
    }
    let setting = Setting { binary, tree, scratch: testkit::Folder::empty() };

    let mut report = Report::new(&setting.tree);
    if only.is_some_and(|name| name == "vectors") {
        return vectors::measure(&setting, &mut report);
    }
    let state = indexing::measure(&setting, &mut report)?;
    ready::measure(&setting, &state, &mut report)?;
    searching::measure(&setting, &state, &mut report)?;
    if growth {
        growth::measure(&setting, &mut report)?;
        vectors::measure(&setting, &mut report)?;
    }
    print!("{}", report.page());
    if write {
        let page = Path::new("docs/performance.md");
        std::fs::create_dir_all("docs").and_then(|()| std::fs::write(page, report.page())).map_err(text)?;
        println!("wrote {}", page.display());
    }
    Ok(())
}

/// The sources of all dependencies: a large real tree that is there wherever this was built.
fn registry() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let sources = home.join("registry/src");
    std::fs::read_dir(sources).ok()?.flatten().map(|entry| entry.path()).find(|path| path.is_dir())
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}
