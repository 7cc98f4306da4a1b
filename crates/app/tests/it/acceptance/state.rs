//! A state or a root that is lost, damaged, shared or half-made: it is said, and mended or ended with the specified code.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::scenario::{Answers, Births, births};
use testkit::{Client, Era, Folder, Process, Program, Tree};

use super::{BINARY, program, serve};

fn small_tree(seed: u64) -> (Folder, Tree) {
    let folder = Folder::empty();
    let tree = Tree { files: 40, parts: 6, seed };
    tree.write(folder.path()).unwrap();
    (folder, tree)
}

/// A program that runs without the right to read everything: for root, as another user.
fn unprivileged(folder: &Folder) -> Program {
    if !rustix::process::geteuid().is_root() {
        return program(folder);
    }
    let wrapper = folder.outside().join("as-nobody");
    let run = format!(
        "#!/bin/sh\nPATH=/usr/bin:/bin exec setpriv --reuid=65534 --regid=65534 --clear-groups {BINARY} \"$@\"\n"
    );
    fs::write(&wrapper, run).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let owned = Command::new("chown").args(["-R", "65534:65534"]).arg(folder.outside()).status();
    assert!(owned.unwrap().success());
    Program::new(wrapper, folder)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn paths(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["rel_path"].as_str().unwrap()).collect()
}

/// The last `scan_progress` that a run printed.
fn last_progress(output: &str) -> Value {
    let mut events = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let last = events.rfind(|event| event["event"] == "scan_progress");
    last.unwrap_or_else(|| panic!("no progress in {output}"))["data"].clone()
}

#[test]
fn a_kill_while_the_state_comes_to_be_is_harmless() {
    let plan = Births { kills: 25, within: Duration::from_millis(200), seed: 41 };
    births(BINARY.as_ref(), &plan, &|_| {}).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn d009_reindex_mends_a_damaged_catalog() {
    let (folder, tree) = small_tree(42);
    program(&folder).index();
    let queries = tree.queries();
    let before = Answers::of(&program(&folder), &queries);
    let catalog = folder.state().join("meta.sqlite");
    let whole = fs::read(&catalog).unwrap();
    for at in [20, 100, whole.len() / 3, whole.len() / 2, whole.len() - 9] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&catalog, bytes).unwrap();
        program(&folder).run(&["reindex"]).expect(0);
        assert_eq!(Answers::of(&program(&folder), &queries).difference(&before), None, "byte {at}");
    }
    for length in [0, 50, 16384, whole.len() / 2] {
        fs::write(&catalog, &whole[..length]).unwrap();
        program(&folder).run(&["reindex"]).expect(0);
        assert_eq!(Answers::of(&program(&folder), &queries).difference(&before), None, "cut to {length}");
    }
    let left: Vec<_> =
        fs::read_dir(folder.state()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let odd = |name: &&std::ffi::OsString| {
        let name = name.to_string_lossy();
        name.contains("damaged") || name.contains("rebuil") || name.contains(".new")
    };
    assert!(!left.iter().any(|name| odd(&name)), "{left:?}");
}

#[test]
fn d009_reindex_leaves_nothing_of_deleted_text() {
    let folder = Folder::from("//- a.md\nThe quarterdeckmutiny of 1797.\n//- b.md\nA calm sea.\n");
    program(&folder).index();
    folder.remove("a.md");
    program(&folder).run(&["reindex"]).expect(0);
    for name in ["meta.sqlite", "meta.sqlite-wal"] {
        let bytes = fs::read(folder.state().join(name)).unwrap_or_default();
        assert!(!bytes.windows(17).any(|window| window == b"quarterdeckmutiny"), "{name}");
    }
}

#[test]
fn d009_reindex_beside_a_server_is_a_conflict() {
    let (folder, _) = small_tree(15);
    let server = serve(&folder);
    let done = program(&folder).run(&["reindex"]).expect(1);
    assert!(done.stderr.contains("CONFLICT"), "{}", done.output());
    assert!(done.stderr.contains(&format!("pid {}", server.id())), "{}", done.output());
    server.stop().expect(0);
    program(&folder).run(&["reindex"]).expect(0);
}

/// A reader that was there before sees what a `reindex` has built, without a restart.
#[test]
fn a_reader_follows_the_index_that_was_put_in_place() {
    let folder = Folder::from("//- a.md\nThe lighthouse.\n");
    program(&folder).index();
    let first = serve(&folder);
    let second = program(&folder).serve(&[]);
    second.wait_indexed();
    first.stop().expect(0);
    folder.write("b.md", "Another lighthouse.\n");
    second.poll("the second server to take over", |client| {
        (paths(&client.expect("dir2mcp.search", json!({ "query": "lighthouse" }))).len() == 2).then_some(())
    });
}

#[test]
fn d103_a_removed_root_ends_the_server() {
    let (folder, _) = small_tree(10);
    let server = program(&folder).state_dir(&folder.outside().join("state")).serve(&[]);
    server.wait_indexed();
    fs::remove_dir_all(folder.path()).unwrap();
    let done = server.ends().expect(3);
    assert!(
        done.stdout.contains("\"fatal\"") && done.stdout.contains("ROOT_INACCESSIBLE"),
        "{}",
        done.output()
    );
}

#[test]
fn d103_a_root_that_was_moved_away_is_followed_when_it_is_back() {
    let (folder, _) = small_tree(11);
    let server = program(&folder).state_dir(&folder.outside().join("state")).serve(&[]);
    server.wait_indexed();
    let away = folder.outside().join("away");
    fs::rename(folder.path(), &away).unwrap();
    server.poll("the loss to be said", |client| {
        let stats = client.expect("dir2mcp.stats", json!({}));
        (stats["indexing"]["running"] == true && stats["indexing"]["errors"] != 0).then_some(())
    });
    server.poll("the word of it", |_| server.printed().0.contains("is gone").then_some(()));
    fs::write(away.join("late.md"), "The windmill turns.\n").unwrap();
    fs::rename(&away, folder.path()).unwrap();
    server.poll("the file that came meanwhile", |client| {
        let answer = client.expect("dir2mcp.search", json!({ "query": "windmill", "k": 1 }));
        (paths(&answer) == ["late.md"] && answer["indexing_complete"] == true).then_some(())
    });
    server.stop().expect(0);
}

#[test]
fn d103_a_removed_state_directory_ends_the_server() {
    let (folder, _) = small_tree(12);
    let server = serve(&folder);
    fs::remove_dir_all(folder.state()).unwrap();
    let done = server.ends().expect(6);
    assert!(done.stdout.contains("\"fatal\""), "{}", done.output());
    assert!(done.stdout.contains("state directory"), "{}", done.output());
    assert!(!done.stderr.contains("panicked"), "{}", done.output());
    // Started again, all is as it was.
    serve(&folder).stop().expect(0);
}

#[test]
fn d007_d066_the_server_that_still_runs_is_found() {
    let (folder, _) = small_tree(13);
    let first = serve(&folder);
    let second = program(&folder).serve(&[]);
    second.wait_indexed();
    let status = || program(&folder).json(&["status", "--json"]);
    assert_eq!(status()["server"], json!(second.url()), "the newest one");
    second.stop().expect(0);
    assert_eq!(status()["server"], json!(first.url()));
    let third = program(&folder).serve(&[]);
    third.kill();
    assert_eq!(status()["server"], json!(first.url()), "also where the other one could not say goodbye");
    let connect = program(&folder).run(&["connect", "cursor"]).expect(0);
    assert!(connect.stdout.contains(&first.url()), "{}", connect.output());
    first.stop().expect(0);
    assert_eq!(status()["server"], Value::Null);
}

#[test]
fn d007_status_without_its_summary_or_with_broken_files() {
    let (folder, _) = small_tree(14);
    program(&folder).index();
    let status = || program(&folder).json(&["status", "--json"]);
    let whole = status();
    assert_eq!(whole["source"], "corpus_json");
    let corpus = folder.state().join("corpus.json");
    let text = fs::read_to_string(&corpus).unwrap();
    let flipped = text.replacen("\"md\": 8", "\"md\": 9", 1);
    assert_ne!(flipped, text);
    for broken in ["", "{ \"root\":", "[1, 2]", &flipped] {
        fs::write(&corpus, broken).unwrap();
        let found = status();
        assert_eq!(found["source"], "meta_sqlite", "{broken}");
        assert_eq!(found["snapshot"]["profile"], whole["snapshot"]["profile"], "{broken}");
    }
    fs::remove_file(&corpus).unwrap();
    assert_eq!(status()["snapshot"]["profile"], whole["snapshot"]["profile"]);
    fs::write(folder.state().join("connection.json"), "{ 1: broken").unwrap();
    assert_eq!(status()["server"], Value::Null);
    let connect = program(&folder).run(&["connect", "cursor"]).expect(1);
    assert!(connect.stderr.contains("NOT_RUNNING"), "{}", connect.output());
}

/// Two processes that read a folder of their own each, so that no scan of the other comes between.
#[test]
fn d099_d102_what_could_not_be_read_is_tried_again() {
    let folder = Folder::from("//- a.md\nThe lighthouse.\n//- x.md\nThe windmill.\n");
    let program = unprivileged(&folder);
    set_mode(&folder.path().join("x.md"), 0o000);
    for _ in 0..2 {
        let progress = last_progress(&program.run(&["index", "--json"]).expect(0).stdout);
        assert_eq!(progress["errors"], 1, "{progress}");
    }
    set_mode(&folder.path().join("x.md"), 0o644);
    let answer = program.json(&["search", "windmill", "--json", "--k", "1"]);
    assert_eq!(paths(&answer), ["x.md"]);
}

#[test]
fn a_file_that_may_no_longer_be_read_is_not_shown() {
    let folder = Folder::from("//- a.md\nThe lighthouse.\n//- x.md\nThe windmill turns.\n");
    let server = unprivileged(&folder).serve(&[]);
    server.wait_indexed();
    let shown = |client: &mut dyn Client| {
        let answer = client.expect("dir2mcp.search", json!({ "query": "windmill" }));
        paths(&answer).contains(&"x.md")
    };
    assert!(shown(&mut server.client(Era::Modern)));
    set_mode(&folder.path().join("x.md"), 0o000);
    server.poll("the file to vanish", |client| (!shown(client)).then_some(()));
    set_mode(&folder.path().join("x.md"), 0o644);
    server.poll("the file to come back", |client| shown(client).then_some(()));
    server.stop().expect(0);
}

#[test]
fn d099_what_was_committed_before_a_kill_is_not_read_again() {
    let folder = Folder::empty();
    let tree = Tree { files: 3000, parts: 4, seed: 21 };
    tree.write(folder.path()).unwrap();
    let process = program(&folder).start(&["index", "--json"]);
    let mut committed = 0;
    while committed == 0 {
        let line = process.next_line(Duration::from_secs(60)).expect("progress");
        if line.contains("scan_progress") {
            committed = last_progress(&line)["indexed"].as_u64().unwrap();
        }
    }
    process.kill_now();
    let progress = last_progress(&program(&folder).run(&["index", "--json"]).expect(0).stdout);
    let (indexed, skipped) = (progress["indexed"].as_u64().unwrap(), progress["skipped"].as_u64().unwrap());
    assert_eq!(indexed + skipped, 3000, "{progress}");
    assert!(skipped >= committed, "{committed} were committed: {progress}");
}

#[test]
fn a_cut_file_does_not_end_the_server() {
    let (folder, tree) = small_tree(51);
    let server = serve(&folder);
    let queries = tree.queries();
    let before = Answers::ask(&mut server.client(Era::Modern), &queries);
    let mut cut = 0;
    for folder in [folder.state(), folder.state().join("lexical")] {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if [".hnsw", ".term", ".idx", ".fast"].iter().any(|ending| name.ends_with(ending)) {
                fs::OpenOptions::new().write(true).open(entry.path()).unwrap().set_len(0).unwrap();
                cut += 1;
            }
        }
    }
    assert!(cut >= 5, "{cut}");
    server.poll("the answers of before", |client| {
        let after = Answers::try_ask(client, &queries)?;
        after.difference(&before).is_none().then_some(())
    });
    server.stop().expect(0);
}

/// Needs strace, which makes system calls fail.
#[test]
fn a_thread_that_is_not_granted_is_an_error_and_no_panic() {
    let (folder, _) = small_tree(50);
    for when in ["1+", "2+", "3+"] {
        let state = folder.outside().join(format!("state{when}"));
        let inner = program(&folder).state_dir(&state).command(&["index"]);
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=clone3,clone"]);
        command.args(["-e", &format!("inject=clone3:error=EAGAIN:when={when}")]);
        command.arg(BINARY).args(inner.get_args()).current_dir(folder.path());
        let Ok(process) = Process::start(&mut command) else {
            #[expect(clippy::print_stderr, reason = "a test that did nothing must say so")]
            {
                eprintln!("SKIPPED: strace is not installed");
            }
            return;
        };
        let done = process.wait();
        assert!(!done.stderr.contains("panicked"), "{when}: {}", done.output());
        assert!(matches!(done.code, Some(0 | 6)), "{when}: {}", done.output());
        program(&folder).state_dir(&state).index();
    }
}

/// A flipped byte in the middle of the catalog costs no search, and is mended by the next command.
#[test]
fn a_search_never_fails_as_a_whole() {
    let (folder, tree) = small_tree(43);
    program(&folder).index();
    let query = &tree.queries()[0];
    let ask = || program(&folder).json(&["search", query, "--json"]);
    let before = ask();
    let catalog = folder.state().join("meta.sqlite");
    let pages = fs::metadata(&catalog).unwrap().len() / 16384;
    for page in 0..pages {
        let file = fs::OpenOptions::new().write(true).open(&catalog).unwrap();
        file.write_all_at(&[0; 4096], page * 16384 + 4096).unwrap();
        assert_eq!(ask(), before, "page {page} of {pages}");
    }
}
