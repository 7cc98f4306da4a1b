//! Compares what a scan finds with what the catalog knows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use index::Known;

/// What the catalog knows, by path, with a mark for what the running scan has met.
pub(crate) struct Ledger {
    entries: BTreeMap<String, Entry>,
}

struct Entry {
    known: Known,
    seen: AtomicBool,
}

impl Ledger {
    pub(crate) fn new(known: impl IntoIterator<Item = (String, Known)>) -> Ledger {
        let entries = known
            .into_iter()
            .map(|(path, known)| (path, Entry { known, seen: AtomicBool::new(false) }))
            .collect();
        Ledger { entries }
    }

    pub(crate) fn known(&self, path: &str) -> Option<&Known> {
        self.entries.get(path).map(|entry| &entry.known)
    }

    /// Marks a path as met and returns what is known of it.
    pub(crate) fn meet(&self, path: &str) -> Option<&Known> {
        let entry = self.entries.get(path)?;
        entry.seen.store(true, Relaxed);
        Some(&entry.known)
    }

    /// Known paths that the scan did not meet and that stand below no directory it failed to read.
    pub(crate) fn vanished(&self, unreadable: &BTreeSet<String>) -> impl Iterator<Item = &str> {
        self.entries
            .iter()
            .filter(|(path, entry)| {
                !entry.seen.load(Relaxed)
                    && !unreadable.iter().any(|directory| is_at_or_below(path, directory))
            })
            .map(|(path, _)| path.as_str())
    }

    /// The path itself and everything below it.
    pub(crate) fn at_or_below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        self.entries
            .range::<str, _>((Bound::Included(path), Bound::Unbounded))
            .map(|(known, _)| known.as_str())
            .take_while(move |known| known.starts_with(path))
            .filter(move |known| is_at_or_below(known, path))
    }
}

/// The fast gate: nothing about the file says that its content could be another.
pub(crate) fn is_unchanged(known: &Known, size: u64, mtime_ns: i64, inode: u64) -> bool {
    known.size == size && known.mtime_ns == mtime_ns && known.inode == inode
}

fn is_at_or_below(path: &str, directory: &str) -> bool {
    match path.strip_prefix(directory) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || directory.is_empty(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_at_or_below;

    #[test]
    fn a_sibling_with_the_same_prefix_is_not_below() {
        assert!(is_at_or_below("a/b/c", "a/b"));
        assert!(is_at_or_below("a/b", "a/b"));
        assert!(is_at_or_below("a", ""));
        assert!(!is_at_or_below("a/bc", "a/b"));
    }
}
