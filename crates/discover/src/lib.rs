//! From a directory to the files worth reading: which there are, what changed, and what each one is.
//!
//! Files are listed and looked at here, never read: reading is `policy`'s. The one exception are the ignore
//! files, which are rules and not content.

mod classify;
mod debounce;
mod examine;
mod gitignore;
mod rules;
mod tree;
mod walk;
mod watch;

pub use classify::{HEAD_BYTES, classify};
pub use examine::{Examined, Examiner, examine};
pub use walk::{FoundEntry, FoundFile, WalkError, WalkOptions, count_files, walk};
pub use watch::{Change, WatchError, WatchHealth, Watcher};
