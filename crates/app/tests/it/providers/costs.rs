//! What was paid for: shown by `costs`, `status` and `/metrics`, and bounded by the user's limits.

use serde_json::json;
use testkit::standins::StandIn;
use testkit::{Folder, Request};

use super::{SCAN, media_folder, mistral, wait_read, with_mistral};

#[test]
fn costs_say_what_the_service_counted() {
    let (folder, mistral) = (media_folder(), mistral());
    let program = with_mistral(&folder, &mistral);
    let server = program.serve(&[]);
    wait_read(&server);
    let page = server.send(Request::new("GET", "/metrics")).text();
    server.stop().expect(0);
    let counts = mistral.counts();
    let costs = program.json(&["costs", "--json"]);
    let sum = |capability: &str, what: &str| -> u64 {
        let entries = costs["entries"].as_array().unwrap();
        entries
            .iter()
            .filter(|entry| entry["capability"] == capability)
            .map(|entry| entry[what].as_u64().unwrap())
            .sum()
    };
    assert_eq!(sum("embed", "calls"), counts.embed_calls as u64, "{costs}");
    assert_eq!((sum("ocr", "calls"), sum("ocr", "pages")), (counts.ocr_calls as u64, counts.pages as u64));
    assert_eq!(sum("stt", "calls"), counts.stt_calls as u64);
    assert!(sum("stt", "audio_ms") > 0 && sum("embed", "tokens_in") > 0, "{costs}");
    let row = format!(
        "dir2mcp_provider_pages_total{{provider=\"mistral\",model=\"mistral-ocr-latest\",capability=\"ocr\"}} {}",
        counts.pages
    );
    assert!(page.contains(&row), "{row} in {page}");
    let table = program.run(&["costs"]).expect(0).stdout;
    assert!(
        table.starts_with("day ") && table.contains("mistral-ocr-latest") && table.contains("total"),
        "{table}"
    );
    let status = program.run(&["status"]).expect(0).stdout;
    assert!(status.contains("Paid:") && status.contains("pages"), "{status}");
}

#[test]
fn the_day_s_limit_pauses_services_and_is_named() {
    let folder = Folder::empty();
    for number in 0..1000 {
        folder.write(
            &format!("{number}.md"),
            format!("# Note {number}\n\nEntry number {number} of the log.\n"),
        );
    }
    let mistral = StandIn::mistral();
    let program = with_mistral(&folder, &mistral).env("DIR2MCP_LIMITS_SPEND_CALLS_PER_DAY", "1");
    let server = program.serve(&[]);
    server.poll("the limit to be told", |_| {
        let told = server.events().iter().any(|event| {
            event["data"]["message"].as_str().is_some_and(|text| text.contains("limits.spend.calls_per_day"))
        });
        told.then_some(())
    });
    assert_eq!(mistral.counts().requests, 1, "requests under way count: {:?}", mistral.counts());
    let found = server.expect("dir2mcp.search", json!({ "query": "entry number 7", "k": 1 }));
    assert!(!found["hits"].as_array().unwrap().is_empty(), "{found}");
}

#[test]
fn the_day_s_pages_are_never_exceeded_and_are_used_to_the_last() {
    let (folder, mistral) = (Folder::empty(), mistral());
    // Each has three pages; the eleventh would be the fourth page of its request.
    for number in 0..8 {
        folder.write(&format!("{number}.pdf"), [SCAN, format!("%{number}\n").as_bytes()].concat());
    }
    let server = with_mistral(&folder, &mistral).env("DIR2MCP_LIMITS_SPEND_PAGES_PER_DAY", "10").serve(&[]);
    server.poll("the limit to be told", |_| {
        let told = server.events().iter().any(|event| {
            event["data"]["message"].as_str().is_some_and(|text| text.contains("limits.spend.pages_per_day"))
        });
        told.then_some(())
    });
    assert_eq!(mistral.counts().pages, 10, "{:?}", mistral.counts());
}
