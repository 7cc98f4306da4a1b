//! Compares what a scan finds with what the catalog knows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use index::KnownDocument;
use model::DocStatus;

/// What the catalog knows, by path, with a mark for what the running scan has seen.
pub(crate) struct ScanLedger {
    entries: BTreeMap<String, LedgerEntry>,
}

struct LedgerEntry {
    known: KnownDocument,
    seen: AtomicBool,
}

impl ScanLedger {
    pub(crate) fn new(known: impl IntoIterator<Item = (String, KnownDocument)>) -> ScanLedger {
        let entries = known
            .into_iter()
            .map(|(path, known)| (path, LedgerEntry { known, seen: AtomicBool::new(false) }))
            .collect();
        ScanLedger { entries }
    }

    pub(crate) fn known(&self, path: &str) -> Option<&KnownDocument> {
        self.entries.get(path).map(|entry| &entry.known)
    }

    /// Marks a path as seen by the scan and returns what is known of it.
    pub(crate) fn mark_seen(&self, path: &str) -> Option<&KnownDocument> {
        let entry = self.entries.get(path)?;
        entry.seen.store(true, Relaxed);
        Some(&entry.known)
    }

    /// The same for a file and everything below it, which are its members if it is an archive: reading the
    /// archive tells what became of them.
    pub(crate) fn mark_file_seen(&self, path: &str) -> Option<&KnownDocument> {
        for (_, entry) in self.range(path) {
            entry.seen.store(true, Relaxed);
        }
        self.known(path)
    }

    /// Known paths that the scan did not see and that are below no directory it failed to read.
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
        self.range(path).map(|(known, _)| known)
    }

    /// How the path itself and everything below it ended last time.
    pub(crate) fn statuses<'a>(&'a self, path: &'a str) -> impl Iterator<Item = DocStatus> {
        self.range(path).map(|(_, entry)| entry.known.status)
    }

    fn range<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (&'a str, &'a LedgerEntry)> {
        // `a.zip-old` sorts between `a.zip` and `a.zip/x`.
        let below = format!("{path}/");
        let own = self.entries.get_key_value(path);
        let members = self
            .entries
            .range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded))
            .take_while(move |(known, _)| known.starts_with(path) && known[path.len()..].starts_with('/'));
        own.into_iter().chain(members).map(|(known, entry)| (known.as_str(), entry))
    }
}

/// What the catalog held before the job, as a reading thread asks it.
pub(crate) struct Before<'l> {
    pub(crate) ledger: &'l ScanLedger,
    /// Under other rules the same content must be looked at again.
    pub(crate) trust: bool,
}

impl<'l> Before<'l> {
    pub(crate) fn known(&self, path: &str) -> Option<&'l KnownDocument> {
        self.ledger.known(path).filter(|_| self.trust)
    }

    /// The members that an archive of this path had.
    pub(crate) fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        self.ledger.at_or_below(path).filter(move |known| known.len() > path.len())
    }
}

/// The fast gate: nothing about the file says that its content could be another.
pub(crate) fn is_unchanged(known: &KnownDocument, size: u64, mtime_ns: i64, inode: u64) -> bool {
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
    use index::KnownDocument;
    use model::{DocId, DocStatus};

    use super::{ScanLedger, is_at_or_below};

    #[test]
    fn members_are_found_past_their_archives_namesakes() {
        let known = KnownDocument {
            doc_id: DocId(1),
            size: 0,
            mtime_ns: 0,
            inode: 0,
            content_hash: None,
            status: DocStatus::Ok,
        };
        let paths = ["a.zip", "a.zip-old", "a.zip.bak/x", "a.zip/b", "a.zip/c/d", "a.zip0", "b"];
        let ledger = ScanLedger::new(paths.map(|path| (path.to_owned(), known.clone())));
        let below: Vec<&str> = ledger.at_or_below("a.zip").collect();
        assert_eq!(below, ["a.zip", "a.zip/b", "a.zip/c/d"]);
        assert_eq!(ledger.at_or_below("a").count(), 0);
        assert!(ledger.mark_file_seen("a.zip").is_some());
        let vanished: Vec<&str> = ledger.vanished(&Default::default()).collect();
        assert_eq!(vanished, ["a.zip-old", "a.zip.bak/x", "a.zip0", "b"]);
    }

    #[test]
    fn a_sibling_with_the_same_prefix_is_not_below() {
        assert!(is_at_or_below("a/b/c", "a/b"));
        assert!(is_at_or_below("a/b", "a/b"));
        assert!(is_at_or_below("a", ""));
        assert!(!is_at_or_below("a/bc", "a/b"));
    }
}
