//! What the external suites need, installed by package name into `target/tools`. Nothing else on the machine is
//! touched, except by apt for the programs it alone has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{exists, run, target, workspace};

/// Where the tools are.
pub(crate) struct Tools {
    /// Node 22; the conformance suite does not run on the older one that distributions have.
    pub node: PathBuf,
    pub node_modules: PathBuf,
    /// Python with `mcp` 1.x.
    pub python_1: PathBuf,
    /// Python with `mcp` 2.x.
    pub python_2: PathBuf,
}

/// Installs what is missing. A stamp beside each tool holds the pinned versions it was made from.
pub(crate) fn install() -> Result<Tools, String> {
    let tools = target().join("tools");
    let clients = workspace().join("clients");
    if !exists("rg") {
        apt("ripgrep")?;
    }

    let node = tools.join("node");
    let package = clients.join("package.json");
    unless_stamped(&node, &package, || {
        if !exists("npm") {
            apt("npm")?;
        }
        fs::copy(&package, node.join("package.json")).map_err(|error| error.to_string())?;
        let mut npm = Command::new("npm");
        // A lock file would name the registry it was made with.
        npm.args(["install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]);
        run(npm.current_dir(&node))
    })?;

    let modules = node.join("node_modules");
    Ok(Tools {
        node: modules.join("node/bin/node"),
        python_1: python("mcp-1.30", &clients.join("python/requirements-1.30.txt"))?,
        python_2: python("mcp-2.3", &clients.join("python/requirements-2.3.txt"))?,
        node_modules: modules,
    })
}

/// The peer that the bench measures beside us.
pub(crate) struct Semble {
    /// `bin` of its virtual environment.
    pub programs: PathBuf,
    /// What the bench runs in it.
    pub script: PathBuf,
    /// The embedding table it is given: its own has to be downloaded from a model hub.
    pub model: PathBuf,
}

pub(crate) fn install_semble() -> Result<Semble, String> {
    let peers = workspace().join("benches/peers");
    let interpreter = python("semble", &peers.join("requirements.txt"))?;
    let programs = interpreter.parent().unwrap_or(Path::new("")).to_owned();
    let (script, model) = (peers.join("drive.py"), programs.join("../model"));
    if !model.exists() {
        let mut convert = Command::new(interpreter);
        run(convert.env("HF_HUB_OFFLINE", "1").arg(&script).arg("convert").arg(&model))?;
    }
    Ok(Semble { programs, script, model })
}

/// A Python of its own, with the packages of a list.
pub(crate) fn python(name: &str, requirements: &Path) -> Result<PathBuf, String> {
    let venv = target().join("tools").join(name);
    unless_stamped(&venv, requirements, || {
        if run(Command::new("python3").args(["-m", "venv"]).arg(&venv)).is_err() {
            apt("python3-venv")?;
            run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        }
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]);
        run(pip.arg(requirements))
    })?;
    Ok(venv.join("bin/python"))
}

/// Installs a Debian package by name.
pub(crate) fn apt(package: &str) -> Result<(), String> {
    let install = || run(Command::new("apt-get").args(["install", "--yes", "--quiet", package]));
    // A new machine has no package lists.
    install().or_else(|_| {
        run(Command::new("apt-get").args(["update", "--quiet"]))?;
        install()
    })
}

/// Runs `make` in an empty directory unless its stamp says that it was made from the same pins.
fn unless_stamped(
    directory: &Path,
    pins: &Path,
    make: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let stamp = directory.join("stamp");
    let wanted = fs::read_to_string(pins).map_err(|error| format!("{}: {error}", pins.display()))?;
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    println!("installing {} into {}", pins.display(), directory.display());
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    make()?;
    fs::write(&stamp, wanted).map_err(|error| error.to_string())
}
