//! Zig.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::visit::Visit;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "zig",
    grammar: tree_sitter_zig::LANGUAGE,
    rules: &[
        ("identifier", Rule::Name),
        ("comment", Rule::Comment),
        ("function_declaration", Rule::On(common::function)),
        ("variable_declaration", Rule::On(variable)),
        ("test_declaration", Rule::On(test)),
        ("if_statement", Rule::Branch("if")),
        ("for_statement", Rule::Branch("for")),
        ("while_statement", Rule::Branch("while")),
        ("call_expression", Rule::On(call)),
        ("builtin_function", Rule::On(builtin)),
        ("string", Rule::Skip),
        ("multiline_string", Rule::Skip),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment_expression", "left", Role::Write),
    ("for_statement", ">payload", Role::Write),
    ("for_expression", ">payload", Role::Write),
    ("field_expression", "member", Role::Member),
    ("index_expression", "object", Role::Same),
    ("dereference_expression", "", Role::Same),
    ("parenthesized_expression", "", Role::Same),
    ("payload", "", Role::Same),
    ("parameter", "name", Role::Bind),
    ("container_field", "name", Role::Bind),
    ("variable_declaration", "#0", Role::Write),
    ("if_statement", ">payload", Role::Bind),
    ("if_expression", ">payload", Role::Bind),
    ("while_statement", ">payload", Role::Bind),
    ("while_expression", ">payload", Role::Bind),
    ("else_clause", ">payload", Role::Bind),
    ("catch_expression", ">payload", Role::Bind),
    ("switch_case", ">payload", Role::Bind),
    ("errdefer_statement", ">payload", Role::Bind),
    ("block_label", "", Role::Bind),
    ("break_label", "", Role::Bind),
    ("field_initializer", "#0", Role::Bind),
    ("error_set_declaration", "", Role::Bind),
];

/// Types are constants whose value is a type.
fn variable(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
    let Some(name) = children.iter().copied().find(|child| child.kind() == "identifier") else {
        return Action::Enter;
    };
    // The grammar has one node for `const a = b` and `a = b`.
    if common::body_start(node, &["const", "var"]).is_none() {
        return Action::Enter;
    }
    visit.no_use(name);
    let value = children.last().copied().filter(|value| value.start_byte() > name.start_byte());
    let kind = match value.map(|value| value.kind()) {
        Some("struct_declaration") => SymbolKind::Struct,
        Some("enum_declaration" | "error_set_declaration") => SymbolKind::Enum,
        Some("union_declaration" | "opaque_declaration") => SymbolKind::Union,
        _ => return common::constant(visit, SymbolKind::Const, node, name, value).into(),
    };
    let Some(declared) = visit.declared(kind, node, name) else { return Action::Enter };
    let brace = value.and_then(|value| common::body_start(value, &["{"])).unwrap_or(declared.head_end);
    Action::Declare(declared.head_end(brace).opens(ScopeKind::Class))
}

fn test(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let name = node.named_child(0).filter(|name| matches!(name.kind(), "string" | "identifier"));
    let Some(name) = name else { return Action::Enter };
    let text = common::unquoted(visit, name).to_owned();
    let declared = visit.declared_as(SymbolKind::Test, node, text, name.start_position().row);
    Action::Declare(declared.head_end(name.end_byte()).opens(ScopeKind::Function))
}

fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(callee) = node.child_by_field_name("function") {
        let member = callee.child_by_field_name("member");
        match member {
            Some(name) => {
                visit.refer(crate::ReferenceKind::Call, name, callee.child_by_field_name("object"));
            }
            None => visit.call(callee),
        }
    }
    Action::Enter
}

/// `@import("std")`
fn builtin(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if node.named_child(0).is_some_and(|name| visit.text(name) == "@import")
        && let Some(path) = node.named_child(1).and_then(|list| list.named_child(0))
    {
        visit.import(path, common::unquoted(visit, path), None, None);
    }
    Action::Enter
}
