//! Trees that mean harm: nothing hangs, nothing panics, nothing is lost without a word.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;

use discover::{Examined, FoundEntry, WalkError, examine, walk};
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::fixture::{Fixture, OPTIONS, rel};

fn make_node(fixture: &Fixture, name: &str, kind: FileType) -> bool {
    fixture.parent(name);
    rustix::fs::mknodat(CWD, fixture.path(name), kind, Mode::from_raw_mode(0o644), 0).is_ok()
}

#[test]
fn special_files_are_named_and_never_opened() {
    let fixture = Fixture::new("//- plain.txt\n");
    assert!(make_node(&fixture, "pipe", FileType::Fifo));
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("socket")).unwrap();
    // Only root makes devices.
    let device = make_node(&fixture, "null", FileType::CharacterDevice);
    let (files, others) = fixture.listed();
    assert_eq!(files.into_iter().collect::<Vec<_>>(), ["plain.txt"]);
    for name in ["pipe", "socket"].into_iter().chain(device.then_some("null")) {
        assert_eq!(others[name], "SPECIAL_FILE", "{name}");
        assert!(matches!(examine(&fixture.guard, &OPTIONS, &rel(name)), Examined::Skipped { .. }));
    }
}

#[test]
fn ignore_files_that_are_no_files() {
    let fixture = Fixture::new(
        "
//- a/x.txt
//- b/x.txt
//- b/.gitignore -> /dev/zero
//- c/x.txt
//- c/.ignore/
",
    );
    assert!(make_node(&fixture, "a/.gitignore", FileType::Fifo), "opening it would wait for ever");
    let (files, others) = fixture.listed();
    assert_eq!(files.into_iter().collect::<Vec<_>>(), ["a/x.txt", "b/x.txt", "c/x.txt"]);
    assert_eq!(others["a/.gitignore"], "SPECIAL_FILE");
    assert_eq!(others["b/.gitignore"], "SYMLINK_SKIPPED");
}

#[test]
fn an_ignore_file_too_large_to_apply_is_reported() {
    let fixture = Fixture::new("//- a.txt\n");
    fixture.write("sub/.gitignore", &"x\n".repeat(600_000));
    let found = fixture.walk().unwrap();
    let failed = |found: &FoundEntry| matches!(found, FoundEntry::RulesUnread { display, .. } if display == "sub/.gitignore");
    assert!(found.iter().any(failed), "{found:?}");
    assert_eq!(found.len(), 3, "and it is still a file");
}

#[test]
fn names_that_are_not_utf8() {
    let fixture = Fixture::new("//- .gitignore\n*.log\n");
    let bad = |name: &[u8]| fixture.dir.path().join(OsStr::from_bytes(name));
    std::fs::write(bad(b"bad\xFFname.txt"), "x").unwrap();
    std::fs::write(bad(b"bad\xFF.log"), "x").unwrap();
    std::fs::create_dir_all(bad(b"dir\xFE/node_modules")).unwrap();
    std::fs::write(bad(b"dir\xFE/plain.txt"), "x").unwrap();
    std::fs::write(bad(b"dir\xFE/node_modules/x.js"), "x").unwrap();
    let (files, others) = fixture.listed();
    assert_eq!(files.len(), 1);
    let names: Vec<_> = others.iter().map(|(name, code)| (name.as_str(), code.as_str())).collect();
    assert_eq!(names, [(r"bad\xFFname.txt", "NAME_NOT_UTF8"), (r"dir\xFE/plain.txt", "NAME_NOT_UTF8")]);
}

#[test]
fn paths_too_long_to_open() {
    let fixture = Fixture::new("//- a.txt\n");
    let name = "d".repeat(200);
    let mut dir = rustix::fs::open(fixture.dir.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..24 {
        rustix::fs::mkdirat(&dir, &name, Mode::from_raw_mode(0o755)).unwrap();
        dir = rustix::fs::openat(&dir, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let (files, others) = fixture.listed();
    assert_eq!(files.len(), 1);
    assert_eq!(others.values().collect::<Vec<_>>(), ["PATH_TOO_DEEP"]);
}

#[test]
fn a_directory_that_may_not_be_read_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new("//- a.txt\n//- locked/b.txt\n");
    let locked = fixture.path("locked");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    let root_reads_anyway = std::fs::read_dir(&locked).is_ok();
    let (files, others) = fixture.listed();
    if root_reads_anyway {
        assert_eq!(files.len(), 2);
    } else {
        assert_eq!(files.len(), 1);
        assert!(others.contains_key("locked"));
        assert!(matches!(examine(&fixture.guard, &OPTIONS, &rel("locked/b.txt")), Examined::Failed { .. }));
    }
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_root_that_vanished_is_an_error_not_an_empty_tree() {
    let fixture = Fixture::new("//- a.txt\n");
    let elsewhere = fixture.dir.path().with_extension("moved");
    std::fs::rename(fixture.dir.path(), &elsewhere).unwrap();
    assert!(matches!(fixture.walk(), Err(WalkError::RootVanished { .. })));
    assert!(matches!(examine(&fixture.guard, &OPTIONS, &rel("a.txt")), Examined::Failed { .. }));
    // Another directory of that name is not the root either.
    std::fs::create_dir(fixture.dir.path()).unwrap();
    assert!(matches!(fixture.walk(), Err(WalkError::RootVanished { .. })));
    std::fs::remove_dir_all(elsewhere).unwrap();
}

#[test]
fn a_cancelled_walk_is_not_a_complete_one() {
    let fixture = Fixture::new("//- a.txt\n//- b/c.txt\n");
    let cancelled = walk(&fixture.guard, &OPTIONS, &AtomicBool::new(true), &|_| {});
    assert!(matches!(cancelled, Err(WalkError::Cancelled)));
}

#[test]
fn a_panic_in_the_sink_ends_the_walk() {
    let fixture = Fixture::new("//- a/x\n//- b/x\n//- c/x\n//- d/x\n");
    let walked = std::panic::catch_unwind(|| {
        walk(&fixture.guard, &OPTIONS, &AtomicBool::new(false), &|_| panic!("on purpose"))
    });
    assert!(walked.is_err());
}

#[test]
fn what_is_told_of_a_file() {
    let fixture = Fixture::new("//- a/b.txt\nfour");
    let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_700_000_000, 123_456_789);
    std::fs::File::options().write(true).open(fixture.path("a/b.txt")).unwrap().set_modified(time).unwrap();
    let found = fixture.walk().unwrap();
    let [FoundEntry::File(file)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((file.path.as_str(), file.size, file.mtime_ns), ("a/b.txt", 4, 1_700_000_000_123_456_789));
    let opened = fixture.guard.open_nofollow(&file.path).unwrap();
    assert_eq!((opened.size(), opened.mtime_ns(), opened.inode()), (file.size, file.mtime_ns, file.inode));
    assert_eq!(examine(&fixture.guard, &OPTIONS, &file.path), Examined::File(file.clone()));
}
