//! `cargo xtask bench`: builds the binary and the harness in `benches/` and runs them.

use std::process::Command;

use crate::Args;
use crate::process::{Profile, build, cargo, run as run_command, target, workspace};
use crate::tools;

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    // ripgrep is what indexing is measured against.
    tools::install()?;
    let binary = build(Profile::Release)?;
    run_command(cargo().args(["build", "--quiet", "--release", "--package", "dir2mcp-benches"]))?;
    let mut bench = Command::new(target().join("release/dir2mcp-benches"));
    bench.current_dir(workspace()).arg("--binary").arg(binary);
    if args.0.iter().any(|arg| arg == "--peers" || arg == "peers") {
        let semble = tools::install_semble()?;
        bench.arg("--semble").arg(semble.programs).arg("--semble-script").arg(semble.script);
        bench.arg("--semble-model").arg(semble.model);
    }
    let trees = tools::install_trees()?;
    bench.arg("--large").arg(trees.large);
    if !args.0.iter().any(|arg| arg == "--tree") {
        bench.arg("--tree").arg(trees.one);
    }
    bench.args(std::mem::take(&mut args.0));
    run_command(&mut bench)
}
