//! Why an extra could not be added or removed. Each message ends with what to do next.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ExtraError {
    #[error("there is no extra {name:?}; choose one of: {known}")]
    Unknown { name: String, known: String },
    #[error(
        "{program} is not installed, and {package} {version} is fetched with it; {install}, or fetch that package \
         on another machine and add it with --from FILE"
    )]
    NoClient { program: &'static str, package: &'static str, version: &'static str, install: &'static str },
    #[error(
        "{program} could not fetch {package} {version}: {detail}; check the network, the proxy and the mirror that \
         {program} is set to, or fetch that package on another machine and add it with --from FILE"
    )]
    Fetch { program: &'static str, package: &'static str, version: &'static str, detail: String },
    #[error(
        "{} is not the file that {package} {version} was pinned with: its SHA-256 is {found}, expected {expected}; \
         nothing was unpacked. Fetch the package again, and ask your mirror's operator if it stays different",
        .file.display()
    )]
    WrongDigest {
        file: PathBuf,
        package: &'static str,
        version: &'static str,
        expected: &'static str,
        found: String,
    },
    #[error(
        "none of the given files is {package} {version} (SHA-256 {expected}); add it with --from as well: {fetch}"
    )]
    NotAmongFiles {
        package: &'static str,
        version: &'static str,
        expected: &'static str,
        /// The command that fetches it on a machine with a registry.
        fetch: String,
    },
    #[error("{}: {reason}; fetch the package again", .file.display())]
    Damaged { file: PathBuf, reason: String },
    #[error(
        "the disk is full: {} needs {} MB; free some space or set another directory for extras",
        .path.display(),
        .bytes.div_ceil(1_000_000)
    )]
    Full { path: PathBuf, bytes: u64 },
    #[error("another process is adding or removing an extra in {}; wait until it has finished", .path.display())]
    Busy { path: PathBuf },
    #[error("{}: {source}; check that this directory exists and is writable", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl ExtraError {
    /// An error of the file system; a full disk is told apart, since its remedy is another one.
    pub(super) fn io(path: impl Into<PathBuf>, bytes: u64, source: io::Error) -> ExtraError {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ExtraError::Full { path, bytes },
            _ => ExtraError::Io { path, source },
        }
    }
}
