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

    /// Opens like [`Resolver::open`], but crosses into no other file system: `None` where the path leads into one, or
    /// where that cannot be told without going there.
    pub(crate) fn open_same_mount(
        self,
        directory: BorrowedFd<'_>,
        path: &str,
        flags: OFlags,
    ) -> Result<Option<OwnedFd>, Errno> {
        match self {
            Resolver::Kernel => {
                match beneath(directory, path, flags, ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV) {
                    Err(Errno::XDEV) => Ok(None),
                    result => result.map(Some),
                }
            }
            Resolver::Stepwise => Ok(None),
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

/// Whether a directory is on a disk or in the memory of this machine. Everything else (network file systems, FUSE, file
/// systems that are not known here) may ask somebody who does not answer.
pub(crate) fn is_local(directory: BorrowedFd<'_>) -> bool {
    const LOCAL: [u32; 16] = [
        0xef53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683e, // Btrfs
        0xca45_1a4e, // bcachefs
        0xf2f5_2010, // F2FS
        0x2fc1_2fc1, // ZFS
        0x794c_7630, // overlay
        0x0102_1994, // tmpfs
        0x8584_58f6, // ramfs
        0x7371_7368, // SquashFS
        0xe0f5_e1e2, // EROFS
        0x4d44,      // FAT
        0x2011_bab0, // exFAT
        0x7366_746e, // NTFS, in the kernel
        0x9660,      // ISO 9660
        0x1501_3346, // UDF
    ];
    rustix::fs::fstatfs(directory).is_ok_and(|about| LOCAL.contains(&(about.f_type as u32)))
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
