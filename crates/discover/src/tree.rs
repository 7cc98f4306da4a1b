//! One directory at a time: opened without following links, listed, and judged entry by entry.
//!
//! The walk, the examination of a single path and the watcher all decide here, so they cannot disagree.
//! Everything is opened below the root's descriptor, one directory's entries below their directory's, so a
//! directory that turns into a link while we look leads nowhere.

#![allow(
    clippy::disallowed_methods,
    reason = "directories are opened below the root's descriptor; files never are"
)]

use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use model::path::MAX_PATH_BYTES;
use model::{IgnoreRule, RelPath, SkipReason};
use policy::{Guard, Policy, Root};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::gitignore::IgnoreFile;
use crate::rules::Rules;
use crate::walk::{FoundEntry, FoundFile, WalkError};

/// An ignore file larger than this is not applied, and reported. (Git's bound is 100 MB.)
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// The open root and what decides about everything below it.
pub(crate) struct Tree<'g> {
    policy: &'g Policy,
    root: &'g Arc<Root>,
    gitignore: bool,
}

/// A directory that may be entered.
#[derive(Debug, Clone)]
pub(crate) struct TreePlace {
    /// From the root, as listed; empty for the root itself.
    pub(crate) path: Vec<u8>,
    /// Where it really is, when a followed link led here.
    real: Option<Vec<u8>>,
    /// The rules of the directories above it.
    above: Arc<Rules>,
    /// The file system of the directory above it.
    device: u64,
}

impl TreePlace {
    /// A directory further down, without the rules on the way to it.
    pub(crate) fn at(self, path: &[u8]) -> TreePlace {
        TreePlace { path: path.to_owned(), ..self }
    }
}

/// A directory that was opened.
pub(crate) struct OpenDir {
    pub(crate) fd: OwnedFd,
    device: u64,
}

/// A directory that was entered: enough to judge a name in it later.
#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) place: TreePlace,
    pub(crate) rules: Arc<Rules>,
    device: u64,
}

/// Which of the names that change the rules a directory has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RuleFiles {
    gitignore: bool,
    ignore: bool,
    repository: bool,
}

/// What becomes of a directory entry.
pub(crate) enum Judged {
    FoundEntry(FoundEntry),
    Enter(TreePlace),
    /// Left out by a rule of the policy or of an ignore file.
    Ignored {
        rule: IgnoreRule,
        is_dir: bool,
    },
    /// Not what was asked for.
    Unwanted,
    /// It was there when listed and is no more.
    Gone,
}

/// What is asked of a file: everything, or only whether it is a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Everything,
    Directories,
}

/// Why a directory could not be entered.
pub(crate) enum NoEntry {
    Gone,
    FoundEntry(FoundEntry),
}

impl<'g> Tree<'g> {
    pub(crate) fn new(guard: &'g Guard, gitignore: bool) -> Tree<'g> {
        Tree { policy: guard.policy(), root: guard.root(), gitignore }
    }

    pub(crate) fn root_path(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn top(&self) -> Result<TreePlace, WalkError> {
        self.still_there()?;
        let device = rustix::fs::fstat(&**self.root).map_err(|errno| WalkError::RootUnreadable {
            path: self.root.path().to_owned(),
            source: errno.into(),
        })?;
        Ok(TreePlace {
            path: Vec::new(),
            real: None,
            above: Arc::new(Rules::default()),
            device: device.st_dev,
        })
    }

    /// Fails where the root's path no longer leads to the directory that was opened: removed, replaced, or
    /// unmounted. What was listed since then must not be taken for the whole.
    pub(crate) fn still_there(&self) -> Result<(), WalkError> {
        if self.root.is_current() {
            Ok(())
        } else {
            Err(WalkError::RootVanished { path: self.root.path().to_owned() })
        }
    }

    pub(crate) fn enter(&self, place: &TreePlace) -> Result<OpenDir, NoEntry> {
        let failed = |errno: Errno| match errno {
            // A directory replaced by a file or a link is as gone as one removed.
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => NoEntry::Gone,
            Errno::NAMETOOLONG => NoEntry::FoundEntry(skipped(&place.path, SkipReason::PathTooDeep, None)),
            errno => NoEntry::FoundEntry(failed(&place.path, errno)),
        };
        let (fd, device) =
            self.open_dir_in_time(place.real.as_deref().unwrap_or(&place.path)).map_err(failed)?;
        if device != place.device && is_kernel_file_system(&fd) {
            let reason = SkipReason::Special { kind: "kernel file system".into() };
            return Err(NoEntry::FoundEntry(skipped(&place.path, reason, None)));
        }
        Ok(OpenDir { fd, device })
    }

    /// Adds the ignore files of an entered directory to those above it. What cannot be applied is reported.
    pub(crate) fn inside(
        &self,
        place: TreePlace,
        dir: &OpenDir,
        has: RuleFiles,
        report: &mut dyn FnMut(FoundEntry),
    ) -> Inside {
        let mut load = |present: bool, name: &CStr| {
            if !present {
                return None;
            }
            let source = display(&join(&place.path, name.to_bytes()));
            read_ignore_file(dir, name, &source).unwrap_or_else(|message| {
                report(FoundEntry::RulesUnread { display: source, message });
                None
            })
        };
        let ignore = load(has.ignore, c".ignore");
        let gitignore = load(has.gitignore && self.gitignore, c".gitignore");
        let repository = has.repository && self.gitignore;
        let rules = Rules::inside(&place.above, &place.path, gitignore, ignore, repository);
        Inside { place, rules, device: dir.device }
    }

    /// Finds out which rule files a directory has without listing it.
    pub(crate) fn rule_files(&self, dir: &OpenDir) -> RuleFiles {
        let exists = |name: &CStr| rustix::fs::statat(&dir.fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        RuleFiles {
            ignore: exists(c".ignore"),
            gitignore: self.gitignore && exists(c".gitignore"),
            repository: self.gitignore && exists(c".git"),
        }
    }

    /// Decides about one name. `path` is the directory's path joined with the name, `kind` what the listing
    /// said, if anything.
    pub(crate) fn judge(
        &self,
        dir: &OpenDir,
        inside: &Inside,
        path: &[u8],
        name: &CStr,
        kind: FileType,
        wanted: Wanted,
    ) -> Judged {
        let lstat = || rustix::fs::statat(&dir.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        let mut stat = None;
        let mut kind = kind;
        if kind == FileType::Unknown {
            match lstat() {
                Ok(known) => {
                    kind = FileType::from_raw_mode(known.st_mode);
                    stat = Some(known);
                }
                Err(Errno::NOENT) => return Judged::Gone,
                Err(errno) => return Judged::FoundEntry(failed(path, errno)),
            }
        }
        let is_link = kind == FileType::Symlink;
        let may_lead_on = kind == FileType::Directory || (is_link && self.policy.follows_symlinks());
        if wanted == Wanted::Directories && !may_lead_on {
            return Judged::Unwanted;
        }
        let is_dir = kind == FileType::Directory;
        if let Some(rule) = inside.rules.rule_against(path, is_dir) {
            return Judged::Ignored { rule, is_dir };
        }
        // A name that is not UTF-8 is never opened, but still must not get round an exclusion.
        let utf8 = std::str::from_utf8(path).ok();
        let Some(rel) = (match utf8 {
            Some(text) => RelPath::from_walk(text).ok(),
            None => RelPath::from_walk(&display(path)).ok(),
        }) else {
            return Judged::Gone;
        };
        // Beneath a followed link, the policy must agree to the real path, too.
        let real_dir = inside.place.real.as_deref();
        let real = real_dir.and_then(|dir| relative(&join(dir, name.to_bytes())));
        for rel in [Some(&rel), real.as_ref()].into_iter().flatten() {
            if let Err(rule) = self.policy.check_indexed(rel, is_dir) {
                return Judged::Ignored { rule, is_dir };
            }
        }
        if path.len() >= MAX_PATH_BYTES {
            return Judged::FoundEntry(skipped(path, SkipReason::PathTooDeep, stat.or_else(|| lstat().ok())));
        }
        if is_dir {
            return Judged::Enter(TreePlace {
                path: path.to_owned(),
                real: real_dir.map(|dir| join(dir, name.to_bytes())),
                above: Arc::clone(&inside.rules),
                device: inside.device,
            });
        }
        let stat = match stat.map_or_else(lstat, Ok) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Judged::Gone,
            Err(errno) => return Judged::FoundEntry(failed(path, errno)),
        };
        if utf8.is_none() {
            return Judged::FoundEntry(skipped(path, SkipReason::NameNotUtf8, Some(stat)));
        }
        // The listing may be older than the file.
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => return Judged::FoundEntry(file(rel, &stat)),
            FileType::Symlink => return self.follow(inside, rel, &stat),
            FileType::Directory => return Judged::Gone,
            FileType::Fifo => "FIFO",
            FileType::Socket => "socket",
            FileType::CharacterDevice => "character device",
            FileType::BlockDevice => "block device",
            FileType::Unknown => "file of an unknown kind",
        };
        let reason = SkipReason::Special { kind: kind.into() };
        Judged::FoundEntry(skipped(path, reason, Some(stat)))
    }

    /// A link is followed if the policy says so and it stays below the root, names included that the policy
    /// excludes. A link to a directory is followed once per path and never to a directory that holds it, so
    /// that the tree stays finite whatever the links, and the same in whatever order it is walked.
    fn follow(&self, inside: &Inside, rel: RelPath, link: &Stat) -> Judged {
        let not_followed = skipped(rel.as_str().as_bytes(), SkipReason::Symlink, Some(*link));
        if !self.policy.follows_symlinks() {
            return Judged::FoundEntry(not_followed);
        }
        let Some((real, stat)) = self.resolve(&rel) else { return Judged::FoundEntry(not_followed) };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if self.policy.check_indexed(&real, false).is_ok() => {
                Judged::FoundEntry(file(rel, &stat))
            }
            FileType::Directory => {
                let path = rel.as_str().as_bytes();
                if let Err(rule) = self.policy.check_indexed(&rel, true) {
                    return Judged::Ignored { rule, is_dir: true };
                }
                if let Some(rule) = inside.rules.rule_against(path, true) {
                    return Judged::Ignored { rule, is_dir: true };
                }
                let real = real.as_str().as_bytes();
                let holds_the_link = path.starts_with(real) && path.get(real.len()) == Some(&b'/');
                let twice = inside.place.real.is_some();
                if twice || holds_the_link || self.is_excluded_below(real) {
                    return Judged::FoundEntry(not_followed);
                }
                Judged::Enter(TreePlace {
                    path: path.to_owned(),
                    real: Some(real.to_owned()),
                    above: Arc::clone(&inside.rules),
                    device: inside.device,
                })
            }
            _ => Judged::FoundEntry(not_followed),
        }
    }

    /// Whether the policy excludes a directory or one that holds it.
    fn is_excluded_below(&self, real: &[u8]) -> bool {
        let ends = real.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([real.len()]).any(|end| {
            relative(&real[..end]).is_none_or(|dir| self.policy.check_indexed(&dir, true).is_err())
        })
    }

    /// Where a link leads, if that is below the root.
    fn resolve(&self, rel: &RelPath) -> Option<(RelPath, Stat)> {
        let real = self.root.real_path(rel).ok()?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let target =
            open_beneath(self.root, real.as_str().as_bytes(), OFlags::PATH | OFlags::CLOEXEC, resolve)
                .ok()?;
        Some((real, rustix::fs::fstat(&target).ok()?))
    }

    /// Opens a directory and says which file system it is on. One on another file system than the root may be the door to
    /// a drive that is not there any more: it gets the time that a file gets.
    fn open_dir_in_time(&self, path: &[u8]) -> Result<(OwnedFd, u64), Errno> {
        let with_device = |fd: OwnedFd| rustix::fs::fstat(&fd).map(|stat| (fd, stat.st_dev));
        if self.root.is_local() {
            match open_dir(self.root, path, ResolveFlags::NO_XDEV) {
                Err(Errno::XDEV) => {}
                opened => return opened.and_then(with_device),
            }
        }
        let whole = self.root.path().join(OsStr::from_bytes(path));
        let (root, path) = (Arc::clone(self.root), path.to_owned());
        policy::within_deadline(&whole, move || {
            open_dir(&root, &path, ResolveFlags::empty()).and_then(with_device)
        })
        .unwrap_or(Err(Errno::TIMEDOUT))
    }
}

fn open_dir(root: &Root, path: &[u8], more: ResolveFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if path.is_empty() {
        return rustix::fs::openat(root, c".", flags, Mode::empty());
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | more;
    match open_beneath(root, path, flags, resolve) {
        // Old kernels and some container filters lack openat2: one component at a time does the same.
        Err(Errno::NOSYS | Errno::PERM) => {
            let mut dir: Option<OwnedFd> = None;
            for name in path.split(|byte| *byte == b'/') {
                let above = dir.as_ref().map_or(root.as_fd(), |dir| dir.as_fd());
                dir = Some(rustix::fs::openat(above, name, flags, Mode::empty())?);
            }
            dir.ok_or(Errno::NOENT)
        }
        other => other,
    }
}

fn open_beneath(root: &Root, path: &[u8], flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
    // The kernel answers EAGAIN when a rename elsewhere made it unsure; a few tries are enough in practice.
    for _ in 0..16 {
        match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// The names in a directory; its buffers are used again for the next.
pub(crate) struct Listing {
    buffer: Vec<u8>,
    /// Names, each with its NUL.
    names: Vec<u8>,
    entries: Vec<(usize, FileType)>,
    pub(crate) has: RuleFiles,
}

impl Listing {
    pub(crate) fn new() -> Listing {
        Listing {
            buffer: Vec::with_capacity(32 * 1024),
            names: Vec::new(),
            entries: Vec::new(),
            has: RuleFiles::default(),
        }
    }

    /// Lists a directory. On an error what was listed before it stays.
    pub(crate) fn read(&mut self, dir: &OpenDir) -> Result<(), Errno> {
        self.names.clear();
        self.entries.clear();
        self.has = RuleFiles::default();
        let buffer: &mut [MaybeUninit<u8>] = self.buffer.spare_capacity_mut();
        let mut entries = RawDir::new(&dir.fd, buffer);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Err(Errno::INTR) => continue,
                entry => entry?,
            };
            match entry.file_name().to_bytes() {
                b"." | b".." => continue,
                b".gitignore" => self.has.gitignore = true,
                b".ignore" => self.has.ignore = true,
                b".git" => self.has.repository = true,
                _ => {}
            }
            self.entries.push((self.names.len(), entry.file_type()));
            self.names.extend_from_slice(entry.file_name().to_bytes_with_nul());
        }
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&CStr, FileType)> {
        self.entries.iter().map(|(start, kind)| {
            (CStr::from_bytes_until_nul(&self.names[*start..]).unwrap_or_default(), *kind)
        })
    }
}

/// A path as people and logs see it. One that is not UTF-8 is escaped without loss: `bad\xFFname.txt`.
pub(crate) fn display(path: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(path) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(path.len() + 8);
    for chunk in path.utf8_chunks() {
        shown.push_str(&chunk.valid().replace('\\', r"\\"));
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02X}"));
        }
    }
    shown
}

pub(crate) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
    path.extend_from_slice(dir);
    if !dir.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// A path that names an open descriptor.
pub(crate) fn descriptor_path(fd: impl AsFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())
}

pub(crate) fn failed(path: &[u8], errno: Errno) -> FoundEntry {
    FoundEntry::Failed { display: display(path), message: std::io::Error::from(errno).to_string() }
}

fn skipped(path: &[u8], reason: SkipReason, stat: Option<Stat>) -> FoundEntry {
    let (size, mtime_ns) = stat.map_or((0, 0), |stat| (size(&stat), mtime_ns(&stat)));
    FoundEntry::Skipped { display: display(path), reason, size, mtime_ns }
}

fn file(path: RelPath, stat: &Stat) -> FoundEntry {
    FoundEntry::File(FoundFile { path, size: size(stat), mtime_ns: mtime_ns(stat), inode: stat.st_ino })
}

fn relative(path: &[u8]) -> Option<RelPath> {
    RelPath::from_walk(std::str::from_utf8(path).ok()?).ok()
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Nanoseconds since 1970, at the ends of the range for times that file systems allow and 64 bits do not.
fn mtime_ns(stat: &Stat) -> i64 {
    stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(stat.st_mtime_nsec as i64)
}

/// Reads an ignore file; none where git, too, takes none: a link, a directory, a device.
fn read_ignore_file(dir: &OpenDir, name: &CStr, source: &str) -> Result<Option<IgnoreFile>, String> {
    let broken = |errno: Errno| format!("its rules are not applied: {}", std::io::Error::from(errno));
    let is_file = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    // Looked at before it is opened, because opening some devices does something.
    match rustix::fs::statat(&dir.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if is_file(&stat) => {}
        Ok(_) | Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(broken(errno)),
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(&dir.fd, name, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
        Err(errno) => return Err(broken(errno)),
    };
    if !is_file(&rustix::fs::fstat(&fd).map_err(broken)?) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let mut limited = std::io::Read::take(std::fs::File::from(fd), MAX_IGNORE_FILE_BYTES + 1);
    std::io::Read::read_to_end(&mut limited, &mut bytes)
        .map_err(|error| format!("its rules are not applied: {error}"))?;
    if bytes.len() as u64 > MAX_IGNORE_FILE_BYTES {
        return Err(format!("its rules are not applied: it is larger than {MAX_IGNORE_FILE_BYTES} bytes"));
    }
    Ok(Some(IgnoreFile::parse(source, &bytes)))
}

/// File systems that the kernel makes up: endless, and with files that block or hold other processes' secrets.
fn is_kernel_file_system(fd: &OwnedFd) -> bool {
    // From linux/magic.h: proc, sysfs, debugfs, tracefs, securityfs, cgroup, cgroup2, devpts, bpf, configfs,
    // pstore, efivarfs, binfmt_misc, fusectl, selinuxfs.
    const MAGIC: [u32; 15] = [
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x0027_e0eb,
        0x6367_7270,
        0x1cd1,
        0xcafe_4a11,
        0x6265_6570,
        0x6165_676c,
        0xde5e_81e4,
        0x4249_4e4d,
        0x6573_5543,
        0xf97c_ff8c,
    ];
    rustix::fs::fstatfs(fd).is_ok_and(|stat| MAGIC.contains(&(stat.f_type as u32)))
}

#[cfg(test)]
mod tests {
    use super::display;

    #[test]
    fn names_that_are_not_utf8_are_shown_without_loss() {
        assert_eq!(display(b"bad\xFFname.txt"), r"bad\xFFname.txt");
        assert_eq!(display(b"a\\b\xC3.txt"), r"a\\b\xC3.txt");
        assert_eq!(display("a\\b é".as_bytes()), "a\\b é");
    }
}
