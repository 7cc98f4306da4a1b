//! Listings: directories made up from the paths of files, in the byte order of paths, reading little of a large project.
//!
//! A backend asks a [`ListingScan`] which files to read next, gives them to it, and repeats that until nothing is wanted:
//! below a directory that is deeper than asked the scan jumps to its end (from `/a/…` to `/a0`). A directory can sort before
//! files that are met earlier (`/a` before `/a-b`, though `/a/x` comes behind), so before a full listing ends the scan asks
//! for each directory that could still come in between.

use std::collections::{BTreeMap, HashSet};

use model::Failure;

use crate::entry::{FileEntry, FileListing, PathState, StoreTime};
use crate::path::StorePath;

/// A file as a listing needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFileRow {
    pub path: String,
    pub size: u64,
    pub created_at: StoreTime,
    pub updated_at: StoreTime,
}

/// Which active files are wanted next: the first `rows` in `[from, end)`, in byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRange {
    pub from: String,
    pub end: String,
    pub rows: usize,
}

/// Builds the listing of a directory.
#[derive(Debug)]
pub struct ListingScan {
    base_depth: usize,
    depth: usize,
    limit: usize,
    entries: BTreeMap<String, Option<StoredFileRow>>,
    /// Where the walk goes on.
    from: String,
    end: String,
    rows: usize,
    walked: bool,
    /// A directory that could come in between, being looked at.
    probing: Option<String>,
    /// Directories that were looked at, and are not there.
    absent: HashSet<String>,
    /// The last file that was met, behind which nothing is known.
    position: String,
}

/// So many rows are read where most of them lie deeper than asked.
const FEW_ROWS: usize = 4;

impl ListingScan {
    /// Of the entries below `path`; `depth` is at least 1.
    pub fn new(path: &StorePath, depth: usize, limit: usize) -> ListingScan {
        let (from, end) = path.descendant_range();
        ListingScan {
            base_depth: path.depth(),
            depth,
            limit,
            entries: BTreeMap::new(),
            from,
            end,
            rows: limit.saturating_add(1).clamp(FEW_ROWS, 1024),
            walked: false,
            probing: None,
            absent: HashSet::new(),
            position: String::new(),
        }
    }

    /// What to read next; `None` when the listing is complete.
    pub fn next_range(&mut self) -> Option<ScanRange> {
        if self.walked {
            return None;
        }
        // One more than asked tells that there is more.
        if let Some(last) = self.entries.keys().nth(self.limit) {
            let between = self.possible_directories().find(|name| {
                name.as_str() < last.as_str()
                    && !self.absent.contains(name)
                    && !self.entries.contains_key(name)
            });
            let directory = between?;
            let range = ScanRange { from: format!("{directory}/"), end: format!("{directory}0"), rows: 1 };
            self.probing = Some(directory);
            return Some(range);
        }
        Some(ScanRange { from: self.from.clone(), end: self.end.clone(), rows: self.rows })
    }

    /// Takes the files of the range that was asked for.
    pub fn take(&mut self, files: Vec<StoredFileRow>) {
        if let Some(directory) = self.probing.take() {
            if files.is_empty() {
                self.absent.insert(directory);
            } else {
                self.entries.insert(directory, None);
            }
            return;
        }
        let (asked, mut used) = (self.rows, 0);
        let is_last = files.len() < asked;
        for file in files {
            if file.path < self.from {
                continue;
            }
            used += 1;
            self.meet(file);
        }
        self.walked = is_last;
        self.rows = if used <= asked / 2 { FEW_ROWS } else { asked.saturating_mul(2).min(1024) };
    }

    /// The entries; of directories the time of the newest file is still to be filled in.
    pub fn into_listing(self) -> Result<FileListing, Failure> {
        let has_more = self.entries.len() > self.limit;
        let entries = self.entries.into_iter().take(self.limit).map(|(path, file)| {
            Ok(FileEntry {
                path: StorePath::parse(&path)?,
                created_at: file.as_ref().map(|file| file.created_at),
                updated_at: file.as_ref().map(|file| file.updated_at),
                size: file.as_ref().map_or(0, |file| file.size),
                is_directory: file.is_none(),
            })
        });
        Ok(FileListing { entries: entries.collect::<Result<_, Failure>>()?, has_more })
    }

    fn meet(&mut self, file: StoredFileRow) {
        let slashes: Vec<usize> =
            file.path.match_indices('/').map(|(at, _)| at).skip(self.base_depth).collect();
        // The n-th slash below the base ends a directory of the level n - 1.
        for end in slashes.iter().skip(1).take(self.depth) {
            self.entries.entry(file.path[..*end].to_owned()).or_insert(None);
        }
        self.position.clone_from(&file.path);
        match slashes.get(self.depth) {
            Some(end) => self.from = format!("{}0", &file.path[..*end]),
            None => {
                self.from = format!("{}\u{1}", file.path);
                self.entries.insert(file.path.clone(), Some(file));
            }
        }
    }

    /// Directories that would sort before what was met, though their files come behind: their names begin the last path
    /// that was met, and go on there with a character before `/`.
    fn possible_directories(&self) -> impl Iterator<Item = String> + '_ {
        let path = &self.position;
        path.match_indices(['-', '.'])
            .map(|(at, _)| &path[..at])
            .filter(|name| {
                !name.ends_with('/')
                    && (self.base_depth + 1..=self.base_depth + self.depth)
                        .contains(&name.matches('/').count())
            })
            .map(str::to_owned)
    }
}

/// The listing of a path itself (depth 0), if anything is there.
pub fn listing_of_state(path: &StorePath, state: PathState) -> Option<FileListing> {
    let entry = match state {
        PathState::Nothing => return None,
        PathState::File { size, created_at, updated_at, .. } => FileEntry {
            path: path.clone(),
            created_at: Some(created_at),
            updated_at: Some(updated_at),
            size,
            is_directory: false,
        },
        PathState::Directory { updated_at } => {
            FileEntry { path: path.clone(), created_at: None, updated_at, size: 0, is_directory: true }
        }
    };
    Some(FileListing { entries: vec![entry], has_more: false })
}
