//! What must hold of every document, whatever is in it.

use std::ops::ControlFlow;
use std::time::Duration;

use extract::archive::{Entry, Mode, members};
use extract::{Format, Limits, extract, sniff};

/// As in the product, only smaller: an input has a few kilobytes, and what it costs shows in proportion.
fn limits() -> Limits {
    Limits {
        max_output_chars: 1 << 20,
        max_units: 5_000,
        max_members: 1_000,
        max_member_bytes: 16 << 20,
        max_total_bytes: 32 << 20,
        max_steps: 20_000_000,
        max_time: Some(Duration::from_secs(10)),
        ..Limits::default()
    }
}

/// Reads bytes as a file of this name. A panic aborts: the fuzzer's hook comes before any `catch_unwind`.
pub(crate) fn document(name: &str, bytes: &[u8]) {
    if let Some(file) = std::env::var_os("FUZZ_UNWRAP") {
        std::fs::write(file, bytes).expect("the file for the document can be written");
    }
    let named = Format::from_name(name);
    if let Some(format) = sniff(name, bytes) {
        as_format(format, name, bytes);
    }
    if let Some(format) = named.filter(|named| sniff(name, bytes) != Some(*named)) {
        as_format(format, name, bytes);
    }
}

fn as_format(format: Format, name: &str, bytes: &[u8]) {
    let limits = limits();
    if format.is_archive() {
        let mut visit = |entry: Entry| {
            if let Entry::Member { path, .. } = entry {
                assert!(model::RelPath::parse(&path).is_ok(), "{path}");
            }
            ControlFlow::Continue(())
        };
        let walked = members(format, name, bytes, &limits, Mode::Deep, &mut visit);
        assert!(walked.entries <= limits.max_members);
        return;
    }
    let extraction = extract(format, name, bytes, &limits);
    assert_eq!(extraction.units.is_empty(), extraction.skip.is_some(), "{:?}", extraction.skip);
    let chars: u64 = extraction.units.iter().map(|unit| unit.text.chars().count() as u64).sum();
    assert!(chars <= limits.max_output_chars && extraction.units.len() <= limits.max_units as usize);
    for unit in &extraction.units {
        assert!(!unit.text.is_empty() && !unit.text.contains(['\r', '\0', '\u{202e}']));
    }
    let lines = extraction.joined().lines().count().max(1) as u32;
    assert!(extraction.unit_lines().iter().all(|(first, last)| first <= last && *last <= lines + 1));
}
