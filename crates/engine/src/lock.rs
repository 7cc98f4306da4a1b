//! One writer per state directory: an advisory lock on `locks/index.lock` that the kernel frees when its holder dies.

#![allow(clippy::disallowed_methods, reason = "the files of the state directory are our own")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

const FILE: &str = "index.lock";

pub(crate) struct WriterLock {
    file: File,
}

/// What became of the attempt to be the writer.
pub(crate) enum Attempt {
    Held(WriterLock),
    /// Another process writes; what the lock file says of it, for people to read.
    Busy {
        holder: String,
    },
}

/// Who writes the index in this state directory right now, by what the lock file says of them.
pub fn writer_of(state_dir: &Path) -> Option<String> {
    let mut file = File::open(state_dir.join("locks").join("index.lock")).ok()?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            let _ = (&mut file).take(64).read_to_string(&mut holder);
            Some(if holder.trim().is_empty() { "just started".to_owned() } else { holder.trim().to_owned() })
        }
        // Closing the file gives the lock back.
        _ => None,
    }
}

impl WriterLock {
    pub(crate) fn try_acquire(state_dir: &Path) -> io::Result<Attempt> {
        let directory = state_dir.join("locks");
        fs::create_dir_all(&directory)?;
        let path = directory.join(FILE);
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                file.take(64).read_to_string(&mut holder)?;
                // Between taking the lock and signing it there is a moment without a name.
                let holder = if holder.trim().is_empty() { "just started" } else { holder.trim() };
                return Ok(Attempt::Busy { holder: holder.to_owned() });
            }
            Err(error) => return Err(error.into()),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "pid {}", std::process::id())?;
        Ok(Attempt::Held(WriterLock { file }))
    }

    /// False once the lock file was removed or replaced: another process could then become a writer, too.
    pub(crate) fn is_current(&self, state_dir: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let same = || -> io::Result<bool> {
            let (held, named) = (self.file.metadata()?, fs::metadata(state_dir.join("locks").join(FILE))?);
            Ok((held.dev(), held.ino()) == (named.dev(), named.ino()))
        };
        same().unwrap_or(false)
    }
}
