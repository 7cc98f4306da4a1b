//! Blanking on labelled lines, on clean ones, and on anything at all.

use std::borrow::Cow;
use std::path::Path;
use std::time::Instant;

use policy::{redact, redact_window};
use proptest::prelude::*;

fn lines(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# Fixture: "), "{file} does not say that it is a fixture");
    text.lines().skip(1).map(|line| line.replace("{{}}", "").replace("\\n", "\n")).collect()
}

/// A line without its brackets, what was in them, and the line with blanks in their place.
fn labelled(line: &str, blank: &str) -> (String, Vec<String>, String) {
    let (mut text, mut items, mut shown) = (String::new(), Vec::new(), String::new());
    for (index, part) in line.split(['⟦', '⟧']).enumerate() {
        text.push_str(part);
        if index % 2 == 1 {
            items.push(part.to_owned());
            shown.push_str(blank);
        } else {
            shown.push_str(part);
        }
    }
    (text, items, shown)
}

#[test]
fn s032_no_labelled_item_survives() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (file, blank) in
        [("email", "[EMAIL]"), ("phone", "[PHONE]"), ("card", "[CARD]"), ("secret", "[SECRET]")]
    {
        for line in lines(&format!("redact/{file}.txt")) {
            let (text, items, expected) = labelled(&line, blank);
            assert!(!items.is_empty(), "no label in {line}");
            count += items.len();
            let shown = redact(&text);
            if shown != expected {
                wrong.push(format!("{text} → {shown}"));
            }
        }
    }
    assert!(count >= 150, "{count}");
    assert!(wrong.is_empty(), "{} of {count}: {wrong:#?}", wrong.len());
}

#[test]
fn s032_what_the_scan_finds_is_blanked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/secrets/positive");
    let mut shown = Vec::new();
    for file in folder.read_dir().unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for line in text.lines().skip(1) {
            // The secret begins at the marker.
            let (before, after) = line.split_once("{{}}").unwrap();
            let (before, after) = (before.replace("\\n", "\n"), after.replace("\\n", "\n"));
            let value: String = after.chars().take(12).collect();
            let text = format!("{before}{after}");
            let redacted = redact(&text);
            if redacted.contains(value.trim_end()) || !redacted.contains("[SECRET]") {
                shown.push(format!("{text} → {redacted}"));
            }
        }
    }
    assert!(shown.is_empty(), "{shown:#?}");
}

#[test]
fn s032_clean_lines_stay() {
    let clean = lines("redact/clean.txt");
    assert!(clean.len() >= 1000);
    let altered: Vec<_> =
        clean.iter().filter(|line| redact(line) != line.as_str()).map(|line| (line, redact(line))).collect();
    assert!(altered.len() * 100 <= clean.len(), "{} of {}: {altered:#?}", altered.len(), clean.len());
    // Together they are what they are one by one: nothing reaches across lines.
    let text = clean.join("\n");
    let changed = redact(&text).lines().zip(&clean).filter(|(shown, line)| *shown != line.as_str()).count();
    assert!(changed * 100 <= clean.len(), "{changed}");
}

#[test]
fn an_item_is_hidden_wherever_the_window_cuts_it() {
    for (file, blank) in [("email", "[EMAIL]"), ("phone", "[PHONE]"), ("secret", "[SECRET]")] {
        for line in lines(&format!("redact/{file}.txt")).iter().step_by(5) {
            let (text, items, _) = labelled(line, blank);
            let (item, at) = (&items[0], text.find(&items[0]).unwrap());
            for cut in (at + 1..at + item.len()).step_by(3) {
                let cut = text.floor_char_boundary(cut);
                for window in [0..cut, cut..text.len()] {
                    let shown = redact_window(&text, window.clone());
                    let left: String = text[window].chars().filter(|c| item.contains(*c)).collect();
                    assert!(left.is_empty() || shown.contains(blank), "{text} at {cut}: {shown}");
                }
            }
        }
    }
}

#[test]
fn a_key_is_hidden_from_a_window_in_its_middle() {
    let body = "q8Lm2Xv7Nc4Rt1WyZ4kD6HsJ9fG3bV0aE5uI7oYtR2pQ8xMIIEpAIBAAKCAQEA7\n".repeat(60);
    let kind = ["PRIVATE", "KEY-----"].join(" ");
    let text = format!("Before.\n-----BEGIN {kind}\n{body}-----END {kind}\nAfter.");
    assert_eq!(redact(&text), "Before.\n[SECRET]\nAfter.");
    assert_eq!(redact_window(&text, 1000..1200), "[SECRET]");
    assert_eq!(redact_window(&text, 3000..usize::MAX), "[SECRET]\nAfter.");
}

#[test]
fn time_grows_with_the_text_only() {
    // What each part could be slow on: candidates everywhere, none of them ending.
    for seed in [
        "a@",
        "@a.",
        "a.a-a_",
        "1",
        "1 2-",
        "+49 ",
        "(0",
        "token=",
        "://a:",
        "eyJ-",
        "-----BEGIN ",
        "password ",
        "Bearer ",
        "sk-a ",
        "x\u{301}",
        " at a dot ",
        "(at)",
        "4111 ",
        "AKIA",
        "aws ",
    ] {
        let text = seed.repeat((1 << 16) / seed.len());
        let start = Instant::now();
        let shown = redact(&text).into_owned();
        let took = start.elapsed();
        assert!(shown.len() <= text.len() * 2, "{seed}");
        // A tenth of a second without optimisation; what is quadratic takes minutes.
        assert!(took.as_secs() < 10, "{seed}: {took:?}");
    }
}

/// Text with the characters that matter, and whole items among them.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z@. +()/:;=&0-9\"'<>\\[\\]-]{0,24}",
        1 => any::<String>(),
        1 => prop::sample::select(vec![
            "jo@host.org", "+49 30 1234567", "555-123-4567", "password: hunter2", "token=", "[EMAIL]", "[SECRET]", "://a:b@c.de",
            "4111 1111 1111 1111", "Tel. ", "jo (at) host (dot) org", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJqYW5lIn0.", "\n", "é", "Bearer ",
            "-----BEGIN PRIVATE KEY-----", "Authorization: Basic ", "%40", "2021-05-03", "192.0.2.1",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_blanked_once(text in any_text()) {
        let once = redact(&text).into_owned();
        prop_assert!(once.len() <= text.len() * 2 + 8);
        prop_assert_eq!(redact(&once), once.as_str());
        if once == text {
            prop_assert!(matches!(redact(&text), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn any_window_can_be_cut(text in any_text(), start in 0usize..200, width in 0usize..200) {
        let shown = redact_window(&text, start..start + width);
        prop_assert!(shown.len() <= width * 2 + 16, "{}", shown);
        prop_assert_eq!(redact(&shown), shown.as_str());
        prop_assert_eq!(redact_window(&text, 0..text.len()), redact(&text));
    }
}
