//! A running server follows its folder, and in the end answers like one that has just started.

use serde_json::{Value, json};
use testkit::scenario::{Answers, Edits, edits};
use testkit::{Client, Folder, HttpClient, Tree};

use super::{BINARY, program, serve};

fn found(client: &mut HttpClient, query: &str) -> Vec<String> {
    let answer = client.expect("dir2mcp.search", json!({ "query": query, "k": 50, "index": "both" }));
    let hits = answer["hits"].as_array().unwrap();
    let holds = |hit: &&Value| hit["snippet"].as_str().unwrap().contains(query);
    hits.iter().filter(holds).map(|hit| hit["rel_path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_saved_file_is_found() {
    let folder = Folder::from("//- a.txt\nthe lighthouse\n");
    let server = serve(&folder);
    let wait = |query: &str, paths: &[&str]| {
        server.poll(&format!("{query} in {paths:?}"), |client| (found(client, query) == paths).then_some(()));
    };
    folder.write("new/b.rs", "fn windmill() {}\n");
    wait("windmill", &["new/b.rs"]);
    folder.write("a.txt", "the drawbridge\n");
    wait("drawbridge", &["a.txt"]);
    wait("lighthouse", &[]);
    folder.rename("new", "old");
    wait("windmill", &["old/b.rs"]);
    folder.remove("old/b.rs");
    wait("windmill", &[]);
    folder.write(".gitignore", "a.txt\n");
    wait("drawbridge", &[]);
    folder.remove(".gitignore");
    wait("drawbridge", &["a.txt"]);
}

#[test]
fn d020_d099_d100_an_unchanged_folder_is_not_indexed_again() {
    let folder = Folder::empty();
    let tree = Tree { files: 30, parts: 4, seed: 2 };
    tree.write(folder.path()).unwrap();
    let rows = || {
        let database = rusqlite::Connection::open(folder.state().join("meta.sqlite")).unwrap();
        let mut statement = database
            .prepare("SELECT rep_id || ' ' || hex(rep_hash) || ' ' || created_unix FROM representations WHERE NOT deleted ORDER BY 1")
            .unwrap();
        let rows: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        rows
    };
    program(&folder).index();
    let before = rows();
    assert_eq!(before.len(), 30);
    program(&folder).index();
    assert_eq!(rows(), before);

    let (path, content) = tree.file(3, 1);
    folder.write(&path, content);
    folder.remove(&tree.file(4, 0).0);
    program(&folder).index();
    let after = rows();
    assert_eq!(after.len(), 29);
    assert_eq!(after.iter().filter(|row| before.contains(row)).count(), 28, "28 files were not touched");
    let list = program(&folder).serve(&[]).expect("dir2mcp.list_files", json!({ "limit": 5000 }));
    assert_eq!(list["total"], 29, "the deleted file has left the list");
}

#[test]
fn d009_a_rebuild_gives_the_same_answers() {
    let folder = Folder::empty();
    let tree = Tree { files: 40, parts: 6, seed: 9 };
    tree.write(folder.path()).unwrap();
    program(&folder).index();
    for number in 0..20 {
        let (path, content) = tree.file(number, 1);
        folder.write(&path, content);
        if number % 5 == 0 {
            program(&folder).index();
        }
    }
    program(&folder).index();
    let queries = tree.queries();
    let grown = Answers::of(&program(&folder), &queries);
    program(&folder).run(&["reindex"]).expect(0);
    let rebuilt = Answers::of(&program(&folder), &queries);
    assert_eq!(grown.difference(&rebuilt), None);
}

#[test]
fn a_hundred_edits_leave_the_index_of_the_final_state() {
    let plan = Edits { edits: 100, files: 60, seed: 17 };
    let report = edits(BINARY.as_ref(), &plan, &|_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.edits, 100);
}

#[test]
fn d083_d084_what_is_ignored() {
    let folder = Folder::from(
        "
        //- .gitignore
        ignored.txt
        *.log
        //- seen.txt
        the needle
        //- ignored.txt
        the needle
        //- a.log
        the needle
        //- node_modules/x/index.js
        // the needle
        //- dist/out.js
        // the needle
        //- build/out.js
        // the needle
        //- .venv/lib.py
        # the needle
        //- .git/HEAD
        the needle
        ",
    );
    let server = serve(&folder);
    server.poll("the first scan", |client| (found(client, "needle") == ["seen.txt"]).then_some(()));
}
