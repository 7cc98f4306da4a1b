//! Disk full, read-only state, damaged files: the specified exit code, a message that helps, nothing destroyed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use testkit::scenario::Answers;
use testkit::{Folder, Random, Tree};

use super::{program, serve};

fn small_tree() -> (Folder, Tree) {
    let folder = Folder::empty();
    let tree = Tree { files: 60, parts: 6, seed: 5 };
    tree.write(folder.path()).unwrap();
    (folder, tree)
}

/// A temporary file system of a given size, if this user may make one.
struct Mount(PathBuf);

impl Mount {
    fn new(path: &Path, options: &str) -> Option<Mount> {
        fs::create_dir_all(path).unwrap();
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path).status();
        if !status.is_ok_and(|status| status.success()) {
            #[expect(clippy::print_stderr, reason = "a test that did nothing must say so")]
            {
                eprintln!("SKIPPED: this user may not mount a file system");
            }
            return None;
        }
        Some(Mount(path.to_owned()))
    }

    fn remount(&self, options: &str) {
        let status =
            Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status().unwrap();
        assert!(status.success(), "remount {options}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn d033_d103_a_full_disk_is_an_error_and_not_an_accident() {
    let (folder, tree) = small_tree();
    let mut random = Random::new(6);
    for number in 0..40 {
        // Words nobody can compress: whatever the index keeps of them, it is more than the disk has.
        let words: Vec<String> = (0..8_000).map(|_| format!("{:x}", random.number())).collect();
        folder.write(&format!("big/{number}.txt"), words.join(" "));
    }
    let state = folder.outside().join("small");
    let Some(mount) = Mount::new(&state, "size=2m") else { return };
    let full = program(&folder).state_dir(&state);
    let done = full.run(&["index"]).expect(6);
    let said = done.stderr.to_lowercase();
    assert!(said.contains("space") || said.contains("full"), "{}", done.output());
    assert!(!said.contains("panicked"), "{}", done.output());

    mount.remount("size=256m");
    full.index();
    let queries = tree.queries();
    let other = program(&folder).state_dir(&folder.outside().join("roomy"));
    let difference = Answers::of(&full, &queries).difference(&Answers::of(&other, &queries));
    assert_eq!(difference, None, "after space came back");
}

#[test]
fn d103_a_read_only_state_directory() {
    let (folder, _) = small_tree();
    let state = folder.outside().join("frozen");
    let Some(mount) = Mount::new(&state, "size=64m") else { return };
    mount.remount("ro");
    let done = program(&folder).state_dir(&state).run(&["up", "--listen", "127.0.0.1:0", "--json"]);
    assert!(matches!(done.code, Some(5 | 6)), "{}", done.output());
    assert!(
        done.stderr.contains(state.to_str().unwrap()),
        "the message names the directory: {}",
        done.output()
    );
    assert!(!done.stderr.contains("panicked"), "{}", done.output());
}

/// The catalog holds nothing that cannot be made again from the files, so a damaged one is no reason not to start.
#[test]
fn d103_a_damaged_database_is_built_again() {
    let (folder, tree) = small_tree();
    program(&folder).index();
    let queries = tree.queries();
    let before = Answers::of(&program(&folder), &queries);
    let database = folder.state().join("meta.sqlite");
    for damage in ["header", "middle", "not a database at all"] {
        let good = fs::read(&database).unwrap();
        let mut bad = good.clone();
        match damage {
            "header" => bad[..100].fill(0xff),
            "middle" => {
                let pages = bad.len() / 4096;
                for page in 1..pages {
                    bad[page * 4096..page * 4096 + 64].fill(0xa5);
                }
            }
            _ => bad = b"this is not a database\n".repeat(400),
        }
        fs::write(&database, &bad).unwrap();
        for name in ["meta.sqlite-wal", "meta.sqlite-shm"] {
            let _ = fs::remove_file(folder.state().join(name));
        }
        let server = program(&folder).serve(&[]);
        server.wait_indexed();
        let (stdout, stderr) = server.printed();
        assert!(
            stdout.contains("built again") || stderr.contains("built again"),
            "{damage}: {stdout}{stderr}"
        );
        assert_eq!(
            Answers::ask(&mut server.client(testkit::Era::Modern), &queries).difference(&before),
            None
        );
        server.stop().expect(0);
    }
}

#[test]
fn d032_another_programs_database_is_exit_5_and_left_alone() {
    let (folder, _) = small_tree();
    fs::create_dir_all(folder.state()).unwrap();
    let database = folder.state().join("meta.sqlite");
    let theirs = rusqlite::Connection::open(&database).unwrap();
    theirs.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)").unwrap();
    drop(theirs);
    let before = fs::read(&database).unwrap();
    for command in [&["up", "--listen", "127.0.0.1:0", "--json"][..], &["reindex"]] {
        let done = program(&folder).run(command).expect(5);
        assert!(done.output().contains("STORE_CORRUPT"), "{}", done.output());
        assert!(done.output().contains("--state-dir"), "the message says what to do: {}", done.output());
    }
    assert!(fs::read(&database).unwrap() == before, "the file was touched");
}

#[test]
fn d032_a_newer_format_is_exit_5() {
    let (folder, _) = small_tree();
    program(&folder).index();
    let database = folder.state().join("meta.sqlite");
    let connection = rusqlite::Connection::open(&database).unwrap();
    let changed = connection
        .execute("UPDATE settings SET value = '9999' WHERE key = 'index_format_version'", [])
        .unwrap();
    assert_eq!(changed, 1, "settings.index_format_version");
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(connection);
    seal(&database);
    let done = program(&folder).run(&["up", "--listen", "127.0.0.1:0", "--json"]).expect(5);
    assert!(done.output().contains("INDEX_VERSION_MISMATCH"), "{}", done.output());
    assert!(database.exists());
}

/// Gives the pages of a catalog that another program wrote to their checksums again.
fn seal(database: &Path) {
    let mut bytes = fs::read(database).unwrap();
    for page in bytes.chunks_exact_mut(16384) {
        let (body, seal) = page.split_at_mut(16376);
        seal[..4].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
        seal[4..].copy_from_slice(b"d2pg");
    }
    fs::write(database, bytes).unwrap();
}

#[test]
fn damaged_derived_files_are_rebuilt() {
    let (folder, tree) = small_tree();
    program(&folder).index();
    let queries = tree.queries();
    let before = Answers::of(&program(&folder), &queries);
    let derived: Vec<PathBuf> = derived_files(&folder.state());
    assert!(derived.iter().any(|path| path.ends_with("vectors_text.hnsw")), "{derived:?}");
    assert!(derived.len() > 2, "{derived:?}");
    for damage in ["flipped", "cut", "emptied", "removed"] {
        for path in derived_files(&folder.state()) {
            let mut bytes = fs::read(&path).unwrap();
            match damage {
                "flipped" if !bytes.is_empty() => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 0x55;
                    fs::write(&path, bytes).unwrap();
                }
                "cut" => fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
                "emptied" => fs::write(&path, b"").unwrap(),
                _ => fs::remove_file(&path).unwrap(),
            }
        }
        let done = program(&folder).run(&["index"]);
        assert_eq!(done.code, Some(0), "{damage}: {}", done.output());
        let after = Answers::of(&program(&folder), &queries);
        assert_eq!(after.difference(&before), None, "{damage}");
    }
}

/// Everything in the state directory that can be made again from `meta.sqlite`.
fn derived_files(state: &Path) -> Vec<PathBuf> {
    fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "locks" {
                    walk(&path, found);
                }
            } else if !name.starts_with("meta.sqlite")
                && !name.starts_with(".tantivy")
                && !name.ends_with(".json")
                && !name.ends_with(".lock")
                && !["secret.token", ".dir2mcp.yaml.snapshot"].contains(&name.as_str())
                || name == "meta.json"
            {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(state, &mut found);
    found.sort();
    found
}

#[test]
fn d050_d102_a_file_that_cannot_be_read_is_no_reason_to_stop() {
    let folder = Folder::from("//- good.txt\nthe lighthouse\n");
    folder.write("latin1.txt", b"caf\xe9 lighthouse\n");
    folder.write("binary.txt", [0u8, 1, 2, 3, 255, 254]);
    make_fifo(&folder.path().join("pipe"));
    let server = serve(&folder);
    let list = server.expect("dir2mcp.list_files", json!({}));
    let status = |name: &str| {
        let files = list["files"].as_array().unwrap();
        files.iter().find(|file| file["rel_path"] == name).map(|file| file["status"].clone())
    };
    assert_eq!(status("good.txt"), Some("ok".into()));
    assert_eq!(status("latin1.txt"), Some("ok".into()));
    assert_eq!(status("binary.txt"), Some("skipped".into()));
    assert_eq!(status("pipe"), Some("skipped".into()), "a FIFO is reported and never opened: {list}");
    server.stop().expect(0);
    let files = program(&folder).run(&["status", "--json", "--files"]).expect(0).stdout;
    assert!(files.contains("BINARY_SKIPPED") && files.contains("SPECIAL_FILE"), "{files}");
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}
