//! The labelled questions of `eval/answers`, asked of the built binary without a model: the sentences that answer are among
//! the few that are quoted, and where nothing answers it says so.

use serde_json::{Value, json};
use testkit::{Folder, Server};

use super::serve;

struct LabelledQuestion {
    question: &'static str,
    /// Empty where nothing in the folder answers.
    answer: &'static str,
}

fn questions() -> Vec<LabelledQuestion> {
    let rows = include_str!("../../../../../eval/answers/questions.tsv").lines().skip(1);
    rows.map(|row| {
        let fields: Vec<&'static str> = row.split('\t').collect();
        let [_, question, _, answer] = fields[..] else { panic!("{row:?}") };
        LabelledQuestion { question, answer }
    })
    .collect()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a citation of an answer opens to, on one line.
fn opened(server: &Server, citation: &Value) -> String {
    let span = &citation["span"];
    assert_eq!(span["kind"], "lines", "{citation}");
    let slice = server.expect(
        "dir2mcp.open_file",
        json!({
            "rel_path": citation["rel_path"], "start_line": span["start_line"], "end_line": span["end_line"],
        }),
    );
    flat(slice["content"].as_str().unwrap())
}

#[test]
fn d113_labelled_questions_are_answered_from_the_passages() {
    let folder = Folder::from(include_str!("../../../../../eval/answers/corpus.txt"));
    let server = serve(&folder);
    let (mut asked, mut right, mut unanswerable, mut silent) = (0, 0, 0, 0);
    for LabelledQuestion { question, answer } in questions() {
        let result = server.expect("dir2mcp.ask", json!({ "question": question }));
        let text = result["answer"].as_str().unwrap();
        let is_silent = text.starts_with("Nothing in this folder answers that");
        let hits = result["hits"].as_array().unwrap();
        let citations = result["citations"].as_array().unwrap();
        assert_eq!(is_silent, citations.is_empty(), "{question}: {text}");
        // Every quotation stands in what its citation opens to, and only what was retrieved is cited.
        for citation in citations {
            assert!(
                hits.iter().any(|hit| hit["chunk_id"] == citation["chunk_id"]
                    && hit["rel_path"] == citation["rel_path"]
                    && hit["span"] == citation["span"]),
                "{question}: {citation}"
            );
        }
        let sources: Vec<String> = citations.iter().map(|citation| opened(&server, citation)).collect();
        let quotes: Vec<&str> = text.split("\n\n").skip(1).collect();
        assert!(is_silent || (1..=3).contains(&quotes.len()), "{question}: {text}");
        for quote in &quotes {
            for (at, line) in quote.lines().filter_map(|line| line.strip_prefix("> ")).enumerate() {
                // The header of a table may stand elsewhere in its file.
                let is_header = at == 0 && line.contains([',', '|']);
                let is_held = sources.iter().any(|source| source.contains(&flat(line)));
                assert!(is_held || is_header, "{question}: {line:?} in {sources:?}");
            }
        }
        if answer.is_empty() {
            unanswerable += 1;
            silent += usize::from(is_silent);
        } else {
            asked += 1;
            right += usize::from(!is_silent && flat(&text.replace("> ", "")).contains(&flat(answer)));
        }
    }
    assert!(asked >= 120 && unanswerable == 50, "{asked} and {unanswerable}");
    let share = right as f64 / asked as f64;
    assert!(share >= 0.88, "the right sentence is quoted for {right} of {asked}");
    // Most of those that are answered all the same ask for something about a thing that the folder does speak of.
    assert!(silent * 10 >= unanswerable * 9, "silence for {silent} of {unanswerable}");
}
