//! Opening what a hit cites shows what it said, whatever the format.

use serde_json::{Value, json};
use testkit::build::{epub, file, odf, paragraphs, rows, slides, text_pages, zip};
use testkit::{Folder, passage};

use super::serve;

/// Words that stand in one place each, so that a hit for one of them is known.
fn word(number: usize) -> String {
    let syllables = ["ba", "ko", "ri", "mu", "te", "la", "zo", "fi"];
    let digit = |place: u32| syllables[(number / 8usize.pow(place)) % 8];
    format!("q{}{}{}x", digit(0), digit(1), digit(2))
}

/// Sentences around the words `from..to`.
fn lines(from: usize, to: usize) -> Vec<String> {
    let line = |n| format!("The keeper of lamp {} wrote {n} lines about the sea that night.", word(n));
    (from..to).map(line).collect()
}

fn flat(text: &Value) -> String {
    text.as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_citation_opens_its_snippet() {
    let folder = Folder::empty();
    let all = lines(0, 400);
    let text = |range: std::ops::Range<usize>| all[range].to_vec();
    let refs = |range: std::ops::Range<usize>| all[range].iter().map(String::as_str).collect::<Vec<_>>();
    let tagged = |tag: &str, range: std::ops::Range<usize>| -> String {
        all[range].iter().map(|line| format!("<{tag}>{line}</{tag}>")).collect()
    };
    folder.write("a.pdf", text_pages(&refs(0..20)));
    folder.write("b.docx", paragraphs(&refs(20..60)));
    folder.write("c.pptx", slides(&refs(60..70), &all[70]));
    folder.write("d.xlsx", rows(&refs(71..150)));
    folder.write("e.odt", odf("text", &tagged("text:p", 150..170)));
    folder.write("f.epub", epub(&refs(170..180)));
    let rtf: String = text(180..190).iter().map(|line| format!("{line}\\par\n")).collect();
    folder.write("g.rtf", format!("{{\\rtf1\\ansi {rtf}}}"));
    folder.write(
        "h.html",
        format!("<!DOCTYPE html><html><body><h1>Log</h1>{}</body></html>", tagged("p", 190..230)),
    );
    folder.write("template.html", format!("<ul>{{% for x in y %}}\n{}\n</ul>", text(230..240).join("\n")));
    folder.write("i.eml", format!("From: a@example.org\nSubject: Log\n\n{}\n", text(240..250).join("\n")));
    let messages: String =
        text(250..260).iter().map(|line| format!("From a\nSubject: Log\n\n{line}\n\n")).collect();
    folder.write("j.mbox", messages);
    folder.write(
        "k.csv",
        format!(
            "who,what\n{}\n",
            text(260..300).iter().map(|line| format!("me,\"{line}\"")).collect::<Vec<_>>().join("\n")
        ),
    );
    let cells: Vec<Value> =
        text(300..310).iter().map(|line| json!({ "cell_type": "markdown", "source": [line] })).collect();
    folder.write("l.ipynb", json!({ "cells": cells, "nbformat": 4 }).to_string());
    let cues: String = text(310..330)
        .iter()
        .enumerate()
        .map(|(n, line)| format!("{}\n00:{:02}:00,000 --> 00:{:02}:20,000\n{line}\n\n", n + 1, n, n))
        .collect();
    folder.write("m.srt", cues);
    folder.write(
        "n.md",
        text(330..350).iter().map(|line| format!("## Night\n\n{line}\n\n")).collect::<String>(),
    );
    folder.write("o.py", text(350..370).iter().map(|line| format!("# {line}\n")).collect::<String>());
    folder.write(
        "p.zip",
        zip(&[
            file("q.pdf", text_pages(&refs(370..380))),
            file("r/s.docx", paragraphs(&refs(380..390))),
            file("t.txt", text(390..400).join("\n")),
        ]),
    );
    let server = serve(&folder);
    let mut formats = std::collections::BTreeSet::new();
    for number in 0..400 {
        let word = word(number);
        let answer = server.expect("dir2mcp.search", json!({ "query": word, "k": 3, "index": "both" }));
        let hits = answer["hits"].as_array().unwrap();
        assert!(!hits.is_empty() && flat(&hits[0]["snippet"]).contains(&word), "{word} ({number}): {answer}");
        for hit in hits {
            let mut arguments = json!({ "rel_path": hit["rel_path"], "max_chars": 50000 });
            for key in ["page", "start_line", "end_line", "start_ms", "end_ms"] {
                if let Some(value) = hit["span"].get(key) {
                    arguments[key] = value.clone();
                }
            }
            let opened = server.expect("dir2mcp.open_file", arguments);
            assert_eq!(opened["span"], hit["span"], "{hit}");
            assert!(
                flat(&opened["content"]).contains(&flat(&json!(passage(&hit["snippet"])))),
                "{hit}\nis not in\n{}",
                opened["content"]
            );
        }
        formats.insert(hits[0]["rel_path"].as_str().unwrap().to_owned());
    }
    assert_eq!(formats.len(), 19, "each document was found by its own words: {formats:?}");
}
