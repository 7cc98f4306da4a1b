//! Previews: safe, short, and at the place that was found.

use serde_json::{Value, json};
use testkit::{Client, Folder};

use super::{docx, flat, indexed, pdf, pptx, refused, smart, smart_with};

/// Built here, so that no scanner takes it for one: a mail address, a phone number and a key.
fn private() -> (String, String, String) {
    let mail = ["jane.doe", "example.org"].join("@");
    let phone = ["+49 30", "901820", "13"].join(" ");
    let key = format!("sk-{}", "a1b2c3d4e5f6g7h8".repeat(2));
    (mail, phone, key)
}

#[test]
fn s023_s032_previews_hide_addresses_numbers_and_keys() {
    let (mail, phone, key) = private();
    let folder = Folder::empty();
    folder.write(
        "staff.txt",
        format!("Lighthouse keeper: {mail}\nCall {phone} before noon.\nThe lamp is lit.\n"),
    );
    folder.write("staff.docx", docx(&[&format!("Lighthouse keeper {mail}, phone {phone}.")]));
    // Blanked where it is shown: a file that holds a real secret is not indexed at all.
    folder.write("log.txt", format!("lighthouse started\n{}\n", "filler words here\n".repeat(3)));
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    let answer = server.expect("searchFiles", json!({ "query": "lighthouse keeper" }));
    let shown = answer.to_string();
    assert!(!shown.contains(&mail) && !shown.contains(&phone), "{shown}");
    assert!(shown.contains("[EMAIL]"), "{shown}");
    for item in answer["items"].as_array().unwrap() {
        let preview = server
            .expect("openFile", json!({ "path": item["path"], "pointer": item["pointer"] }))
            .to_string();
        assert!(!preview.contains(&mail) && !preview.contains(&phone), "{preview}");
    }
    let summary = server.expect(
        "summarizeResults",
        json!({
            "query": "keeper",
            "results": [{ "path": folder.path().join("log.txt"), "snippet": format!("ask {mail}, key {key}") }],
        }),
    );
    let summary = summary["summary"].as_str().unwrap();
    assert!(!summary.contains(&mail) && !summary.contains(&key), "{summary}");
}

#[test]
fn c06_a_file_that_is_held_back_has_no_preview() {
    let folder = Folder::from("//- .env\nA=1\n//- fine.txt\nfine\n");
    folder.write("deploy.txt", format!("token = {}\n", "abcdefghij".repeat(3)));
    folder.link("out.txt", "/etc/hostname");
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    for (path, code) in [
        (".env", "FORBIDDEN"),
        ("deploy.txt", "FORBIDDEN"),
        ("out.txt", "FORBIDDEN"),
        ("../outside.txt", "FORBIDDEN"),
        ("gone.txt", "NOT_FOUND"),
    ] {
        let path = folder.path().join(path);
        assert_eq!(refused(&mut server, "openFile", json!({ "path": path })), code, "{}", path.display());
    }
    for path in ["/etc/passwd", "fine.txt", "relative/../../etc/passwd", ""] {
        let code = refused(&mut server, "openFile", json!({ "path": path }));
        assert!(["FORBIDDEN", "BAD_REQUEST"].contains(&code.as_str()), "{path}: {code}");
    }
    let wrong = json!({ "path": folder.path().join("fine.txt"), "pointer": "somewhere nice" });
    assert_eq!(refused(&mut server, "openFile", wrong), "BAD_REQUEST");
    let beyond = json!({ "path": folder.path().join("fine.txt"), "pointer": "page 9" });
    assert_eq!(refused(&mut server, "openFile", beyond), "NOT_FOUND");
}

#[test]
fn s022_s031_previews_are_short_and_whole_characters() {
    let folder = Folder::empty();
    folder.write("long.txt", "Ein Satz über Leuchttürme und Windmühlen: 灯台。\n".repeat(400));
    folder.write("short.txt", "All of it.\n");
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    let open = |server: &mut testkit::StdioServer, file: &str, more: Value| {
        let mut arguments = json!({ "path": folder.path().join(file) });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.expect("openFile", arguments)
    };
    let whole = open(&mut server, "short.txt", json!({}));
    assert_eq!((&whole["preview"], &whole["truncated"]), (&json!("All of it."), &json!(false)));
    for more in [
        json!({}),
        json!({ "pointer": "lines 100-300" }),
        json!({ "pointer": "lines 200-200", "before": 1_000_000, "after": 1_000_000 }),
    ] {
        let preview = open(&mut server, "long.txt", more);
        let text = preview["preview"].as_str().unwrap();
        assert!(text.len() <= 2048 && text.len() > 1500, "{}", text.len());
        assert_eq!(preview["truncated"], true);
    }
    let near = open(&mut server, "long.txt", json!({ "pointer": "lines 200-200", "before": 5, "after": 5 }));
    assert!(near["preview"].as_str().unwrap().len() < 100, "{near}");
    let mut small = program_with_small_previews(&folder);
    let preview = small.expect("openFile", json!({ "path": folder.path().join("long.txt") }));
    assert!(preview["preview"].as_str().unwrap().len() <= 1024);
}

fn program_with_small_previews(folder: &Folder) -> testkit::StdioServer {
    folder.write(".dir2mcp.yaml", "smart:\n  preview_bytes: 1024\n");
    smart_with(folder, &[])
}

#[test]
fn s004_every_hit_opens_where_it_was_found() {
    let folder = Folder::empty();
    let filler = "Ordinary words about nothing in particular, over and over again.\n".repeat(60);
    folder.write("plain.txt", format!("{filler}The lighthouse stands here.\n{filler}"));
    folder.write("notes.md", format!("# One\n\n{filler}\n# Two\n\nA lighthouse in Markdown.\n\n{filler}"));
    folder.write("code.py", format!("{}\n\ndef lighthouse():\n    return 1\n", "x = 1\n".repeat(400)));
    folder.write(
        "one_line.json",
        format!("{{\"a\": \"{}lighthouse {}\"}}", "word ".repeat(2000), "word ".repeat(2000)),
    );
    folder.write("paper.pdf", pdf(&["First page", "The lighthouse on the second page", "Third"]));
    folder.write("talk.pptx", pptx(&["Agenda", "The lighthouse slide"]));
    let paragraphs: Vec<String> =
        (0..80).map(|n| format!("Paragraph {n}: {}", "many words ".repeat(20))).collect();
    let mut paragraphs: Vec<&str> = paragraphs.iter().map(String::as_str).collect();
    paragraphs.insert(60, "The lighthouse in a long document.");
    folder.write("long.docx", docx(&paragraphs));
    let mut server = smart(&folder);
    indexed(&mut server, folder.path().to_str().unwrap());
    let answer = server.expect("searchFiles", json!({ "query": "lighthouse" }));
    let items = answer["items"].as_array().unwrap();
    assert_eq!(items.len(), 7, "{answer}");
    for item in items {
        let preview = server.expect("openFile", json!({ "path": item["path"], "pointer": item["pointer"] }));
        let (shown, snippet) = (preview["preview"].as_str().unwrap(), testkit::passage(&item["snippet"]));
        assert!(snippet.contains("lighthouse"), "{item}");
        assert!(flat(shown).contains(&flat(snippet)), "{item} is not in {preview}");
        assert_eq!(preview["pointer"], item["pointer"]);
        assert!(shown.len() <= 2048);
    }
    let pointer = |name: &str| {
        let item = items.iter().find(|item| item["path"].as_str().unwrap().ends_with(name)).unwrap();
        item["pointer"].as_str().unwrap().to_owned()
    };
    assert_eq!(pointer("paper.pdf"), "page 2");
    assert_eq!(pointer("talk.pptx"), "slide 2");
    assert!(pointer("plain.txt").starts_with("lines "), "{}", pointer("plain.txt"));
}

#[test]
fn s025_s026_s028_summaries_without_a_model() {
    let folder = Folder::from("//- a.txt\nThe lighthouse was built in 1893.\n");
    let mut server = smart(&folder);
    let path = folder.path().join("a.txt");
    let results = json!([{ "path": path, "snippet": "The lighthouse was built in 1893.", "score": 0.9 }]);
    let ask = |style: &str| json!({ "query": "when was it built", "results": results, "style": style });
    let answer = server.expect("summarizeResults", ask("bullets"));
    assert_eq!(answer["summary"], "- The lighthouse was built in 1893. (a.txt)");
    assert_eq!(answer["tokens_used"], json!({ "prompt": 0, "completion": 0 }));
    let answer = server.expect("summarizeResults", ask("paragraph"));
    assert_eq!(answer["summary"], "The lighthouse was built in 1893. Key files: a.txt.");
    assert!(
        server.expect("summarizeResults", ask("table"))["summary"].as_str().unwrap().starts_with("| file |")
    );
    assert_eq!(refused(&mut server, "summarizeResults", ask("poem")), "BAD_REQUEST");
    let foreign = json!({ "query": "x", "results": [{ "path": "/etc/passwd", "snippet": "x" }] });
    assert_eq!(refused(&mut server, "summarizeResults", foreign), "FORBIDDEN");
    let short = json!({ "query": "lighthouse", "results": results, "max_tokens": 3 });
    assert!(server.expect("summarizeResults", short)["summary"].as_str().unwrap().chars().count() <= 13);
}
