//! Indexing on request: what it counts, and who waits for whom.

use serde_json::json;
use testkit::{Client, Era, Folder};

use super::super::program;
use super::{found, indexed, refused, served, smart};

fn numbers(answer: &serde_json::Value) -> (u64, u64, u64) {
    let number = |name: &str| answer[name].as_u64().unwrap();
    (number("indexed"), number("skipped"), number("removed"))
}

#[test]
fn s010_s011_case_30_counts_against_the_last_call() {
    let folder = Folder::from("//- a.txt\none\n//- sub/b.txt\ntwo\n//- c.bin\n\0\0\0\n");
    let root = folder.path().to_str().unwrap();
    let mut server = smart(&folder);
    assert_eq!(numbers(&indexed(&mut server, root)), (2, 1, 0), "a.txt and b.txt; c.bin has no text");
    assert_eq!(numbers(&indexed(&mut server, root)), (0, 3, 0), "nothing changed");
    folder.write("a.txt", "one, changed\n");
    folder.write("new.txt", "three\n");
    assert_eq!(numbers(&indexed(&mut server, root)), (2, 2, 0));
    folder.remove("sub/b.txt");
    let answer = indexed(&mut server, root);
    assert_eq!(numbers(&answer), (0, 3, 1));
    assert_eq!(answer["running"], false);
    assert!(answer["duration_ms"].is_u64());
    // What was seen is kept: another process counts on.
    drop(server);
    let mut server = smart(&folder);
    assert_eq!(numbers(&indexed(&mut server, root)), (0, 3, 0));
    let full = server.expect("indexFolder", json!({ "root": root, "full": true }));
    assert_eq!(numbers(&full), (2, 1, 0), "everything anew");
}

/// The smart tools alone show what a `.gitignore` leaves out, the others do not: neither makes the other read again.
#[test]
fn c27_other_tools_have_their_own_rules_and_nothing_is_read_again() {
    let folder = Folder::from("//- .gitignore\n*.log\n//- a.txt\npelican\n//- run.log\npelican\n");
    let root = folder.path().to_str().unwrap();
    program(&folder).index();
    let mut server = smart(&folder);
    indexed(&mut server, root);
    let both = found(&mut server, &folder, json!({ "query": "pelican" }));
    assert_eq!(both.len(), 2, "{both:?}");
    drop(server);
    let again = program(&folder).index();
    assert!(again.output().contains("(0 read now"), "{}", again.output());
    let mut server = smart(&folder);
    assert_eq!(numbers(&indexed(&mut server, root)).0, 0);
    let full = program(&folder).run(&["search", "pelican", "--json"]).expect(0);
    assert!(!full.output().contains("run.log"), "{}", full.output());
}

#[test]
fn s009_a_folder_below_a_root_is_counted_alone() {
    let folder = Folder::from("//- in/a.txt\none\n//- out.txt\ntwo\n//- inner/x.txt\nthree\n");
    let root = folder.path().to_str().unwrap();
    let mut server = smart(&folder);
    let inside = format!("{root}/in");
    let answer = server.expect("indexFolder", json!({ "root": inside, "priority": "high" }));
    assert_eq!(numbers(&answer), (1, 0, 0));
    assert_eq!(numbers(&indexed(&mut server, root)), (2, 1, 0), "what was not asked about is still new");
}

#[test]
fn s013_what_cannot_be_indexed() {
    let folder = Folder::from("//- a.txt\none\n");
    let root = folder.path().to_str().unwrap();
    let mut server = smart(&folder);
    for (folder, code) in [
        ("/etc".to_owned(), "FORBIDDEN"),
        (format!("{root}2"), "FORBIDDEN"),
        (format!("{root}/../root2"), "FORBIDDEN"),
        (format!("{root}/none"), "NOT_FOUND"),
        (format!("{root}/a.txt"), "NOT_FOUND"),
    ] {
        assert_eq!(refused(&mut server, "indexFolder", json!({ "root": folder })), code, "{folder}");
    }
    for wrong in [json!({}), json!({ "root": 1 }), json!({ "root": root, "priority": "urgent" })] {
        assert_eq!(refused(&mut server, "indexFolder", wrong), "BAD_REQUEST");
    }
}

#[test]
fn s013_case_30_a_root_is_indexed_once_at_a_time() {
    let folder = Folder::empty();
    for number in 0..600 {
        folder.write(&format!("d/{number}.txt"), format!("file {number} {}\n", "with words ".repeat(200)));
    }
    let root = folder.path().to_str().unwrap().to_owned();
    let server = served(&folder, &[]);
    let full = json!({ "root": root, "full": true });
    let busy = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.client(Era::Modern);
                    client.call("indexFolder", full.clone()).code().map(str::to_owned)
                })
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(busy.contains(&None), "one of them works: {busy:?}");
    assert!(busy.contains(&Some("CONFLICT".to_owned())), "the others are told: {busy:?}");
    let mut client = server.client(Era::Modern);
    assert_eq!(client.expect("indexFolder", full)["indexed"], 600, "and afterwards it is free again");
}
