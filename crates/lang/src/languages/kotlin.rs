//! Kotlin.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "kotlin",
    interpreters: &["kotlin", "kscript"],
    grammar: tree_sitter_kotlin_ng::LANGUAGE,
    rules: &[
        ("identifier", Rule::Name),
        ("line_comment", Rule::Comment),
        ("block_comment", Rule::Comment),
        ("annotation", Rule::Attribute),
        ("class_declaration", Rule::On(class)),
        ("object_declaration", Rule::On(object)),
        ("companion_object", Rule::On(object)),
        ("function_declaration", Rule::On(function)),
        ("secondary_constructor", Rule::On(constructor)),
        ("property_declaration", Rule::On(property)),
        ("type_alias", Rule::On(alias)),
        ("infix_expression", Rule::On(annotation_class)),
        ("if_expression", Rule::Branch("if")),
        ("when_expression", Rule::Branch("when")),
        ("for_statement", Rule::Branch("for")),
        ("while_statement", Rule::Branch("while")),
        ("try_expression", Rule::Branch("try")),
        ("package_header", Rule::Skip),
        ("import", Rule::On(import)),
        ("delegation_specifier", Rule::On(base)),
        ("call_expression", Rule::On(call)),
        ("user_type", Rule::On(user_type)),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment", "left", Role::Write),
    ("for_statement", ">variable_declaration", Role::Write),
    ("for_statement", ">multi_variable_declaration", Role::Write),
    ("unary_expression", "argument", Role::Stepped),
    ("navigation_expression", "#+", Role::Member),
    ("callable_reference", "#+", Role::Member),
    ("index_expression", "#0", Role::Same),
    ("parenthesized_expression", "", Role::Same),
    ("variable_declaration", "", Role::Same),
    ("multi_variable_declaration", "", Role::Same),
    ("parameter", "", Role::Bind),
    ("class_parameter", "", Role::Bind),
    ("property_declaration", ">variable_declaration", Role::Bind),
    ("property_declaration", ">multi_variable_declaration", Role::Bind),
    ("when_subject", ">variable_declaration", Role::Bind),
    ("lambda_parameters", "", Role::Bind),
    ("catch_block", ">identifier", Role::Bind),
    ("enum_entry", ">identifier", Role::Bind),
    ("setter", ">identifier", Role::Bind),
    ("value_argument", "#0", Role::Bind),
    ("type_parameter", ">identifier", Role::Bind),
    ("return_expression", "label", Role::Bind),
    ("this_expression", "", Role::Bind),
    ("super_expression", ">identifier", Role::Bind),
];

const BODIES: &[&str] = &["class_body", "enum_class_body", "function_body", "block"];

fn class(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    let mut kind = SymbolKind::Class;
    for child in node.children(&mut cursor) {
        match child.kind() {
            "interface" => kind = SymbolKind::Interface,
            "enum_class_body" => kind = SymbolKind::Enum,
            _ => {}
        }
    }
    let Some(declared) = visit.named(kind, node) else { return Action::Enter };
    let end = common::body_start(node, BODIES).unwrap_or(declared.head_end);
    Action::Declare(declared.head_end(end).opens(ScopeKind::Class))
}

/// After annotations with arguments the grammar takes `annotation class A` for an operation on three names.
fn annotation_class(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    let parts: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
    match parts[..] {
        [first, second, name] if visit.text(first) == "annotation" && visit.text(second) == "class" => {
            visit.no_use(first);
            visit.no_use(second);
            visit.declared(SymbolKind::Class, node, name).into()
        }
        _ => Action::Enter,
    }
}

fn object(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let declared = match node.child_by_field_name("name") {
        Some(name) => visit.declared(SymbolKind::Object, node, name),
        None => {
            let mut declared = visit.declared_as(
                SymbolKind::Object,
                node,
                "Companion".to_owned(),
                node.start_position().row,
            );
            declared.name_row = declared.start_row;
            Some(declared)
        }
    };
    let Some(declared) = declared else { return Action::Enter };
    let end = common::body_start(node, BODIES).unwrap_or(declared.head_end);
    Action::Declare(declared.head_end(end).opens(ScopeKind::Class))
}

fn function(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = visit.callable();
    let Some(declared) = visit.named(kind, node) else { return Action::Enter };
    let end = common::body_start(node, BODIES).unwrap_or(declared.head_end);
    Action::Declare(declared.head_end(end).opens(ScopeKind::Function))
}

fn constructor(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut declared =
        visit.declared_as(SymbolKind::Constructor, node, "constructor".to_owned(), node.start_position().row);
    declared.name_row = declared.start_row;
    let end = common::body_start(node, BODIES).unwrap_or(declared.head_end);
    Action::Declare(declared.head_end(end).opens(ScopeKind::Function))
}

fn property(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    let variable = node.named_children(&mut cursor).find(|child| child.kind() == "variable_declaration");
    let mut cursor = node.walk();
    let name = variable
        .and_then(|variable| variable.named_children(&mut cursor).find(|child| child.kind() == "identifier"));
    let Some(name) = name else { return Action::Enter };
    let Some(mut declared) = common::constant(visit, SymbolKind::Property, node, name, None) else {
        return Action::Enter;
    };
    let end = common::body_start(node, &["=", "getter", "setter", "property_delegate"]);
    declared.head_end = end.unwrap_or(declared.head_end);
    Action::Declare(declared)
}

fn alias(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    match node.child_by_field_name("type") {
        Some(name) => visit.declared(SymbolKind::Type, node, name).into(),
        None => Action::Enter,
    }
}

fn import(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(path) = node.named_child(0) else { return Action::Skip };
    let text = visit.text(path);
    let rest = visit.slice(path.end_byte(), node.end_byte()).trim();
    let alias = node.named_child(1).map(|alias| visit.text(alias));
    match text.rsplit_once('.') {
        _ if rest.starts_with(".*") => visit.import(path, text, Some("*"), None),
        Some((module, name)) => visit.import(path, module, Some(name), alias),
        None => visit.import(path, text, None, alias),
    }
    Action::Skip
}

fn base(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut at = node;
    for _ in 0..6 {
        match at.named_child(0) {
            Some(child) => at = child,
            None => break,
        }
    }
    if at.kind() == "identifier" {
        visit.name_at(at);
        visit.refer(ReferenceKind::Inheritance, at, None);
    }
    Action::Enter
}

/// The callee comes first; an upper-case one is a class.
fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(callee) = node.named_child(0) else { return Action::Enter };
    let (name, of) = match callee.kind() {
        "navigation_expression" => (common::last_named(callee), callee.named_child(0)),
        "identifier" => (Some(callee), None),
        _ => (None, None),
    };
    if let Some(name) = name.filter(|name| name.kind() == "identifier") {
        let upper = visit.text(name).starts_with(char::is_uppercase);
        let kind = if upper { ReferenceKind::Instantiation } else { ReferenceKind::Call };
        visit.refer(kind, name, of);
    }
    Action::Enter
}

fn user_type(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    let names: Vec<Node<'_>> =
        node.named_children(&mut cursor).filter(|child| child.kind() == "identifier").collect();
    if let Some(name) = names.last().filter(|name| !visit.is_name(**name)) {
        visit.refer(ReferenceKind::Type, *name, None);
    }
    Action::Enter
}
