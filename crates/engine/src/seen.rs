//! What a caller has seen of the files, kept between two of its calls.
//!
//! The index follows the files by itself. A tool that brings it up to date on request reports the difference to the files
//! that its last call saw, which is why that list is kept: a file is added, updated (its content or its time stamp
//! moved) or removed once, however often the index was brought up to date in between.

use std::collections::BTreeMap;
use std::path::Path;

use index::{DocumentRow, Index};
use model::{ErrorCode, Failure};
pub(crate) use retrieve::files::is_below;
use serde::{Deserialize, Serialize};

use crate::state;

const VERSION: u32 = 2;

/// The files as of one call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SeenFiles {
    version: u32,
    /// UTC, milliseconds, `Z`.
    pub(crate) timestamp: String,
    /// Size, time stamp in nanoseconds, the first half of the content's hash.
    files: BTreeMap<String, (u64, i64, String)>,
    /// A digest of the files.
    #[serde(default)]
    check: String,
}

/// What happened between two calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FilesDifference {
    pub(crate) added: u64,
    pub(crate) updated: u64,
    pub(crate) removed: u64,
}

impl SeenFiles {
    /// The files that the index holds now.
    pub(crate) fn now(
        index: &Index,
        timestamp: String,
        admit: &dyn Fn(&DocumentRow) -> bool,
    ) -> Result<SeenFiles, Failure> {
        let (_, rows) = index.list(admit, usize::MAX, 0)?;
        let files = rows
            .into_iter()
            .map(|row| {
                let hash = row.content_hash;
                let hash = hash.map(|hash| hash.0[..16].iter().map(|byte| format!("{byte:02x}")).collect());
                let document = row.document;
                (document.path, (document.size, document.mtime_ns, hash.unwrap_or_default()))
            })
            .collect();
        Ok(SeenFiles { version: VERSION, timestamp, files, check: String::new() })
    }

    #[allow(clippy::disallowed_methods, reason = "a file of our own")]
    pub(crate) fn read(file: &Path) -> Option<SeenFiles> {
        let text = std::fs::read_to_string(file).ok()?;
        // An unknown or damaged one is as good as none: everything then counts as added.
        serde_json::from_str(&text)
            .ok()
            .filter(|seen: &SeenFiles| seen.version == VERSION && seen.check == seen.digest())
    }

    pub(crate) fn write(&self, file: &Path) -> Result<(), Failure> {
        let sealed = SeenFiles { check: self.digest(), ..self.clone() };
        let text = serde_json::to_string(&sealed).unwrap_or_default();
        let folder = file.parent().unwrap_or(file);
        state::prepare_state_dir(folder).and_then(|()| state::write(file, &text, 0o600)).map_err(|error| {
            let message =
                format!("the index is up to date, but {} cannot be written: {error}", file.display());
            Failure::new(ErrorCode::ExtractFailed, message)
        })
    }

    fn digest(&self) -> String {
        let text = serde_json::to_vec(&(&self.timestamp, &self.files)).unwrap_or_default();
        blake3::hash(&text).to_hex()[..16].to_owned()
    }

    /// What came since `before`; with `all`, every file that was there then counts as updated.
    pub(crate) fn since(&self, before: &SeenFiles, all: bool) -> FilesDifference {
        let mut difference = FilesDifference::default();
        for (path, state) in &self.files {
            match before.files.get(path) {
                None => difference.added += 1,
                Some(known) if all || known != state => difference.updated += 1,
                Some(_) => {}
            }
        }
        difference.removed =
            before.files.keys().filter(|path| !self.files.contains_key(*path)).count() as u64;
        difference
    }

    /// Keeps what lies below a folder as it is here, and everything else as it was before.
    pub(crate) fn merged_below(mut self, folder: &str, before: SeenFiles) -> SeenFiles {
        self.files.retain(|path, _| is_below(path, folder));
        self.files.extend(before.files.into_iter().filter(|(path, _)| !is_below(path, folder)));
        self
    }

    pub(crate) fn below(mut self, folder: &str) -> SeenFiles {
        self.files.retain(|path, _| is_below(path, folder));
        self
    }

    pub(crate) fn len(&self) -> u64 {
        self.files.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(files: &[(&str, u64)]) -> SeenFiles {
        let files = files.iter().map(|(path, size)| ((*path).to_owned(), (*size, 0, String::new())));
        SeenFiles { version: VERSION, files: files.collect(), ..SeenFiles::default() }
    }

    #[test]
    fn each_change_counts_once() {
        let before = seen(&[("a", 1), ("b", 1), ("c", 1)]);
        let now = seen(&[("a", 1), ("b", 2), ("d", 1)]);
        assert_eq!(now.since(&before, false), FilesDifference { added: 1, updated: 1, removed: 1 });
        assert_eq!(now.since(&before, true), FilesDifference { added: 1, updated: 2, removed: 1 });
        assert_eq!(now.since(&now, false), FilesDifference::default());
    }

    #[test]
    fn a_folder_is_seen_without_the_rest() {
        let before = seen(&[("in/a", 1), ("out", 1), ("inner", 1)]);
        let now = seen(&[("in/b", 1), ("out", 2), ("inner", 1)]);
        let difference = now.below("in").since(&seen(&[("in/a", 1)]), false);
        assert_eq!(difference, FilesDifference { added: 1, updated: 0, removed: 1 });
        let now = seen(&[("in/b", 1), ("out", 2)]);
        let merged = now.merged_below("in", before);
        let paths: Vec<&String> = merged.files.keys().collect();
        assert_eq!(paths, ["in/b", "inner", "out"]);
        assert_eq!(merged.files["out"].0, 1, "what was not asked about stays as it was");
    }
}
