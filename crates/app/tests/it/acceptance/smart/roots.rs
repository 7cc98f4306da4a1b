//! Several roots, one server.

use std::fs;

use serde_json::{Value, json};
use testkit::{Client, Folder};

use super::super::program;
use super::{indexed, refused, smart_with};

/// A primary root and two further ones beside it.
fn shares() -> (Folder, String, String) {
    let folder = Folder::from("//- own.txt\nThe lighthouse of the primary root.\n");
    let outside = folder.outside().canonicalize().unwrap();
    for (path, text) in [
        ("fin/plan.txt", "The lighthouse budget."),
        ("fin/deep/more.txt", "More about the lighthouse."),
        ("hr/people.txt", "Who keeps the lighthouse."),
        ("fin2/secret.txt", "The lighthouse next door."),
    ] {
        fs::create_dir_all(outside.join(path).parent().unwrap()).unwrap();
        fs::write(outside.join(path), text).unwrap();
    }
    let path = |name: &str| outside.join(name).to_str().unwrap().to_owned();
    (folder, path("fin"), path("hr"))
}

fn paths(answer: &Value) -> Vec<String> {
    let mut paths: Vec<String> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["path"].as_str().unwrap().to_owned())
        .collect();
    paths.sort_unstable();
    paths
}

#[test]
fn s002_s008_c08_all_roots_are_listed_indexed_and_searched() {
    let (folder, fin, hr) = shares();
    let own = folder.path().to_str().unwrap().to_owned();
    let mut server = smart_with(&folder, &["--roots", &format!("{fin},{hr},{fin}/deep,/nowhere/at/all")]);
    let listed = server.expect("listRoots", json!({}));
    let deep = format!("{fin}/deep");
    assert_eq!(listed["roots"], json!([own, fin, hr, deep, "/nowhere/at/all"]));
    for root in [&own, &fin, &hr] {
        assert!(indexed(&mut server, root)["indexed"].as_u64().unwrap() > 0, "{root}");
    }
    assert_eq!(refused(&mut server, "indexFolder", json!({ "root": "/nowhere/at/all" })), "NOT_FOUND");
    let everywhere = server.expect("searchFiles", json!({ "query": "lighthouse" }));
    let mut expected = [
        format!("{own}/own.txt"),
        format!("{fin}/plan.txt"),
        format!("{deep}/more.txt"),
        format!("{hr}/people.txt"),
    ];
    expected.sort_unstable();
    assert_eq!(paths(&everywhere), expected);
    assert_eq!(everywhere["pagination"]["total_estimate"], 4);
    for (roots, expected) in [
        (vec![&hr], vec![format!("{hr}/people.txt")]),
        (vec![&deep], vec![format!("{deep}/more.txt")]),
        (vec![&deep, &hr], vec![format!("{deep}/more.txt"), format!("{hr}/people.txt")]),
    ] {
        let answer = server.expect("searchFiles", json!({ "query": "lighthouse", "roots": roots }));
        assert_eq!(paths(&answer), expected);
    }
    let preview = server.expect("openFile", json!({ "path": format!("{hr}/people.txt") }));
    assert_eq!(preview["preview"], "Who keeps the lighthouse.");
}

#[test]
fn s008_without_a_directory_the_roots_are_listed_as_they_were_written() {
    let (folder, fin, hr) = shares();
    let link = folder.outside().canonicalize().unwrap().join("link");
    std::os::unix::fs::symlink(&fin, &link).unwrap();
    let link = link.to_str().unwrap();
    for (roots, expected) in [
        (format!("{fin},{hr}"), vec![fin.as_str(), &hr]),
        (link.to_owned(), vec![link]),
        (format!("{link},{hr},{fin}"), vec![link, &hr]),
        (format!("{hr},{link}"), vec![hr.as_str(), link]),
        ("../link,../hr".to_owned(), vec![link, &hr]),
    ] {
        let state = folder.outside().join(format!("state-{}", short(&roots)));
        let mut server = rootless(&folder, &["--roots", &roots, "--state-dir", state.to_str().unwrap()]);
        assert_eq!(server.expect("listRoots", json!({}))["roots"], json!(expected), "{roots}");
        for root in &expected {
            assert!(indexed(&mut server, root)["indexed"].as_u64().unwrap() > 0, "{root}");
        }
        if roots.contains("link") {
            // Both spellings lead to the file.
            for path in [format!("{link}/plan.txt"), format!("{fin}/plan.txt")] {
                let preview = server.expect("openFile", json!({ "path": path }));
                assert_eq!(preview["preview"], "The lighthouse budget.", "{path}");
            }
        }
    }
}

#[test]
fn s008_without_any_folder_every_call_says_what_is_missing() {
    let (folder, _, _) = shares();
    for flags in [&[][..], &["--roots", ""], &["--roots", " , "]] {
        let mut server = rootless(&folder, flags);
        for (tool, arguments) in [
            ("listRoots", json!({})),
            ("searchFiles", json!({ "query": "lighthouse" })),
            ("openFile", json!({ "path": folder.path().join("own.txt") })),
            ("indexFolder", json!({ "root": folder.path() })),
            ("rewriteQuery", json!({ "query": "lighthouse" })),
        ] {
            let reply = server.call(tool, arguments);
            assert_eq!(reply.structured()["error"]["code"], "INTERNAL_ERROR", "{tool}: {}", reply.result);
            assert!(reply.result.to_string().contains("--roots"), "{}", reply.result);
        }
        assert!(!folder.state().exists(), "nothing was made in the folder that happens to be current");
    }
}

/// The smart tools as a client starts them that stands in the folder and names no directory.
fn rootless(folder: &Folder, flags: &[&str]) -> testkit::StdioServer {
    program(folder)
        .without_dir()
        .stdio(&[&["--tools", "smart"], flags].concat())
        .connect(testkit::Era::Legacy)
}

/// A name for a list of roots.
fn short(roots: &str) -> String {
    roots.chars().filter(char::is_ascii_alphanumeric).rev().take(60).collect()
}

#[test]
fn s030_case_30_a_neighbour_of_a_root_is_not_in_it() {
    let (folder, fin, _) = shares();
    let mut server = smart_with(&folder, &["--roots", &fin]);
    let neighbour = format!("{fin}2");
    assert_eq!(refused(&mut server, "indexFolder", json!({ "root": neighbour })), "FORBIDDEN");
    let file = format!("{neighbour}/secret.txt");
    assert_eq!(refused(&mut server, "openFile", json!({ "path": file })), "FORBIDDEN");
    let search = json!({ "query": "lighthouse", "roots": [neighbour] });
    assert_eq!(refused(&mut server, "searchFiles", search), "FORBIDDEN");
    indexed(&mut server, &fin);
    let answer = server.expect("searchFiles", json!({ "query": "lighthouse next door" }));
    assert!(!answer.to_string().contains("secret.txt"), "{answer}");
    assert_eq!(answer["items"].as_array().unwrap().iter().filter(|item| item["path"] == file).count(), 0);
}

#[test]
fn the_other_contracts_keep_to_the_primary_root() {
    let (folder, fin, _) = shares();
    let server = program(&folder).serve(&["--roots", &fin]);
    server.wait_indexed();
    let hits = server.expect("dir2mcp.search", json!({ "query": "lighthouse" }));
    let paths: Vec<&str> =
        hits["hits"].as_array().unwrap().iter().map(|hit| hit["rel_path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["own.txt"]);
    let mut smart = server.client_at("/mcp/smart");
    assert!(smart.expect("listRoots", json!({}))["roots"].as_array().unwrap().len() == 2);
}

#[test]
fn roots_are_added_listed_and_removed_from_the_shell() {
    let (folder, fin, hr) = shares();
    let program = program(&folder);
    program.run(&["roots", "add", &fin]).expect(0);
    program.run(&["roots", "add", &hr]).expect(0);
    assert!(folder.read(".dir2mcp.yaml").contains("roots:"));
    program.index();
    let listed = program.json(&["roots", "--json"]);
    let rows = listed["roots"].as_array().unwrap();
    let row = |at: usize| (rows[at]["path"].as_str().unwrap(), rows[at]["status"].as_str().unwrap());
    assert_eq!(row(1), (fin.as_str(), "indexed"));
    assert_eq!(row(2), (hr.as_str(), "indexed"));
    assert_eq!(rows[1]["documents"], 2);
    let state = folder.state().join("roots");
    assert_eq!(fs::read_dir(&state).unwrap().count(), 2);
    program.run(&["roots", "remove", &fin]).expect(0);
    assert_eq!(fs::read_dir(&state).unwrap().count(), 1, "its index is gone");
    assert_eq!(program.json(&["roots", "--json"])["roots"].as_array().unwrap().len(), 2);
    assert!(fs::metadata(format!("{fin}/plan.txt")).is_ok(), "its files are not");
    program.run(&["roots", "remove", &fin]).expect(1);
}
