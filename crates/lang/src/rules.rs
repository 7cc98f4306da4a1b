//! What a language adapter says about the nodes of its grammar.

use std::ops::Range;

use tree_sitter::{Language as Grammar, Node};
use tree_sitter_language::LanguageFn;

use crate::facts::Gathered;
use crate::skim::Dialect;
use crate::visit::Visit;
use crate::{OutlineLimits, ParsedSource, ScopeKind, SymbolKind};

/// One language: its grammar, and what its nodes mean. Its files are listed in `model::filetype`.
pub(crate) struct Adapter {
    /// As shown to users: lower case, no blanks.
    pub(crate) name: &'static str,
    /// Programs that a `#!` line names.
    pub(crate) interpreters: &'static [&'static str],
    pub(crate) grammar: LanguageFn,
    /// Named nodes by kind. A kind that is not listed is looked into and means nothing.
    pub(crate) rules: &'static [(&'static str, Rule)],
    /// More of the same, shared with other languages.
    pub(crate) shared: &'static [(&'static str, Rule)],
    /// What the names in the parts of a node are, by the node's kind and the part; the first that fits counts.
    pub(crate) roles: &'static [Place],
    /// More of the same, shared with other languages.
    pub(crate) shared_roles: &'static [Place],
    /// Between the parts of a qualified name.
    pub(crate) separator: &'static str,
    /// The same text, as long, without syntax that the grammar does not know yet.
    pub(crate) older: fn(&str) -> Option<String>,
    /// The parts of a text that a preprocessor removes: the grammar reads blanks in their place.
    pub(crate) macros: fn(&str) -> Vec<Range<usize>>,
    /// Adds what the parser lost in a text with errors.
    pub(crate) recover: fn(&mut Visit<'_>),
    /// How to leave out the insides of functions, where only the outline is asked for.
    pub(crate) skim: Option<Dialect>,
    /// Whether texts in this language are minified.
    pub(crate) minified: bool,
    /// Whether the text is nested deeper than the grammar's own scanner can bear.
    pub(crate) too_nested: fn(&str) -> bool,
    /// A parser for this language alone, instead of the grammar.
    pub(crate) own: Option<OwnParser>,
}

/// Reads a text, and the facts about its declarations where they are asked for.
pub(crate) type OwnParser = fn(&str, &OutlineLimits, Option<&mut Gathered>) -> ParsedSource;

impl Adapter {
    pub(crate) const DEFAULT: Adapter = Adapter {
        name: "",
        interpreters: &[],
        grammar: tree_sitter_json::LANGUAGE,
        rules: &[],
        shared: &[],
        roles: &[],
        shared_roles: &[],
        separator: ".",
        older: |_| None,
        macros: |_| Vec::new(),
        recover: |_| (),
        minified: false,
        too_nested: |_| false,
        own: None,
        skim: None,
    };
}

#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// Nothing inside can be of interest.
    Skip,
    /// Belongs to the declaration that follows, and may be its documentation.
    Comment,
    /// Belongs to the declaration that follows or that it is in: attribute, annotation, decorator.
    Attribute,
    /// Stands around a declaration, and its lines belong to it; `true` if so does its text, as with `export`.
    Wrap(bool),
    /// Control flow, with its label in `decl_context`.
    Branch(&'static str),
    /// A declaration with a field `name` and perhaps a field `body`.
    Declare(SymbolKind),
    /// The same, and what is declared in it is its member.
    Open(SymbolKind, ScopeKind),
    /// A leaf that names a value: read, written or declared, by where it is.
    Name,
    /// Anything else.
    On(fn(&mut Visit<'_>, Node<'_>) -> Action),
}

/// A kind of node, a part of it, and what the names there are. The part is a field, `>kind` for children of a kind,
/// `#0` for the first of several named children, `#+` for the others, or empty for whatever is left.
pub(crate) type Place = (&'static str, &'static str, Role);

/// What the names in a part of a node are. A part that no place lists is read, but for what is called a pattern: its
/// parts are what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    /// Their values are used.
    #[default]
    Read,
    /// They are given values.
    Write,
    /// They are declared here, or are the names of parameters and arguments: no uses.
    Bind,
    /// The same, but a capitalised name is what the value is compared with.
    Pattern,
    Type,
    /// What the node itself is.
    Same,
    /// The last part of a path: what the node itself is, reached through what comes before it.
    Member,
    /// Written if the node is `++`, `--` or `delete`.
    Stepped,
    /// Written if `=` or `<-` follows.
    Matched,
}

/// What a rule makes of a node.
pub(crate) enum Action {
    /// Look inside.
    Enter,
    Skip,
    /// Look inside, under this label.
    Branch(&'static str),
    Declare(Declared),
    /// As [`Rule::Wrap`] with its text.
    Wrap,
    /// Belongs to the declaration that follows; with the bytes of its documentation, if it is that.
    Lead(Option<(usize, usize)>),
    /// More of a declaration that was made before: what is inside is inside that.
    Reopen(u32, ScopeKind),
}

/// A declaration as an adapter found it; the walk adds where it is.
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
    /// What its members are in; none if nothing can be declared in it.
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
    /// By kind, where its parts are listed; 0 for those without.
    places: Vec<u16>,
    parts: Vec<Vec<(Part, Role)>>,
}

#[derive(Clone, Copy)]
enum Part {
    Field(u16),
    Kind(u16),
    First,
    Later,
    Any,
}

/// A child as the walk knows it.
pub(crate) struct Child {
    pub(crate) field: Option<u16>,
    pub(crate) kind: u16,
    /// Which of the named children it is, and whether there are others.
    pub(crate) index: u32,
    pub(crate) several: bool,
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
        let mut parts = vec![Vec::new()];
        let places = (0..grammar.node_kind_count() as u16)
            .map(|id| {
                let Some(kind) = grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id))
                else {
                    return 0;
                };
                let mut list: Vec<(Part, Role)> = adapter
                    .roles
                    .iter()
                    .chain(adapter.shared_roles)
                    .filter(|(of, ..)| *of == kind)
                    .flat_map(|(_, part, role)| part_of(&grammar, part).into_iter().map(|part| (part, *role)))
                    .collect();
                if kind.ends_with("pattern") || kind == "patterns" {
                    list.push((Part::Any, Role::Same));
                }
                if list.is_empty() {
                    return 0;
                }
                parts.push(list);
                parts.len() as u16 - 1
            })
            .collect();
        Table { grammar, by_kind, places, parts }
    }

    /// Where the parts of a node are listed, for [`Table::role`].
    pub(crate) fn place(&self, node: Node<'_>) -> u16 {
        self.places.get(node.kind_id() as usize).copied().unwrap_or(0)
    }

    pub(crate) fn role(&self, place: u16, child: &Child) -> Role {
        let fits = |part: Part| match part {
            Part::Field(id) => child.field == Some(id),
            Part::Kind(id) => child.kind == id,
            Part::First => child.index == 0 && child.several,
            Part::Later => child.index > 0,
            Part::Any => true,
        };
        let listed =
            self.parts.get(place as usize).and_then(|list| list.iter().find(|(part, _)| fits(*part)));
        listed.map_or(Role::Read, |(_, role)| *role)
    }

    pub(crate) fn rule(&self, node: Node<'_>) -> Option<Rule> {
        self.by_kind.get(node.kind_id() as usize).copied().flatten()
    }
}

/// Several where a grammar has several nodes of one name.
fn part_of(grammar: &Grammar, part: &str) -> Vec<Part> {
    match part {
        "" => vec![Part::Any],
        "#0" => vec![Part::First],
        "#+" => vec![Part::Later],
        _ => match part.strip_prefix('>') {
            Some(kind) => (0..grammar.node_kind_count() as u16)
                .filter(|id| grammar.node_kind_is_named(*id) && grammar.node_kind_for_id(*id) == Some(kind))
                .map(Part::Kind)
                .collect(),
            None => grammar.field_id_for_name(part).map(|id| Part::Field(id.get())).into_iter().collect(),
        },
    }
}
