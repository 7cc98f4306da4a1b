//! Files as the page shows them: of each kind, of hostile names, and of sizes that nobody reads.

use serde_json::{Value, json};
use testkit::{Folder, Request, build};

use super::{ask, get, serve};

fn view(server: &testkit::Server, path: &str, more: &str) -> Value {
    ask(server, &format!("/console/view?source=dir&path={}{more}", encoded(path)))
}

fn slide(text: &str) -> String {
    format!("<p:sp><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>")
}

fn encoded(path: &str) -> String {
    path.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn code_has_colours_and_an_outline() {
    let folder = Folder::from(
        "//- src/lease.rs\n/// Extends “a” lease 😀.\npub fn renew_lease(id: u32) -> bool {\n    true\n}\n",
    );
    let server = serve(&folder);
    let seen = view(&server, "src/lease.rs", "");
    assert_eq!(
        (&seen["kind"], &seen["language"], &seen["doc_type"]),
        (&json!("code"), &json!("rust"), &json!("code"))
    );
    assert_eq!(seen["lines"]["total"], 4);
    assert_eq!(seen["lines"]["text"][1], "pub fn renew_lease(id: u32) -> bool {");
    let classes = seen["classes"].as_array().unwrap();
    // Each token names a piece of its line, counted as JavaScript does.
    let mut found = Vec::new();
    for (line, tokens) in
        seen["lines"]["text"].as_array().unwrap().iter().zip(seen["tokens"].as_array().unwrap())
    {
        let units: Vec<u16> = line.as_str().unwrap().encode_utf16().collect();
        for token in tokens.as_array().unwrap() {
            let at = |n: usize| token[n].as_u64().unwrap() as usize;
            let text = String::from_utf16(&units[at(0)..at(0) + at(1)]).unwrap();
            found.push((text, classes[at(2)].as_str().unwrap().to_owned()));
        }
    }
    for expected in [("/// Extends “a” lease 😀.", "comment"), ("fn", "keyword"), ("renew_lease", "function")]
    {
        assert!(
            found.iter().any(|(text, class)| (text.as_str(), class.as_str()) == expected),
            "{expected:?} in {found:?}"
        );
    }
    let outline = &seen["outline"][0];
    assert_eq!(
        (&outline["name"], &outline["start_line"], &outline["end_line"]),
        (&json!("renew_lease"), &json!(2), &json!(4))
    );
    assert_eq!(
        (&seen["changed_since_indexed"], &seen["status"], &seen["editable"]),
        (&json!(false), &json!("ok"), &json!(false))
    );
    // A window of it.
    let part = view(&server, "src/lease.rs", "&from=3&lines=1");
    assert_eq!(
        (&part["lines"]["first"], &part["lines"]["text"], &part["lines"]["truncated"]),
        (&json!(3), &json!(["    true"]), &json!(true))
    );
}

#[test]
fn views_have_tags() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    let target = "/console/view?source=dir&path=a.md";
    let first = get(&server, target);
    let tag = first.header("etag").expect("a tag").to_owned();
    let again = server.send(Request::new("GET", target).header("If-None-Match", &tag));
    assert_eq!((again.status, again.body.len()), (304, 0));
    folder.write("a.md", "# B\n");
    let changed = server.send(Request::new("GET", target).header("If-None-Match", &tag));
    assert_eq!(changed.status, 200);
    assert_eq!(super::json_of(&changed)["lines"]["text"], json!(["# B"]));
}

#[test]
fn a_file_that_changed_since_it_was_indexed_says_so() {
    let folder = Folder::from("//- a.txt\none\n");
    let server = super::program(&folder).env("DIR2MCP_INGEST_WATCH", "false").serve(&[]);
    server.wait_indexed();
    assert_eq!(view(&server, "a.txt", "")["changed_since_indexed"], false);
    folder.write("a.txt", "two\n");
    let seen = view(&server, "a.txt", "");
    assert_eq!((&seen["changed_since_indexed"], &seen["lines"]["text"]), (&json!(true), &json!(["two"])));
}

#[test]
fn markdown_is_a_tree_and_markup_is_text() {
    let folder = Folder::from(
        "//- a.md\n# Title\n\n<img src=x onerror=alert(1)> and [x](javascript:alert(1)) and [y](b.md)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    );
    let server = serve(&folder);
    let seen = view(&server, "a.md", "");
    assert_eq!(seen["kind"], "markdown");
    assert_eq!(seen["page"][0], json!(["h1", { "line": 1, "id": "title" }, "Title"]));
    let page = seen["page"].to_string();
    assert!(page.contains("[\"html\",{},\"<img src=x onerror=alert(1)>\"]"), "{page}");
    assert!(!page.contains("javascript:\"") && !page.contains("\"href\":\"javascript"), "{page}");
    assert!(page.contains("{\"href\":\"b.md\"}") && page.contains("[\"td\",{},\"2\"]"), "{page}");
    assert_eq!(seen["lines"]["total"], 7);
}

#[test]
fn documents_by_page_slide_and_sheet() {
    let folder = Folder::from("//- t.csv\nname,age\n\"Doe, J\",7\n");
    folder.write("guide.pdf", build::text_pages(&["The first page.", "The windmill was built in 1893."]));
    folder.write("talk.pptx", build::pptx(&[&slide("Opening words"), &slide("Closing words")], ""));
    folder.write(
        "talk.vtt",
        "WEBVTT\n\n00:01.000 --> 00:04.000\nHello there.\n\n01:15.000 --> 01:30.000\nLater.\n",
    );
    let server = serve(&folder);
    let page = view(&server, "guide.pdf", "&page=2");
    assert_eq!(
        (&page["kind"], &page["parts"]["count"], &page["parts"]["part"], &page["parts"]["word"]),
        (&json!("pages"), &json!(2), &json!(2), &json!("page"))
    );
    assert_eq!(page["units"][0]["pointer"], "page 2");
    assert!(page["units"][0]["text"].as_str().unwrap().contains("1893"), "{page}");
    let slide = view(&server, "talk.pptx", "&page=2");
    assert_eq!(slide["parts"]["word"], "slide");
    assert!(slide["units"].to_string().contains("Closing words"), "{slide}");
    let table = view(&server, "t.csv", "");
    assert_eq!(
        (&table["kind"], &table["table"]["rows"]),
        (&json!("table"), &json!([["name", "age"], ["Doe, J", "7"]]))
    );
    let spoken = view(&server, "talk.vtt", "");
    assert_eq!(spoken["kind"], "time", "{spoken}");
    assert_eq!(spoken["segments"][0], json!({ "start_ms": 1000, "end_ms": 4000, "text": "Hello there." }));
}

#[test]
fn archives_are_folders_and_pictures_have_a_type() {
    let folder = Folder::from("//- docs/a.md\n# A\n//- docs/sub/b.md\n# B\n//- c.md\n# C\n");
    folder.write("pack.zip", build::zip(&[build::file("inner/x.md", "# X\n"), build::file("y.md", "# Y\n")]));
    folder.write("dot.png", testkit::picture("dot"));
    let server = serve(&folder);
    let top = ask(&server, "/console/list?source=dir");
    let names: Vec<(&str, &str)> = top["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| Some((entry["kind"].as_str()?, entry["name"].as_str()?)))
        .collect();
    assert_eq!(names, [("folder", "docs"), ("file", "c.md"), ("file", "dot.png"), ("archive", "pack.zip")]);
    assert_eq!((&top["entries"][0]["files"], &top["total"]), (&json!(2), &json!(4)));
    let inside = ask(&server, "/console/list?source=dir&path=docs&limit=1");
    assert_eq!((&inside["entries"][0]["path"], &inside["truncated"]), (&json!("docs/sub"), &json!(true)));
    let flat = ask(&server, "/console/list?source=dir&filter=B.MD");
    assert_eq!(flat["entries"][0]["path"], "docs/sub/b.md");
    let archive = view(&server, "pack.zip", "");
    assert_eq!(
        (&archive["kind"], &archive["entries"][0]["path"]),
        (&json!("archive"), &json!("pack.zip/inner"))
    );
    assert_eq!(view(&server, "pack.zip/y.md", "")["page"][0][2], "Y");
    assert_eq!(view(&server, "docs", "")["kind"], "folder");
    let picture = view(&server, "dot.png", "");
    assert_eq!(
        (&picture["kind"], &picture["media"]["type"]),
        (&json!("image"), &json!("image/png")),
        "{picture}"
    );
    assert!(picture["reason"]["message"].is_string(), "{picture}");
}

#[test]
fn hostile_names_and_texts_are_data() {
    let markup = "<img src=x onerror=alert(1)>.txt";
    let folder = Folder::empty();
    folder.write(markup, "a\u{202e}b\u{1b}[2J\n");
    folder.write("odd\u{202e}name.txt", "x\n");
    let server = serve(&folder);
    let seen = view(&server, markup, "");
    assert_eq!((&seen["name"], &seen["lines"]["text"]), (&json!(markup), &json!(["a\\u{202e}b\\u{1b}[2J"])));
    let listed = ask(&server, "/console/list?source=dir");
    let shown = listed["entries"].as_array().unwrap().iter().find(|entry| entry["name"] != markup).unwrap();
    assert_eq!(shown["name"], "odd\\u{202e}name.txt");
    // A name is given back as it was shown.
    assert_eq!(view(&server, shown["path"].as_str().unwrap(), "")["lines"]["text"], json!(["x"]));
    let raw = get(&server, &format!("/console/raw?source=dir&path={}", encoded(markup)));
    assert_eq!((raw.status, raw.header("content-type")), (200, Some("application/octet-stream")));
    let disposition = raw.header("content-disposition").unwrap();
    assert!(disposition.starts_with("attachment; filename*=UTF-8''%3Cimg"), "{disposition}");
    assert_eq!(raw.body, "a\u{202e}b\u{1b}[2J\n".as_bytes(), "bytes are not changed");
}

#[test]
fn secrets_are_not_shown_by_any_way() {
    let folder = Folder::from("//- ok.txt\nfine\n");
    let key = format!("AKIA{}", "IOSFODNN7EXAMPLQ");
    folder.write(
        "deploy.txt",
        format!(
            "aws_access_key_id = {key}\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEYS\n"
        ),
    );
    folder.write(".env", "TOKEN=abc\n");
    let server = serve(&folder);
    for route in ["view", "raw"] {
        for path in ["deploy.txt", ".env"] {
            let answer = get(&server, &format!("/console/{route}?source=dir&path={path}"));
            assert_eq!(answer.status, 403, "{route} {path}: {}", answer.text());
            assert!(!answer.text().contains("AKIA"), "{}", answer.text());
        }
    }
}

#[test]
fn a_file_of_ten_megabytes_is_shown_in_part() {
    let folder = Folder::empty();
    let line = "let value = compute(1, 2, 3); // a line of code\n";
    folder.write("large.js", line.repeat(10_000_000 / line.len()));
    folder.write("one-line.js", format!("var a=\"{}\";", "x".repeat(3_000_000)));
    let server = serve(&folder);
    let seen = view(&server, "large.js", "");
    assert_eq!((&seen["lines"]["truncated"], seen["tokens"].as_array().unwrap().len()), (&json!(true), 0));
    let shown = seen["lines"]["text"].as_array().unwrap().len();
    assert!(shown <= 20_000, "{shown}");
    let total = seen["lines"]["total"].as_u64().unwrap();
    let last = view(&server, "large.js", &format!("&from={total}"));
    assert_eq!(
        (last["lines"]["text"].as_array().unwrap().len(), &last["lines"]["truncated"]),
        (1, &json!(false))
    );
    let one = view(&server, "one-line.js", "");
    assert_eq!(
        (&one["lines"]["cut"], one["lines"]["text"][0].as_str().unwrap().len()),
        (&json!([1]), 20_000)
    );
}
