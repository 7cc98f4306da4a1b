//! Models and services, from outside: services are stand-ins on loopback, programs and extras are the real ones.

mod asking;
mod costs;
mod interrupted;
mod keys;
mod media;
mod searching;
mod trouble;
mod wizard;

use std::process::Command;

use serde_json::{Value, json};
use testkit::standins::{Said, StandIn};
use testkit::{Client, Folder, Program, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_dir2mcp");

/// Three scanned pages, coded as JPEG, CCITT fax and JBIG2. `tests/fixtures/make.py` draws them.
const SCAN: &[u8] = include_bytes!("../../fixtures/scan.pdf");
/// A notice, photographed at an angle.
const PHOTO: &[u8] = include_bytes!("../../fixtures/photo.jpg");

const SPOKEN: &str = "The museum of clocks opens at ten in the morning. Please leave large bags in the cloakroom on the ground floor.";

/// What the files of [`media_folder`] say: a question, the file, and where in it the answer is.
const QUESTIONS: [(&str, &str, &str); 7] = [
    ("When was the lighthouse on Skerry Island repainted?", "scan.pdf", "page 1"),
    ("Which barometer is in the inventory?", "scan.pdf", "page 2"),
    ("Who asks about the price of spare parts?", "scan.pdf", "page 3"),
    ("Until when is the swimming pool closed?", "photo.jpg", "page 1"),
    ("When does the museum of clocks open?", "talk.wav", "time"),
    ("What can fellow Americans do for their country?", "inauguration.wav", "time"),
    ("How tall is the windmill?", "guide.md", "lines"),
];

/// A scan, a photo, a spoken text, a person's voice and a text.
fn media_folder() -> Folder {
    let folder = Folder::from("//- guide.md\n# Windmill\n\nThe windmill is 23 metres tall.\n");
    folder.write("scan.pdf", SCAN);
    folder.write("photo.jpg", PHOTO);
    folder.write("talk.wav", spoken(SPOKEN));
    folder.write("inauguration.wav", testkit::human_recording());
    folder
}

/// A recording of these words, by espeak-ng.
fn spoken(text: &str) -> Vec<u8> {
    let done = Command::new("espeak-ng").args(["--stdout", "-s", "140", text]).output();
    let done =
        done.unwrap_or_else(|error| panic!("espeak-ng cannot be run (apt install espeak-ng): {error}"));
    assert!(done.status.success() && done.stdout.starts_with(b"RIFF"), "{done:?}");
    done.stdout
}

/// A stand-in for Mistral that reads and hears what the files of [`media_folder`] hold.
fn mistral() -> StandIn {
    let mistral = StandIn::mistral();
    mistral.read_pages(|page| {
        Some(match (page.media_type, page.page) {
            ("application/pdf", 1) => {
                "# Harbour office\n\nThe lighthouse on Skerry Island was repainted in April.".into()
            }
            ("application/pdf", 2) => {
                "# Inventory\n\nA barometer by Negretti and Zambra, in good order.".into()
            }
            ("application/pdf", _) => {
                "# Minutes\n\nMrs Galbraith finds out about the price of spare parts.".into()
            }
            _ if page.bytes == PHOTO => {
                "NOTICE\n\nThe swimming pool is closed for repairs until Monday.".into()
            }
            _ => return None,
        })
    });
    let human = testkit::human_recording();
    mistral.hear(move |recording| {
        if recording == human {
            return Some(vec![Said { start_ms: 0, end_ms: 11_000, text: testkit::HUMAN_WORDS.into() }]);
        }
        Some(vec![
            Said {
                start_ms: 0,
                end_ms: 3000,
                text: "The museum of clocks opens at ten in the morning.".into(),
            },
            Said { start_ms: 3000, end_ms: 7000, text: "Please leave large bags in the cloakroom.".into() },
        ])
    });
    mistral
}

fn program(folder: &Folder) -> Program {
    Program::new(BINARY, folder)
}

/// The program with the key and the address of a stand-in for Mistral.
fn with_mistral(folder: &Folder, mistral: &StandIn) -> Program {
    program(folder).env("MISTRAL_API_KEY", mistral.key()).env("MISTRAL_BASE_URL", &mistral.url())
}

/// Waits until every file is read, or has a reason that does not pass, and every passage has its vector.
fn wait_read(server: &Server) {
    wait_texts(server);
    server.poll("all vectors", |client| {
        let stats = client.expect("dir2mcp.stats", json!({}));
        (stats["indexing"]["embedded_ok"] == stats["indexing"]["chunks_total"]).then_some(())
    });
}

/// Waits until every file is read, or has a reason that does not pass.
fn wait_texts(server: &Server) {
    server.wait_indexed();
    let program = Program::at(BINARY, server.state().parent().expect("the state is in the root"));
    server.poll("all texts", |client| {
        let stats = client.expect("dir2mcp.stats", json!({}));
        let files = program.json(&["status", "--files", "--json", "--trust-config"]);
        (stats["indexing"]["running"] == false && !files.to_string().contains("TEXT_PENDING")).then_some(())
    });
}

/// The place of a hit as [`QUESTIONS`] name it.
fn place(hit: &Value) -> String {
    match hit["span"]["kind"].as_str().unwrap() {
        "page" => format!("page {}", hit["span"]["page"]),
        other => other.to_owned(),
    }
}

/// Every question finds its file and place first, and the place opens to a text with the answer.
fn assert_all_are_found(server: &Server, questions: &[(&str, &str, &str)]) {
    for (question, file, expected) in questions {
        // What was read is published a moment later.
        let first = &server.poll(&format!("{question}: {file}, {expected}"), |client| {
            let answer = client.expect("dir2mcp.search", json!({ "query": question, "k": 3 }));
            let first = answer["hits"][0].clone();
            (first["rel_path"] == *file && place(&first) == *expected).then_some(first)
        });
        let mut arguments = json!({ "rel_path": file });
        match *expected {
            "time" => {
                arguments["start_ms"] = first["span"]["start_ms"].clone();
                arguments["end_ms"] = first["span"]["end_ms"].clone();
            }
            "lines" => {}
            _ => arguments["page"] = first["span"]["page"].clone(),
        }
        let opened = server.expect("dir2mcp.open_file", arguments);
        let content = opened["content"].as_str().unwrap().to_lowercase();
        // A model mishears a word now and then.
        let words = question.trim_end_matches('?').split(' ').filter(|word| word.len() >= 5);
        let (heard, missed): (Vec<_>, Vec<_>) =
            words.partition(|word| content.contains(&word[..5].to_lowercase()));
        assert!(heard.len() >= missed.len(), "{question}: {missed:?} are not in {content}");
    }
}
