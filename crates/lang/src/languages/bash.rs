//! Bash and the shells that are written like it.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "bash",
    interpreters: &["sh", "bash", "zsh", "ksh", "dash", "ash", "bats"],
    grammar: tree_sitter_bash::LANGUAGE,
    rules: &[
        ("variable_name", Rule::Name),
        ("comment", Rule::Comment),
        ("function_definition", Rule::Open(SymbolKind::Function, ScopeKind::Function)),
        ("if_statement", Rule::Branch("if")),
        ("for_statement", Rule::Branch("for")),
        ("c_style_for_statement", Rule::Branch("for")),
        ("while_statement", Rule::Branch("while")),
        ("case_statement", Rule::Branch("case")),
        ("command", Rule::On(command)),
        ("raw_string", Rule::Skip),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("variable_assignment", "name", Role::Write),
    ("for_statement", "variable", Role::Write),
    ("unset_command", "", Role::Write),
    ("declaration_command", ">variable_name", Role::Write),
    ("postfix_expression", "", Role::Stepped),
    ("unary_expression", "", Role::Stepped),
    ("subscript", "name", Role::Same),
];

fn command(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let name = node.child_by_field_name("name").and_then(|name| name.named_child(0));
    let Some(name) = name.filter(|name| name.kind() == "word") else { return Action::Enter };
    match (visit.text(name), node.child_by_field_name("argument")) {
        ("source" | ".", Some(path)) => visit.import(path, common::unquoted(visit, path), None, None),
        _ => visit.refer(ReferenceKind::Call, name, None),
    }
    Action::Enter
}
