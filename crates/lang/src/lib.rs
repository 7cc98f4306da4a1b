//! From source text to its structure: outline, imports, calls, references and the places where a chunk may end.
//!
//! Everything comes from one walk over one tree-sitter tree, driven by a table of rules per language. Rules are
//! functions and not queries because a walk visits each node once and needs no compilation when a process starts.
//! No function here fails: broken, hostile and enormous sources give what could be read and a [`Shortfall`].

mod colour;
mod facts;
mod language;
mod languages;
mod limits;
mod notes;
mod parse;
mod rules;
mod shortfall;
mod skim;
mod text;
mod visit;
mod walk;

pub use colour::{COLOURS, ColouredPiece, MAX_COLOURED_BYTES, colour};
pub use facts::{FACT_RULES, facts};
pub use language::Language;
pub use limits::OutlineLimits;
pub use model::{Import, Reference, ReferenceKind, ScopeKind, Symbol, SymbolKind};
pub use parse::{ParsedSource, parse, tree};
pub use shortfall::Shortfall;

/// Raised whenever some text gets another outline than before, so that stored outlines are made again.
pub const RULES: &str = "3";
