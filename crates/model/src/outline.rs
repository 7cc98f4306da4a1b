//! What a file declares and which names it uses, as far as an index keeps it.

use crate::{ReferenceKind, ScopeKind, SymbolKind};

/// The part of a file's structure that questions across files need. The whole structure of one file is made anew from
/// its text whenever it is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// By first line, last line, name, kind.
    pub definitions: Vec<Definition>,
    /// By name, what it was reached through, and kind; each with its lines in order.
    pub uses: Vec<Uses>,
}

impl Outline {
    /// Only what is declared or used under this name.
    pub fn about(mut self, name: &str) -> Outline {
        self.definitions.retain(|definition| definition.name() == name);
        self.uses.retain(|uses| uses.name == name);
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    pub kind: SymbolKind,
    /// With the names of the declarations around it: `Service.run`.
    pub qualified: String,
    pub signature: String,
    /// Lines from 1, both included.
    pub start_line: u32,
    pub end_line: u32,
    pub scope_kind: ScopeKind,
}

impl Definition {
    /// The name alone.
    pub fn name(&self) -> &str {
        self.qualified.rsplit(['.', ':']).next().unwrap_or(&self.qualified)
    }
}

/// All uses of one name in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uses {
    pub name: String,
    /// What it was reached through, as written: `service` of `service.run()`.
    pub qualifier: Option<String>,
    pub kind: ReferenceKind,
    /// From 1, ascending, each once.
    pub lines: Vec<u32>,
}
