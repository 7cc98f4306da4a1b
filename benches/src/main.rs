//! Speed as ratios: each figure is measured beside a program that everybody knows, in one run on one machine.
//! Started by `cargo xtask bench`.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

mod bare;
mod figures;
mod growth;
mod indexing;
mod inside;
mod large;
mod load;
mod measure;
mod page;
mod peers;
mod queries;
mod ready;
mod searching;
mod store;
mod vectors;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use figures::Report;
use page::Page;
use testkit::Semble;

/// What all measurements share.
struct Setting {
    /// The release build of `dir2mcp`.
    binary: PathBuf,
    /// The folder that is indexed.
    tree: PathBuf,
    /// A folder with about a hundred thousand chunks.
    large: PathBuf,
    /// For state directories and generated folders; ends with the program.
    scratch: testkit::Folder,
}

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == bare::COMMAND) {
        return bare::serve(Path::new(&args[1]));
    }
    let result = match args.as_slice() {
        [command, root, state, count] if command == inside::COMMAND => {
            inside::profile(Path::new(root), Path::new(state), count, "")
        }
        [command, root, state, count, weights] if command == inside::COMMAND => {
            inside::profile(Path::new(root), Path::new(state), count, weights)
        }
        _ => run(&mut args),
    };
    match result {
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
    let peers = switch("--peers");
    let mut value = |name: &str| {
        let position = args.iter().position(|arg| arg == name)?;
        args.remove(position);
        (position < args.len()).then(|| args.remove(position))
    };
    let binary = PathBuf::from(value("--binary").ok_or("--binary is missing")?);
    let tree = PathBuf::from(value("--tree").ok_or("--tree is missing")?);
    let large = PathBuf::from(value("--large").ok_or("--large is missing")?);
    let mut only = Vec::new();
    while let Some(name) = value("--only") {
        only.push(name);
    }
    let semble = match (value("--semble"), value("--semble-script"), value("--semble-model")) {
        (Some(programs), Some(script), Some(model)) => {
            Some(Semble { programs: programs.into(), script: script.into(), model: model.into() })
        }
        _ => None,
    };
    if let Some(arg) = args.first() {
        return Err(format!("unknown argument {arg:?}"));
    }
    let setting = Setting { binary, tree, large, scratch: testkit::Folder::empty() };

    let mut report = Report::new(&setting.tree);
    let wanted = |name: &str, asked: bool| {
        if only.is_empty() { asked } else { only.iter().any(|each| each == name) }
    };
    if wanted("tree", true) {
        let state = indexing::measure(&setting, &mut report)?;
        ready::measure(&setting, &state, &mut report)?;
        searching::measure(&setting, &state, &mut report)?;
    }
    if wanted("peers", peers) {
        let semble = semble.ok_or("--peers needs what `cargo xtask bench` installs")?;
        peers::measure(&setting, &semble, &mut report)?;
    }
    if wanted("large", true) {
        large::warm_search(&setting, &mut report)?;
    }
    if wanted("watched", growth) {
        large::one_edit(&setting, &mut report)?;
    }
    if wanted("growth", growth) {
        growth::measure(&setting, &mut report)?;
    }
    if wanted("vectors", growth) {
        vectors::measure(&setting, &mut report)?;
    }
    if wanted("store", true) {
        store::measure(&setting, &mut report)?;
    }
    if wanted("store-growth", growth) {
        store::growth(&setting, &mut report, &[10_000, 100_000, 1_000_000])?;
    }
    let of_tree = wanted("tree", true) || wanted("peers", peers);
    let whole = only.is_empty() && growth && peers;
    finish(report.page(), whole, of_tree, write)
}

/// Shows the page, and writes it if that is wanted. What was not measured this time stays as it is written.
fn finish(measured: Page, whole: bool, of_tree: bool, write: bool) -> Result<(), String> {
    print!("{}", measured.text());
    if !write {
        return Ok(());
    }
    let path = Path::new("docs/performance.md");
    let mut page = match std::fs::read_to_string(path) {
        Ok(written) if !whole => Page::read(&written),
        _ => Page::new(measured.tree().to_owned()),
    };
    if of_tree && page.tree() != measured.tree() {
        return Err(format!(
            "{} is about {}: a part that was measured on {} would not fit; measure that tree, or with --peers --growth everything",
            path.display(),
            page.tree(),
            measured.tree()
        ));
    }
    page.replace(measured);
    std::fs::create_dir_all("docs").and_then(|()| std::fs::write(path, page.text())).map_err(text)?;
    println!("wrote {}", path.display());
    Ok(())
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}
