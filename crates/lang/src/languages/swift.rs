//! Swift.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "swift",
    interpreters: &["swift"],
    grammar: tree_sitter_swift::LANGUAGE,
    rules: &[
        ("simple_identifier", Rule::Name),
        ("comment", Rule::Comment),
        ("multiline_comment", Rule::Comment),
        ("attribute", Rule::Attribute),
        ("class_declaration", Rule::On(class)),
        ("protocol_declaration", Rule::Open(SymbolKind::Protocol, ScopeKind::Class)),
        ("function_declaration", Rule::On(common::function)),
        ("protocol_function_declaration", Rule::On(common::function)),
        ("init_declaration", Rule::On(special)),
        ("deinit_declaration", Rule::On(special)),
        ("subscript_declaration", Rule::On(special)),
        ("typealias_declaration", Rule::Declare(SymbolKind::Type)),
        ("associatedtype_declaration", Rule::Declare(SymbolKind::Type)),
        ("property_declaration", Rule::On(property)),
        ("protocol_property_declaration", Rule::On(property)),
        ("if_statement", Rule::Branch("if")),
        ("guard_statement", Rule::Branch("guard")),
        ("for_statement", Rule::Branch("for")),
        ("while_statement", Rule::Branch("while")),
        ("switch_statement", Rule::Branch("switch")),
        ("do_statement", Rule::Branch("do")),
        ("import_declaration", Rule::On(import)),
        ("inheritance_specifier", Rule::On(base)),
        ("call_expression", Rule::On(call)),
        ("type_identifier", Rule::On(common::type_name)),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment", "target", Role::Write),
    ("for_statement", "item", Role::Write),
    ("prefix_expression", "target", Role::Stepped),
    ("postfix_expression", "target", Role::Stepped),
    ("navigation_expression", "suffix", Role::Member),
    ("navigation_suffix", "suffix", Role::Member),
    ("directly_assignable_expression", "", Role::Same),
    ("tuple_expression", "value", Role::Same),
    ("switch_pattern", "", Role::Pattern),
    ("property_declaration", "name", Role::Bind),
    ("protocol_property_declaration", "name", Role::Bind),
    ("parameter", "name", Role::Bind),
    ("parameter", "external_name", Role::Bind),
    ("lambda_parameter", "name", Role::Bind),
    ("lambda_parameter", "external_name", Role::Bind),
    ("value_argument_label", "", Role::Bind),
    ("value_argument", "name", Role::Bind),
    ("catch_block", "error", Role::Bind),
    ("if_statement", "bound_identifier", Role::Bind),
    ("guard_statement", "bound_identifier", Role::Bind),
    ("while_statement", "bound_identifier", Role::Bind),
    ("enum_entry", "name", Role::Bind),
    ("tuple_type_item", "name", Role::Bind),
    ("tuple_expression", "name", Role::Bind),
    ("computed_setter", ">simple_identifier", Role::Bind),
    ("willset_clause", ">simple_identifier", Role::Bind),
    ("didset_clause", ">simple_identifier", Role::Bind),
    ("precedence_group_declaration", ">simple_identifier", Role::Bind),
];

fn class(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = match node.child_by_field_name("declaration_kind").map(|kind| kind.kind()) {
        Some("struct") => SymbolKind::Struct,
        Some("enum") => SymbolKind::Enum,
        Some("extension") => SymbolKind::Extension,
        Some("actor") => SymbolKind::Actor,
        _ => SymbolKind::Class,
    };
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    // `extension A.B<C>` extends `B`: its own text up to the brackets is name enough.
    let text = visit.text(name).split('<').next().unwrap_or("").trim().to_owned();
    visit.name_at(name);
    let declared = visit.declared_as(kind, node, text, name.start_position().row);
    Action::Declare(declared.opens(ScopeKind::Class))
}

/// Members whose name is a keyword.
fn special(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let (kind, name) = match node.kind() {
        "init_declaration" => (SymbolKind::Constructor, "init"),
        "deinit_declaration" => (SymbolKind::Method, "deinit"),
        _ => (SymbolKind::Method, "subscript"),
    };
    let mut declared = visit.declared_as(kind, node, name.to_owned(), node.start_position().row);
    declared.name_row = declared.start_row;
    let end = common::body_start(node, &["computed_property"]).unwrap_or(declared.head_end);
    Action::Declare(declared.head_end(end).opens(ScopeKind::Function))
}

fn property(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    let name = name.child_by_field_name("bound_identifier").unwrap_or(name);
    let Some(declared) = common::constant(visit, SymbolKind::Property, node, name, None) else {
        return Action::Enter;
    };
    let end = common::body_start(node, &["=", "computed_property", "willset_didset_block"]);
    let end = end.unwrap_or(declared.head_end);
    Action::Declare(declared.head_end(end))
}

fn import(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    if let Some(path) = node.named_children(&mut cursor).find(|child| child.kind() == "identifier") {
        visit.import(path, visit.text(path), None, None);
    }
    Action::Skip
}

fn base(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(base) = node.child_by_field_name("inherits_from") {
        common::base_type(visit, base);
    }
    Action::Enter
}

fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(callee) = node.named_child(0) else { return Action::Enter };
    let (name, of) = match callee.kind() {
        "navigation_expression" => {
            let suffix = callee.child_by_field_name("suffix");
            let name = suffix.and_then(|suffix| suffix.child_by_field_name("suffix"));
            (name, callee.child_by_field_name("target"))
        }
        "simple_identifier" => (Some(callee), None),
        _ => (None, None),
    };
    if let Some(name) = name {
        let upper = visit.text(name).starts_with(char::is_uppercase);
        let kind = if upper { ReferenceKind::Instantiation } else { ReferenceKind::Call };
        visit.refer(kind, name, of);
    }
    Action::Enter
}
