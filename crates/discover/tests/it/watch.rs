//! The watcher on real files. Each test waits for what must come, never for time to pass.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use discover::{Change, WatchHealth, Watcher};

use crate::fixture::{Fixture, OPTIONS};

struct Watched {
    fixture: Fixture,
    changes: Receiver<Change>,
    watcher: Watcher,
}

fn watched(text: &str) -> Watched {
    watch(Fixture::new(text))
}

fn watch(fixture: Fixture) -> Watched {
    let (tell, changes) = channel();
    let on_change = Box::new(move |change| {
        let _ = tell.send(change);
    });
    let watcher = Watcher::start(fixture.guard.clone(), OPTIONS, on_change).unwrap();
    Watched { fixture, changes, watcher }
}

impl Watched {
    fn next(&self) -> Change {
        self.changes.recv_timeout(Duration::from_secs(20)).expect("a change")
    }

    /// Gathers changes until all of these paths were told; returns all that were.
    #[track_caller]
    fn told(&self, wanted: &[&str]) -> BTreeSet<String> {
        let mut told = BTreeSet::new();
        while !wanted.iter().all(|path| told.contains(*path)) {
            match self.next() {
                Change::Paths(paths) => told.extend(paths.iter().map(ToString::to_string)),
                other => panic!("{other:?} instead of {wanted:?}"),
            }
        }
        told
    }

    #[track_caller]
    fn rescan(&self) {
        // Paths may come before; they are part of the same change.
        while self.next() != Change::Rescan {}
    }

    fn directories(&self) -> usize {
        match self.watcher.health() {
            WatchHealth::Complete { directories } => directories,
            other => panic!("{other:?}"),
        }
    }
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn created_changed_and_removed_files() {
    let watched = watched("//- a.txt\n//- sub/b.txt\n");
    let saved = Instant::now();
    watched.fixture.write("sub/b.txt", "new");
    assert_eq!(watched.told(&["sub/b.txt"]), set(&["sub/b.txt"]));
    // Generous, for busy machines; it is some 80 ms.
    assert!(saved.elapsed() < Duration::from_secs(5));
    watched.fixture.write("sub/c.txt", "new");
    watched.told(&["sub/c.txt"]);
    std::fs::remove_file(watched.fixture.path("a.txt")).unwrap();
    watched.told(&["a.txt"]);
    std::fs::rename(watched.fixture.path("sub/c.txt"), watched.fixture.path("d.txt")).unwrap();
    watched.told(&["sub/c.txt", "d.txt"]);
}

#[test]
fn ignored_and_excluded_places_are_not_heard_of() {
    let watched = watched(
        "
//- .gitignore
*.log
out/
//- out/x
//- node_modules/m/x.js
//- .git/HEAD
//- src/a.rs
",
    );
    assert_eq!(watched.directories(), 2, "the root and src");
    for path in ["out/x", "node_modules/m/x.js", ".git/HEAD", "src/debug.log", "src/.env", "out/deep/er"] {
        watched.fixture.write(path, "new");
    }
    watched.fixture.write("src/a.rs", "new");
    assert_eq!(watched.told(&["src/a.rs"]), set(&["src/a.rs"]));
}

#[test]
fn new_directories_are_told_with_their_content_and_watched() {
    let watched = watched("//- a.txt\n");
    watched.fixture.write("new/deep/er/one.txt", "1");
    watched.fixture.write("new/node_modules/m.js", "1");
    let told = watched.told(&["new/deep/er/one.txt"]);
    assert!(!told.contains("new/node_modules/m.js"));
    watched.fixture.write("new/deep/er/two.txt", "2");
    watched.told(&["new/deep/er/two.txt"]);
    assert_eq!(watched.directories(), 4);
    // A whole tree from elsewhere makes no event but one.
    let elsewhere = tempfile::tempdir_in(watched.fixture.dir.path().parent().unwrap()).unwrap();
    std::fs::create_dir_all(elsewhere.path().join("t/u")).unwrap();
    std::fs::write(elsewhere.path().join("t/u/v.txt"), "v").unwrap();
    std::fs::rename(elsewhere.path().join("t"), watched.fixture.path("t")).unwrap();
    watched.told(&["t/u/v.txt"]);
}

#[test]
fn a_moved_directory_is_a_rescan_and_watched_where_it_is() {
    let watched = watched("//- old/sub/a.txt\n");
    std::fs::rename(watched.fixture.path("old"), watched.fixture.path("new")).unwrap();
    watched.rescan();
    assert_eq!(watched.directories(), 3);
    watched.fixture.write("new/sub/a.txt", "2");
    assert_eq!(watched.told(&["new/sub/a.txt"]), set(&["new/sub/a.txt"]));
}

#[test]
fn a_removed_directory_is_told_by_its_files() {
    let watched = watched("//- gone/sub/a.txt\n//- gone/b.txt\n");
    std::fs::remove_dir_all(watched.fixture.path("gone")).unwrap();
    watched.told(&["gone/sub/a.txt", "gone/b.txt"]);
    watched.fixture.write("gone/c.txt", "again");
    watched.told(&["gone/c.txt"]);
}

#[test]
fn a_changed_ignore_file_is_a_rescan_with_new_watches() {
    let watched = watched("//- .gitignore\nout/\n//- out/x.txt\n//- src/a.rs\n");
    assert_eq!(watched.directories(), 2);
    watched.fixture.write(".gitignore", "src/\n");
    watched.rescan();
    watched.fixture.write("src/a.rs", "unheard");
    watched.fixture.write("out/x.txt", "heard");
    assert_eq!(watched.told(&["out/x.txt"]), set(&["out/x.txt"]));
}

#[test]
fn a_flood_is_a_rescan() {
    let watched = watched("//- a.txt\n");
    let elsewhere = tempfile::tempdir_in(watched.fixture.dir.path().parent().unwrap()).unwrap();
    for number in 0..6_000 {
        std::fs::File::create(elsewhere.path().join(number.to_string())).unwrap();
    }
    std::fs::rename(elsewhere.path(), watched.fixture.path("flood")).unwrap();
    watched.rescan();
    watched.fixture.write("flood/17", "and watched");
    watched.told(&["flood/17"]);
}

#[test]
fn a_queue_that_overflows_is_a_rescan() {
    let fixture = Fixture::new("//- a.txt\n");
    let (tell, changes) = channel();
    let (go_on, may_go_on) = channel::<()>();
    let on_change = Box::new(move |change| {
        let _ = tell.send(change);
        let _ = may_go_on.recv();
    });
    let watcher = Watcher::start(fixture.guard.clone(), OPTIONS, on_change).unwrap();
    let watched = Watched { fixture, changes, watcher };
    watched.fixture.write("a.txt", "new");
    watched.told(&["a.txt"]);
    // The watcher is kept waiting while more happens than the kernel keeps (16,384 events by default).
    for number in 0..9_000 {
        std::fs::File::create(watched.fixture.path(&number.to_string())).unwrap();
    }
    drop(go_on);
    watched.rescan();
}

#[test]
fn followed_links_are_watched_where_they_lead() {
    let fixture = Fixture::following_links("//- real/a.txt\n//- link -> real\n");
    let watched = watch(fixture);
    watched.fixture.write("real/a.txt", "new");
    watched.told(&["real/a.txt", "link/a.txt"]);
    std::os::unix::fs::symlink("real", watched.fixture.path("second")).unwrap();
    watched.told(&["second/a.txt"]);
    std::fs::remove_file(watched.fixture.path("second")).unwrap();
    watched.rescan();
    watched.fixture.write("real/a.txt", "newer");
    assert_eq!(watched.told(&["real/a.txt", "link/a.txt"]), set(&["real/a.txt", "link/a.txt"]));
}

#[test]
fn a_name_that_is_not_utf8_is_a_rescan() {
    use std::os::unix::ffi::OsStrExt;
    let watched = watched("//- a.txt\n");
    let name = std::ffi::OsStr::from_bytes(b"bad\xFF");
    std::fs::write(watched.fixture.dir.path().join(name), "x").unwrap();
    watched.rescan();
}

#[test]
fn a_removed_root_ends_the_watch() {
    let watched = watched("//- a.txt\n");
    std::fs::remove_dir_all(watched.fixture.dir.path()).unwrap();
    loop {
        match watched.next() {
            Change::Health(WatchHealth::Lost { .. }) => break,
            Change::Paths(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(watched.next(), Change::Rescan);
    assert!(matches!(watched.watcher.health(), WatchHealth::Lost { .. }));
}

#[test]
fn dropping_the_watcher_ends_its_thread() {
    let watched = watched("//- a.txt\n");
    drop(watched.watcher);
    assert!(watched.changes.recv().is_err(), "the callback is gone");
}
