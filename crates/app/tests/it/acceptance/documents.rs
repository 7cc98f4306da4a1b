//! Documents whose text has to be extracted, honest and hostile.

use serde_json::json;
use testkit::build::{file, paragraphs as docx, text_pages as pdf, zip};
use testkit::{Client, Era, Folder, passage};

use super::{program, serve};

#[test]
fn documents_are_found_cited_and_opened() {
    let folder = Folder::empty();
    folder.write(
        "report.pdf",
        pdf(&["The lighthouse was built in 1893.", "The windmill belongs to the miller."]),
    );
    folder.write("letter.docx", docx(&["Dear keeper,", "the zeppelin arrives on Tuesday."]));
    folder.write("note.rtf", r"{\rtf1\ansi The quokka smiles.}");
    let server = serve(&folder);
    for (query, path, span, selection) in [
        ("windmill", "report.pdf", json!({ "kind": "page", "page": 2 }), json!({ "page": 2 })),
        (
            "zeppelin",
            "letter.docx",
            json!({ "kind": "lines", "start_line": 1, "end_line": 3 }),
            json!({ "start_line": 1, "end_line": 3 }),
        ),
        (
            "quokka",
            "note.rtf",
            json!({ "kind": "lines", "start_line": 1, "end_line": 1 }),
            json!({ "start_line": 1, "end_line": 1 }),
        ),
    ] {
        let found = server.expect("dir2mcp.search", json!({ "query": query }));
        let hit = &found["hits"][0];
        assert_eq!((hit["rel_path"].as_str(), &hit["span"]), (Some(path), &span), "{found}");
        let mut arguments = selection;
        arguments["rel_path"] = json!(path);
        let opened = server.expect("dir2mcp.open_file", arguments);
        assert!(opened["content"].as_str().unwrap().contains(passage(&hit["snippet"])), "{opened}");
        assert_eq!(opened["span"], span);
    }
    let first = server.expect("dir2mcp.open_file", json!({ "rel_path": "report.pdf" }));
    assert_eq!(first["span"], json!({ "kind": "page", "page": 1 }), "a document begins with its first page");
    let beyond =
        server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": "report.pdf", "page": 3 }));
    assert_eq!(beyond.code(), Some("INVALID_RANGE"));
}

/// Extracting takes a child process, which stays for the next document: its absence tells that none was extracted.
#[test]
fn a_document_is_opened_from_what_was_extracted() {
    let folder = Folder::empty();
    folder.write("report.pdf", pdf(&["The lighthouse was built in 1893.", "The windmill turns."]));
    folder.write("letters.zip", zip(&[file("may/letter.docx", docx(&["The zeppelin arrives."]))]));
    let server = program(&folder).env("DIR2MCP_INGEST_WATCH", "false").serve(&[]);
    server.wait_indexed();
    let open = |path: &str| {
        let opened = server.expect("dir2mcp.open_file", json!({ "rel_path": path }));
        opened["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(children(server.id()), 0);
    assert_eq!(open("report.pdf"), "The lighthouse was built in 1893.");
    assert_eq!(children(server.id()), 0, "it was extracted again");
    folder.write("report.pdf", pdf(&["The lighthouse was built in 1894."]));
    assert!(open("report.pdf").ends_with("The lighthouse was built in 1894."));
    assert_eq!(children(server.id()), 1, "another content was not extracted");
    // A member has to be unpacked, by a child.
    assert_eq!(open("letters.zip/may/letter.docx"), "The zeppelin arrives.");
}

fn children(id: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let children = |thread: std::io::Result<std::fs::DirEntry>| {
        let list = std::fs::read_to_string(thread.unwrap().path().join("children")).unwrap_or_default();
        list.split_whitespace().count()
    };
    threads.map(children).sum()
}

#[test]
fn a_secret_inside_a_document_holds_it_back() {
    let folder = Folder::empty();
    // A fixture, not a key.
    let fixture = ["AKIA", "FAKEFAKEFAKE", "FAKE"].concat();
    folder.write("keys.docx", docx(&[&format!("the pelican uses {fixture}")]));
    let server = serve(&folder);
    assert_eq!(server.expect("dir2mcp.search", json!({ "query": "pelican" }))["hits"], json!([]));
    let opened = server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": "keys.docx" }));
    assert_eq!(opened.code(), Some("FORBIDDEN"));
}

/// One bad file costs one document: whatever the bytes, each file is indexed or skipped with a reason.
#[test]
fn damaged_documents_have_a_reason_each() {
    let folder = Folder::empty();
    folder.write("plain.md", "The otter swims.\n");
    let sources = [("pdf", pdf(&["one", "two", "three"])), ("docx", docx(&["one", "two"]))];
    let mut count = 1;
    for (ending, bytes) in &sources {
        for (number, cut) in (0..bytes.len()).step_by(bytes.len() / 40).enumerate() {
            folder.write(&format!("cut/{number}.{ending}"), &bytes[..cut]);
            let mut flipped = bytes.clone();
            flipped[cut] ^= 0x55;
            folder.write(&format!("flipped/{number}.{ending}"), &flipped);
            count += 2;
        }
        folder.write(&format!("wrong.{}", if *ending == "pdf" { "docx" } else { "pdf" }), bytes);
        count += 1;
    }
    folder.write("cycle.pdf", b"%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [2 0 R] /Count 1 >> endobj\ntrailer << /Root 1 0 R >>\n".as_slice());
    let deep = format!("<w:document>{}</w:document>", "<w:p>".repeat(50_000));
    folder
        .write("deep.docx", zip(&[file("[Content_Types].xml", "<Types/>"), file("word/document.xml", deep)]));
    count += 2;
    let server = serve(&folder);
    assert_eq!(
        server.expect("dir2mcp.search", json!({ "query": "otter" }))["hits"][0]["rel_path"],
        "plain.md"
    );
    let listed = server.expect("dir2mcp.list_files", json!({ "limit": 500 }));
    let files = listed["files"].as_array().unwrap();
    assert_eq!(files.len(), count);
    assert!(files.iter().any(|file| file["status"] == "error"), "{listed}");
    assert_eq!(
        program(&folder)
            .run(&["status", "--skipped"])
            .expect(0)
            .stdout
            .lines()
            .filter(|line| line.starts_with("skipped") || line.starts_with("error"))
            .count(),
        files.iter().filter(|file| file["status"] != "ok").count()
    );
    let whole = files.iter().filter(|file| file["status"] == "ok").count();
    assert!(whole > 40, "most damage leaves text that can be read: {whole} of {count}");
}

/// The child that reads documents, as the server starts it: what it may still do when it answers.
#[test]
fn the_reading_child_has_given_up_everything() {
    use std::io::{Read, Write};
    let mut child = std::process::Command::new(super::BINARY)
        .arg("read-documents")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let limits = json!({
        "max_input_bytes": 1000, "max_output_chars": 1000, "max_units": 10, "max_members": 10,
        "max_member_bytes": 1000, "max_total_bytes": 1000, "max_ratio": 10, "max_depth": 2, "max_nesting": 10,
        "max_steps": 100_000, "max_time": null, "max_picture_pixels": 1000, "max_picture_bytes": 1000,
        "max_recording_seconds": 10,
    });
    let header = json!({ "job": "Extract", "format": "rtf", "name": "a.rtf", "limits": limits }).to_string();
    let document = br"{\rtf1 The quokka smiles.}";
    let input = child.stdin.as_mut().unwrap();
    input.write_all(&(header.len() as u32).to_le_bytes()).unwrap();
    input.write_all(header.as_bytes()).unwrap();
    input.write_all(&(document.len() as u64).to_le_bytes()).unwrap();
    input.write_all(document).unwrap();
    let output = child.stdout.as_mut().unwrap();
    let mut length = [0; 4];
    output.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_le_bytes(length) as usize];
    output.read_exact(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let files = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(|value| value.trim_start_matches(':').trim())
    };
    assert_eq!(field("NoNewPrivs"), Some("1"));
    assert!(files.lines().any(|line| line.starts_with("Max open files") && line.contains(" 3 ")), "{files}");
    // A kernel without seccomp is told of in the first answer.
    if answer.contains("Unconfined") {
        assert!(answer.contains("seccomp") || answer.contains("Landlock"), "{answer}");
    } else {
        assert_eq!(field("Seccomp"), Some("2"), "{status}");
        assert!(answer.contains("quokka"), "{answer}");
    }
}
