//! Where a chunk may begin and end: proposals, from which `ingest` makes chunks of a useful size.

use crate::{Parsed, SymbolKind};

/// The lines of one declaration with the comments, attributes and decorators in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary {
    /// Lines from 1, both included.
    pub start_line: u32,
    pub end_line: u32,
    /// 0 for what stands at the top of the file, 1 for the members of that, and so on.
    pub level: u32,
    pub kind: SymbolKind,
    /// The qualified name.
    pub name: String,
}

/// By first line, the outer before the inner. A boundary lies wholly inside or wholly outside any other of a lower
/// level, except where declarations share a line.
pub fn boundaries(parsed: &Parsed) -> Vec<Boundary> {
    let mut out: Vec<Boundary> = parsed
        .symbols
        .iter()
        .map(|symbol| Boundary {
            start_line: symbol.lead_line,
            end_line: symbol.end_line,
            level: symbol.level,
            kind: symbol.kind,
            name: symbol.qualified.clone(),
        })
        .collect();
    out.sort_by_key(|boundary| (boundary.start_line, boundary.level));
    out
}
