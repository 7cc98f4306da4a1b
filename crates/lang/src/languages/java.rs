//! Java.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::skim::Dialect;
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "java",
    grammar: tree_sitter_java::LANGUAGE,
    rules: &[
        ("identifier", Rule::Name),
        ("line_comment", Rule::Comment),
        ("block_comment", Rule::Comment),
        ("annotation", Rule::Attribute),
        ("marker_annotation", Rule::Attribute),
        ("class_declaration", Rule::Open(SymbolKind::Class, ScopeKind::Class)),
        ("interface_declaration", Rule::Open(SymbolKind::Interface, ScopeKind::Class)),
        ("annotation_type_declaration", Rule::Open(SymbolKind::Interface, ScopeKind::Class)),
        ("enum_declaration", Rule::Open(SymbolKind::Enum, ScopeKind::Class)),
        ("record_declaration", Rule::Open(SymbolKind::Record, ScopeKind::Class)),
        ("method_declaration", Rule::Open(SymbolKind::Method, ScopeKind::Function)),
        ("annotation_type_element_declaration", Rule::Declare(SymbolKind::Method)),
        ("constructor_declaration", Rule::Open(SymbolKind::Constructor, ScopeKind::Function)),
        ("compact_constructor_declaration", Rule::Open(SymbolKind::Constructor, ScopeKind::Function)),
        ("module_declaration", Rule::Open(SymbolKind::Module, ScopeKind::Module)),
        ("if_statement", Rule::Branch("if")),
        ("for_statement", Rule::Branch("for")),
        ("enhanced_for_statement", Rule::Branch("for")),
        ("while_statement", Rule::Branch("while")),
        ("switch_expression", Rule::Branch("switch")),
        ("try_statement", Rule::Branch("try")),
        ("try_with_resources_statement", Rule::Branch("try")),
        ("package_declaration", Rule::Skip),
        ("import_declaration", Rule::On(import)),
        ("superclass", Rule::On(common::bases)),
        ("super_interfaces", Rule::On(common::bases)),
        ("extends_interfaces", Rule::On(common::bases)),
        ("method_invocation", Rule::On(common::call_by_name)),
        ("object_creation_expression", Rule::On(new)),
        ("type_identifier", Rule::On(common::type_name)),
        ("string_literal", Rule::Skip),
    ],
    roles: ROLES,
    skim: Some(Dialect::Java),
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment_expression", "left", Role::Write),
    ("update_expression", "", Role::Write),
    ("enhanced_for_statement", "name", Role::Write),
    ("field_access", "field", Role::Member),
    ("scoped_identifier", "name", Role::Member),
    ("method_reference", "#+", Role::Member),
    ("array_access", "array", Role::Same),
    ("parenthesized_expression", "", Role::Same),
    ("variable_declarator", "name", Role::Bind),
    ("formal_parameter", "name", Role::Bind),
    ("catch_formal_parameter", "name", Role::Bind),
    ("lambda_expression", "parameters", Role::Bind),
    ("inferred_parameters", "", Role::Bind),
    ("resource", "name", Role::Bind),
    ("enum_constant", "name", Role::Bind),
    ("element_value_pair", "key", Role::Bind),
    ("labeled_statement", "#0", Role::Bind),
    ("break_statement", "", Role::Bind),
    ("continue_statement", "", Role::Bind),
    ("instanceof_expression", "name", Role::Bind),
    ("type_pattern", "", Role::Bind),
    ("record_pattern_component", "", Role::Bind),
    ("receiver_parameter", "", Role::Bind),
    ("annotation", "name", Role::Type),
    ("marker_annotation", "name", Role::Type),
];

fn import(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(path) = node.named_child(0) else { return Action::Skip };
    let mut cursor = node.walk();
    let all = node.named_children(&mut cursor).any(|child| child.kind() == "asterisk");
    let text = visit.text(path);
    match text.rsplit_once('.') {
        _ if all => visit.import(path, text, Some("*"), None),
        Some((module, name)) => visit.import(path, module, Some(name), None),
        None => visit.import(path, text, None, None),
    }
    Action::Skip
}

fn new(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(mut name) = node.child_by_field_name("type") else { return Action::Enter };
    if name.kind() == "generic_type" {
        name = name.named_child(0).unwrap_or(name);
    }
    if name.kind() == "scoped_type_identifier" {
        name = common::last_named(name).unwrap_or(name);
    }
    visit.name_at(name);
    visit.refer(ReferenceKind::Instantiation, name, None);
    Action::Enter
}
