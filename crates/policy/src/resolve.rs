//! From a path below a directory to a descriptor, by one step of the kernel or by many of our own.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// How a regular file is opened. Should the path turn into a FIFO or a terminal at the last moment,
/// opening neither waits for a writer nor makes it our controlling terminal.
pub(crate) const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// `openat2` gives up with EAGAIN when a rename anywhere races with a `..` inside a link. A few tries
/// are enough in peace; an attacker who renames in a loop must not keep us busy for ever.
const ATTEMPTS: usize = 64;

/// Which means the machine offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolver {
    /// `openat2(RESOLVE_BENEATH)`, Linux 5.6 and newer.
    Kernel,
    /// Component by component with `O_NOFOLLOW`. Symbolic links are refused altogether: following them
    /// by hand is where the mistakes are.
    Stepwise,
}

impl Resolver {
    /// Old kernels answer ENOSYS, old container runtimes EPERM.
    pub(crate) fn probe(directory: BorrowedFd<'_>) -> Resolver {
        match beneath(directory, ".", OFlags::PATH, ResolveFlags::empty()) {
            Err(Errno::NOSYS | Errno::PERM) => Resolver::Stepwise,
            _ => Resolver::Kernel,
        }
    }

    /// Opens a path in which no component is a symbolic link; ELOOP where one is.
    pub(crate) fn open(self, directory: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        match self {
            Resolver::Kernel => beneath(directory, path, flags, ResolveFlags::NO_SYMLINKS),
            Resolver::Stepwise => step_by_step(directory, path, flags),
        }
    }

    /// Pins what a path leads to through symbolic links; EXDEV where one leads out.
    pub(crate) fn pin_following(self, directory: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
        match self {
            Resolver::Kernel => beneath(directory, path, OFlags::PATH, ResolveFlags::empty()),
            Resolver::Stepwise => Err(Errno::LOOP),
        }
    }
}

/// The absolute path of an open file, as the kernel knows it.
pub(crate) fn path_of(fd: BorrowedFd<'_>) -> io::Result<PathBuf> {
    let link = rustix::fs::readlink(proc_link(fd), Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(link.into_bytes())))
}

/// Opens again, for reading, what a descriptor pins. No name is resolved, so nothing can be swapped.
pub(crate) fn reopen(pinned: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    rustix::fs::open(proc_link(pinned), READ_FLAGS, Mode::empty())
}

fn proc_link(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

fn beneath(
    directory: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
    more: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
    for _ in 0..ATTEMPTS {
        match rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            result => return result,
        }
    }
    Err(Errno::AGAIN)
}

fn step_by_step(directory: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let step = |from: BorrowedFd<'_>, name: &str, flags: OFlags| {
        // `O_NOFOLLOW` guards one component only, hence one call per component and no `/` in a name.
        debug_assert!(!name.contains('/') && !matches!(name, "" | "." | ".."));
        rustix::fs::openat(from, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    };
    let (folders, last) = path.rsplit_once('/').unwrap_or(("", path));
    let mut reached: Option<OwnedFd> = None;
    for name in folders.split('/').filter(|name| !name.is_empty()) {
        let from = reached.as_ref().map_or(directory, |fd| fd.as_fd());
        let next = step(from, name, OFlags::PATH)?;
        match kind(&next)? {
            FileType::Directory => reached = Some(next),
            FileType::Symlink => return Err(Errno::LOOP),
            _ => return Err(Errno::NOTDIR),
        }
    }
    let found = step(reached.as_ref().map_or(directory, |fd| fd.as_fd()), last, flags)?;
    // `O_PATH | O_NOFOLLOW` opens the link itself instead of failing.
    if kind(&found)? == FileType::Symlink { Err(Errno::LOOP) } else { Ok(found) }
}

fn kind(fd: &OwnedFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode))
}
