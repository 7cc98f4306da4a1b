//! What an answer shows: rows with their headers, passages with their place, and nothing where nothing answers.

use serde_json::{Value, json};
use testkit::build::{deck, document, workbook};
use testkit::{Folder, passage};

use super::{program, serve};

/// A workbook with more rows than fit into one chunk, so that most of them stand far from their header.
fn sales(folder: &Folder) {
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let mut rows = vec![cells("Revenue in thousand euros"), cells("Product | Region | Q1 | Q2 | Q3")];
    for number in 0..120 {
        rows.push(cells(&format!("Feeder {number} | Nordics | {number} | 4{number} | 7")));
    }
    rows.push(cells("Gripper | Iberia | 187 | 203 | 195"));
    rows.push(cells("Gripper | Nordics | 412 | 430 | 441"));
    folder.write(
        "sales.xlsx",
        workbook(&[("Staff".into(), vec![cells("Name | Office")]), ("Revenue".into(), rows)]),
    );
}

fn first_hit(server: &testkit::Server, query: &str) -> Value {
    server.expect("dir2mcp.search", json!({ "query": query }))["hits"][0].clone()
}

#[test]
fn a_row_is_found_and_shown_with_its_sheet_and_header() {
    let folder = Folder::empty();
    sales(&folder);
    let table: String = (0..150).map(|n| format!("S-{n:03},Supplier {n},Ulm,30\n")).collect();
    folder.write(
        "suppliers.csv",
        format!("id,name,city,payment_days\n{table}S-900,Tanaka Bearings,Nagoya,90\n"),
    );
    folder.write("notes.md", "# Notes\n\nThe gripper is sold in Iberia.\n");
    let server = serve(&folder);
    let hit = first_hit(&server, "gripper revenue Iberia Q2");
    assert_eq!(hit["rel_path"], "sales.xlsx");
    let snippet = hit["snippet"].as_str().unwrap();
    let caption = snippet.lines().next().unwrap();
    assert!(caption.starts_with("@@ sheet 'Revenue' rows "), "{snippet}");
    assert!(caption.ends_with("Revenue in thousand euros: | Product | Region | Q1 | Q2 | Q3 |"), "{snippet}");
    assert!(snippet.contains("\n| Gripper | Iberia | 187 | 203 | 195 |"), "{snippet}");
    // What is opened is the text that was indexed, without the header that stands elsewhere.
    let span = &hit["span"];
    let opened = server.expect(
        "dir2mcp.open_file",
        json!({ "rel_path": "sales.xlsx", "start_line": span["start_line"], "end_line": span["end_line"] }),
    );
    assert!(opened["content"].as_str().unwrap().contains(passage(&hit["snippet"])), "{opened}");
    assert!(!opened["content"].as_str().unwrap().contains("Product"), "{opened}");

    let hit = first_hit(&server, "payment days of Tanaka Bearings");
    assert_eq!(hit["rel_path"], "suppliers.csv");
    assert!(
        hit["snippet"].as_str().unwrap().lines().next().unwrap().ends_with("@@ id,name,city,payment_days"),
        "{hit}"
    );
}

#[test]
fn passages_say_their_lines_and_what_they_stand_in() {
    let folder = Folder::empty();
    let filler = "        self.count += 1\n".repeat(60);
    folder.write(
        "store.py",
        format!(
            "class Store:\n    def load(self):\n{filler}        needle = find()\n        return needle\n"
        ),
    );
    folder.write(
        "guide.md",
        format!(
            "# Guide\n\n## Install\n\n{}\n### Linux\n\nCopy the pelican rule.\n",
            "Plain words here.\n".repeat(200)
        ),
    );
    folder.write("policy.docx", document("# Policy\n## Gifts\nThe walrus is declined.\n"));
    folder.write("talk.pptx", deck(&[("Roadmap".into(), "Next year".into(), "Mention the quokka.".into())]));
    let server = serve(&folder);
    let captions: Vec<String> = ["needle", "pelican", "walrus", "quokka"]
        .iter()
        .map(|word| first_hit(&server, word)["snippet"].as_str().unwrap().lines().next().unwrap().to_owned())
        .collect();
    assert!(
        captions[0].starts_with("@@ L") && captions[0].ends_with(" @@ class Store > def load(self)"),
        "{captions:?}"
    );
    assert!(
        captions[1].ends_with("@@ Guide > Install") || captions[1].ends_with("@@ Guide > Install > Linux"),
        "{captions:?}"
    );
    assert_eq!(captions[2], "@@ Policy", "what the passage shows itself is not said twice");
    assert_eq!(captions[3], "@@ slide 1 notes @@ Roadmap");
    let needle = first_hit(&server, "needle")["snippet"].as_str().unwrap().to_owned();
    assert!(needle.contains("\n        needle = find()"), "lines keep their indentation: {needle}");
}

#[test]
fn the_first_hit_has_more_room_than_the_tenth() {
    let folder = Folder::empty();
    for number in 0..12 {
        let lines: String =
            (0..40).map(|n| format!("The lighthouse of note {number} has line {n}.\n")).collect();
        folder.write(&format!("n{number}.txt"), lines);
    }
    let server = serve(&folder);
    let found = server.expect("dir2mcp.search", json!({ "query": "lighthouse" }));
    let lengths: Vec<usize> = (found["hits"].as_array().unwrap().iter())
        .map(|hit| passage(&hit["snippet"]).chars().count())
        .collect();
    assert_eq!(lengths.len(), 10);
    assert!(lengths[0] > 600 && lengths[1] > 300 && lengths[9] <= 200, "{lengths:?}");
    let fewer = server.expect("dir2mcp.search", json!({ "query": "lighthouse", "k": 3 }));
    assert_eq!(fewer["hits"].as_array().unwrap()[..], found["hits"].as_array().unwrap()[..3]);
}

#[test]
fn d113_answers_quote_the_row_or_the_sentence() {
    let folder = Folder::empty();
    sales(&folder);
    folder.write(
        "leave.md",
        "# Leave\n\nEveryone has 28 days of annual leave. Up to five days may be carried over.\n\n\
         | kind | weeks |\n|---|---|\n| parental | 26 |\n| sabbatical | 12 |\n",
    );
    folder.write("app.py", "import leave\nfrom leave import annual\n\ndef annual_leave():\n    return 28\n");
    let server = serve(&folder);
    let ask = |question: &str| server.expect("dir2mcp.ask", json!({ "question": question }));
    let answer = ask("gripper revenue Iberia Q2");
    let text = answer["answer"].as_str().unwrap();
    assert!(
        text.contains(
            "> | Product | Region | Q1 | Q2 | Q3 |\n> | Gripper | Iberia | 187 | 203 | 195 |\n[sales.xlsx:"
        ),
        "{text}"
    );
    assert_eq!(answer["citations"].as_array().unwrap().len(), 1, "{text}");
    let text = ask("how many days of annual leave do I have")["answer"].as_str().unwrap().to_owned();
    assert!(text.contains("> Everyone has 28 days of annual leave."), "{text}");
    assert!(!text.contains("import"), "{text}");
    let text = ask("parental leave weeks")["answer"].as_str().unwrap().to_owned();
    assert!(text.contains("> | kind | weeks |\n> | parental | 26 |\n"), "{text}");
}

#[test]
fn where_nothing_answers_ask_says_so() {
    let folder = Folder::from(
        "
        //- finance.md
        The working capital is three million euros.
        //- unicode.md
        Mongolian vowel separators are code points from U+180E on.
        //- src/app.py
        def capital(text):
            return text.upper()
        ",
    );
    let server = serve(&folder);
    for question in
        ["what is the capital of Mongolia", "who won the world cup in 1998", "how do I bake bread?"]
    {
        let answer = server.expect("dir2mcp.ask", json!({ "question": question }));
        let text = answer["answer"].as_str().unwrap();
        assert!(text.starts_with("Nothing in this folder answers that"), "{question}: {text}");
        assert_eq!(answer["citations"], json!([]));
    }
    let answer = server.expect("dir2mcp.ask", json!({ "question": "how large is the working capital?" }));
    assert!(
        answer["answer"].as_str().unwrap().contains("> The working capital is three million euros."),
        "{answer}"
    );
}

#[test]
fn explained_scores_have_no_noise() {
    let folder = Folder::from("//- a.md\nThe lighthouse stands here.\n");
    let done = program(&folder).run(&["search", "--json", "--explain", "lighthouse"]);
    let text = done.output();
    let longest = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap();
    assert!(longest <= 8, "{text}");
}
