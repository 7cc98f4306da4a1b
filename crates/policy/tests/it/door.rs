//! Opening files: what stays inside, what is refused, and that nothing is read from outside meanwhile.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{ErrorCode, Failure, RelPath};
use policy::{Denied, Guard, OpenError, Policy, PolicyConfig, Root, RootError, path_failure};
use rustix::fs::{CWD, Mode, RenameFlags};

fn guard(root: &Path) -> Guard {
    let root = Root::open(root).unwrap();
    Guard::new(Arc::new(root), Arc::new(Policy::new(PolicyConfig::default()).unwrap()))
}

fn rel(text: &str) -> RelPath {
    RelPath::from_walk(text).unwrap()
}

/// A folder `r/docs` to serve, with neighbours that must stay unseen.
struct House {
    folder: tempfile::TempDir,
    guard: Guard,
}

impl House {
    fn new() -> House {
        let folder = tempfile::tempdir().unwrap();
        for dir in ["docs/sub/deep", "docs/private", "docs-private", "outside"] {
            fs::create_dir_all(folder.path().join(dir)).unwrap();
        }
        for file in ["docs/a.txt", "docs/sub/b.txt", "docs/tls.pem", "docs-private/key", "outside/canary"] {
            fs::write(folder.path().join(file), file).unwrap();
        }
        let guard = guard(&folder.path().join("docs"));
        House { folder, guard }
    }

    fn link(&self, target: &str, name: &str) {
        symlink(target, self.folder.path().join("docs").join(name)).unwrap();
    }

    fn read(&self, path: &str) -> Result<(String, String), OpenError> {
        let mut file = self.guard.open(&rel(path))?;
        let content = String::from_utf8(file.read_all(1 << 20)?).unwrap();
        Ok((file.real_path().as_str().to_owned(), content))
    }
}

/// Ends the other side of a race, also when this side fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_regular_file_is_read_whole() {
    let house = House::new();
    assert_eq!(house.read("sub/b.txt").unwrap(), ("sub/b.txt".into(), "docs/sub/b.txt".into()));
    let mut file = house.guard.open_nofollow(&rel("a.txt")).unwrap();
    assert_eq!(file.size(), 10);
    assert!(file.mtime_ns() > 0 && file.inode() > 0);
    assert!(matches!(file.read_all(9), Err(OpenError::TooLarge { size: 10, limit: 9 })));
    assert_eq!(file.read_all(10).unwrap(), b"docs/a.txt");
    assert_eq!(file.read_all(u64::MAX).unwrap(), b"docs/a.txt", "it can be read again");
}

#[test]
fn d182_m2_links_out_of_the_root() {
    let house = House::new();
    house.link("/etc/passwd", "absolute");
    house.link("/etc", "folder");
    house.link("../outside/canary", "relative");
    house.link("../outside/missing", "dangling-outside");
    house.link("/no/such/file", "dangling-absolute");
    house.link("relative", "link-to-link");
    house.link("../docs-private/key", "sibling");
    house.link("sub/../../outside/canary", "through-sub");
    house.link("/proc/self/environ", "environ");
    house.link("/proc/self/root/etc/passwd", "magic");
    let refusals: std::collections::BTreeSet<String> = [
        "absolute",
        "folder/passwd",
        "folder/no-such-file",
        "relative",
        "dangling-outside",
        "dangling-absolute",
        "link-to-link",
        "sibling",
        "through-sub",
        "environ",
        "magic",
    ]
    .into_iter()
    .map(|name| {
        let error = house.read(name).unwrap_err();
        assert!(matches!(error, OpenError::OutsideRoot), "{name}: {error:?}");
        assert!(matches!(house.guard.open_nofollow(&rel(name)), Err(OpenError::OutsideRoot)), "{name}");
        Failure::from(error).to_string()
    })
    .collect();
    assert_eq!(refusals.len(), 1, "the same words whether the target exists or not");
    assert!(refusals.first().unwrap().starts_with("PATH_OUTSIDE_ROOT: "));
}

#[test]
fn m1_a_sibling_with_the_same_prefix() {
    let house = House::new();
    let (absolute, sibling) = (house.folder.path().join("docs-private/key"), "../docs-private/key");
    for text in [absolute.to_str().unwrap(), sibling, "sub/../../docs-private/key", "..\\docs-private\\key"] {
        let failure = path_failure(&RelPath::parse(text).unwrap_err());
        assert_eq!(failure.code, ErrorCode::PathOutsideRoot, "{text}");
        assert!(!failure.message.contains("docs-private"));
    }
    assert_eq!(path_failure(&RelPath::parse("").unwrap_err()).code, ErrorCode::InvalidField);
    assert!(matches!(house.read("docs-private/key"), Err(OpenError::NotFound)));
}

#[test]
fn d085_links_that_stay_inside() {
    let house = House::new();
    house.link("sub/b.txt", "to-b");
    house.link("sub", "to-sub");
    house.link("../a.txt", "sub/up");
    house.link("missing.txt", "dangling");
    house.link("tls.pem", "innocent.txt");
    house.link(".", "here");
    assert_eq!(house.read("to-b").unwrap().0, "sub/b.txt");
    assert_eq!(house.read("to-sub/b.txt").unwrap().0, "sub/b.txt");
    assert_eq!(house.read("sub/up").unwrap(), ("a.txt".into(), "docs/a.txt".into()));
    assert_eq!(house.read("here/here/to-sub/b.txt").unwrap().0, "sub/b.txt");
    assert!(matches!(house.read("dangling"), Err(OpenError::NotFound)));
    // The name is harmless, what it leads to is not.
    assert!(matches!(house.read("innocent.txt"), Err(OpenError::Denied(Denied::Floor { rule: "*.pem" }))));
    // An absolute link that leads back is written anew below the root, and opened there like any other path.
    let inside = |path: &str| house.folder.path().join("docs").join(path).to_str().unwrap().to_owned();
    house.link(&inside("a.txt"), "absolute-inside");
    house.link(&inside("sub"), "absolute-folder");
    house.link(&inside("tls.pem"), "absolute-key");
    house.link(&inside("../outside"), "absolute-outside");
    assert_eq!(house.read("absolute-inside").unwrap().0, "a.txt");
    assert_eq!(house.read("absolute-folder/b.txt").unwrap().0, "sub/b.txt");
    assert!(matches!(house.read("absolute-key"), Err(OpenError::Denied(Denied::Floor { rule: "*.pem" }))));
    assert!(matches!(house.read("absolute-outside"), Err(OpenError::OutsideRoot)));
    // A walk follows none.
    assert!(matches!(house.guard.open_nofollow(&rel("to-b")), Err(OpenError::OutsideRoot)));
    assert!(matches!(house.guard.open_nofollow(&rel("to-sub/b.txt")), Err(OpenError::OutsideRoot)));
}

#[test]
fn d085_links_that_form_a_loop_are_called_so() {
    let house = House::new();
    let inside = |path: &str| house.folder.path().join("docs").join(path).to_str().unwrap().to_owned();
    house.link("circle", "circle");
    house.link("second", "first");
    house.link("first", "second");
    house.link("deeper/x", "deeper");
    house.link(&inside("absolute-circle"), "absolute-circle");
    for path in ["circle", "first", "second", "first/a.txt", "deeper", "absolute-circle"] {
        let error = house.read(path).unwrap_err();
        assert!(matches!(error, OpenError::LinkLoop), "{path}: {error:?}");
        assert_eq!(Failure::from(error).code, ErrorCode::FileNotFound);
    }
}

#[test]
fn d188_denied_paths_are_denied_before_they_are_looked_at() {
    let house = House::new();
    for path in ["tls.pem", "TLS.PEM", "no-such.key", ".git/config", "private/.env", "build/out.txt"] {
        let error = house.read(path).unwrap_err();
        assert!(matches!(error, OpenError::Denied(_)), "{path}: {error:?}");
        assert_eq!(Failure::from(error).code, ErrorCode::Forbidden, "whether it exists or not");
    }
}

#[test]
fn special_files_are_named_and_not_opened() {
    let house = House::new();
    let docs = house.folder.path().join("docs");
    rustix::fs::mkfifoat(CWD, docs.join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let _listener = UnixListener::bind(docs.join("socket")).unwrap();
    for (path, expected) in [("fifo", "FIFO"), ("socket", "socket"), ("sub", "directory")] {
        let error = house.read(path).unwrap_err();
        assert!(matches!(error, OpenError::NotAFile { kind } if kind == expected), "{path}: {error:?}");
        assert_eq!(Failure::from(error).code, ErrorCode::DocTypeUnsupported);
    }
    let devices = guard(Path::new("/dev"));
    for device in ["zero", "null", "full"] {
        let error = devices.open(&rel(device)).unwrap_err();
        assert!(matches!(error, OpenError::NotAFile { kind: "character device" }), "{device}: {error:?}");
    }
}

#[test]
fn the_magic_links_of_proc_lead_nowhere() {
    let own = guard(Path::new("/proc/self"));
    for link in ["exe", "cwd/Cargo.toml", "root/etc/passwd", "fd/0", "fd/1"] {
        assert!(matches!(own.open(&rel(link)), Err(OpenError::OutsideRoot)), "{link}");
    }
}

#[test]
fn names_that_cannot_exist_do_not_exist() {
    let house = House::new();
    let long = "x".repeat(300);
    let deep = "d/".repeat(3000) + "f";
    for path in
        ["missing", "a.txt/below", "sub/b.txt/x/y", &long, &deep, "a.txt\u{0301}", "A.TXT", "sub\\b.txt"]
    {
        let error = house.read(path).unwrap_err();
        assert!(matches!(error, OpenError::NotFound), "{path:.20}: {error:?}");
        assert_eq!(Failure::from(error).code, ErrorCode::FileNotFound);
    }
    assert!(matches!(house.guard.open(&RelPath::from_walk("a\0b").unwrap()), Err(OpenError::NotFound)));
}

#[test]
fn odd_names_are_plain_names() {
    let house = House::new();
    for name in [
        "--output=x",
        "-rf",
        "a b",
        "$(id)",
        "x;y",
        "*",
        "ünïcode",
        "tab\there",
        "new\nline",
        "back\\slash",
        "x (deleted)",
    ] {
        fs::write(house.folder.path().join("docs").join(name), name).unwrap();
        assert_eq!(house.read(name).unwrap(), (name.to_owned(), name.to_owned()));
        house.link(name, &format!("link to {name}"));
        assert_eq!(house.read(&format!("link to {name}")).unwrap().0, name);
    }
}

#[test]
fn m3_a_link_swapped_in_during_the_call() {
    let house = House::new();
    let docs = house.folder.path().join("docs");
    // `x` is by turns a folder with a harmless file and a link to a folder with the canary.
    fs::create_dir(docs.join("x")).unwrap();
    fs::write(docs.join("x/canary"), "harmless").unwrap();
    house.link("../outside", "y");
    let done = AtomicBool::new(false);
    let (mut harmless, mut refused) = (0u32, 0u32);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, docs.join("x"), CWD, docs.join("y"), RenameFlags::EXCHANGE)
                    .unwrap();
            }
        });
        let _stop = Stop(&done);
        // Bounded by count; goes on a little where the scheduler let only one side run.
        for round in 0..200_000 {
            if round >= 5_000 && harmless > 100 && refused > 100 {
                break;
            }
            let by_caller = round % 2 == 0;
            let path = rel("x/canary");
            let opened = if by_caller { house.guard.open(&path) } else { house.guard.open_nofollow(&path) };
            match opened.and_then(|mut file| file.read_all(100)) {
                Ok(content) => {
                    assert_eq!(content, b"harmless");
                    harmless += 1;
                }
                Err(OpenError::OutsideRoot | OpenError::NotFound | OpenError::Changed) => refused += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
    });
    assert!(harmless > 0 && refused > 0, "nothing raced: {harmless} read, {refused} refused");
}

#[test]
fn a_root_stays_what_was_opened() {
    let house = House::new();
    let docs = house.folder.path().join("docs");
    assert!(house.guard.root().is_current());
    assert_eq!(house.guard.root().path(), docs.canonicalize().unwrap());
    fs::rename(&docs, house.folder.path().join("moved")).unwrap();
    symlink("outside", &docs).unwrap();
    assert!(!house.guard.root().is_current(), "a walk by path would see another tree");
    assert_eq!(house.read("a.txt").unwrap().1, "docs/a.txt");
    symlink("a.txt", house.folder.path().join("moved/link")).unwrap();
    assert_eq!(house.read("link").unwrap().0, "a.txt");
    assert!(matches!(house.read("canary"), Err(OpenError::NotFound)));
}

#[test]
fn what_cannot_be_a_root() {
    let house = House::new();
    let path = house.folder.path();
    assert!(matches!(Root::open(&path.join("missing")), Err(RootError::NotFound { .. })));
    assert!(matches!(Root::open(&path.join("docs/a.txt")), Err(RootError::NotADirectory { .. })));
    // The owner may name it through a link.
    symlink("docs", path.join("alias")).unwrap();
    let root = Root::open(&path.join("alias")).unwrap();
    assert_eq!(root.path(), &*path.join("docs").canonicalize().unwrap());
}

#[test]
fn torn_reads_are_noticed() {
    let house = House::new();
    let path = house.folder.path().join("docs/growing.txt");
    // Versions of equal length, each of one letter: a mixture of two would show.
    let version = |letter: u8| vec![letter; 1 << 20];
    fs::write(&path, version(b'a')).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::os::unix::fs::FileExt;
            let file = fs::File::options().write(true).open(&path).unwrap();
            for letter in (b'a'..=b'z').cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                // In eight writes, so that a reader can come between them.
                for eighth in 0..8u64 {
                    file.write_all_at(&version(letter)[..1 << 17], eighth << 17).unwrap();
                }
            }
        });
        let _stop = Stop(&done);
        for _ in 0..60 {
            let mut file = house.guard.open(&rel("growing.txt")).unwrap();
            match file.read_all(2 << 20) {
                // Between two of the eight writes the file really is a mixture of two neighbours, but
                // never of three.
                Ok(content) => {
                    let changes = content.windows(2).filter(|pair| pair[0] != pair[1]).count();
                    assert!(content.len() == 1 << 20 && changes <= 1, "{changes} seams");
                }
                Err(OpenError::Changed) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
    });
    fs::write(&path, "calm").unwrap();
    assert_eq!(house.read("growing.txt").unwrap().1, "calm");
}

#[test]
fn permission_is_the_systems_to_give() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    let path = house.folder.path().join("docs/a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    match house.read("a.txt") {
        // The superuser reads everything.
        Ok(_) => assert!(rustix::process::geteuid().is_root()),
        Err(error) => assert_eq!(Failure::from(error).code, ErrorCode::Forbidden),
    }
}
