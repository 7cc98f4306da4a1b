//! The parallel walk over everything below the root.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use model::{IgnoreRule, RelPath, SkipReason};
use policy::Guard;

use crate::tree::{Inside, Judged, Listing, NoEntry, Tree, TreePlace, Wanted, display, failed};

/// How a tree is walked. `.ignore` files always apply.
#[derive(Debug, Clone, Copy)]
pub struct WalkOptions {
    /// Obey `.gitignore` files, in repositories and outside them.
    pub gitignore: bool,
    /// Threads to walk with; 0 takes as many as there are processors.
    pub threads: usize,
}

/// What the walk says about one entry. Only the directories that it enters are not mentioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundEntry {
    File(FoundFile),
    /// Left out, for a reason to record. `display` is the path, escaped if it is not UTF-8.
    Skipped {
        display: String,
        reason: SkipReason,
        size: u64,
        mtime_ns: i64,
    },
    /// The entry could not be looked at. If it is a directory, nothing is known of what it holds.
    Failed {
        display: String,
        message: String,
    },
    /// A rule keeps the entry out. What is in a directory that is kept out is not looked at.
    Ignored {
        display: String,
        rule: IgnoreRule,
        is_dir: bool,
    },
    /// An ignore file whose rules could not be applied. As a file it is mentioned besides.
    RulesUnread {
        display: String,
        message: String,
    },
}

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub path: RelPath,
    pub size: u64,
    pub mtime_ns: i64,
    pub inode: u64,
}

/// Why a walk is not complete. What it found must not be taken for the whole tree.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    #[error("cannot read the root directory {}: {source}", path.display())]
    RootUnreadable { path: PathBuf, source: std::io::Error },
    #[error("the root directory {} was removed or replaced", path.display())]
    RootVanished { path: PathBuf },
    #[error("the walk was cancelled")]
    Cancelled,
}

/// Walks the tree and hands each entry to `sink`, from several threads and in no particular order.
pub fn walk(
    guard: &Guard,
    options: &WalkOptions,
    cancel: &AtomicBool,
    sink: &(dyn Fn(FoundEntry) + Sync),
) -> Result<(), WalkError> {
    struct Report<'s>(&'s (dyn Fn(FoundEntry) + Sync));
    impl Visitor for Report<'_> {
        fn found(&self, found: FoundEntry) {
            (self.0)(found);
        }
        fn ignored(&self, path: &[u8], rule: IgnoreRule, is_dir: bool) {
            (self.0)(FoundEntry::Ignored { display: display(path), rule, is_dir });
        }
    }
    let tree = Tree::new(guard, options.gitignore);
    descend(&tree, tree.top()?, Wanted::Everything, options.threads, cancel, &Report(sink))?;
    tree.still_there()
}

/// How many files lie below folders that a walk did not enter, leaving out what the policy excludes: no more than
/// `most`, and whether there are more.
pub fn count_files(guard: &Guard, folders: &[String], most: u64) -> (u64, bool) {
    struct Count {
        files: AtomicU64,
        most: u64,
        enough: AtomicBool,
    }
    impl Visitor for Count {
        fn found(&self, _: FoundEntry) {
            if self.files.fetch_add(1, Ordering::Relaxed) + 1 >= self.most {
                self.enough.store(true, Ordering::Relaxed);
            }
        }
    }
    let tree = Tree::new(guard, false);
    let count = Count { files: AtomicU64::new(0), most, enough: AtomicBool::new(false) };
    for folder in folders {
        let Ok(top) = tree.top() else { break };
        // An early end leaves `enough` set.
        let _ = descend(&tree, top.at(folder.as_bytes()), Wanted::Everything, 1, &count.enough, &count);
        if count.enough.load(Ordering::Relaxed) {
            break;
        }
    }
    (count.files.into_inner().min(most), count.enough.into_inner())
}

/// Whoever goes along on a walk.
pub(crate) trait Visitor: Sync {
    /// A directory was opened and is listed next.
    fn entering(&self, _place: &TreePlace, _fd: BorrowedFd<'_>) {}

    /// A directory was listed and its rules are known.
    fn inside(&self, _inside: Inside) {}

    fn found(&self, found: FoundEntry);

    /// A rule keeps an entry out.
    fn ignored(&self, _path: &[u8], _rule: IgnoreRule, _is_dir: bool) {}
}

/// Walks everything from `start` downwards.
pub(crate) fn descend(
    tree: &Tree<'_>,
    start: TreePlace,
    wanted: Wanted,
    threads: usize,
    cancel: &AtomicBool,
    visitor: &dyn Visitor,
) -> Result<(), WalkError> {
    let walk = Walk {
        tree,
        wanted,
        cancel,
        visitor,
        state: Mutex::new(State { waiting: vec![start], busy: 0, stopped: None }),
        changed: Condvar::new(),
    };
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Without further threads the walk takes longer, and still ends.
            if std::thread::Builder::new().spawn_scoped(scope, || walk.work()).is_err() {
                break;
            }
        }
        walk.work();
    });
    match walk.lock().stopped.take() {
        None | Some(WalkStop::Panicked) => Ok(()),
        Some(WalkStop::Cancelled) => Err(WalkError::Cancelled),
        Some(WalkStop::Root(error)) => Err(error),
    }
}

/// One walk: a stack of directories that any thread may take from.
struct Walk<'w> {
    tree: &'w Tree<'w>,
    wanted: Wanted,
    cancel: &'w AtomicBool,
    visitor: &'w dyn Visitor,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: Vec<TreePlace>,
    /// Threads inside a directory, which may still find more.
    busy: usize,
    stopped: Option<WalkStop>,
}

enum WalkStop {
    Cancelled,
    Root(WalkError),
    /// The visitor panicked; the scope passes it on.
    Panicked,
}

/// Buffers of one thread.
struct Scratch {
    listing: Listing,
    path: Vec<u8>,
    below: Vec<TreePlace>,
}

impl Walk<'_> {
    fn work(&self) {
        let mut scratch = Scratch { listing: Listing::new(), path: Vec::new(), below: Vec::new() };
        while let Some(place) = self.next() {
            let busy = Busy(self);
            self.directory(place, &mut scratch);
            drop(busy);
        }
    }

    fn next(&self) -> Option<TreePlace> {
        let mut state = self.lock();
        loop {
            if state.stopped.is_some() {
                return None;
            }
            if let Some(place) = state.waiting.pop() {
                state.busy += 1;
                return Some(place);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn directory(&self, place: TreePlace, scratch: &mut Scratch) {
        let is_root = place.path.is_empty();
        let dir = match self.tree.enter(&place) {
            Ok(dir) => dir,
            Err(NoEntry::FoundEntry(FoundEntry::Failed { message, .. })) if is_root => {
                return self.stop_at_root(Some(std::io::Error::other(message)));
            }
            Err(_) if is_root => return self.stop_at_root(None),
            Err(NoEntry::Gone) => return,
            Err(NoEntry::FoundEntry(found)) => return self.visitor.found(found),
        };
        self.visitor.entering(&place, dir.fd.as_fd());
        if let Err(errno) = scratch.listing.read(&dir) {
            if is_root {
                return self.stop_at_root(Some(errno.into()));
            }
            self.visitor.found(failed(&place.path, errno));
        }
        let inside =
            self.tree.inside(place, &dir, scratch.listing.has, &mut |problem| self.visitor.found(problem));
        scratch.path.clear();
        scratch.path.extend_from_slice(&inside.place.path);
        if !is_root {
            scratch.path.push(b'/');
        }
        let prefix = scratch.path.len();
        for (name, kind) in scratch.listing.iter() {
            if self.cancel.load(Ordering::Relaxed) {
                return self.stop(WalkStop::Cancelled);
            }
            scratch.path.truncate(prefix);
            scratch.path.extend_from_slice(name.to_bytes());
            match self.tree.judge(&dir, &inside, &scratch.path, name, kind, self.wanted) {
                Judged::FoundEntry(found) => self.visitor.found(found),
                Judged::Enter(below) => scratch.below.push(below),
                Judged::Ignored { rule, is_dir } => {
                    self.visitor.ignored(&scratch.path, rule, is_dir);
                }
                Judged::Unwanted | Judged::Gone => {}
            }
        }
        self.visitor.inside(inside);
        if !scratch.below.is_empty() {
            let more = scratch.below.len() > 1;
            self.lock().waiting.append(&mut scratch.below);
            // This thread takes one itself.
            if more {
                self.changed.notify_all();
            }
        }
    }

    fn stop_at_root(&self, error: Option<std::io::Error>) {
        let path = self.tree.root_path().to_owned();
        self.stop(WalkStop::Root(match error {
            Some(source) => WalkError::RootUnreadable { path, source },
            None => WalkError::RootVanished { path },
        }));
    }

    fn stop(&self, why: WalkStop) {
        self.lock().stopped.get_or_insert(why);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that is inside a directory. Leaving it, even by a panic, never keeps the others waiting.
struct Busy<'w>(&'w Walk<'w>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        if std::thread::panicking() {
            state.stopped.get_or_insert(WalkStop::Panicked);
        }
        if state.stopped.is_some() || (state.busy == 0 && state.waiting.is_empty()) {
            self.0.changed.notify_all();
        }
    }
}
