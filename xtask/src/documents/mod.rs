//! Documents that other programs made, read by the extractors and compared with what they say, and PDFs with what
//! `pdftotext` reads. The tables are on the standard output.

use std::fs;
use std::process::Command;

use crate::Args;
use crate::process::{self, cargo, exists, target, workspace};
use crate::tools::{apt, python};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let more = args.rest();
    let here = workspace().join("xtask/src/documents");
    let python = python("documents", &here.join("requirements.txt"))?;
    if !exists("pdftotext") {
        apt("poppler-utils")?;
    }
    if !exists("soffice") {
        for part in ["writer", "calc", "impress"] {
            apt(&format!("libreoffice-{part}-nogui"))?;
        }
    }
    process::run(cargo().args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "dir2mcp-extract",
        "--example",
        "extract",
    ]))?;
    let folder = target().join("documents");
    if !folder.join("truth.json").is_file() {
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        process::run(Command::new(&python).arg(here.join("make.py")).arg(&folder))?;
    }
    let extractor = target().join("release/examples/extract");
    process::run(Command::new(&python).arg(here.join("compare.py")).arg(&folder).arg(extractor).args(more))
}
