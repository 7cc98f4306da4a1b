//! SQL: what a script creates.

use tree_sitter::Node;

use crate::reference::ReferenceKind;
use crate::rules::{Action, Adapter, Rule};
use crate::symbol::SymbolKind;
use crate::visit::Visit;

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "sql",
    extensions: &["sql", "psql", "ddl", "dml", "pgsql"],
    grammar: tree_sitter_sequel::LANGUAGE,
    rules: &[
        ("comment", Rule::Comment),
        ("marginalia", Rule::Comment),
        ("statement", Rule::Wrap(true)),
        ("create_table", Rule::On(create)),
        ("create_view", Rule::On(create)),
        ("create_materialized_view", Rule::On(create)),
        ("create_function", Rule::On(create)),
        ("create_trigger", Rule::On(create)),
        ("create_type", Rule::On(create)),
        ("create_index", Rule::On(create)),
        ("create_sequence", Rule::On(create)),
        ("create_schema", Rule::On(create)),
        ("create_database", Rule::On(create)),
        ("create_role", Rule::On(create)),
        ("relation", Rule::On(relation)),
        ("invocation", Rule::On(invocation)),
        ("literal", Rule::Skip),
    ],
    ..Adapter::DEFAULT
};

fn create(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = match node.kind() {
        "create_table" => SymbolKind::Table,
        "create_function" => SymbolKind::Function,
        "create_trigger" => SymbolKind::Trigger,
        "create_type" => SymbolKind::Type,
        "create_index" => SymbolKind::Index,
        "create_sequence" => SymbolKind::Sequence,
        "create_schema" | "create_database" => SymbolKind::Schema,
        "create_role" => SymbolKind::Role,
        _ => SymbolKind::View,
    };
    let mut cursor = node.walk();
    let mut children = node.named_children(&mut cursor);
    let name = match kind {
        SymbolKind::Index => node.child_by_field_name("column"),
        _ => children.find(|child| matches!(child.kind(), "object_reference" | "identifier")),
    };
    let Some(name) = name else { return Action::Enter };
    let text = visit.text(name);
    // `[dbo].[Users]` and "Users" are dbo.Users and Users.
    let plain: String = text.chars().filter(|c| !matches!(c, '"' | '`' | '[' | ']')).collect();
    let bare = plain.rsplit('.').next().unwrap_or(&plain).to_owned();
    let owner = plain.rsplit_once('.').map(|(owner, _)| owner.to_owned());
    let declared = visit.declared_as(kind, node, bare, name.start_position().row);
    let end = super::common::body_start(node, &["column_definitions", "create_query", "function_body"]);
    let end = end.unwrap_or(declared.head_end);
    Action::Declare(declared.head_end(end).owner(owner))
}

fn relation(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let name = node.named_child(0).and_then(|object| object.child_by_field_name("name"));
    if let Some(name) = name {
        visit.refer(ReferenceKind::Type, name, None);
    }
    Action::Enter
}

fn invocation(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let name = node.named_child(0).and_then(|object| object.child_by_field_name("name"));
    if let Some(name) = name {
        visit.refer(ReferenceKind::Call, name, None);
    }
    Action::Enter
}
