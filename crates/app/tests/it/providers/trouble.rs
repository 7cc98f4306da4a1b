//! Services that limit the rate, die or refuse the key: indexing goes on, words are found, nothing is lost.

use serde_json::{Value, json};
use testkit::standins::{Fault, StandIn};
use testkit::{Client, Folder, Server};

use super::{media_folder, mistral, wait_read, with_mistral};

const FILES: &str = "//- retry.md\n# Retries\n\nA failed request is repeated with a pause that doubles.\n\
                     //- src/retry.rs\npub fn retry() {}\n";

fn indexing(server: &Server) -> Value {
    server.expect("dir2mcp.stats", json!({}))["indexing"].clone()
}

/// The words of the files are found, whatever the service does.
fn assert_words_are_found(server: &Server) {
    let found = server.expect("dir2mcp.search", json!({ "query": "failed request repeated", "k": 1 }));
    assert_eq!(found["hits"][0]["rel_path"], "retry.md", "{found}");
}

fn wait_for_words(server: &Server) {
    server.poll("words", |client| {
        let found = client.expect("dir2mcp.search", json!({ "query": "failed request repeated", "k": 1 }));
        (!found["hits"].as_array().unwrap().is_empty()).then_some(())
    });
}

/// A warning on standard output that holds all of these words.
fn wait_for_warning(server: &Server, words: &[&str]) {
    server.poll(&format!("a warning with {words:?}"), |_| {
        let events = server.events();
        let is_it = |event: &Value| {
            let message = event["data"]["message"].as_str().unwrap_or_default();
            event["level"] == "warn" && words.iter().all(|word| message.contains(word))
        };
        events.iter().any(is_it).then_some(())
    });
}

#[test]
fn words_are_searchable_before_their_vectors() {
    let (folder, mistral) = (Folder::from(FILES), StandIn::mistral());
    mistral.always(Some(Fault::WaitAtGate));
    let server = with_mistral(&folder, &mistral).serve(&[]);
    wait_for_words(&server);
    assert_words_are_found(&server);
    assert_eq!(indexing(&server)["embedded_ok"], 0);
    mistral.always(None);
    mistral.open_gate();
    wait_read(&server);
}

#[test]
fn a_storm_of_rate_limits_is_waited_out() {
    let (folder, mistral) = (Folder::from(FILES), StandIn::mistral());
    let limited = || Fault::RateLimited(Some(("retry-after", "1".into())));
    mistral.then((0..5).map(|_| limited()));
    let server = with_mistral(&folder, &mistral).serve(&[]);
    wait_for_words(&server);
    assert_words_are_found(&server);
    wait_read(&server);
    let indexing = indexing(&server);
    assert_eq!(indexing["embedded_ok"], indexing["chunks_total"], "{indexing}");
    assert_eq!(indexing["errors"], 0, "{indexing}");
}

#[test]
fn a_service_that_dies_for_a_while_loses_nothing() {
    let (folder, mistral) = (media_folder(), mistral());
    folder.write("retry.md", "# Retries\n\nA failed request is repeated with a pause that doubles.\n");
    mistral.go_away();
    let server = with_mistral(&folder, &mistral).serve(&[]);
    wait_for_words(&server);
    assert_words_are_found(&server);
    wait_for_warning(&server, &["mistral"]);
    mistral.come_back();
    wait_read(&server);
    super::assert_all_are_found(&server, &super::QUESTIONS);
}

#[test]
fn a_key_that_is_refused_in_mid_run_is_named_with_its_remedy() {
    let (folder, mistral) = (Folder::from(FILES), StandIn::mistral());
    let program = with_mistral(&folder, &mistral);
    let server = program.serve(&[]);
    wait_read(&server);
    mistral.always(Some(Fault::Status(401)));
    folder.write("later.md", "# Later\n\nThe harbour master arrived.\n");
    wait_for_warning(&server, &["mistral", "the key was not accepted", "MISTRAL_API_KEY"]);
    assert_words_are_found(&server);
    server.poll("the words of the new file", |client| {
        let found = client.expect("dir2mcp.search", json!({ "query": "harbour master", "k": 1 }));
        (found["hits"][0]["rel_path"] == "later.md").then_some(())
    });
    server.stop().expect(0);
    let doctor = program.run(&["doctor"]).expect(1).stdout;
    assert!(doctor.contains("the key was not accepted") && doctor.contains("→ set a valid key"), "{doctor}");
    // With a good key the rest is made up for.
    mistral.always(None);
    let server = program.serve(&[]);
    wait_read(&server);
    assert!(program.run(&["doctor"]).expect(0).stdout.contains("mistral"));
}
