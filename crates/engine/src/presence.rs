//! Whether a folder holds files of a kind, by their names, before anything is indexed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use discover::{FoundEntry, WalkOptions, classify, walk};
use model::DocType;
use policy::{Guard, Policy, PolicyConfig, Root};

/// True where there is at least one such file that would be indexed. The walk ends with the first; a folder that cannot
/// be read holds none.
pub fn holds(root: &Path, policy: PolicyConfig, gitignore: bool, doc_type: DocType) -> bool {
    let (Ok(root), Ok(policy)) = (Root::open(root), Policy::new(policy)) else { return false };
    let guard = Guard::new(Arc::new(root), Arc::new(policy));
    let found = AtomicBool::new(false);
    let look = |entry: FoundEntry| {
        if let FoundEntry::File(file) = entry
            && classify(&file.path, b"") == doc_type
        {
            found.store(true, Ordering::Relaxed);
        }
    };
    // Ending the walk early is what the flag is for, so how it ends says nothing.
    let _ = walk(&guard, &WalkOptions { gitignore, threads: 1 }, &found, &look);
    found.load(Ordering::Relaxed)
}
