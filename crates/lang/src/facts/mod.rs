//! Facts about declarations for filters: parameters, calls, reads and writes, control flow.
//!
//! They are made in the same reading as an outline. Names and their roles come from the outline's own references; what
//! outlines do not look at (counts, parameters, bindings) comes from one table of node kinds for all grammars, and for Python
//! from its own tree. What each language gives is said by [`Language::knowledge`], so that a filter never guesses.

mod gather;
mod kinds;
mod knowledge;
pub(crate) mod python;
mod shape;
mod tree;

use model::FileFacts;

use crate::{Language, OutlineLimits, parse};

pub(crate) use gather::Gathered;
pub(crate) use tree::{DeclaredNode, collect};

/// Raised whenever some text gets other facts than before, so that stored facts are made again.
pub const FACT_RULES: &str = "1";

/// The facts of a source text. Lines end with `\n`. Broken and hostile texts give what could be read, and the reason why
/// something is missing.
pub fn facts(language: Language, source: &str, limits: &OutlineLimits) -> FileFacts {
    let mut gathered = Gathered::new(source);
    let parsed = parse::parse_into(language, source, limits, Some(&mut gathered));
    gathered.finish(language, &parsed)
}
