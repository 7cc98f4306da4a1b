//! Killed in the middle of paid work and started again: what was bought is not bought a second time.

use testkit::Folder;
use testkit::standins::{Counts, StandIn};

use super::{SCAN, mistral, spoken, wait_read, with_mistral};

/// Requests of one kind that may be under way: a kill loses their answers, and nothing that was stored.
const REQUESTS: usize = 4;

/// Starts a server, kills it once the stand-in has done part of the work, starts another one and lets it finish.
fn killed_in_the_middle(
    folder: &Folder,
    mistral: &StandIn,
    in_the_middle: impl Fn(&Counts) -> bool,
) -> Counts {
    let server = with_mistral(folder, mistral).serve(&[]);
    mistral.wait_until(in_the_middle);
    server.kill();
    let server = with_mistral(folder, mistral).serve(&[]);
    wait_read(&server);
    server.stop().expect(0);
    mistral.counts()
}

#[test]
fn d099_a_thousand_embeddings_repeat_at_most_what_was_under_way() {
    let (folder, mistral) = (Folder::empty(), StandIn::mistral());
    for number in 0..1000 {
        folder.write(
            &format!("notes/{number}.md"),
            format!("# Note {number}\n\nEntry number {number} of the log.\n"),
        );
    }
    let counts = killed_in_the_middle(&folder, &mistral, |counts| counts.inputs >= 300);
    let largest = mistral
        .requests()
        .iter()
        .filter_map(|request| request.json()["input"].as_array().map(Vec::len))
        .max()
        .unwrap_or_default();
    assert!(counts.inputs >= 1000, "{counts:?}");
    // The questions of those who wait are embedded, too.
    assert!(counts.inputs <= 1000 + REQUESTS * largest + 16, "at most what was under way: {counts:?}");
}

#[test]
fn d094_scanned_pages_repeat_at_most_what_was_under_way() {
    let (folder, mistral) = (Folder::empty(), mistral());
    // Another comment at the end makes another file; each has three pages.
    for number in 0..40 {
        folder.write(&format!("scans/{number}.pdf"), [SCAN, format!("%{number}\n").as_bytes()].concat());
    }
    let counts = killed_in_the_middle(&folder, &mistral, |counts| counts.pages >= 30);
    assert!((120..=120 + 3 * REQUESTS).contains(&counts.pages), "{counts:?}");
}

#[test]
fn d095_recordings_repeat_at_most_what_was_under_way() {
    let (folder, mistral) = (Folder::empty(), mistral());
    for number in 0..24 {
        folder.write(&format!("talks/{number}.wav"), spoken(&format!("Recording number {number}.")));
    }
    let counts = killed_in_the_middle(&folder, &mistral, |counts| counts.stt_calls >= 8);
    assert!((24..=24 + REQUESTS).contains(&counts.stt_calls), "{counts:?}");
}
