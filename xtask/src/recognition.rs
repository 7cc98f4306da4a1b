//! `cargo xtask recognition`: how well and how fast scans and recordings are read, beside the program `tesseract` and ONNX
//! Runtime with the same weights, all in one run. `benches/recognition/measure.py` measures and writes the tables.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::Args;
use crate::process::{Profile, build, list, run as run_command, target, workspace};
use crate::tools;

/// Clips of a LibriVox reading, with what is said in them.
const RECORDINGS: &str = "pocketsphinx-testdata";

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let write = args.switch("--write");
    args.done()?;
    let packages = tools::install_models()?;
    let here = workspace().join("benches/recognition");
    let python = tools::python("recognition", &here.join("requirements.txt"))?;
    let recordings = recordings()?;
    let mut measure = Command::new(python);
    measure.arg(here.join("measure.py")).arg("--binary").arg(build(Profile::Release)?);
    measure.arg("--packages").arg(packages).arg("--recordings").arg(recordings);
    measure.arg("--work").arg(target().join("recognition/work"));
    if write {
        measure.arg("--write").arg(workspace().join("docs"));
    }
    run_command(&mut measure)
}

/// The Debian package of the recordings, fetched and not installed.
fn recordings() -> Result<PathBuf, String> {
    let folder = target().join("recognition");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let fetched = || -> Result<Option<PathBuf>, String> {
        Ok(list(&folder)?.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "deb")))
    };
    if fetched()?.is_none() {
        run_command(Command::new("apt-get").args(["download", RECORDINGS]).current_dir(&folder))?;
    }
    fetched()?.ok_or_else(|| format!("{}: {RECORDINGS} was not fetched", folder.display()))
}
