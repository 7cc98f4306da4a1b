//! A citation and its human-readable form (dir2mcp specification, section 9.3).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ChunkId, Span};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    pub chunk_id: ChunkId,
    pub rel_path: String,
    pub span: Span,
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        cite(f, &self.rel_path, self.span)
    }
}

/// `[path:L1-L9]`, `[path#p=3]` or `[path@t=00:30-01:00]`.
pub fn citation_text(rel_path: &str, span: Span) -> String {
    struct Cited<'a>(&'a str, Span);
    impl fmt::Display for Cited<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            cite(f, self.0, self.1)
        }
    }
    Cited(rel_path, span).to_string()
}

fn cite(f: &mut fmt::Formatter<'_>, path: &str, span: Span) -> fmt::Result {
    match span {
        Span::Lines { start_line, end_line } => write!(f, "[{path}:L{start_line}-L{end_line}]"),
        Span::Page { page } => write!(f, "[{path}#p={page}]"),
        Span::Time { start_ms, end_ms } => {
            write!(f, "[{path}@t={}-{}]", minutes(start_ms), minutes(end_ms))
        }
    }
}

/// `mm:ss`, with the minutes running past 59 so that the form stays one form.
pub(crate) fn minutes(ms: u64) -> String {
    let seconds = ms / 1000;
    format!("{:02}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::citation_text;
    use crate::Span;

    #[test]
    fn d112_citation_forms() {
        assert_eq!(citation_text("a/b.rs", Span::Lines { start_line: 3, end_line: 9 }), "[a/b.rs:L3-L9]");
        assert_eq!(citation_text("x.pdf", Span::Page { page: 4 }), "[x.pdf#p=4]");
        let time = Span::Time { start_ms: 30_500, end_ms: 3_661_000 };
        assert_eq!(citation_text("m.wav", time), "[m.wav@t=00:30-61:01]");
    }
}
