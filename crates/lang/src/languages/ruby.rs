//! Ruby.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "ruby",
    interpreters: &["ruby", "jruby", "rake"],
    grammar: tree_sitter_ruby::LANGUAGE,
    rules: &[
        ("identifier", Rule::Name),
        ("constant", Rule::Name),
        ("instance_variable", Rule::Name),
        ("class_variable", Rule::Name),
        ("global_variable", Rule::Name),
        ("comment", Rule::Comment),
        ("module", Rule::On(class)),
        ("class", Rule::On(class)),
        ("method", Rule::On(method)),
        ("singleton_method", Rule::On(method)),
        ("assignment", Rule::On(constant)),
        ("if", Rule::Branch("if")),
        ("unless", Rule::Branch("unless")),
        ("if_modifier", Rule::Branch("if")),
        ("unless_modifier", Rule::Branch("unless")),
        ("while", Rule::Branch("while")),
        ("until", Rule::Branch("until")),
        ("for", Rule::Branch("for")),
        ("case", Rule::Branch("case")),
        ("begin", Rule::Branch("begin")),
        ("superclass", Rule::On(superclass)),
        ("call", Rule::On(call)),
        ("regex", Rule::Skip),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment", "left", Role::Write),
    ("operator_assignment", "left", Role::Write),
    ("for", "pattern", Role::Write),
    ("exception_variable", "", Role::Write),
    ("scope_resolution", "name", Role::Member),
    ("left_assignment_list", "", Role::Same),
    ("destructured_left_assignment", "", Role::Same),
    ("rest_assignment", "", Role::Same),
    ("element_reference", "object", Role::Same),
    ("in_clause", "pattern", Role::Pattern),
    ("method_parameters", "", Role::Bind),
    ("block_parameters", "", Role::Bind),
    ("lambda_parameters", "", Role::Bind),
    ("destructured_parameter", "", Role::Bind),
    ("optional_parameter", "name", Role::Bind),
    ("keyword_parameter", "name", Role::Bind),
    ("splat_parameter", "name", Role::Bind),
    ("hash_splat_parameter", "name", Role::Bind),
    ("block_parameter", "name", Role::Bind),
    ("alias", "", Role::Bind),
    ("undef", "", Role::Bind),
];

/// `class A::B` is `B` of `A`.
fn class(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = if node.kind() == "module" { SymbolKind::Module } else { SymbolKind::Class };
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    let last = name.child_by_field_name("name").unwrap_or(name);
    let owner = name.child_by_field_name("scope").map(|scope| visit.text(scope).replace("::", "."));
    let Some(declared) = visit.declared(kind, node, last) else { return Action::Enter };
    let head = node.child_by_field_name("superclass").unwrap_or(name).end_byte();
    Action::Declare(declared.head_end(head).owner(owner).opens(ScopeKind::Class))
}

fn method(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = visit.callable();
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    let Some(declared) = visit.declared(kind, node, name) else { return Action::Enter };
    let head = node.child_by_field_name("parameters").unwrap_or(name).end_byte();
    Action::Declare(declared.head_end(head).opens(ScopeKind::Function))
}

/// `NAME = value`
fn constant(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    match node.child_by_field_name("left").filter(|left| left.kind() == "constant") {
        Some(name) => {
            let value = node.child_by_field_name("right");
            common::constant(visit, SymbolKind::Const, node, name, value).into()
        }
        None => Action::Enter,
    }
}

fn superclass(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(base) = node.named_child(0) {
        visit.use_path(ReferenceKind::Inheritance, base);
    }
    Action::Enter
}

fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.child_by_field_name("method") else { return Action::Enter };
    visit.no_use(name);
    let receiver = node.child_by_field_name("receiver");
    let first = node.child_by_field_name("arguments").and_then(|list| list.named_child(0));
    match (visit.text(name), first, receiver) {
        ("require" | "require_relative" | "load", Some(path), None) if path.kind() == "string" => {
            visit.import(path, common::unquoted(visit, path), None, None);
        }
        ("include" | "extend" | "prepend", Some(base), None) => {
            visit.use_path(ReferenceKind::Inheritance, base);
        }
        ("new", _, Some(class)) => visit.use_path(ReferenceKind::Instantiation, class),
        // `a.b = 1` calls a method by the look of an assignment.
        _ if visit.role == Role::Write => visit.refer(ReferenceKind::Write, name, receiver),
        _ => visit.refer(ReferenceKind::Call, name, receiver),
    }
    Action::Enter
}
