//! TOML: tables and keys.

use tree_sitter::Node;

use super::json;
use crate::rules::{Action, Adapter, Rule};
use crate::visit::Visit;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "toml",
    grammar: tree_sitter_toml_ng::LANGUAGE,
    rules: &[
        ("comment", Rule::Comment),
        ("table", Rule::On(table)),
        ("table_array_element", Rule::On(table)),
        ("pair", Rule::On(pair)),
        ("array", Rule::Skip),
        ("inline_table", Rule::Skip),
        ("string", Rule::Skip),
    ],
    ..Adapter::DEFAULT
};

fn table(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.named_child(0) else { return Action::Enter };
    let Some(mut declared) = visit.declared(SymbolKind::Table, node, name) else { return Action::Enter };
    declared.name = declared.name.replace('"', "");
    declared.signature = Some(format!("[{}]", visit.text(name)));
    Action::Declare(declared.opens(ScopeKind::Class))
}

fn pair(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    match node.named_child(0) {
        Some(key) => json::keyed(visit, node, key, node.named_child(1)),
        None => Action::Skip,
    }
}
