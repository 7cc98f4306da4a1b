//! Where things are, and running other programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testkit::{Finished, Process};

/// The root of the source tree.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// Builds the binary and returns its path. `DIR2MCP_BINARY` names another one to try instead.
pub(crate) fn build(profile: Profile) -> Result<PathBuf, String> {
    if let Some(binary) = std::env::var_os("DIR2MCP_BINARY") {
        return Ok(PathBuf::from(binary));
    }
    match profile {
        Profile::Debug => {
            build_as_for_tests()?;
            Ok(target().join("debug/dir2mcp"))
        }
        Profile::Release => {
            // The whole workspace decides on features; building one package alone would compile its dependencies anew.
            run(cargo().args(["build", "--quiet", "--workspace", "--bin", "dir2mcp", "--release"]))?;
            Ok(target().join("release/dir2mcp"))
        }
    }
}

/// Everything that the tests build, with the same features: another selection would compile most dependencies a second time.
pub(crate) fn build_as_for_tests() -> Result<(), String> {
    run(cargo().args(["build", "--quiet", "--workspace", "--all-targets"]))
}

#[derive(Clone, Copy)]
pub(crate) enum Profile {
    Debug,
    Release,
}

pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace());
    // Set by the cargo that runs this program, about this package; another cargo would rebuild for it.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command with its output shown, and says how long it took.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let text = describe(command);
    println!("$ {text}");
    let started = Instant::now();
    let status = command.stdin(Stdio::null()).status().map_err(|error| format!("{text}: {error}"))?;
    if !status.success() {
        return Err(format!("{text}: {status}"));
    }
    println!("  done in {:.1?}", started.elapsed());
    Ok(())
}

/// Runs a command quietly; its output is shown by whoever needs it.
pub(crate) fn capture(command: &mut Command) -> Result<Finished, String> {
    capture_within(command, testkit::DEADLINE)
}

/// The same for a command that may take this long.
pub(crate) fn capture_within(command: &mut Command, time: Duration) -> Result<Finished, String> {
    let text = describe(command);
    let started = Process::start(command.stdin(Stdio::null())).map_err(|error| format!("{text}: {error}"))?;
    Ok(started.wait_within(time))
}

/// Whether a program can be started.
pub(crate) fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut text = program.to_string_lossy().into_owned();
    for arg in command.get_args() {
        let arg = arg.to_string_lossy();
        text.push(' ');
        // A program that is handed over as text would fill the screen.
        text.push_str(if arg.contains('\n') { "…" } else { &arg });
    }
    text
}

/// What a folder holds.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}
