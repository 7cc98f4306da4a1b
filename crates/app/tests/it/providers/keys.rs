//! No key ever leaves the program but in the header of its own service: every byte that it prints or writes is searched.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::Client;
use testkit::standins::{Fault, StandIn};

use super::{media_folder, mistral, program, wait_texts};

/// Files below a folder that hold one of the texts.
fn holding(folder: &Path, needles: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if let Ok(bytes) = fs::read(&entry) {
                let holds =
                    |needle: &&&str| bytes.windows(needle.len()).any(|part| part == needle.as_bytes());
                found.extend(
                    needles.iter().find(holds).map(|needle| format!("{needle} in {}", entry.display())),
                );
            }
        }
    }
    found
}

#[test]
fn d168_d186_m27_no_key_is_printed_logged_or_stored() {
    let folder = media_folder();
    let (mistral, elevenlabs, openai, cohere) =
        (mistral(), StandIn::elevenlabs(), StandIn::openai(), StandIn::cohere());
    let keys = [mistral.key(), elevenlabs.key(), openai.key(), cohere.key()];
    let log = folder.outside().join("log.txt");
    let program = program(&folder)
        .env("MISTRAL_API_KEY", mistral.key())
        .env("MISTRAL_BASE_URL", &mistral.url())
        .env("ELEVENLABS_API_KEY", elevenlabs.key())
        .env("ELEVENLABS_BASE_URL", &elevenlabs.url())
        .env("OPENAI_API_KEY", openai.key())
        .env("OPENAI_BASE_URL", &openai.url())
        .env("COHERE_API_KEY", cohere.key())
        .env("COHERE_BASE_URL", &cohere.url())
        .env("DIR2MCP_STT_PROVIDER", "elevenlabs")
        .env("DIR2MCP_CHAT_PROVIDER", "openai")
        .env("DIR2MCP_TTS_PROVIDER", "elevenlabs");
    let logging = program.clone().flag("--log-file").flag(&log).flag("--log-level").flag("trace");
    // A service that repeats the key in its error must not get it into ours.
    let refuse = || Fault::Refuse("the key {key} has no credit left".to_owned());
    mistral.then([refuse(), refuse()]);
    let server = logging.serve(&[]);
    // A passage whose text was refused stays without a vector.
    wait_texts(&server);
    openai.then([refuse(), Fault::Status(401)]);
    for question in ["When was the lighthouse repainted?", "Who looks after the pool?"] {
        let _ = server.client(testkit::Era::Modern).call("dir2mcp.ask", json!({ "question": question }));
    }
    let stats = server.expect("dir2mcp.stats", json!({})).to_string();
    let done = server.stop();
    let mut printed = vec![stats, done.stdout, done.stderr];
    for arguments in [
        &["config", "print"][..],
        &["config", "print", "--json", "--origins"],
        &["doctor"],
        &["doctor", "--json"],
        &["status", "--json"],
        &["costs", "--json"],
        &["search", "lighthouse", "-vvv"],
        &["ask", "lighthouse", "-vvv"],
        &["extras", "--json"],
    ] {
        printed.push(program.run(arguments).output());
    }
    for key in keys {
        assert!(!key.is_empty());
        for text in &printed {
            assert!(!text.contains(key), "{key} in {text}");
        }
    }
    assert_eq!(holding(folder.outside(), &keys), [""; 0]);
    assert!(mistral.counts().requests > 0 && elevenlabs.counts().stt_calls > 0);
    assert!(folder.state().join("audit.jsonl").exists() && log.exists());
}

#[test]
fn the_memory_of_a_process_with_keys_is_not_dumped() {
    let folder = testkit::Folder::from("//- a.md\nalpha\n");
    let mistral = mistral();
    let server = super::with_mistral(&folder, &mistral).serve(&[]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let sizes: Vec<&str> = core.trim_start_matches("Max core file size").split_whitespace().take(2).collect();
    assert_eq!(sizes, ["0", "0"], "{core}");
}
