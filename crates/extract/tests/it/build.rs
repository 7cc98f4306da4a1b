//! Builders for the containers that documents come in, and what is read from them.

use extract::{Extraction, Limits, extract, sniff};
pub(crate) use testkit::build::*;

/// Extracts as the ingestion does: by content first.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Extraction {
    read_within(name, bytes, &Limits::default())
}

pub(crate) fn read_within(name: &str, bytes: &[u8], limits: &Limits) -> Extraction {
    let format = sniff(name, bytes).expect("a known format");
    extract(format, name, bytes, limits)
}

/// Each unit as `pointer: text`, with `/` for line ends.
pub(crate) fn lines(extraction: &Extraction) -> Vec<String> {
    let show = |unit: &extract::Unit| format!("{}: {}", unit.pointer, unit.text.replace('\n', "/"));
    extraction.units.iter().map(show).collect()
}
