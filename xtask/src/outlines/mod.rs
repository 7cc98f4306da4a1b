//! `cargo xtask outlines`: the language room against CPython's `ast` and against `universal-ctags`, on real packages.

use std::path::PathBuf;
use std::process::Command;

use crate::Args;
use crate::process::{cargo, exists, run as run_command, target};
use crate::tools::apt;

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let against = if args.0.is_empty() { String::new() } else { args.0.remove(0) };
    let places = std::mem::take(&mut args.0);
    if places.is_empty() {
        return Err(
            "outlines ast FOLDER..., outlines ctags LANGUAGE=FOLDER... or outlines time FOLDER...".into()
        );
    }
    if against != "ast" && !exists("ctags") {
        apt("universal-ctags")?;
    }
    let program = build()?;
    match against.as_str() {
        "ast" => script(include_str!("against_ast.py"), &program, &places),
        "ctags" => script(include_str!("against_ctags.py"), &program, &places),
        "time" => time(&program, &places),
        other => Err(format!("outlines against {other:?}?")),
    }
}

fn build() -> Result<PathBuf, String> {
    let arguments = ["build", "--quiet", "--release", "-p", "dir2mcp-lang", "--example", "outlines"];
    run_command(cargo().args(arguments))?;
    Ok(target().join("release/examples/outlines"))
}

fn script(text: &str, program: &PathBuf, places: &[String]) -> Result<(), String> {
    run_command(Command::new("python3").arg("-c").arg(text).arg(program).args(places))
}

/// The same files through both programs, one after the other; ctags has one thread, we have two.
fn time(program: &PathBuf, places: &[String]) -> Result<(), String> {
    let list = target().join("outlines.files");
    let find = Command::new("find").args(places).args(["-type", "f", "-size", "-4096k"]).output();
    let found = find.map_err(|error| format!("find: {error}"))?.stdout;
    std::fs::write(&list, &found).map_err(|error| format!("{}: {error}", list.display()))?;
    script(include_str!("against_time.py"), program, &[list.display().to_string()])
}
