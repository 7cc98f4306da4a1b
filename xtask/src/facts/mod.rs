//! `cargo xtask facts`: what we say about declarations against other parsers' trees, on real packages: CPython's `ast` for Python,
//! the TypeScript compiler for JavaScript and TypeScript.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Args;
use crate::process::{cargo, run as run_command, target};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let against = if args.0.is_empty() { String::new() } else { args.0.remove(0) };
    let is_debug = args.switch("--debug");
    let places = std::mem::take(&mut args.0);
    if places.is_empty() {
        return Err("facts ast FOLDER... or facts typescript FOLDER...".into());
    }
    match against.as_str() {
        "ast" => {
            let program = build(is_debug)?;
            let script = include_str!("against_ast.py");
            run_command(Command::new("python3").arg("-c").arg(script).arg(program).args(places))
        }
        "typescript" => {
            let tools = typescript()?;
            let program = build(is_debug)?;
            let script = tools.join("against_typescript.js");
            std::fs::write(&script, include_str!("against_typescript.js"))
                .map_err(|error| format!("{}: {error}", script.display()))?;
            run_command(Command::new("node").arg(&script).arg(&tools).arg(program).args(places))
        }
        other => Err(format!("facts against {other:?}? It is ast or typescript.")),
    }
}

fn build(is_debug: bool) -> Result<PathBuf, String> {
    let mut command = cargo();
    command.args(["build", "--quiet", "-p", "dir2mcp-lang", "--example", "facts"]);
    if !is_debug {
        command.arg("--release");
    }
    run_command(&mut command)?;
    Ok(target().join(if is_debug { "debug/examples/facts" } else { "release/examples/facts" }))
}

/// A folder with the TypeScript compiler in it.
fn typescript() -> Result<PathBuf, String> {
    let folder = target().join("tools/typescript");
    if !Path::new(&folder).join("node_modules/typescript").is_dir() {
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        run_command(
            Command::new("npm").args(["install", "--silent", "--prefix"]).arg(&folder).arg("typescript@5"),
        )?;
    }
    Ok(folder)
}
