//! Whatever a tool of any contract cites can be opened, and what is opened shows what was shown: for every kind of
//! document, every name that a file system allows and every encoding.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};
use testkit::build::{epub, file, odf, paragraphs, rows, slides, text_pages, zip};
use testkit::{Client, Era, Folder, StdioServer};

use super::program;

/// Words that stand in one place each, so that a hit for one of them is known.
fn word(number: usize) -> String {
    let syllables = ["ba", "ko", "ri", "mu", "te", "la", "zo", "fi"];
    let digit = |place: u32| syllables[(number / 8usize.pow(place)) % 8];
    format!("q{}{}{}x", digit(0), digit(1), digit(2))
}

/// Gives out words, and remembers which file each is in.
#[derive(Default)]
struct Words {
    next: usize,
    homes: BTreeMap<String, String>,
}

impl Words {
    /// Sentences for a file, each around a word of its own.
    fn sentences(&mut self, path: &str, count: usize) -> Vec<String> {
        let mut sentence = || {
            let word = word(self.next);
            self.next += 1;
            self.homes.insert(word.clone(), path.to_owned());
            format!("The keeper of lamp {word} wrote a few lines about the café by the sea that night.")
        };
        (0..count).map(|_| sentence()).collect()
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Names that are hard to write, to quote or to tell from a place within a file.
const NAMES: &[&str] = &[
    "a:b.md",
    "C:x.md",
    "back\\slash.md",
    "two\\back\\slashes.md",
    "with space.md",
    "ünïcödé/漢字 🦀.md",
    "e\u{301}.md",
    "100%20.md",
    "new\nline.md",
    "q#p=3.md",
    "at@t=1-2.md",
    "colon:L1-L2.md",
    "br[ack]et].md",
    "..dots...md",
    "-dash.md",
    "quote'\"s.md",
    "weird\\dir:x/inner.md",
];

fn corpus(folder: &Folder, words: &mut Words) {
    let mut put = |path: &str, count: usize, make: &dyn Fn(&[String]) -> Vec<u8>| {
        let sentences = words.sentences(path, count);
        folder.write(path, make(&sentences));
    };
    let lines = |sentences: &[String]| (sentences.join("\n") + "\n").into_bytes();
    for name in NAMES {
        put(name, 2, &lines);
    }
    // Encodings.
    put("enc/utf8-crlf.txt", 3, &|all| all.join("\r\n").into_bytes());
    put("enc/utf16le.txt", 3, &|all| {
        let text = format!("\u{feff}{}\r\n", all.join("\r\n"));
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    });
    put("enc/utf16be.txt", 3, &|all| {
        format!("\u{feff}{}\n", all.join("\n")).encode_utf16().flat_map(u16::to_be_bytes).collect()
    });
    put("enc/latin1.txt", 3, &|all| all.join("\n").chars().map(|character| character as u8).collect());
    put("enc/bom.md", 3, &|all| format!("\u{feff}{}", all.join("\n")).into_bytes());
    put("enc/no-final-newline.rst", 3, &|all| all.join("\n").into_bytes());
    // Lines that are too long to be shown by their number.
    put("long/one-line.txt", 5, &|all| {
        let filler = "and the sea was calm and the lamp was lit ".repeat(3000);
        all.join(&filler).into_bytes()
    });
    put("long/one-line.json", 5, &|all| {
        let filler: String = (0..4000).map(|n| format!("\"k{n}\":{n},")).collect();
        let parts: String = all.iter().map(|line| format!("{filler}\"log\":\"{line}\",")).collect();
        format!("{{{parts}\"end\":0}}").into_bytes()
    });
    put("long/between.md", 3, &|all| {
        format!("{}\n{}{}{}\n{}\n", all[0], "漢".repeat(20_000), all[1], "字 ".repeat(9_000), all[2])
            .into_bytes()
    });
    // Documents.
    let tagged = |tag: &str, all: &[String]| -> String {
        all.iter().map(|line| format!("<{tag}>{line}</{tag}>")).collect()
    };
    let refs = |all: &[String]| -> Vec<&'static str> {
        all.iter().map(|line| &*Box::leak(line.replace('é', "e").into_boxed_str())).collect()
    };
    put("docs/a.pdf", 6, &|all| text_pages(&refs(all)));
    put("docs/b.docx", 40, &|all| paragraphs(&refs(all)));
    put("docs/c.pptx", 5, &|all| slides(&refs(all), "Notes of the keeper"));
    put("docs/d.xlsx", 60, &|all| rows(&refs(all)));
    put("docs/e.odt", 20, &|all| odf("text", &tagged("text:p", all)));
    put("docs/f.epub", 6, &|all| epub(&refs(all)));
    put("docs/g.rtf", 6, &|all| {
        let text: String = refs(all).iter().map(|line| format!("{line}\\par\n")).collect();
        format!("{{\\rtf1\\ansi {text}}}").into_bytes()
    });
    put("docs/h.html", 40, &|all| {
        let list =
            all.iter().map(|line| format!("<li>an item of the list</li><li>{line}</li>")).collect::<String>();
        format!("<!DOCTYPE html><html><body><h1>Log</h1><ul>{list}</ul></body></html>").into_bytes()
    });
    put("docs/i.eml", 4, &|all| {
        format!(
            "From: a@example.org\nSubject: Log\nContent-Type: text/plain; charset=utf-8\n\n{}\n",
            all.join("\n")
        )
        .into_bytes()
    });
    put("docs/j.mbox", 4, &|all| {
        let one = |line: &String| {
            format!("From a\nSubject: Log\nContent-Type: text/plain; charset=utf-8\n\n{line}\n\n")
        };
        all.iter().map(one).collect::<String>().into_bytes()
    });
    put("docs/k.csv", 105, &|all| {
        let row = |line: &String| format!("me,\"{line}\",\"two\nlines\"");
        format!("who,what,more\n{}\n", all.iter().map(row).collect::<Vec<_>>().join("\n")).into_bytes()
    });
    put("docs/k.tsv", 30, &|all| {
        let row = |line: &String| format!("me\t{line}");
        format!("who\twhat\n{}\n", all.iter().map(row).collect::<Vec<_>>().join("\n")).into_bytes()
    });
    put("docs/l.ipynb", 4, &|all| {
        let cell = |line: &String| json!({ "cell_type": "markdown", "source": [line] });
        json!({ "cells": all.iter().map(cell).collect::<Vec<_>>(), "nbformat": 4 }).to_string().into_bytes()
    });
    put("docs/m.srt", 5, &|all| {
        let cue = |(n, line): (usize, &String)| {
            format!("{}\n00:{n:02}:00,000 --> 00:{n:02}:20,000\n{line}\n\n", n + 1)
        };
        all.iter().enumerate().map(cue).collect::<String>().into_bytes()
    });
    put("docs/n.md", 20, &|all| {
        all.iter().map(|line| format!("## Night\n\n{line}\n\n")).collect::<String>().into_bytes()
    });
    put("docs/o.py", 10, &|all| {
        let function = |(n, line): (usize, &String)| {
            format!("def night_{n}():\n    # {line}\n    return night_{n}\n\n\n")
        };
        all.iter().enumerate().map(function).collect::<String>().into_bytes()
    });
    put("docs/long.md", 25, &|all| {
        let filler = "A line of the log.\n".repeat(19);
        all.iter().map(|line| format!("{line}\n{filler}")).collect::<String>().into_bytes()
    });
    put("docs/form-feeds.txt", 4, &|all| all.join("\n\x0c\n").into_bytes());
    put("docs/p.zip", 6, &|all| {
        zip(&[
            file("q.pdf", text_pages(&refs(&all[..2]))),
            file("r/s t.docx", paragraphs(&refs(&all[2..4]))),
            file("u\\v.txt", all[4..].join("\n")),
        ])
    });
    folder.write("docs/people.txt", contacts());
}

/// Addresses and numbers that the smart tools blank.
fn contacts() -> String {
    let mail = ["jane.doe", "example.org"].join("@");
    let phone = ["+49 30", "901820", "13"].join(" ");
    format!("Night watch of qwatchx: write to {mail} or call {phone} before noon, said the keeper.\n")
        .repeat(40)
}

/// The arguments that open what a citation of `dir2mcp.*` says.
fn place(cited: &Value) -> Value {
    let mut arguments = json!({ "rel_path": cited["rel_path"] });
    for key in ["page", "start_line", "end_line", "start_ms", "end_ms"] {
        if let Some(value) = cited["span"].get(key) {
            arguments[key] = value.clone();
        }
    }
    arguments
}

/// The text of a snippet as it stands in the file: a first line that says where the passage stands is not part of it.
fn passage(snippet: &str) -> Vec<String> {
    let whole = flat(snippet);
    let rest = snippet.split_once('\n').map(|(_, rest)| flat(rest));
    std::iter::once(whole).chain(rest).filter(|text| !text.is_empty()).collect()
}

#[track_caller]
fn assert_shows(what: &str, opened: &str, snippet: &str) {
    let opened = flat(opened);
    let shown = passage(snippet);
    assert!(shown.iter().any(|text| opened.contains(text)), "{what}: {snippet:?} is not in {opened:?}");
}

/// The path and the place of a written citation, told apart from the right: a path may hold whatever a place holds.
fn written(citation: &str) -> Option<(String, String)> {
    let inner = citation.strip_prefix('[')?.strip_suffix(']')?;
    let at = [":L", "#p=", "@t="].iter().filter_map(|mark| inner.rfind(mark)).max()?;
    Some((inner[..at].to_owned(), inner[at..].to_owned()))
}

fn citation(cited: &Value) -> (String, String) {
    let span = &cited["span"];
    let clock = |ms: &Value| {
        let seconds = ms.as_u64().unwrap() / 1000;
        format!("{:02}:{:02}", seconds / 60, seconds % 60)
    };
    let place = match span["kind"].as_str().unwrap() {
        "lines" => format!(":L{}-L{}", span["start_line"], span["end_line"]),
        "page" => format!("#p={}", span["page"]),
        _ => format!("@t={}-{}", clock(&span["start_ms"]), clock(&span["end_ms"])),
    };
    (cited["rel_path"].as_str().unwrap().to_owned(), place)
}

/// Whether a written path is the same, in spite of what keeps control characters off a screen.
fn same_path(one: &str, other: &str) -> bool {
    let plain =
        |text: &str| text.replace(|character: char| character.is_control() || character == '\u{fffd}', " ");
    plain(one) == plain(other)
}

fn server(folder: &Folder) -> StdioServer {
    let mut server = program(folder).stdio(&["--tools", "dir2mcp,repo,smart"]).connect(Era::Legacy);
    server.wait_indexed();
    server
}

#[test]
fn every_place_that_any_contract_cites_opens_what_was_shown() {
    let folder = Folder::empty();
    let mut words = Words::default();
    corpus(&folder, &mut words);
    let mut server = server(&folder);
    let root = folder.path().to_str().unwrap().to_owned();
    let mut found = BTreeMap::<&str, usize>::new();
    for (word, home) in &words.homes {
        // dir2mcp: the default of max_chars shows the whole passage.
        let reply = server.call("dir2mcp.search", json!({ "query": word, "k": 3, "index": "both" }));
        let answer = reply.structured().clone();
        let hits = answer["hits"].as_array().unwrap();
        let first = hits.first().unwrap_or_else(|| panic!("{word} of {home:?} is not found"));
        let path = first["rel_path"].as_str().unwrap();
        assert!(path.starts_with(home.as_str()), "{word} is in {home:?}, not in {path:?}");
        assert!(flat(first["snippet"].as_str().unwrap()).contains(word), "{word}: {first}");
        *found.entry("dir2mcp").or_default() += 1;
        for hit in hits {
            let opened = server.expect("dir2mcp.open_file", place(hit));
            assert_eq!(opened["span"], hit["span"], "{hit}");
            assert_eq!(opened["rel_path"], hit["rel_path"]);
            assert_shows(
                &hit.to_string(),
                opened["content"].as_str().unwrap(),
                hit["snippet"].as_str().unwrap(),
            );
        }
        // What is written for people names the same place.
        let text = reply.result["content"][0]["text"].as_str().unwrap().to_owned();
        let (path, at) = citation(first);
        let named = text.match_indices(&format!("{at}]")).any(|(end, _)| {
            let line = &text[..end + at.len() + 1];
            line.match_indices('[').any(|(start, _)| {
                written(&line[start..]).is_some_and(|(named, place)| same_path(&named, &path) && place == at)
            })
        });
        assert!(named, "{path}{at} is not cited in {text:?}");
    }
    for (word, home) in words.homes.iter().step_by(7) {
        let answer =
            server.expect("dir2mcp.ask", json!({ "question": format!("who is the keeper of lamp {word}") }));
        let hits = answer["hits"].as_array().unwrap();
        for cited in answer["citations"].as_array().unwrap() {
            let opened = server.expect("dir2mcp.open_file", place(cited));
            let hit = hits.iter().find(|hit| hit["chunk_id"] == cited["chunk_id"]);
            let hit = hit.unwrap_or_else(|| panic!("{home}: {cited} is no hit"));
            assert_shows(
                &cited.to_string(),
                opened["content"].as_str().unwrap(),
                hit["snippet"].as_str().unwrap(),
            );
        }
    }
    for (word, home) in &words.homes {
        let envelope = server.expect("repo.search", json!({ "query": word, "top_k": 3 }));
        for hit in envelope["result"]["hits"].as_array().unwrap() {
            let range =
                json!({ "path": hit["path"], "start_line": hit["start_line"], "end_line": hit["end_line"] });
            let opened = server.expect("repo.open_file", range);
            assert_eq!(opened["result"]["path"], hit["path"]);
            let lines = opened["result"]["numbered_lines"].as_array().unwrap();
            let text: Vec<&str> = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
            assert_shows(&hit.to_string(), &text.join("\n"), hit["snippet"].as_str().unwrap());
            if hit["path"].as_str() == Some(home) {
                *found.entry("repo").or_default() += 1;
            }
        }
    }
    for (word, home) in &words.homes {
        let answer = server.expect("searchFiles", json!({ "query": word, "k": 3 }));
        let items = answer["items"].as_array().unwrap();
        // These tools do not show hidden files.
        assert!(!items.is_empty() || home.starts_with('.'), "{word} of {home:?} is not found");
        for item in items {
            let opened =
                server.expect("openFile", json!({ "path": item["path"], "pointer": item["pointer"] }));
            assert_shows(
                &item.to_string(),
                opened["preview"].as_str().unwrap(),
                item["snippet"].as_str().unwrap(),
            );
            if item["path"]
                .as_str()
                .unwrap()
                .strip_prefix(&root)
                .is_some_and(|path| path[1..].starts_with(home))
            {
                *found.entry("smart").or_default() += 1;
            }
        }
    }
    assert!(found["dir2mcp"] == words.next, "{found:?}");
    let hidden = words.homes.values().filter(|home| home.starts_with('.')).count();
    assert!(found["smart"] >= words.next - hidden, "{found:?}");
    // All of the view but the long lines, which no response of these tools could hold.
    assert!(found["repo"] > 100, "{found:?}");
    let contacts = server.expect("searchFiles", json!({ "query": "qwatchx", "k": 3 }));
    for item in contacts["items"].as_array().unwrap() {
        let opened = server.expect("openFile", json!({ "path": item["path"], "pointer": item["pointer"] }));
        assert_shows("contacts", opened["preview"].as_str().unwrap(), item["snippet"].as_str().unwrap());
        assert!(opened["preview"].as_str().unwrap().contains("[EMAIL]"), "{opened}");
    }
}

#[test]
fn what_is_outlined_and_referred_to_opens_at_its_lines() {
    let folder = Folder::empty();
    corpus(&folder, &mut Words::default());
    let mut server = server(&folder);
    let mut open = |path: &Value, first: &Value, last: &Value| {
        let opened =
            server.expect("repo.open_file", json!({ "path": path, "start_line": first, "end_line": last }));
        let lines = opened["result"]["numbered_lines"].as_array().unwrap().clone();
        lines.iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut other = self::server(&folder);
    let outline = other.expect("repo.outline", json!({ "path": "docs/o.py" }));
    let symbols = outline["result"]["symbols"].as_array().unwrap();
    assert_eq!(symbols.len(), 10);
    for symbol in symbols {
        let name = symbol["name"].as_str().unwrap();
        let lines = open(&json!("docs/o.py"), &symbol["start_line"], &symbol["end_line"]);
        assert!(lines[0].contains(&format!("def {name}(")), "{symbol}: {lines:?}");
        let references = other.expect("repo.references", json!({ "symbol": name }));
        for reference in references["result"]["references"].as_array().unwrap() {
            let line = open(&reference["path"], &reference["line"], &reference["line"]);
            assert!(
                line[0].contains(reference["evidence"].as_str().unwrap().trim()),
                "{reference}: {line:?}"
            );
        }
    }
    let bundle = other.expect(
        "repo.build_context_bundle",
        json!({ "prompt": "the keeper of the lamp", "budget": { "max_files": 5, "max_total_lines": 200 } }),
    );
    let selections = bundle["result"]["selections"].as_array().unwrap();
    assert!(!selections.is_empty(), "{bundle}");
    for selection in selections {
        let lines = open(&selection["path"], &selection["start_line"], &selection["end_line"]);
        assert_eq!(flat(&lines.join("\n")), flat(selection["excerpt"].as_str().unwrap()), "{selection}");
    }
}

/// One rule for what is not there: a page past the end is out of range, whatever has the pages; a kind of document that
/// has no pages does not support them; a damaged one cannot be read.
#[test]
fn d152_pages_past_the_end_and_damaged_documents_have_one_answer_each() {
    let folder = Folder::empty();
    folder.write("a.pdf", text_pages(&["one", "two"]));
    folder.write("b.pptx", slides(&["one", "two"], "notes"));
    folder.write("c.txt", "one\x0ctwo\n");
    folder.write("d.txt", "word ".repeat(6_000));
    folder.write("plain.txt", "one\n");
    folder.write("e.docx", paragraphs(&["one"]));
    let damaged = ["x.pdf", "x.docx", "x.xlsx", "x.odt", "x.epub"];
    for name in damaged {
        let start: &[u8] =
            if name == "x.pdf" { b"%PDF-1.7\n%\xE2\xE3 no more" } else { b"PK\x03\x04 no more" };
        folder.write(name, start);
    }
    let mut server = server(&folder);
    for path in ["a.pdf", "b.pptx", "c.txt", "d.txt"] {
        assert!(
            server.expect("dir2mcp.open_file", json!({ "rel_path": path, "page": 2 }))["content"].is_string()
        );
        let reply = server.call("dir2mcp.open_file", json!({ "rel_path": path, "page": 99 }));
        assert_eq!(reply.code(), Some("INVALID_RANGE"), "{path}: {}", reply.result);
        let message = reply.structured()["error"]["message"].as_str().unwrap();
        assert!(message.contains("last page is 2"), "{message}");
    }
    for path in ["plain.txt", "e.docx"] {
        let reply = server.call("dir2mcp.open_file", json!({ "rel_path": path, "page": 1 }));
        assert_eq!(reply.code(), Some("DOC_TYPE_UNSUPPORTED"), "{path}: {}", reply.result);
    }
    for path in damaged {
        let reply = server.call("dir2mcp.open_file", json!({ "rel_path": path }));
        assert_eq!(reply.code(), Some("EXTRACT_FAILED"), "{path}: {}", reply.result);
        let message = reply.structured()["error"]["message"].as_str().unwrap();
        assert!(message.contains("damaged") && !message.contains("EXTRACT_FAILED"), "{message}");
    }
}

/// A name is read as it is written where there is such a file, and else as it would be on Windows.
#[test]
fn r052_a_backslash_is_a_separator_unless_a_file_is_named_so() {
    let folder = Folder::from("//- src/main.py\nseparated\n//- a/b.py\nfolder\n");
    folder.write("a\\b.py", "named\n");
    let mut server = server(&folder);
    for (written, text) in [("src\\main.py", "separated"), ("a/b.py", "folder"), ("a\\b.py", "named")] {
        let opened = server.expect("dir2mcp.open_file", json!({ "rel_path": written }));
        assert!(opened["content"].as_str().unwrap().contains(text), "{written}: {opened}");
        let opened = server.expect("repo.open_file", json!({ "path": written }));
        assert!(opened.to_string().contains(text), "{written}: {opened}");
    }
    let bad = OsStr::from_bytes(b"bad\xFFname.txt");
    std::fs::write(folder.path().join(bad), "x").unwrap();
    for outside in ["..\\x", "C:\\x", "a\\..\\..\\x"] {
        let reply = server.call("dir2mcp.open_file", json!({ "rel_path": outside }));
        assert_eq!(reply.code(), Some("PATH_OUTSIDE_ROOT"), "{outside}");
    }
}
