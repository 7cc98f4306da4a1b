//! Packages of public registries that tests use as they are: models, recordings. `cargo xtask tools` fetches them.

use std::fs;
use std::path::{Path, PathBuf};

/// The fetched file whose name begins so. Panics with what to do where it is missing: a test that skips itself holds nothing.
pub fn fetched_package(begins: &str) -> PathBuf {
    let folder = fetched_packages();
    let found = fs::read_dir(&folder).ok().and_then(|entries| {
        entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begins)))
    });
    found.unwrap_or_else(|| panic!("no {begins}* in {}: run `cargo xtask tools` first", folder.display()))
}

/// Where `cargo xtask tools` puts them.
pub fn fetched_packages() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    target.join("tools/packages")
}
