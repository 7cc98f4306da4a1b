//! What people who tried the program for the first time ran into.

use serde_json::json;
use testkit::{Client, Era, Folder, build};

use super::smart::{indexed, smart};
use super::{program, serve};

/// Put together here, so that no scanner takes this file for a leak.
fn password() -> String {
    ["kX9v", "r2mL", "q7p"].concat()
}

#[test]
fn d086_passwords_told_in_prose_hold_a_note_back() {
    let folder = Folder::from("//- plain.md\nThe lighthouse is open.\n");
    let (word, secret) = ("password", password());
    for (path, line) in [
        ("wifi.md", format!("The Wi-Fi {word} is: {secret}")),
        ("guests.txt", format!("The {word} for the guest network is {secret}.")),
        ("list.md", format!("- **{word}:** {secret}")),
        ("users.csv", format!("name,{word},age\nanna,{secret},30")),
        ("table.md", format!("| who | {word} |\n|---|---|\n| anna | {secret} |")),
    ] {
        folder.write(path, format!("{line}\n\nlighthouse\n"));
    }
    let server = serve(&folder);
    let found = server.expect("dir2mcp.search", json!({ "query": "lighthouse", "k": 50 }));
    let paths: Vec<_> = found["hits"].as_array().unwrap().iter().map(|hit| hit["rel_path"].clone()).collect();
    assert_eq!(paths, ["plain.md"]);
    for path in ["wifi.md", "guests.txt", "list.md", "users.csv", "table.md"] {
        let reply = server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": path }));
        assert_eq!(reply.code(), Some("FORBIDDEN"), "{path}: {}", reply.result);
    }
}

#[test]
fn s032_a_column_of_passwords_is_blanked_wherever_its_rows_are_shown() {
    let folder = Folder::empty();
    // Words, so that the file is not held back as a whole.
    let rows: String = (0..900).map(|row| format!("person{row},Garden{},town{row}\n", row % 7)).collect();
    folder.write("users.csv", format!("name,{},city\n{rows}", "password"));
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    let path = folder.path().join("users.csv");
    for row in [3, 450, 880] {
        let answer = server.expect("searchFiles", json!({ "query": format!("person{row}") }));
        let shown = answer["items"][0]["snippet"].as_str().unwrap();
        assert!(shown.contains(&format!("person{row},[SECRET],town{row}")), "{shown}");
        assert!(!answer.to_string().contains("Garden"), "{answer}");
        let pointer = format!("rows {}-{}", row + 1, row + 3);
        let opened = server.expect("openFile", json!({ "path": path, "pointer": pointer })).to_string();
        assert!(opened.contains("[SECRET]") && !opened.contains("Garden"), "{opened}");
    }
}

#[test]
fn a_pasted_error_that_is_nowhere_has_no_confident_hit() {
    let folder = Folder::from("//- notes.md\n# Notes\n\nThe windmill was built in 1893.\n");
    folder.write("padding.txt", "xxxx ".repeat(4000));
    let server = serve(&folder);
    let error = "ENOENT: no such file or directory, open '/etc/server/xxxx' while starting the scheduler";
    let answer = server.expect("dir2mcp.search", json!({ "query": error }));
    for hit in answer["hits"].as_array().unwrap() {
        assert!(hit["score"].as_f64().unwrap() < 0.3, "{hit}");
    }
    // What is there has its usual score.
    let answer =
        server.expect("dir2mcp.search", json!({ "query": "when was the windmill of the village built" }));
    assert_eq!(answer["hits"][0]["rel_path"], "notes.md");
    assert_eq!(answer["hits"][0]["score"], 1.0);
}

#[test]
fn d085_a_loop_of_links_is_called_so() {
    let folder = Folder::from("//- a.md\nA lighthouse.\n");
    folder.link("first", "second");
    folder.link("second", "first");
    let done = program(&folder).run(&["open", "first"]).expect(1);
    assert!(done.stderr.contains("FILE_NOT_FOUND") && done.stderr.contains("form a loop"), "{}", done.stderr);
}

#[test]
fn d006_errors_in_a_shell_name_commands() {
    let folder = Folder::from("//- a.md\nA lighthouse.\n//- sub/b.md\nB\n");
    for path in ["entirely/elsewhere.rs", "sub"] {
        let done = program(&folder).run(&["open", path]).expect(1);
        assert!(done.stderr.contains("`dir2mcp status --files`"), "{path}: {}", done.stderr);
        assert!(!done.stderr.contains("list_files"), "{path}: {}", done.stderr);
    }
}

#[test]
fn a_range_that_names_no_lines_is_explained() {
    let folder = Folder::from("//- a.md\none\ntwo\nthree\n");
    for range in ["0", "1-", "-2", "3-1", "1,2"] {
        let done = program(&folder).run(&["open", &format!("a.md:{range}")]).expect(1);
        let message = format!("\"{range}\" is not a range of lines");
        assert!(done.stderr.contains("INVALID_RANGE") && done.stderr.contains(&message), "{}", done.stderr);
        assert!(done.stderr.contains("a.md:3-9"), "{}", done.stderr);
    }
    assert_eq!(program(&folder).run(&["open", "a.md:2-3"]).expect(0).stdout, "two\nthree\n");
}

#[test]
fn a_file_in_the_place_of_the_state_directory_is_named() {
    let folder = Folder::from("//- a.md\nA lighthouse.\n");
    let state = folder.outside().join("state");
    std::fs::write(&state, "not a folder").unwrap();
    for arguments in [&["index"][..], &["search", "lighthouse"], &["up"], &["status"]] {
        let done = program(&folder).state_dir(&state).run(arguments).expect(2);
        assert!(done.stderr.contains("there is a file called"), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains("--state-dir"), "{arguments:?}: {}", done.stderr);
        assert!(!done.stderr.contains("os error"), "{arguments:?}: {}", done.stderr);
    }
}

#[test]
fn what_is_attached_to_a_message_is_found_in_it() {
    let folder = Folder::empty();
    let pdf = build::text_pages(&["The windmill turns", "The lighthouse shines"]);
    folder.write("letter.eml", build::mail("Plans", "See the attached plan.", &[("plan.pdf", &pdf)]));
    let server = serve(&folder);
    let found = server.expect("dir2mcp.search", json!({ "query": "lighthouse shines" }));
    assert_eq!(found["hits"][0]["rel_path"], "letter.eml");
    let opened = server.expect("dir2mcp.open_file", json!({ "rel_path": "letter.eml" }));
    let text = opened["content"].as_str().unwrap();
    assert!(text.contains("Attachment: plan.pdf, page 2\nThe lighthouse shines"), "{text}");
}

#[test]
fn d029_a_root_that_is_not_there_cannot_be_added() {
    let folder = Folder::from("//- a.md\nA lighthouse.\n");
    let missing = folder.outside().join("nowhere");
    let done = program(&folder).run(&["roots", "add", missing.to_str().unwrap()]).expect(3);
    assert!(done.stderr.contains("ROOT_INACCESSIBLE") && done.stderr.contains("nowhere"), "{}", done.stderr);
    assert!(!done.stderr.contains("INTERNAL_ERROR"), "{}", done.stderr);
    let roots = program(&folder).json(&["roots", "--json"]);
    assert_eq!(roots["roots"].as_array().unwrap().len(), 1, "{roots}");
}
