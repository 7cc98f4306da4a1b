//! A root: a directory opened once and served from then on, whatever happens to its name.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use model::RelPath;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::resolve::{self, Resolver};

/// Links with absolute targets that are followed one after the other.
const MOST_ABSOLUTE_LINKS: usize = 16;

/// Links that are followed to see whether they form a loop; the kernel follows 40.
const MOST_LINKS: usize = 41;

/// An opened directory below which files may be read. All resolution starts at its descriptor, so a
/// rename of the directory, or a new one put in its place, never redirects a read.
pub struct Root {
    path: PathBuf,
    directory: OwnedFd,
    resolver: Resolver,
    /// The root is on a file system of this machine, whose reads do not hang.
    is_local: bool,
}

/// Why a directory cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error("{} does not exist", path.display())]
    NotFound { path: PathBuf },
    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },
    #[error("{} cannot be opened: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl Root {
    /// Opens a root. Its own path may lead through symbolic links: the owner named it.
    pub fn open(path: &Path) -> Result<Root, RootError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| {
            let path = path.to_owned();
            match errno {
                Errno::NOENT => RootError::NotFound { path },
                Errno::NOTDIR => RootError::NotADirectory { path },
                _ => RootError::Io { path, source: errno.into() },
            }
        })?;
        // The name of what was opened; asking for it by path could answer about another directory.
        let canonical = resolve::path_of(directory.as_fd())
            .or_else(|_| path.canonicalize())
            .map_err(|source| RootError::Io { path: path.to_owned(), source })?;
        let resolver = Resolver::probe(directory.as_fd());
        let is_local = resolve::is_local(directory.as_fd());
        Ok(Root { path: canonical, directory, resolver, is_local })
    }

    /// Absolute, without symbolic links, as it was when the root was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the root is on a disk or in the memory of this machine, where no read hangs.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// Whether the root's path still names the opened directory. False after it was deleted, moved or
    /// replaced: a walk by path would then see another tree than the one that is read.
    pub fn is_current(&self) -> bool {
        let same = || -> Result<bool, Errno> {
            let (opened, named) = (rustix::fs::fstat(&self.directory)?, rustix::fs::stat(&self.path)?);
            Ok((opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino))
        };
        same().unwrap_or(false)
    }

    /// Whether the opened directory can never be at its path again: it was removed, or another one is there. One that
    /// was moved away may come back.
    pub fn is_gone_for_good(&self) -> bool {
        let removed = rustix::fs::fstat(&self.directory).is_ok_and(|opened| opened.st_nlink == 0);
        let replaced = rustix::fs::stat(&self.path).is_ok() && !self.is_current();
        removed || replaced
    }

    /// Whether this process may read the file at a path; a member of an archive counts as its archive. Only a hint:
    /// what is read is opened without it.
    pub fn may_read(&self, path: &RelPath) -> bool {
        let mut path = path.as_str();
        loop {
            let (access, flags) = (rustix::fs::Access::READ_OK, rustix::fs::AtFlags::EACCESS);
            match rustix::fs::accessat(&self.directory, path, access, flags) {
                Ok(()) => return true,
                Err(Errno::NOTDIR) => match path.rsplit_once('/') {
                    Some((above, _)) => path = above,
                    None => return false,
                },
                Err(_) => return false,
            }
        }
    }

    /// Pins the file system object at a path without following any symbolic link.
    pub(crate) fn pin(&self, path: &RelPath) -> Result<OwnedFd, Errno> {
        self.resolver.open(self.directory.as_fd(), path.as_str(), OFlags::PATH)
    }

    /// Pins like [`Root::pin`] what is on the same local file system as the root; `None` for what is not, or may not be,
    /// because touching that can take for ever.
    pub(crate) fn pin_local(&self, path: &RelPath) -> Result<Option<OwnedFd>, Errno> {
        if !self.is_local {
            return Ok(None);
        }
        self.resolver.open_same_mount(self.directory.as_fd(), path.as_str(), OFlags::PATH)
    }

    /// Whether something is there by this name, or a file on the way to it, which may be an archive.
    pub(crate) fn holds(&self, path: &RelPath) -> bool {
        matches!(self.pin(path), Ok(_) | Err(Errno::LOOP | Errno::NOTDIR))
    }

    /// Opens a path for reading without following any symbolic link.
    pub(crate) fn open_for_reading(&self, path: &RelPath) -> Result<OwnedFd, Errno> {
        self.resolver.open(self.directory.as_fd(), path.as_str(), resolve::READ_FLAGS)
    }

    /// Where a path with symbolic links in it leads, provided that it stays below the root.
    ///
    /// The answer is a name like any other: it has to pass the policy and to be opened without links.
    pub fn real_path(&self, path: &RelPath) -> Result<RelPath, Errno> {
        let name = |fd: BorrowedFd<'_>| resolve::path_of(fd).map_err(|_| Errno::XDEV);
        // The root's present name, not the remembered one: it may have been moved.
        let root = name(self.directory.as_fd())?;
        // The kernel refuses a link with an absolute target even where that lies below the root: such a link is rewritten
        // relative to the root, and the kernel is asked again.
        let mut path = path.clone();
        for _ in 0..MOST_ABSOLUTE_LINKS {
            match self.resolver.pin_following(self.directory.as_fd(), path.as_str()) {
                Ok(target) => {
                    let target = name(target.as_fd())?;
                    let below = target.strip_prefix(&root).map_err(|_| Errno::XDEV)?;
                    // A name that is not UTF-8 cannot be asked for, so it does not exist for callers.
                    return below.to_str().and_then(|text| RelPath::from_walk(text).ok()).ok_or(Errno::NOENT);
                }
                Err(Errno::XDEV) => path = self.without_absolute_link(&root, &path)?,
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::LOOP)
    }

    /// Whether following the links of a path below the root comes back to where it was. For what is said about a path that
    /// the kernel has refused; nothing is opened by it.
    pub(crate) fn links_form_a_loop(&self, path: &RelPath) -> bool {
        let mut seen = HashSet::new();
        let mut path = path.clone();
        while seen.len() < MOST_LINKS && seen.insert(path.clone()) {
            match self.without_first_link(&path) {
                Some(next) => path = next,
                None => return false,
            }
        }
        true
    }

    /// The path with its first link replaced by what the link says; none where it has no link or leaves the root.
    fn without_first_link(&self, path: &RelPath) -> Option<RelPath> {
        let text = path.as_str();
        let ends = text.match_indices('/').map(|(at, _)| at).chain([text.len()]);
        let (end, target) = ends.into_iter().find_map(|end| {
            // The names before are no links, so this reads below the root.
            let target = rustix::fs::readlinkat(self.directory.as_fd(), &text[..end], Vec::new()).ok()?;
            Some((end, target.into_string().ok()?))
        })?;
        let folder = text[..end].rsplit_once('/').map_or("", |(folder, _)| folder);
        let below = match Path::new(&target).is_absolute() {
            true => Path::new(&target).strip_prefix(&self.path).ok()?.to_str()?.to_owned(),
            false => format!("{folder}/{target}"),
        };
        let joined = format!("{below}{}", &text[end..]);
        let mut names: Vec<&str> = Vec::new();
        for name in joined.split('/') {
            match name {
                "" | "." => {}
                ".." => drop(names.pop()?),
                name => names.push(name),
            }
        }
        RelPath::from_walk(&names.join("/")).ok()
    }

    /// A path in which the first link whose target is absolute and below the root is replaced by that target. Nothing is
    /// opened by it: it is a name, and the kernel resolves it below the root like any other.
    fn without_absolute_link(&self, root: &Path, path: &RelPath) -> Result<RelPath, Errno> {
        let text = path.as_str();
        let ends = text.match_indices('/').map(|(at, _)| at).chain([text.len()]);
        for end in ends {
            let (link, rest) = (&text[..end], &text[end..]);
            let (folder, name) = link.rsplit_once('/').unwrap_or(("", link));
            let folder = match folder {
                "" => None,
                // A relative link on the way is the kernel's to follow.
                folder => Some(self.resolver.pin_following(self.directory.as_fd(), folder)?),
            };
            let folder = folder.as_ref().map_or(self.directory.as_fd(), |fd| fd.as_fd());
            let Ok(target) = rustix::fs::readlinkat(folder, name, Vec::new()) else { continue };
            let target = Path::new(OsStr::from_bytes(target.to_bytes()));
            if !target.is_absolute() {
                continue;
            }
            let below = target.strip_prefix(root).map_err(|_| Errno::XDEV)?;
            let below = below.to_str().ok_or(Errno::NOENT)?;
            return RelPath::from_walk(&format!("{below}{rest}")).map_err(|_| Errno::XDEV);
        }
        Err(Errno::XDEV)
    }

    /// As on a kernel without `openat2`.
    #[cfg(test)]
    pub(crate) fn stepwise(self) -> Root {
        Root { resolver: Resolver::Stepwise, ..self }
    }
}

impl AsFd for Root {
    /// For walks that list directories by descriptor. Opened with `O_PATH`: good for resolution only.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root").field("path", &self.path).finish_non_exhaustive()
    }
}
