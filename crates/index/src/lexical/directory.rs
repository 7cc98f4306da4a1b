//! The directory that Tantivy writes to: its own memory-mapped one, with a list of files that needs no file, and a checksum
//! for the list of segments.

#![allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

/// Tantivy's list of the files it made, from which it knows which to delete.
const MANAGED: &str = ".managed.json";

/// Tantivy rewrites and syncs its list of files for each of the six files of a segment, which is most of what
/// a small commit costs. The folder itself is as good a list: no other process writes there. So the list is read
/// from the folder and never written.
#[derive(Debug, Clone)]
pub(super) struct StateDirectory {
    files: MmapDirectory,
    path: PathBuf,
}

impl StateDirectory {
    pub(super) fn open(path: &Path) -> Result<StateDirectory, OpenDirectoryError> {
        Ok(StateDirectory { files: MmapDirectory::open(path)?, path: path.to_owned() })
    }

    fn list(&self) -> io::Result<Vec<u8>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            // Names that begin with a dot are locks and files on their way to another name.
            if let Some(name) = entry?.file_name().to_str().filter(|name| !name.starts_with('.')) {
                names.push(name.to_owned());
            }
        }
        Ok(serde_json::to_vec(&names)?)
    }
}

impl Directory for StateDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        match self.files.open_write(path) {
            // Left by a writer that was killed before its commit. A committed file cannot be in the way: names hold a
            // random id or a stamp that only grows from the last commit on.
            Err(OpenWriteError::FileAlreadyExists(_)) => {
                // If it cannot be removed, the second attempt says why.
                let _ = self.files.delete(path);
                self.files.open_write(path)
            }
            opened => opened,
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        if path == Path::new(MANAGED) {
            return self.list().map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()));
        }
        let bytes = self.files.atomic_read(path)?;
        unsealed(bytes).map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if path == Path::new(MANAGED) {
            return Ok(());
        }
        self.files.atomic_write(path, &sealed(data))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.files.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.files.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

/// Tantivy guards its segments by checksums, but not the list of them.
fn sealed(data: &[u8]) -> Vec<u8> {
    let sum = blake3::hash(data).to_hex();
    [data, b"\n", &sum.as_bytes()[..SUM_BYTES]].concat()
}

fn unsealed(mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let length = bytes.len().saturating_sub(SUM_BYTES + 1);
    if sealed(&bytes[..length]) != bytes {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum does not match"));
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// Hexadecimal digits of a checksum.
const SUM_BYTES: usize = 32;
