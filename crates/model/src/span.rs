//! Where in a document a chunk stands: lines, a page, or a time range.

use serde::{Deserialize, Serialize};

/// Provenance of a chunk, in the JSON shape of the dir2mcp specification (section 15.1.1).
/// Lines and pages count from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Span {
    Lines { start_line: u32, end_line: u32 },
    Page { page: u32 },
    Time { start_ms: u64, end_ms: u64 },
}

impl Span {
    /// The stored form: `span_kind`, `start`, `end`.
    pub fn to_parts(self) -> (&'static str, i64, i64) {
        match self {
            Span::Lines { start_line, end_line } => ("lines", start_line.into(), end_line.into()),
            Span::Page { page } => ("page", page.into(), page.into()),
            Span::Time { start_ms, end_ms } => ("time", start_ms as i64, end_ms as i64),
        }
    }

    /// Reads the stored form back.
    pub fn from_parts(kind: &str, start: i64, end: i64) -> Option<Span> {
        let line = |n: i64| u32::try_from(n).ok();
        match kind {
            "lines" => Some(Span::Lines { start_line: line(start)?, end_line: line(end)? }),
            "page" => Some(Span::Page { page: line(start)? }),
            "time" => Some(Span::Time { start_ms: start.try_into().ok()?, end_ms: end.try_into().ok()? }),
            _ => None,
        }
    }
}
