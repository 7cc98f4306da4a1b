//! What is indexed, how it is cut, and what is answered meanwhile.

use serde_json::{Value, json};
use testkit::{Client, Era, Folder};

use super::{program, serve};

fn paths(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().filter_map(|hit| hit["rel_path"].as_str()).collect()
}

#[test]
fn d002_questions_are_answered_while_indexing_goes_on() {
    let folder = Folder::empty();
    for number in 0..2_000 {
        folder.write(
            &format!("part{}/note{number}.txt", number / 100),
            format!("word{number} of a long corpus\n"),
        );
    }
    let server = program(&folder).serve(&[]);
    let mut client = server.client(Era::Modern);
    let first = client.expect("dir2mcp.search", json!({ "query": "corpus" }));
    assert_eq!(first["indexing_complete"], false, "asked before the first file could be indexed");
    server.wait_indexed();
    let last = client.expect("dir2mcp.search", json!({ "query": "word1999", "k": 1 }));
    assert_eq!(last["indexing_complete"], true);
    assert_eq!(paths(&last), ["part19/note1999.txt"]);
}

#[test]
fn d005_d082_everything_below_the_root_is_found_and_kept_on_disk() {
    let folder =
        Folder::from("//- a/b/c/d/e/f/deep.md\nThe lighthouse is far down.\n//- top.md\nNothing here.\n");
    let server = serve(&folder);
    assert_eq!(
        paths(&server.expect("dir2mcp.search", json!({ "query": "lighthouse", "k": 1 }))),
        ["a/b/c/d/e/f/deep.md"]
    );
    server.stop().expect(0);
    for file in ["meta.sqlite", "vectors_text.hnsw", "vectors_code.hnsw", "lexical/meta.json"] {
        assert!(folder.state().join(file).is_file(), "{file}");
    }
}

#[test]
fn d038_what_is_wrong_is_said_before_anything_listens() {
    let folder = Folder::from("//- .dir2mcp.yaml\nversion: 1\nserver:\n  listne: \"127.0.0.1:0\"\n");
    let done = program(&folder).run(&["up"]).expect(2);
    assert!(done.output().contains("listen"), "the nearest key is named: {}", done.output());
    assert!(!folder.state().join("connection.json").exists());
}

#[test]
fn d077_text_and_code_are_two_indices() {
    let folder =
        Folder::from("//- a.md\nThe lease ends.\n//- a.rs\nfn lease() {}\n//- Makefile\nlease:\n\ttrue\n");
    let server = serve(&folder);
    let found = |index: &str| {
        let answer = server.expect("dir2mcp.search", json!({ "query": "lease", "index": index }));
        assert_eq!(answer["index_used"], index);
        let mut found: Vec<String> = paths(&answer).into_iter().map(str::to_owned).collect();
        found.sort();
        found
    };
    assert_eq!(found("text"), ["a.md"]);
    assert_eq!(found("code"), ["Makefile", "a.rs"]);
    assert_eq!(found("both"), ["Makefile", "a.md", "a.rs"]);
}

#[test]
fn d080_what_is_deleted_takes_no_place_among_the_hits() {
    let folder = Folder::empty();
    for number in 0..12 {
        folder.write(&format!("{number}.md"), format!("The lighthouse number {number}.\n"));
    }
    let server = serve(&folder);
    for number in 0..6 {
        folder.remove(&format!("{number}.md"));
    }
    server.poll("six files less", |client| {
        let answer = client.expect("dir2mcp.search", json!({ "query": "lighthouse", "k": 6 }));
        let left: Vec<&str> = paths(&answer);
        let alive = left.iter().all(|path| folder.path().join(path).exists());
        (alive && left.len() == 6).then_some(())
    });
}

#[test]
fn d098_the_knobs_of_chunking() {
    let folder = Folder::from(
        "
        //- .dir2mcp.yaml
        version: 1
        chunking:
          max_chars: 300
          overlap_chars: 0
          min_chars: 10
          code:
            max_lines: 8
            overlap_lines: 2
        ",
    );
    let code: String = (0..40).map(|line| format!("let marker_{line} = beacon({line});\n")).collect();
    folder.write("long.rs", code);
    let prose: String = (0..40).map(|line| format!("Sentence {line} tells of a beacon.\n\n")).collect();
    folder.write("long.txt", prose);
    let server = serve(&folder);
    for (path, index, longest) in [("long.rs", "code", 8), ("long.txt", "text", 60)] {
        let arguments = json!({ "query": "beacon", "k": 50, "index": index });
        let answer = server.expect("dir2mcp.search", arguments);
        let hits = answer["hits"].as_array().unwrap();
        assert!(hits.len() > 3, "{path} is cut: {}", hits.len());
        for hit in hits {
            let line = |key: &str| hit["span"][key].as_u64().unwrap();
            assert!(line("end_line") - line("start_line") < longest, "{hit}");
        }
    }
}

#[test]
fn d131_a_call_has_a_name_and_arguments() {
    let folder = Folder::from("//- a.md\nlighthouse\n");
    let server = serve(&folder);
    for era in [Era::Legacy, Era::Modern] {
        let mut client = server.client(era);
        let reply = client.request("tools/call", json!({ "arguments": {} }));
        assert!(reply.error_code().is_some(), "{reply:?}");
        let reply = client.request("tools/call", json!({ "name": "dir2mcp.stats" }));
        assert!(reply.error_code().is_none(), "arguments may be left out: {reply:?}");
    }
}
