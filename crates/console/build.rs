//! Lists the files of the page, so that a new one in `web/` is embedded without a line here.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What a page is made of. Everything else in the folder is for developers.
const SERVED: &[&str] = &["html", "css", "js", "svg", "json", "webmanifest", "png", "ico"];

fn main() {
    let web = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../web");
    println!("cargo::rerun-if-changed={}", web.display());
    let mut files = Vec::new();
    list(&web, &mut files);
    files.sort();
    let mut table = String::from("pub(crate) const EMBEDDED: &[(&str, &[u8])] = &[\n");
    for file in files {
        let name = file.strip_prefix(&web).expect("below the folder").to_str().expect("names are UTF-8");
        let path = file.canonicalize().expect("listed just now");
        let _ = writeln!(table, "    ({name:?}, include_bytes!({path:?})),");
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo")).join("embedded.rs");
    fs::write(out, table).expect("the build's own folder can be written");
}

#[allow(clippy::disallowed_methods, reason = "the project's own folder, while it is built")]
fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    println!("cargo::rerun-if-changed={}", folder.display());
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let is_hidden = name.starts_with('.') || matches!(name.as_str(), "test" | "tests" | "node_modules");
        if is_hidden
            || name.ends_with(".test.js")
            || matches!(name.as_str(), "package.json" | "tsconfig.json")
        {
            continue;
        }
        if path.is_dir() {
            list(&path, files);
        } else if path.extension().and_then(|end| end.to_str()).is_some_and(|end| SERVED.contains(&end)) {
            files.push(path);
        }
    }
}
