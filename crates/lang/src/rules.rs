//! What a language adapter says about the nodes of its grammar.

use tree_sitter::{Language as Grammar, Node};
use tree_sitter_language::LanguageFn;

use crate::ScopeKind;
use crate::SymbolKind;
use crate::visit::Visit;

/// One language: how its files are recognised, its grammar, and what its nodes mean.
pub(crate) struct Adapter {
    /// As shown to users: lower case, no blanks.
    pub(crate) name: &'static str,
    /// Lower case, without the dot.
    pub(crate) extensions: &'static [&'static str],
    /// Whole file names, lower case.
    pub(crate) file_names: &'static [&'static str],
    /// Programs that a `#!` line names.
    pub(crate) interpreters: &'static [&'static str],
    pub(crate) grammar: LanguageFn,
    /// Named nodes by kind. A kind that is not listed is looked into and means nothing.
    pub(crate) rules: &'static [(&'static str, Rule)],
    /// More of the same, shared with other languages.
    pub(crate) shared: &'static [(&'static str, Rule)],
    /// Between the parts of a qualified name.
    pub(crate) separator: &'static str,
    /// Another text on the same lines to try when the first does not parse.
    pub(crate) rescue: fn(&str) -> Option<String>,
    /// Adds what the parser lost in a text with errors.
    pub(crate) recover: fn(&mut Visit<'_>),
    /// Whether the text is nested deeper than the grammar's own scanner can bear.
    pub(crate) too_nested: fn(&str) -> bool,
    /// A text with an error has no outline at all.
    pub(crate) all_or_nothing: bool,
}

impl Adapter {
    pub(crate) const DEFAULT: Adapter = Adapter {
        name: "",
        extensions: &[],
        file_names: &[],
        interpreters: &[],
        grammar: tree_sitter_json::LANGUAGE,
        rules: &[],
        shared: &[],
        separator: ".",
        rescue: |_| None,
        recover: |_| (),
        too_nested: |_| false,
        all_or_nothing: false,
    };
}

#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// Nothing inside can be of interest.
    Skip,
    /// Belongs to the declaration that follows, and may be its documentation.
    Comment,
    /// Belongs to the declaration that follows or that it stands in: attribute, annotation, decorator.
    Attribute,
    /// Stands around a declaration, and its lines belong to it; `true` if so does its text, as with `export`.
    Wrap(bool),
    /// Control flow, with its label in `decl_context`.
    Branch(&'static str),
    /// A declaration with a field `name` and perhaps a field `body`.
    Declare(SymbolKind),
    /// The same, and what is declared in it is its member.
    Open(SymbolKind, ScopeKind),
    /// Anything else.
    On(fn(&mut Visit<'_>, Node<'_>) -> Action),
}

/// What a rule makes of a node.
pub(crate) enum Action {
    /// Look inside.
    Enter,
    Skip,
    /// Look inside, under this label so many times.
    Branch(&'static str, usize),
    Declare(Declared),
    /// As [`Rule::Wrap`] with its text.
    Wrap,
    /// Belongs to the declaration that follows; with the bytes of its documentation, if it is that.
    Lead(Option<(usize, usize)>),
    /// More of a declaration that was made before: what is inside is inside that.
    Reopen(u32, ScopeKind),
}

/// A declaration as an adapter found it; the walk adds where it stands.
pub(crate) struct Declared {
    pub(crate) kind: SymbolKind,
    pub(crate) name: String,
    pub(crate) name_row: usize,
    /// The type it belongs to, where that is named in the declaration and not around it.
    pub(crate) owner: Option<String>,
    /// Where the declaration begins and ends, and where its signature ends (bytes).
    pub(crate) start: usize,
    pub(crate) start_row: usize,
    pub(crate) end_row: usize,
    pub(crate) head_end: usize,
    /// Instead of the text up to `head_end`.
    pub(crate) signature: Option<String>,
    pub(crate) returns: Option<String>,
    pub(crate) decorators: Vec<String>,
    /// Instead of the comment in front.
    pub(crate) doc: Option<String>,
    /// What its members stand in; none if nothing can be declared in it.
    pub(crate) opens: Option<ScopeKind>,
    pub(crate) look_inside: bool,
}

impl Declared {
    pub(crate) fn opens(mut self, scope: ScopeKind) -> Declared {
        self.opens = Some(scope);
        self
    }

    pub(crate) fn head_end(mut self, byte: usize) -> Declared {
        self.head_end = byte;
        self
    }

    pub(crate) fn owner(mut self, owner: Option<String>) -> Declared {
        self.owner = owner.filter(|owner| !owner.is_empty());
        self
    }

    pub(crate) fn leaf(mut self) -> Declared {
        self.look_inside = false;
        self
    }
}

impl From<Option<Declared>> for Action {
    fn from(declared: Option<Declared>) -> Action {
        declared.map_or(Action::Enter, Action::Declare)
    }
}

/// An adapter's rules by the grammar's node numbers: a string comparison for each node would double the walk's time.
pub(crate) struct Table {
    pub(crate) grammar: Grammar,
    by_kind: Vec<Option<Rule>>,
}

impl Table {
    pub(crate) fn new(adapter: &Adapter) -> Table {
        let grammar = Grammar::new(adapter.grammar);
        let by_kind = (0..grammar.node_kind_count() as u16)
            .map(|id| {
                let kind = grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id))?;
                adapter
                    .rules
                    .iter()
                    .chain(adapter.shared)
                    .find(|(name, _)| *name == kind)
                    .map(|(_, rule)| *rule)
            })
            .collect();
        Table { grammar, by_kind }
    }

    pub(crate) fn rule(&self, node: Node<'_>) -> Option<Rule> {
        self.by_kind.get(node.kind_id() as usize).copied().flatten()
    }
}
