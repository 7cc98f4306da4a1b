//! Every dependency has a licence from the list in `deny.toml` and comes from the registry.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::process::{capture, cargo, workspace};

pub(crate) fn check() -> Result<(), String> {
    let allowed = allowed()?;
    let done = capture(cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
    if done.code != Some(0) {
        return Err(done.stderr);
    }
    let metadata: Value = serde_json::from_str(&done.stdout).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let mut problems = Vec::new();
    for package in packages {
        let name = format!("{} {}", package["name"], package["version"]);
        let licence = package["license"].as_str().unwrap_or_default();
        if !satisfied(licence, &allowed) {
            problems.push(format!("{name} has the licence {licence:?}"));
        }
        if package["source"].as_str().is_some_and(|source| !source.starts_with("registry+")) {
            problems.push(format!("{name} does not come from the registry"));
        }
    }
    for problem in &problems {
        println!("fail {problem}");
    }
    println!("{} packages, {} problems", packages.len(), problems.len());
    if problems.is_empty() { Ok(()) } else { Err("a dependency is not allowed by deny.toml".into()) }
}

/// The strings of the `allow` list under `[licenses]`.
fn allowed() -> Result<BTreeSet<String>, String> {
    let text = fs::read_to_string(workspace().join("deny.toml")).map_err(|error| error.to_string())?;
    let list = text
        .split_once("[licenses]")
        .and_then(|(_, rest)| rest.split_once("allow = ["))
        .and_then(|(_, rest)| rest.split_once(']'))
        .ok_or("deny.toml has no list of licences")?
        .0;
    Ok(list.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

/// Whether one choice of an SPDX expression is allowed. An old form writes `/` for `OR`.
fn satisfied(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut position = 0;
    let result = either(&tokens, &mut position, allowed);
    result && position == tokens.len()
}

fn either(tokens: &[&str], position: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut result = both(tokens, position, allowed);
    while tokens.get(*position) == Some(&"OR") {
        *position += 1;
        result |= both(tokens, position, allowed);
    }
    result
}

fn both(tokens: &[&str], position: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut result = one(tokens, position, allowed);
    while tokens.get(*position) == Some(&"AND") {
        *position += 1;
        result &= one(tokens, position, allowed);
    }
    result
}

fn one(tokens: &[&str], position: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let Some(token) = tokens.get(*position) else { return false };
    *position += 1;
    if *token == "(" {
        let result = either(tokens, position, allowed);
        *position += 1;
        return result;
    }
    let mut licence = (*token).to_owned();
    if tokens.get(*position) == Some(&"WITH") {
        licence = format!("{licence} WITH {}", tokens.get(*position + 1).unwrap_or(&""));
        *position += 2;
    }
    allowed.contains(&licence)
}
