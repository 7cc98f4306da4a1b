//! What ARCHITECTURE.md promises about the crates, checked: which crate uses which, and one meaning for each type name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::{capture, cargo, workspace};

/// The line above the drawing of the crates in ARCHITECTURE.md.
const DRAWING: &str = "<!-- Which crate uses which: written by `cargo xtask docs`. -->";

/// The page ARCHITECTURE.md with its drawing as Cargo's files have it.
pub(crate) fn architecture_page() -> Result<String, String> {
    let page = fs::read_to_string(workspace().join("ARCHITECTURE.md")).map_err(|error| error.to_string())?;
    let (before, after) = page.split_once(DRAWING).ok_or("ARCHITECTURE.md has no drawing of the crates")?;
    let rest =
        after.splitn(3, "```").nth(2).ok_or("the drawing in ARCHITECTURE.md is not a block of code")?;
    Ok(format!("{before}{DRAWING}\n```text\n{}```{rest}", drawing(&dependencies()?)))
}

/// Fails if a type that a crate exports shares its name with any other type. Types that are private to their module may share
/// theirs: the module's path says what they are.
pub(crate) fn check_names() -> Result<(), String> {
    let mut files = Vec::new();
    for member in children(&workspace().join("crates"))? {
        if member.file_name().is_some_and(|name| name != "testkit") {
            sources(&member.join("src"), &mut files)?;
        }
    }
    let mut declared: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let shown = file.strip_prefix(workspace()).unwrap_or(&file).display().to_string();
        for (name, is_exported) in declared_types(&text) {
            declared.entry(name.to_owned()).or_default().push((shown.clone(), is_exported));
        }
    }
    let mut problems = 0;
    for (name, places) in &declared {
        if places.len() > 1 && places.iter().any(|(_, is_exported)| *is_exported) {
            let places: Vec<&str> = places.iter().map(|(file, _)| file.as_str()).collect();
            println!("fail {name} is declared in {}", places.join(", "));
            problems += 1;
        }
    }
    println!("{} type names, {problems} problems", declared.len());
    if problems == 0 { Ok(()) } else { Err("a type name means several things".into()) }
}

/// The crates of the product and the ones that each uses, without test code.
fn dependencies() -> Result<BTreeMap<String, Vec<String>>, String> {
    let done = capture(cargo().args(["metadata", "--format-version", "1", "--no-deps", "--locked"]))?;
    if done.code != Some(0) {
        return Err(done.stderr);
    }
    let metadata: Value = serde_json::from_str(&done.stdout).map_err(|error| error.to_string())?;
    let mut uses = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let Some(name) = short_name(&package["name"]) else { continue };
        let normal =
            package["dependencies"].as_array().into_iter().flatten().filter(|one| one["kind"].is_null());
        let mut used: Vec<String> = normal.filter_map(|one| short_name(&one["name"])).collect();
        used.sort();
        uses.insert(name, used);
    }
    Ok(uses)
}

/// `engine` for `dir2mcp-engine`, `app` for the program itself; none for the rest.
fn short_name(package: &Value) -> Option<String> {
    match package.as_str()? {
        "dir2mcp" => Some("app".into()),
        "dir2mcp-testkit" | "dir2mcp-benches" => None,
        name => name.strip_prefix("dir2mcp-").map(str::to_owned),
    }
}

/// A line for each crate, users above what they use.
fn drawing(uses: &BTreeMap<String, Vec<String>>) -> String {
    let mut drawn: Vec<&str> = Vec::new();
    while drawn.len() < uses.len() {
        let is_ready = |name: &&String| {
            let is_used_by_later = |(user, used): (&String, &Vec<String>)| {
                used.contains(name) && !drawn.contains(&user.as_str())
            };
            !drawn.contains(&name.as_str()) && !uses.iter().any(is_used_by_later)
        };
        // Cargo admits no cycle, so there is one.
        let Some(next) = uses.keys().find(is_ready) else { break };
        drawn.push(next);
    }
    let width = drawn.iter().map(|name| name.len()).max().unwrap_or(0);
    let line = |name: &&str| match uses[*name].as_slice() {
        [] => format!("{name}\n"),
        used => format!("{name:width$} → {}\n", used.join(", ")),
    };
    drawn.iter().map(line).collect()
}

/// The names of the structs, enums and traits that a file declares outside its tests, and whether each is `pub`.
fn declared_types(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let product = text.find("#[cfg(test)]\nmod tests").map_or(text, |tests| &text[..tests]);
    product.lines().filter_map(|line| {
        let line = line.trim_start();
        let is_exported = line.starts_with("pub ");
        let line = ["pub(crate) ", "pub(super) ", "pub "]
            .iter()
            .find_map(|begin| line.strip_prefix(begin))
            .unwrap_or(line);
        let rest = ["struct ", "enum ", "trait "].iter().find_map(|begin| line.strip_prefix(begin))?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest[..end].starts_with(|c: char| c.is_ascii_uppercase()).then_some((&rest[..end], is_exported))
    })
}

fn children(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| error.to_string())?;
    paths.sort();
    Ok(paths)
}

/// The source files below a folder, without those that hold only tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in children(folder)? {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "tests" {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
            found.push(path);
        }
    }
    Ok(())
}
