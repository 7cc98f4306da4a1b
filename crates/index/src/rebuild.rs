//! Building a whole new index beside the old one, and putting it in its place.
//!
//! The new index is built in `rebuild/`. When it is complete, that directory is renamed to `rebuilt/`, which is the
//! moment of decision: from then on the files in it are moved to their places, now or, after a crash, by the next
//! process that opens the index. An unfinished `rebuild/` is removed.

use std::io;
use std::path::{Path, PathBuf};

use model::IndexKind;

use crate::catalog::{self, remove_companions, sync};
use crate::error::IndexError;
use crate::{lexical, vector};

const UNFINISHED: &str = "rebuild";
const COMPLETE: &str = "rebuilt";

/// Where the new index of a state directory is to be built, with nothing there yet.
pub fn rebuild_dir(state: &Path) -> Result<PathBuf, IndexError> {
    let dir = state.join(UNFINISHED);
    remove_all(&dir).map_err(|error| IndexError::io(&dir, error))?;
    Ok(dir)
}

/// Puts the index that was built in [`rebuild_dir`] in the place of the old one. It must be complete and closed, and
/// the old one must not be written any more ([`crate::Index::retire`]); its readers still see what it was.
pub fn install_rebuilt(state: &Path) -> Result<(), IndexError> {
    let io = |error| IndexError::io(state, error);
    let (unfinished, complete) = (state.join(UNFINISHED), state.join(COMPLETE));
    let log = unfinished.join(format!("{}-wal", catalog::FILE_NAME));
    if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        let reason = "the new catalog was not closed".to_owned();
        return Err(IndexError::NotWritable { path: unfinished, reason });
    }
    sync(&unfinished).map_err(io)?;
    std::fs::rename(&unfinished, &complete).map_err(io)?;
    sync(state).map_err(io)?;
    finish(state)
}

/// Finishes what [`install_rebuilt`] began, and removes what was not complete.
pub(crate) fn finish(state: &Path) -> Result<(), IndexError> {
    let io = |error| IndexError::io(state, error);
    remove_all(&state.join(UNFINISHED)).map_err(io)?;
    let complete = state.join(COMPLETE);
    if !complete.exists() {
        return Ok(());
    }
    let (new, old) = (complete.join(catalog::FILE_NAME), state.join(catalog::FILE_NAME));
    if new.exists() {
        remove_companions(&old).and_then(|()| std::fs::rename(&new, &old)).map_err(io)?;
    }
    let [text, code] = [IndexKind::Text, IndexKind::Code].map(vector::file_name);
    for name in [lexical::DIR_NAME, text, code] {
        if complete.join(name).exists() {
            remove_all(&state.join(name)).map_err(io)?;
            std::fs::rename(complete.join(name), state.join(name)).map_err(io)?;
        }
    }
    sync(state).and_then(|()| remove_all(&complete)).map_err(io)
}

/// Removes a file, or a directory with all that is in it, if it is there.
fn remove_all(path: &Path) -> io::Result<()> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        // Where a file is in the way of the directory, creating that says so.
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(error)
        }
        _ => Ok(()),
    }
}
