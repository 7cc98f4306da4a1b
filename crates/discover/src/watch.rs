//! Hears of changes below the root.
//!
//! On inotify directly. The portable watcher library also asks to be told of every file that is opened, so
//! that our own indexing would flood the queue; it follows links, and waits for a thread per watched directory.
//! Here each directory that the walk would enter has one watch, none is set in what is ignored or excluded,
//! and a directory is watched before it is listed, so nothing is lost between the two.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::{RelPath, SkipReason};
use policy::Guard;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::fs::FileType;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::debounce::{Debounce, Gathered, MAX_PATHS};
use crate::tree::{Inside, Judged, Tree, TreePlace, Wanted, descriptor_path, join};
use crate::walk::{FoundEntry, Visitor, WalkError, WalkOptions, descend};

/// What the watcher tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// These paths were created, changed or removed, or are the content of a new directory. Each is to be
    /// examined; what is ignored is not among them.
    Paths(BTreeSet<RelPath>),
    /// Look at everything again: an ignore file changed, a directory was moved, too much happened at once.
    Rescan,
    /// How far the watcher can be relied on has changed.
    Health(WatchHealth),
}

/// How far the watcher can be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchHealth {
    /// Every directory is watched.
    Complete { directories: usize },
    /// The kernel grants no more watches (`fs.inotify.max_user_watches`): changes in the other directories
    /// are only found by scanning from time to time.
    LimitReached { directories: usize },
    /// Nothing is watched any more: the root was removed or replaced.
    Lost { reason: String },
}

/// Why watching could not begin.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error(transparent)]
    Root(#[from] WalkError),
    /// Often too many watchers for one user (`fs.inotify.max_user_instances`).
    #[error("the system grants no file watcher: {0}")]
    Unavailable(std::io::Error),
}

/// Watches a tree until it is dropped.
pub struct Watcher {
    stop: Arc<OwnedFd>,
    thread: Option<std::thread::JoinHandle<()>>,
    health: Arc<Mutex<WatchHealth>>,
}

impl Watcher {
    /// Returns once every directory is watched: a scan begun afterwards and the changes told from now on
    /// miss nothing between them. `on_change` is called on the watcher's own thread and must not take long.
    pub fn start(
        guard: Guard,
        options: WalkOptions,
        on_change: Box<dyn Fn(Change) + Send>,
    ) -> Result<Watcher, WatchError> {
        Self::start_with(guard, options, on_change, usize::MAX)
    }

    pub fn health(&self) -> WatchHealth {
        lock(&self.health).clone()
    }

    /// As [`Watcher::start`], with a limit of watches lower than the kernel's.
    fn start_with(
        guard: Guard,
        options: WalkOptions,
        on_change: Box<dyn Fn(Change) + Send>,
        limit: usize,
    ) -> Result<Watcher, WatchError> {
        let unavailable = |errno: Errno| WatchError::Unavailable(errno.into());
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(unavailable)?;
        let stop = Arc::new(rustix::event::eventfd(0, EventfdFlags::CLOEXEC).map_err(unavailable)?);
        let watches = Watches { inotify, limit, known: Mutex::default() };
        watches.register_all(&guard, &options)?;
        let health = Arc::new(Mutex::new(watches.health()));
        let mut worker = Worker {
            guard,
            options,
            watches,
            stop: Arc::clone(&stop),
            debounce: Debounce::default(),
            health: Arc::clone(&health),
            on_change,
        };
        let thread = std::thread::Builder::new()
            .name("watch".into())
            .spawn(move || worker.run())
            .map_err(WatchError::Unavailable)?;
        Ok(Watcher { stop, thread: Some(thread), health })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // Fails only if the counter is full, and then the thread is being woken already.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

/// The watching thread.
struct Worker {
    guard: Guard,
    options: WalkOptions,
    watches: Watches,
    stop: Arc<OwnedFd>,
    debounce: Debounce,
    health: Arc<Mutex<WatchHealth>>,
    on_change: Box<dyn Fn(Change) + Send>,
}

/// An event, copied out of the kernel's buffer.
struct Event {
    watch: i32,
    what: ReadFlags,
    name: Vec<u8>,
}

/// The root is no more: nothing is left to watch.
struct RootLost(String);

impl Worker {
    fn run(&mut self) {
        let mut buffer: Vec<u8> = Vec::with_capacity(64 * 1024);
        let mut events = Vec::new();
        while self.wait() {
            let drained = self.read(buffer.spare_capacity_mut(), &mut events);
            let now = Instant::now();
            let handled = events.drain(..).try_for_each(|event| self.event(&event, now));
            let told = drained.and(handled).and_then(|()| self.tell());
            if let Err(RootLost(reason)) = told {
                self.set_health(WatchHealth::Lost { reason });
                // A scan now fails, and says why.
                (self.on_change)(Change::Rescan);
                return;
            }
        }
    }

    /// Waits for events or until a change is due; false to stop.
    fn wait(&self) -> bool {
        let timeout = self.debounce.due().map(|due| {
            let left = due.saturating_duration_since(Instant::now());
            // Rounded up, not to wake a moment too early.
            Timespec::try_from(left + Duration::from_micros(500)).unwrap_or_default()
        });
        let mut fds = [
            PollFd::new(&self.watches.inotify, PollFlags::IN),
            PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN),
        ];
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => fds[1].revents().is_empty(),
            Err(_) => false,
        }
    }

    /// Takes what is there, but no more than a few thousand events, so that changes are told in time.
    fn read(&self, buffer: &mut [MaybeUninit<u8>], events: &mut Vec<Event>) -> Result<(), RootLost> {
        let mut reader = inotify::Reader::new(&self.watches.inotify, buffer);
        while events.len() < 4096 {
            match reader.next() {
                Ok(event) => events.push(Event {
                    watch: event.wd(),
                    what: event.events(),
                    name: event.file_name().map(|name| name.to_bytes().to_owned()).unwrap_or_default(),
                }),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(RootLost(std::io::Error::from(errno).to_string())),
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event, now: Instant) -> Result<(), RootLost> {
        if event.what.contains(ReadFlags::QUEUE_OVERFLOW) {
            tracing::debug!("the queue of file events overflowed");
            self.debounce.rescan(now);
            return Ok(());
        }
        let directories = self.watches.directories(event.watch);
        // Only the root's watch asks for the two about itself.
        let about_itself = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT;
        if event.what.intersects(about_itself) {
            if directories.iter().any(|dir| dir.place.path.is_empty()) {
                return Err(RootLost("the root directory was removed or moved".into()));
            }
            self.debounce.rescan(now);
        }
        if event.what.contains(ReadFlags::IGNORED) {
            self.watches.forget(event.watch);
        } else if !event.name.is_empty() {
            for dir in directories {
                self.entry(&dir, event, now);
            }
        }
        Ok(())
    }

    /// Something happened to a name in a directory.
    fn entry(&mut self, dir: &Arc<Inside>, event: &Event, now: Instant) {
        let came = event.what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        let went = event.what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM);
        let rules_changed = match &*event.name {
            b".ignore" => true,
            b".gitignore" => self.options.gitignore,
            // Makes a repository, or unmakes it.
            b".git" => self.options.gitignore && (came || went),
            _ => false,
        };
        if rules_changed {
            self.debounce.rescan(now);
        }
        if self.debounce.wants_rescan() {
            // All watches are then set again.
            return;
        }
        let is_dir = event.what.contains(ReadFlags::ISDIR);
        let path = join(&dir.place.path, &event.name);
        if dir.rules.ignores(&path, is_dir) {
            return;
        }
        let Some(rel) = std::str::from_utf8(&path).ok().and_then(|text| RelPath::from_walk(text).ok()) else {
            if came || went {
                self.debounce.rescan(now);
            }
            return;
        };
        let policy = Arc::clone(self.guard.policy());
        if policy.check_indexed(&rel, is_dir).is_err() {
            return;
        }
        // Where links are followed, one that comes or goes may be a directory to us.
        let entered = self.watches.has(&path);
        if entered && went {
            self.watches.remove_below(&path);
            // What a removed directory held was told file by file; what a moved one or a link held was not.
            if !(is_dir && event.what.contains(ReadFlags::DELETE)) {
                return self.debounce.rescan(now);
            }
        }
        if is_dir {
            if came || (!went && !entered) {
                self.new_directory(dir, &path, &event.name, now);
            }
        } else if event.what == ReadFlags::MODIFY {
            self.debounce.written(rel, now);
        } else {
            if came && policy.follows_symlinks() {
                self.new_directory(dir, &path, &event.name, now);
            }
            self.debounce.changed(rel, now);
        }
    }

    /// Watches a directory that came to be, and tells what it holds by now.
    fn new_directory(&mut self, above: &Inside, path: &[u8], name: &[u8], now: Instant) {
        let Ok(name) = CString::new(name) else { return };
        let tree = Tree::new(&self.guard, self.options.gitignore);
        let Ok(dir) = tree.enter(&above.place) else { return };
        let judged = tree.judge(&dir, above, path, &name, FileType::Unknown, Wanted::Everything);
        let Judged::Enter(place) = judged else { return };
        let content =
            Content { watches: &self.watches, paths: Mutex::default(), too_much: AtomicBool::new(false) };
        // An early end leaves `too_much` set.
        let _ = descend(&tree, place, Wanted::Everything, 1, &content.too_much, &content);
        if content.too_much.load(Ordering::Relaxed) {
            return self.debounce.rescan(now);
        }
        for path in content.paths.into_inner().unwrap_or_else(PoisonError::into_inner) {
            self.debounce.changed(path, now);
        }
    }

    /// Tells what is due, and whether the watches are still complete.
    fn tell(&mut self) -> Result<(), RootLost> {
        let gathered = self.debounce.take(Instant::now());
        // The kernel is silent about the removal of a directory that someone, the guard, holds open.
        if gathered.is_some() && !self.guard.root().is_current() {
            return Err(RootLost("the root directory was removed or replaced".into()));
        }
        if gathered == Some(Gathered::Rescan) {
            // The watches first, so that what the scan misses is heard.
            self.watches
                .register_all(&self.guard, &self.options)
                .map_err(|error| RootLost(error.to_string()))?;
        }
        let health = self.watches.health();
        if std::mem::discriminant(&health) != std::mem::discriminant(&*lock(&self.health)) {
            self.set_health(health);
        } else {
            *lock(&self.health) = health;
        }
        match gathered {
            Some(Gathered::Paths(paths)) => (self.on_change)(Change::Paths(paths)),
            Some(Gathered::Rescan) => (self.on_change)(Change::Rescan),
            None => {}
        }
        Ok(())
    }

    fn set_health(&self, health: WatchHealth) {
        *lock(&self.health) = health.clone();
        (self.on_change)(Change::Health(health));
    }
}

/// The watched directories.
struct Watches {
    inotify: OwnedFd,
    limit: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_path: BTreeMap<Vec<u8>, Watched>,
    /// A directory that a followed link leads to has two paths and one watch.
    by_watch: HashMap<i32, Vec<Vec<u8>>>,
    round: u64,
    full: bool,
}

struct Watched {
    watch: i32,
    /// The registration that last saw it.
    round: u64,
    inside: Option<Arc<Inside>>,
}

impl Watches {
    /// Watches exactly the directories that a walk enters now.
    fn register_all(&self, guard: &Guard, options: &WalkOptions) -> Result<(), WalkError> {
        struct Register<'w>(&'w Watches);
        impl Visitor for Register<'_> {
            fn entering(&self, place: &TreePlace, fd: BorrowedFd<'_>) {
                self.0.add(place, fd);
            }
            fn inside(&self, inside: Inside) {
                self.0.remember(inside);
            }
            fn found(&self, _: FoundEntry) {}
        }
        {
            let mut known = lock(&self.known);
            known.round += 1;
            known.full = false;
        }
        let tree = Tree::new(guard, options.gitignore);
        let never = AtomicBool::new(false);
        descend(&tree, tree.top()?, Wanted::Directories, options.threads, &never, &Register(self))?;
        tree.still_there()?;
        let mut known = lock(&self.known);
        let round = known.round;
        let old = known.by_path.iter().filter(|(_, watched)| watched.round < round);
        for path in old.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
            self.remove(&mut known, &path);
        }
        Ok(())
    }

    fn health(&self) -> WatchHealth {
        let known = lock(&self.known);
        let directories = known.by_path.len();
        if known.full {
            WatchHealth::LimitReached { directories }
        } else {
            WatchHealth::Complete { directories }
        }
    }

    fn add(&self, place: &TreePlace, fd: BorrowedFd<'_>) {
        let mut known = lock(&self.known);
        if known.full || (known.by_watch.len() >= self.limit && !known.by_path.contains_key(&place.path)) {
            known.full = true;
            return;
        }
        let mut flags = WatchFlags::CREATE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::ONLYDIR
            | WatchFlags::EXCL_UNLINK;
        if place.path.is_empty() {
            flags |= WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        }
        // By descriptor, so that it is the directory that is listed next and no other.
        let watch = match inotify::add_watch(&self.inotify, descriptor_path(fd), flags) {
            Ok(watch) => watch,
            Err(Errno::NOSPC | Errno::NOMEM) => {
                known.full = true;
                return;
            }
            Err(errno) => {
                tracing::debug!(path = %String::from_utf8_lossy(&place.path), %errno, "a directory is not watched");
                return;
            }
        };
        let round = known.round;
        if known.by_path.get(&place.path).is_some_and(|before| before.watch != watch) {
            self.remove(&mut known, &place.path);
        }
        match known.by_path.get_mut(&place.path) {
            Some(before) => before.round = round,
            None => {
                known.by_path.insert(place.path.clone(), Watched { watch, round, inside: None });
                known.by_watch.entry(watch).or_default().push(place.path.clone());
            }
        }
    }

    fn remember(&self, inside: Inside) {
        if let Some(watched) = lock(&self.known).by_path.get_mut(&inside.place.path) {
            watched.inside = Some(Arc::new(inside));
        }
    }

    fn directories(&self, watch: i32) -> Vec<Arc<Inside>> {
        let known = lock(&self.known);
        let paths = known.by_watch.get(&watch).into_iter().flatten();
        paths.filter_map(|path| known.by_path.get(path)?.inside.clone()).collect()
    }

    fn has(&self, path: &[u8]) -> bool {
        lock(&self.known).by_path.contains_key(path)
    }

    /// Stops watching a directory and everything below it.
    fn remove_below(&self, path: &[u8]) {
        let mut known = lock(&self.known);
        // Everything that begins with the path and a `/`, the byte before `0`.
        let (first, end) = ([path, b"/"].concat(), [path, b"0"].concat());
        let gone: Vec<_> = known.by_path.range(first..end).map(|(path, _)| path.clone()).collect();
        for path in gone {
            self.remove(&mut known, &path);
        }
        self.remove(&mut known, path);
    }

    fn remove(&self, known: &mut Known, path: &[u8]) {
        let Some(watched) = known.by_path.remove(path) else { return };
        let Some(paths) = known.by_watch.get_mut(&watched.watch) else { return };
        paths.retain(|other| other != path);
        if paths.is_empty() {
            known.by_watch.remove(&watched.watch);
            // Fails where the directory is gone and its watch with it.
            let _ = inotify::remove_watch(&self.inotify, watched.watch);
        }
    }

    /// The kernel dropped a watch.
    fn forget(&self, watch: i32) {
        let mut known = lock(&self.known);
        for path in known.by_watch.remove(&watch).unwrap_or_default() {
            known.by_path.remove(&path);
        }
    }
}

/// Gathers what a new directory holds and watches the directories in it.
struct Content<'w> {
    watches: &'w Watches,
    paths: Mutex<Vec<RelPath>>,
    too_much: AtomicBool,
}

impl Visitor for Content<'_> {
    fn entering(&self, place: &TreePlace, fd: BorrowedFd<'_>) {
        self.watches.add(place, fd);
    }

    fn inside(&self, inside: Inside) {
        self.watches.remember(inside);
    }

    fn found(&self, found: FoundEntry) {
        let path = match found {
            FoundEntry::File(file) => Some(file.path),
            FoundEntry::Skipped { reason: SkipReason::NameNotUtf8, .. } => None,
            FoundEntry::Skipped { display, .. } | FoundEntry::Failed { display, .. } => {
                RelPath::from_walk(&display).ok()
            }
            FoundEntry::Ignored { .. } | FoundEntry::RulesUnread { .. } => return,
        };
        let mut paths = lock(&self.paths);
        match path {
            Some(path) if paths.len() < MAX_PATHS => paths.push(path),
            _ => self.too_much.store(true, Ordering::Relaxed),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use policy::{Guard, Policy, PolicyConfig, Root};

    use super::{Change, WatchHealth, Watcher};
    use crate::walk::WalkOptions;

    #[test]
    fn running_out_of_watches_is_told() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        let guard = Guard::new(
            Root::open(dir.path()).unwrap().into(),
            Policy::new(PolicyConfig::default()).unwrap().into(),
        );
        let options = WalkOptions { gitignore: true, threads: 1 };
        let tight = Watcher::start_with(guard.clone(), options, Box::new(|_| {}), 1).unwrap();
        assert_eq!(tight.health(), WatchHealth::LimitReached { directories: 1 });

        let (tell, told) = channel();
        let on_change = Box::new(move |change| {
            let _ = tell.send(change);
        });
        let watcher = Watcher::start_with(guard, options, on_change, 2).unwrap();
        assert_eq!(watcher.health(), WatchHealth::Complete { directories: 2 });
        std::fs::create_dir(dir.path().join("b")).unwrap();
        let change = told.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(change, Change::Health(WatchHealth::LimitReached { directories: 2 }));
    }
}
