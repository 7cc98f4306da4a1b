//! JSON: the keys of its upper levels.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Rule};
use crate::visit::Visit;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "json",
    grammar: tree_sitter_json::LANGUAGE,
    rules: &[
        ("comment", Rule::Comment),
        ("pair", Rule::On(pair)),
        ("string", Rule::Skip),
        ("number", Rule::Skip),
        ("array", Rule::Skip),
    ],
    ..Adapter::DEFAULT
};

/// Keys below these are data more than structure.
pub(super) const MAX_LEVEL: usize = 3;

fn pair(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(key) = node.child_by_field_name("key") else { return Action::Skip };
    keyed(visit, node, key, node.child_by_field_name("value"))
}

/// A key of a mapping with what it stands for.
pub(super) fn keyed(visit: &mut Visit<'_>, node: Node<'_>, key: Node<'_>, value: Option<Node<'_>>) -> Action {
    if visit.scopes.len() >= MAX_LEVEL {
        return Action::Skip;
    }
    let mut name = common::unquoted(visit, key).to_owned();
    if name.is_empty() || name.contains('\n') {
        return Action::Skip;
    }
    crate::text::truncate(&mut name, 200);
    let declared = visit.declared_as(SymbolKind::Key, node, name, key.start_position().row);
    let long = value.filter(|value| {
        value.end_position().row > value.start_position().row || value.end_byte() - value.start_byte() > 80
    });
    let end = long.map_or(declared.head_end, |_| key.end_byte());
    Action::Declare(declared.head_end(end).opens(ScopeKind::Class))
}
