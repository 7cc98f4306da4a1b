//! The one door to users' files: resolve below the root, check, and only then read.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use model::{ErrorCode, Failure, PathError, RelPath};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::deny::Denied;
use crate::policy::Policy;
use crate::roots::Root;
use crate::{patience, resolve};

/// A root and its policy. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Guard {
    root: Arc<Root>,
    policy: Arc<Policy>,
}

/// A regular file below the root whose real path passed the policy.
pub struct OpenFile {
    file: Arc<File>,
    real_path: RelPath,
    stamp: FileStamp,
    /// Where it is, if that is, or may be, a file system whose answers can fail to come.
    may_hang: Option<PathBuf>,
}

/// Why a file was not read. Says nothing about what lies outside the root.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the path leads outside the root directory")]
    OutsideRoot,
    #[error("there is no such file below the root directory")]
    NotFound,
    #[error("the path leads through symbolic links that form a loop")]
    LinkLoop,
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("the path names a {kind}, not a regular file")]
    NotAFile { kind: &'static str },
    #[error("the file has {size} bytes, more than the limit of {limit}")]
    TooLarge { size: u64, limit: u64 },
    #[error("the file changed while it was read")]
    Changed,
    #[error("the file cannot be read: {0}")]
    Io(#[source] io::Error),
}

/// Why a path could not be opened without resolving links.
enum NotOpened {
    /// There is a symbolic link in it.
    Link,
    Because(OpenError),
}

impl From<Errno> for NotOpened {
    fn from(errno: Errno) -> NotOpened {
        match errno {
            Errno::LOOP => NotOpened::Link,
            other => NotOpened::Because(other.into()),
        }
    }
}

impl From<OpenError> for NotOpened {
    fn from(error: OpenError) -> NotOpened {
        NotOpened::Because(error)
    }
}

/// What shows that a file is not the one it was a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    mtime_ns: i64,
    /// Moves with every write and, unlike the modification time, cannot be set back.
    ctime_ns: i64,
}

/// What to do about a path that names no file. Tools and commands have different names for it.
pub const LIST_FILES_HINT: &str = "List the files to see which there are.";

/// How often a file that changes under our hands is read again before we give up.
const READ_ATTEMPTS: usize = 3;

impl Guard {
    pub fn new(root: Arc<Root>, policy: Arc<Policy>) -> Guard {
        Guard { root, policy }
    }

    pub fn root(&self) -> &Arc<Root> {
        &self.root
    }

    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The path that a caller means. A name is taken as it is written where there is such a file: `a:b.md` and
    /// `back\slash.md` are names here. Else it is read as agents on Windows write paths: `\` counts as `/`, and what begins
    /// with the letter of a drive is absolute.
    pub fn locate(&self, written: &str) -> Result<RelPath, PathError> {
        let read = RelPath::parse(written);
        let may_be_literal = written.contains(['\\', ':']) && !written.starts_with('/');
        if may_be_literal
            && matches!(&read, Ok(_) | Err(PathError::Absolute | PathError::Escapes))
            && let Ok(literal) = RelPath::from_walk(written)
            && self.root.holds(&literal)
        {
            return Ok(literal);
        }
        read
    }

    /// Opens a file that a caller named. Symbolic links are followed while they stay below the root, and
    /// the file they lead to must itself pass the policy.
    ///
    /// A link does not open anything: it yields another path, and that path goes through the same door
    /// with links forbidden. So the file that is read is always the one whose path was checked.
    pub fn open(&self, path: &RelPath) -> Result<OpenFile, OpenError> {
        self.policy.check_path(path)?;
        match self.open_checked(path) {
            Ok(file) => Ok(file),
            Err(NotOpened::Link) => {
                let (root, linked) = (Arc::clone(&self.root), path.clone());
                let real = patience::within_deadline(&self.whole(path), move || root.real_path(&linked));
                match real.map_err(OpenError::Io)? {
                    Ok(real) => self.open_nofollow(&real),
                    Err(Errno::LOOP) if self.root.links_form_a_loop(path) => Err(OpenError::LinkLoop),
                    Err(errno) => Err(errno.into()),
                }
            }
            Err(NotOpened::Because(error)) => Err(error),
        }
    }

    /// Opens a file that a walk found. A symbolic link anywhere in the path is refused.
    pub fn open_nofollow(&self, path: &RelPath) -> Result<OpenFile, OpenError> {
        self.policy.check_path(path)?;
        self.open_checked(path).map_err(|not_opened| match not_opened {
            NotOpened::Link => OpenError::OutsideRoot,
            NotOpened::Because(error) => error,
        })
    }

    /// What is on a local file system is opened at once; everything else by a thread that can be left behind.
    fn open_checked(&self, path: &RelPath) -> Result<OpenFile, NotOpened> {
        if let Some(pinned) = self.root.pin_local(path)? {
            return Ok(self.open_pinned(pinned, path, None)?);
        }
        let (guard, path) = (self.clone(), path.clone());
        let whole = self.whole(&path);
        let may_hang = Some(whole.clone());
        patience::within_deadline(&whole, move || {
            let pinned = guard.root.pin(&path)?;
            Ok(guard.open_pinned(pinned, &path, may_hang)?)
        })
        .map_err(OpenError::Io)?
    }

    /// The path from the top of the file system, to tell files of several roots apart.
    fn whole(&self, path: &RelPath) -> PathBuf {
        self.root.path().join(path.as_str())
    }

    /// Looks at the pinned object before it is opened: opening a device can rewind a tape.
    fn open_pinned(
        &self,
        pinned: OwnedFd,
        path: &RelPath,
        may_hang: Option<PathBuf>,
    ) -> Result<OpenFile, OpenError> {
        let before = regular(&pinned)?;
        let opened = match resolve::reopen(pinned.as_fd()) {
            // Without /proc there is no way from a pin to a file but its name.
            Err(Errno::NOENT) => self.root.open_for_reading(path),
            result => result,
        }?;
        let stamp = regular(&opened)?;
        if (stamp.device, stamp.inode) != (before.device, before.inode) {
            return Err(OpenError::Changed);
        }
        Ok(OpenFile { file: Arc::new(File::from(opened)), real_path: path.clone(), stamp, may_hang })
    }
}

impl OpenFile {
    /// The path without symbolic links.
    pub fn real_path(&self) -> &RelPath {
        &self.real_path
    }

    /// In bytes, when the file was opened or last read.
    pub fn size(&self) -> u64 {
        self.stamp.size
    }

    pub fn mtime_ns(&self) -> i64 {
        self.stamp.mtime_ns
    }

    pub fn inode(&self) -> u64 {
        self.stamp.inode
    }

    /// The first `max_bytes`, to tell what the file is.
    pub fn read_head(&mut self, max_bytes: u64) -> Result<Vec<u8>, OpenError> {
        self.waiting(move |file| read_up_to(file, max_bytes, 0))?.map_err(OpenError::Io)
    }

    /// Does something with the file, within the deadline where it may hang.
    fn waiting<T: Send + 'static>(
        &self,
        work: impl FnOnce(&File) -> T + Send + 'static,
    ) -> Result<T, OpenError> {
        let Some(path) = &self.may_hang else { return Ok(work(&self.file)) };
        let file = Arc::clone(&self.file);
        patience::within_deadline(path, move || work(&file)).map_err(OpenError::Io)
    }

    /// The whole content, as it was at one moment.
    ///
    /// Fails with [`OpenError::Changed`] when someone keeps writing: half of one version and half of the
    /// next is a text that never existed.
    pub fn read_all(&mut self, max_bytes: u64) -> Result<Vec<u8>, OpenError> {
        for _ in 0..READ_ATTEMPTS {
            let before = self.stamp;
            let young = before.is_young();
            let content = self.read_once(max_bytes)?;
            if self.stamp != before || content.len() as u64 != before.size {
                continue;
            }
            // A write moves the times when it begins, not when it ends, so those of a file that has just
            // been written prove nothing. Two equal readings do.
            if !young || (self.read_once(max_bytes)? == content && self.stamp == before) {
                return Ok(content);
            }
        }
        Err(OpenError::Changed)
    }

    /// Reads from the start and takes a new stamp.
    fn read_once(&mut self, max_bytes: u64) -> Result<Vec<u8>, OpenError> {
        if self.stamp.size > max_bytes {
            return Err(OpenError::TooLarge { size: self.stamp.size, limit: max_bytes });
        }
        let expected = usize::try_from(self.stamp.size).unwrap_or(0);
        // Never more than the limit, even if the file grows; the stamp shows whether it did.
        let (content, stamp) = self.waiting(move |file| -> Result<(Vec<u8>, FileStamp), OpenError> {
            let content = read_up_to(file, max_bytes, expected).map_err(OpenError::Io)?;
            Ok((content, FileStamp::of(&rustix::fs::fstat(file)?)))
        })??;
        self.stamp = stamp;
        Ok(content)
    }
}

/// From the start, wherever the last read ended.
fn read_up_to(mut file: &File, max_bytes: u64, expected: usize) -> io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(expected);
    file.seek(SeekFrom::Start(0))?;
    file.take(max_bytes).read_to_end(&mut content)?;
    Ok(content)
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenFile").field("real_path", &self.real_path).field("stamp", &self.stamp).finish()
    }
}

impl FileStamp {
    /// Whether a write that carries these times may still be under way, or another one may get the same
    /// times. No single write takes two seconds, and no file system counts in larger steps (FAT).
    fn is_young(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        i128::from(self.ctime_ns) + 2_000_000_000 > i128::try_from(now).unwrap_or(0)
    }

    fn of(stat: &Stat) -> FileStamp {
        let nanoseconds = |seconds: i128, rest: i128| {
            let sum = seconds * 1_000_000_000 + rest;
            i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
        };
        FileStamp {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: nanoseconds(stat.st_mtime as i128, stat.st_mtime_nsec as i128),
            ctime_ns: nanoseconds(stat.st_ctime as i128, stat.st_ctime_nsec as i128),
        }
    }
}

/// The stamp of a regular file; anything else is refused before it is read.
fn regular(fd: &OwnedFd) -> Result<FileStamp, OpenError> {
    let stat = rustix::fs::fstat(fd)?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(FileStamp::of(&stat)),
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "FIFO",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "character device",
        FileType::BlockDevice => "block device",
        FileType::Unknown => "special file",
    };
    Err(OpenError::NotAFile { kind })
}

impl From<Errno> for OpenError {
    fn from(errno: Errno) -> OpenError {
        match errno {
            // EXDEV: RESOLVE_BENEATH refused a link; it does so without looking at the target, so the
            // answer is the same whether the target exists or not. ELOOP: a link where none may be, a
            // circle of links, or one of /proc's magic links.
            Errno::XDEV | Errno::LOOP => OpenError::OutsideRoot,
            // A name the file system cannot hold names nothing.
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL | Errno::ILSEQ => {
                OpenError::NotFound
            }
            // Someone kept renaming until openat2 lost patience.
            Errno::AGAIN => OpenError::Changed,
            // No reader is possible on what was pinned as a regular file: it is one no more.
            Errno::NXIO | Errno::NODEV => OpenError::NotAFile { kind: "special file" },
            other => OpenError::Io(other.into()),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        let code = match &error {
            OpenError::OutsideRoot => ErrorCode::PathOutsideRoot,
            OpenError::NotFound | OpenError::LinkLoop => ErrorCode::FileNotFound,
            OpenError::Denied(_) => ErrorCode::Forbidden,
            OpenError::NotAFile { .. } => ErrorCode::DocTypeUnsupported,
            OpenError::TooLarge { .. } => ErrorCode::FileTooLarge,
            OpenError::Changed => ErrorCode::ExtractFailed,
            OpenError::Io(cause) if cause.kind() == io::ErrorKind::PermissionDenied => ErrorCode::Forbidden,
            OpenError::Io(cause) if cause.kind() == io::ErrorKind::TimedOut => ErrorCode::Timeout,
            OpenError::Io(_) => ErrorCode::ExtractFailed,
        };
        let failure = Failure::new(code, error.to_string());
        match error {
            OpenError::TooLarge { size, .. } => {
                let megabytes = size.div_ceil(1 << 20);
                failure.hint(format!(
                    "Set ingest.max_file_mb to {megabytes} or more and start the server again, or split the file."
                ))
            }
            OpenError::NotAFile { .. } => failure.hint(LIST_FILES_HINT),
            OpenError::LinkLoop => failure.hint("Make one of the links lead to a file, or remove them."),
            _ => failure,
        }
    }
}

/// What a caller hears whose path has not even the shape of a path below a root.
pub fn path_failure(error: &PathError) -> Failure {
    let code = match error {
        PathError::Absolute | PathError::Escapes => ErrorCode::PathOutsideRoot,
        PathError::Empty | PathError::Nul | PathError::TooLong => ErrorCode::InvalidField,
    };
    Failure::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    use super::*;
    use crate::policy::PolicyConfig;

    fn guards(path: &std::path::Path) -> [Guard; 2] {
        let policy = Arc::new(Policy::new(PolicyConfig::default()).unwrap());
        let open = || Root::open(path).unwrap();
        [open(), open().stepwise()].map(|root| Guard::new(Arc::new(root), Arc::clone(&policy)))
    }

    /// What an outsider sees of an attempt.
    fn outcome(result: Result<OpenFile, OpenError>) -> String {
        match result.and_then(|mut file| file.read_all(100)) {
            Ok(content) => String::from_utf8(content).unwrap(),
            Err(error) => Failure::from(error).to_string(),
        }
    }

    #[test]
    fn without_openat2_the_door_is_as_narrow() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(folder.path().join("canary"), "canary").unwrap();
        std::fs::write(root.join("a/b/file"), "inside").unwrap();
        symlink("../canary", root.join("out")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("a", root.join("in")).unwrap();
        symlink("b/file", root.join("a/link")).unwrap();
        let [kernel, stepwise] = guards(&root);
        for path in [
            "a/b/file",
            "a",
            "a/b",
            "x",
            "a/x",
            "a/b/file/x",
            "out",
            "up",
            "up/canary",
            "up/root/a/b/file",
            ".git/x",
        ] {
            let path = RelPath::from_walk(path).unwrap();
            let expected = outcome(kernel.open(&path));
            assert_eq!(outcome(stepwise.open(&path)), expected, "{path}");
            assert_eq!(
                outcome(stepwise.open_nofollow(&path)),
                outcome(kernel.open_nofollow(&path)),
                "{path}"
            );
            assert!(!expected.contains("canary"));
        }
        // Links that stay inside are the one difference: here they are not followed.
        for path in ["in/b/file", "a/link"] {
            let path = RelPath::from_walk(path).unwrap();
            assert_eq!(outcome(kernel.open(&path)), "inside");
            assert!(matches!(stepwise.open(&path), Err(OpenError::OutsideRoot)));
        }
    }

    #[test]
    fn no_path_reads_outside() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(folder.path().join("canary"), "canary").unwrap();
        std::fs::write(root.join("a/b/file"), "inside").unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("../../../canary", root.join("a/b/out")).unwrap();
        symlink("../../a", root.join("a/b/in")).unwrap();
        let guards = guards(&root);
        let part = "a|b|up|out|in|file|canary|root|\\.|\\.\\.|\\.\\.\\.|~|[ .]{1,3}";
        let config = ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() };
        TestRunner::new(config)
            .run(&prop::collection::vec(part, 1..7), |parts| {
                for text in [parts.join("/"), parts.join("\\"), format!("./{}", parts.join("//"))] {
                    let Ok(path) = RelPath::parse(&text) else { continue };
                    for guard in &guards {
                        prop_assert!(outcome(guard.open(&path)) != "canary", "{}", path);
                        prop_assert!(outcome(guard.open_nofollow(&path)) != "canary", "{}", path);
                    }
                }
                Ok(())
            })
            .unwrap();
    }
}
