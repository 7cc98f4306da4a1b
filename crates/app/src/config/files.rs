//! The few files that are the program's own: read with a limit, replaced in one step. Users' files are opened
//! by `policy` alone.
#![allow(clippy::disallowed_methods, reason = "config, state and secret files are not users' content")]

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(crate) use engine::state::{prepare_state_dir, write, write_new};
use rustix::fs::OFlags;

/// Larger than any sensible config, dotenv or token file.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// A small file as it was read.
#[derive(Debug)]
pub(crate) struct SmallFile {
    pub text: String,
    /// The permission bits.
    pub mode: u32,
}

impl SmallFile {
    /// True where the owner's group or everybody may read it.
    pub(crate) fn is_shared(&self) -> bool {
        self.mode & 0o077 != 0
    }
}

/// Reads a regular file of at most [`MAX_BYTES`] as UTF-8. A FIFO neither blocks nor counts as a file.
pub(crate) fn read(path: &Path) -> io::Result<SmallFile> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the text is not UTF-8"))?;
    Ok(SmallFile { text, mode: metadata.permissions().mode() & 0o777 })
}

/// Like [`read`], with `None` for a file that is not there.
pub(crate) fn read_if_present(path: &Path) -> io::Result<Option<SmallFile>> {
    match read(path) {
        Ok(file) => Ok(Some(file)),
        // What is to be its folder may be a file; whoever needs the folder says so.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The files in a folder; none where there is no folder.
pub(crate) fn list(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Makes a folder for its owner alone, unless it is there.
pub(crate) fn prepare_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// The path of a file that is there, with the links of its folder resolved.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("/")).canonicalize()?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}

/// A path without `.`, `..` and links on the way to it, as far as it exists. Its last name is not followed, so that
/// the code that opens it can see that it is a link.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path.canonicalize().unwrap_or_else(|_| path.into());
    };
    match folder.canonicalize() {
        Ok(folder) => folder.join(name),
        Err(_) => resolved(folder).join(name),
    }
}

/// Makes a directory for its owner alone; one that is there is left as it is.
pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The directory's real path, proven to be a directory that can be listed.
pub(crate) fn open_root(path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    fs::read_dir(&real)?;
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        write(&path, "one", 0o644).unwrap();
        write(&path, "two", 0o600).unwrap();
        let file = read(&path).unwrap();
        assert_eq!((file.text.as_str(), file.mode), ("two", 0o600));
        assert!(!write_new(&path, "three", 0o644).unwrap());
        assert_eq!(read(&path).unwrap().text, "two");
        assert_eq!(names(dir.path()), ["a.txt"]);
    }

    #[test]
    fn a_symbolic_link_is_replaced_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (outside, link) = (dir.path().join("outside"), dir.path().join("link"));
        fs::write(&outside, "kept").unwrap();
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        write(&link, "new", 0o600).unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "kept");
        assert_eq!(fs::read_to_string(&link).unwrap(), "new");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("inside"), "").unwrap();
        assert!(write(&folder, "text", 0o600).is_err());
        assert_eq!(names(dir.path()), ["a"]);
    }

    #[test]
    fn what_is_no_small_text_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(dir.path()).is_err());
        let large = dir.path().join("large");
        fs::write(&large, vec![b'a'; MAX_BYTES as usize + 1]).unwrap();
        assert_eq!(read(&large).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let binary = dir.path().join("binary");
        fs::write(&binary, [0xff, 0xfe]).unwrap();
        assert_eq!(read(&binary).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let fifo = dir.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
        assert_eq!(read(&fifo).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(read_if_present(&dir.path().join("none")).unwrap().is_none());
    }

    #[test]
    fn a_path_is_resolved_but_for_its_last_name() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir(base.join("a")).unwrap();
        std::os::unix::fs::symlink(base.join("a"), base.join("link")).unwrap();
        assert_eq!(resolved(&base.join("a/../link/x")), base.join("a/x"));
        assert_eq!(resolved(&base.join("a/./../link")), base.join("link"));
        assert_eq!(resolved(&base.join("link/new/deep")), base.join("a/new/deep"));
        assert_eq!(resolved(Path::new("/")), Path::new("/"));
    }

    #[test]
    fn the_state_directory_is_private_and_hidden_from_git() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("x/.dir2mcp");
        prepare_state_dir(&state).unwrap();
        prepare_state_dir(&state).unwrap();
        assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(read(&state.join(".gitignore")).unwrap().text, "*\n");
    }
}
