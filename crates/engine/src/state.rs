//! Small files in the state directory: written beside, synced, then put in place, so that a reader or a power cut sees
//! the old one or the new one and nothing between.

#![allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Replaces `path` in one step: readers see the old text or the new one, also after a power cut.
pub fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let temporary = Temporary::create(path, text, mode)?;
    fs::rename(&temporary.path, path)?;
    temporary.placed();
    sync_folder(path)
}

/// Like [`write`], but leaves a file that is there alone and answers `false`.
pub fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<bool> {
    let temporary = Temporary::create(path, text, mode)?;
    match fs::hard_link(&temporary.path, path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        // Some file systems know no hard links; there the check comes first and a tie is improbable.
        Err(_) if !path.exists() => {
            fs::rename(&temporary.path, path)?;
            temporary.placed();
        }
        Err(error) => return Err(error),
    }
    sync_folder(path)?;
    Ok(true)
}

/// Makes the state directory, for its owner alone, with a note to git that nothing in it is to be kept:
/// it holds the bearer token. One that is a link is refused: it could lead anywhere.
pub fn prepare_state_dir(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the state directory is a symbolic link"));
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    write_new(&path.join(".gitignore"), "*\n", 0o600)?;
    Ok(())
}

/// A file beside the one it shall become; gone again unless it was placed.
struct Temporary {
    path: PathBuf,
    placed: bool,
}

impl Temporary {
    fn create(target: &Path, text: &str, mode: u32) -> io::Result<Temporary> {
        let name = target
            .file_name()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
        let mut random = [0u8; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{:016x}.tmp", u64::from_le_bytes(random)));
        let path = folder_of(target).join(hidden);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        let temporary = Temporary { path, placed: false };
        file.write_all(text.as_bytes())?;
        // The process's umask may have taken bits away that the caller asked for.
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        Ok(temporary)
    }

    fn placed(mut self) {
        self.placed = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.placed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
