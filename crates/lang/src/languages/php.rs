//! PHP.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::skim::Dialect;
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "php",
    interpreters: &["php"],
    grammar: tree_sitter_php::LANGUAGE_PHP,
    rules: &[
        ("name", Rule::Name),
        ("comment", Rule::Comment),
        ("attribute_list", Rule::Attribute),
        ("namespace_definition", Rule::On(namespace)),
        ("class_declaration", Rule::Open(SymbolKind::Class, ScopeKind::Class)),
        ("interface_declaration", Rule::Open(SymbolKind::Interface, ScopeKind::Class)),
        ("trait_declaration", Rule::Open(SymbolKind::Trait, ScopeKind::Class)),
        ("enum_declaration", Rule::Open(SymbolKind::Enum, ScopeKind::Class)),
        ("function_definition", Rule::Open(SymbolKind::Function, ScopeKind::Function)),
        ("method_declaration", Rule::Open(SymbolKind::Method, ScopeKind::Function)),
        ("const_declaration", Rule::Wrap(true)),
        ("const_element", Rule::On(constant)),
        ("if_statement", Rule::Branch("if")),
        ("for_statement", Rule::Branch("for")),
        ("foreach_statement", Rule::Branch("foreach")),
        ("while_statement", Rule::Branch("while")),
        ("switch_statement", Rule::Branch("switch")),
        ("try_statement", Rule::Branch("try")),
        ("namespace_use_clause", Rule::On(use_)),
        ("require_expression", Rule::On(include)),
        ("require_once_expression", Rule::On(include)),
        ("include_expression", Rule::On(include)),
        ("include_once_expression", Rule::On(include)),
        ("base_clause", Rule::On(bases)),
        ("class_interface_clause", Rule::On(bases)),
        ("function_call_expression", Rule::On(call)),
        ("member_call_expression", Rule::On(common::call_by_name)),
        ("nullsafe_member_call_expression", Rule::On(common::call_by_name)),
        ("scoped_call_expression", Rule::On(common::call_by_name)),
        ("object_creation_expression", Rule::On(new)),
        ("named_type", Rule::On(named_type)),
        ("namespace_name", Rule::Skip),
        ("string", Rule::Skip),
        ("text", Rule::Skip),
    ],
    roles: ROLES,
    skim: Some(Dialect::Php),
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment_expression", "left", Role::Write),
    ("augmented_assignment_expression", "left", Role::Write),
    ("reference_assignment_expression", "left", Role::Write),
    ("update_expression", "argument", Role::Write),
    ("unset_statement", "", Role::Write),
    ("global_declaration", "", Role::Write),
    ("foreach_statement", "body", Role::Read),
    ("foreach_statement", "#+", Role::Write),
    ("argument", "name", Role::Bind),
    ("simple_parameter", "name", Role::Bind),
    ("variadic_parameter", "name", Role::Bind),
    ("property_promotion_parameter", "name", Role::Bind),
    ("property_element", "name", Role::Bind),
    ("static_variable_declaration", "name", Role::Bind),
    ("catch_clause", "name", Role::Bind),
    ("enum_case", "name", Role::Bind),
    ("const_element", "#0", Role::Bind),
    ("named_label_statement", "#0", Role::Bind),
    ("goto_statement", "", Role::Bind),
    ("declare_directive", "", Role::Bind),
    ("member_access_expression", "name", Role::Member),
    ("nullsafe_member_access_expression", "name", Role::Member),
    ("scoped_property_access_expression", "name", Role::Member),
    ("class_constant_access_expression", "#+", Role::Member),
    ("qualified_name", ">name", Role::Member),
    ("variable_name", "", Role::Same),
    ("subscript_expression", "#0", Role::Same),
    ("list_literal", "", Role::Same),
    ("by_ref", "", Role::Same),
    ("pair", "", Role::Same),
    ("parenthesized_expression", "", Role::Same),
];

fn namespace(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(mut declared) = visit.named(SymbolKind::Namespace, node) else { return Action::Enter };
    declared.name = declared.name.replace('\\', ".");
    // `namespace A;` has no body: what follows is beside it.
    if node.child_by_field_name("body").is_none() {
        return Action::Declare(declared);
    }
    Action::Declare(declared.opens(ScopeKind::Module))
}

fn constant(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let (Some(name), value) = (node.named_child(0), node.named_child(1)) else { return Action::Enter };
    common::constant(visit, SymbolKind::Const, node, name, value).into()
}

fn use_(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let alias = node.child_by_field_name("alias").map(|alias| visit.text(alias));
    if let Some(path) = node.named_child(0) {
        let text = visit.text(path);
        match text.rsplit_once('\\') {
            Some((module, name)) => visit.import(path, module, Some(name), alias),
            None => visit.import(path, text, None, alias),
        }
    }
    Action::Skip
}

fn include(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(path) = node.named_child(0).filter(|path| path.kind().ends_with("string")) {
        visit.import(path, common::unquoted(visit, path), None, None);
    }
    Action::Enter
}

/// The last part of `A\B\C`.
fn refer_to(visit: &mut Visit<'_>, kind: ReferenceKind, node: Node<'_>) {
    let text = visit.text(node);
    match text.rsplit_once('\\') {
        Some((front, name)) => visit.refer_text(kind, node, name, Some(front)),
        None => visit.refer_text(kind, node, text, None),
    }
}

fn bases(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    for base in node.named_children(&mut cursor) {
        refer_to(visit, ReferenceKind::Inheritance, base);
    }
    Action::Skip
}

fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(callee) = node.child_by_field_name("function")
        && matches!(callee.kind(), "name" | "qualified_name" | "relative_name")
    {
        refer_to(visit, ReferenceKind::Call, callee);
    }
    Action::Enter
}

fn new(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(class) = node.named_child(0)
        && matches!(class.kind(), "name" | "qualified_name" | "relative_name")
    {
        refer_to(visit, ReferenceKind::Instantiation, class);
    }
    Action::Enter
}

fn named_type(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    refer_to(visit, ReferenceKind::Type, node);
    Action::Skip
}
