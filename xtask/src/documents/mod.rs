//! Documents that other programs made, read by the extractors and compared with what they say, and PDFs with what
//! `pdftotext` reads. The tables are on the standard output; `--pdfs` is the comparison on public PDFs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Args;
use crate::process::{self, cargo, exists, target, workspace};
use crate::tools::{apt, python};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let (public, verbose, write) = (args.switch("--pdfs"), args.switch("--verbose"), args.switch("--write"));
    let more = args.rest();
    let here = workspace().join("xtask/src/documents");
    if !exists("pdftotext") {
        apt("poppler-utils")?;
    }
    if public {
        return public_pdfs(&here.join("pdfs.py"), verbose, write);
    }
    let python = python("documents", &here.join("requirements.txt"))?;
    if !exists("soffice") {
        for part in ["writer", "calc", "impress"] {
            apt(&format!("libreoffice-{part}-nogui"))?;
        }
    }
    let extractor = build_extractor()?;
    let folder = target().join("documents");
    if !folder.join("truth.json").is_file() {
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        process::run(Command::new(&python).arg(here.join("make.py")).arg(&folder))?;
    }
    process::run(Command::new(&python).arg(here.join("compare.py")).arg(&folder).arg(extractor).args(more))
}

/// Public PDFs against `pdftotext`; fetches them by the names of Debian packages the first time, 300 MB.
fn public_pdfs(script: &Path, verbose: bool, write: bool) -> Result<(), String> {
    // Without it pdftotext reads no East Asian text whose font has no map to Unicode.
    apt("poppler-data")?;
    if !exists("mutool") {
        apt("mupdf-tools")?;
    }
    let folder = target().join("public-pdfs");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut compare = Command::new("python3");
    compare.arg(script).arg(folder).arg(build_extractor()?);
    if verbose {
        compare.arg("--verbose");
    }
    if write {
        compare.arg("--write").arg(workspace().join("docs/documents.md"));
    }
    process::run(&mut compare)
}

fn build_extractor() -> Result<PathBuf, String> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--release", "--package", "dir2mcp-extract", "--example", "extract"]);
    process::run(&mut build)?;
    Ok(target().join("release/examples/extract"))
}
