//! C#.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::skim::Dialect;
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "csharp",
    interpreters: &["dotnet-script"],
    grammar: tree_sitter_c_sharp::LANGUAGE,
    rules: &[
        ("identifier", Rule::Name),
        ("comment", Rule::Comment),
        ("attribute_list", Rule::Attribute),
        ("namespace_declaration", Rule::On(namespace)),
        ("file_scoped_namespace_declaration", Rule::On(namespace)),
        ("class_declaration", Rule::Open(SymbolKind::Class, ScopeKind::Class)),
        ("struct_declaration", Rule::Open(SymbolKind::Struct, ScopeKind::Class)),
        ("interface_declaration", Rule::Open(SymbolKind::Interface, ScopeKind::Class)),
        ("enum_declaration", Rule::Open(SymbolKind::Enum, ScopeKind::Class)),
        ("record_declaration", Rule::Open(SymbolKind::Record, ScopeKind::Class)),
        ("delegate_declaration", Rule::Declare(SymbolKind::Delegate)),
        ("method_declaration", Rule::On(method)),
        ("constructor_declaration", Rule::Open(SymbolKind::Constructor, ScopeKind::Function)),
        ("destructor_declaration", Rule::On(destructor)),
        ("local_function_statement", Rule::Open(SymbolKind::Function, ScopeKind::Function)),
        ("operator_declaration", Rule::On(operator)),
        ("conversion_operator_declaration", Rule::On(operator)),
        ("indexer_declaration", Rule::On(indexer)),
        ("property_declaration", Rule::On(property)),
        ("event_declaration", Rule::On(property)),
        ("event_field_declaration", Rule::On(event)),
        ("preproc_if", Rule::Branch("#if")),
        ("if_statement", Rule::Branch("if")),
        ("for_statement", Rule::Branch("for")),
        ("foreach_statement", Rule::Branch("foreach")),
        ("while_statement", Rule::Branch("while")),
        ("do_statement", Rule::Branch("do")),
        ("switch_statement", Rule::Branch("switch")),
        ("try_statement", Rule::Branch("try")),
        ("using_directive", Rule::On(using)),
        ("base_list", Rule::On(common::bases)),
        ("invocation_expression", Rule::On(common::call)),
        ("object_creation_expression", Rule::On(new)),
        ("parameter", Rule::On(common::typed)),
        ("variable_declaration", Rule::On(common::typed)),
        ("string_literal", Rule::Skip),
        ("verbatim_string_literal", Rule::Skip),
        ("raw_string_literal", Rule::Skip),
    ],
    roles: ROLES,
    skim: Some(Dialect::CSharp),
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment_expression", "left", Role::Write),
    ("foreach_statement", "left", Role::Write),
    ("prefix_unary_expression", "", Role::Stepped),
    ("postfix_unary_expression", "", Role::Stepped),
    ("member_access_expression", "name", Role::Member),
    ("member_binding_expression", "name", Role::Member),
    ("qualified_name", "name", Role::Member),
    ("alias_qualified_name", "name", Role::Member),
    ("element_access_expression", "expression", Role::Same),
    ("parenthesized_expression", "", Role::Same),
    ("tuple_expression", "", Role::Same),
    ("argument", "name", Role::Bind),
    ("argument", "", Role::Same),
    ("tuple_pattern", "name", Role::Same),
    ("generic_name", "#0", Role::Same),
    ("array_type", "type", Role::Same),
    ("nullable_type", "type", Role::Same),
    ("pointer_type", "type", Role::Same),
    ("ref_type", "type", Role::Same),
    ("scoped_type", "type", Role::Same),
    ("cast_expression", "type", Role::Type),
    ("type_argument_list", "", Role::Type),
    ("typeof_expression", "type", Role::Type),
    ("is_expression", "right", Role::Type),
    ("as_expression", "right", Role::Type),
    ("declaration_expression", "type", Role::Type),
    ("declaration_pattern", "type", Role::Type),
    ("recursive_pattern", "type", Role::Type),
    ("catch_declaration", "type", Role::Type),
    ("default_expression", "type", Role::Type),
    ("type_parameter_constraint", "type", Role::Type),
    ("foreach_statement", "type", Role::Type),
    ("explicit_interface_specifier", "", Role::Type),
    ("tuple_element", "type", Role::Type),
    ("array_creation_expression", "type", Role::Type),
    ("variable_declaration", "type", Role::Type),
    ("parameter", "type", Role::Type),
    ("method_declaration", "returns", Role::Type),
    ("property_declaration", "type", Role::Type),
    ("indexer_declaration", "type", Role::Type),
    ("event_declaration", "type", Role::Type),
    ("delegate_declaration", "type", Role::Type),
    ("local_function_statement", "type", Role::Type),
    ("operator_declaration", "type", Role::Type),
    ("conversion_operator_declaration", "type", Role::Type),
    ("attribute", "name", Role::Type),
    ("sizeof_expression", "type", Role::Type),
    ("from_clause", "type", Role::Type),
    ("object_creation_expression", "type", Role::Type),
    ("variable_declarator", "name", Role::Bind),
    ("parameter", "name", Role::Bind),
    ("attribute_argument", "name", Role::Bind),
    ("enum_member_declaration", "name", Role::Bind),
    ("catch_declaration", "name", Role::Bind),
    ("declaration_expression", "name", Role::Bind),
    ("declaration_pattern", "name", Role::Bind),
    ("var_pattern", "name", Role::Bind),
    ("recursive_pattern", "name", Role::Bind),
    ("list_pattern", "name", Role::Bind),
    ("tuple_element", "name", Role::Bind),
    ("from_clause", "name", Role::Bind),
    ("let_clause", "#0", Role::Bind),
    ("join_clause", "#0", Role::Bind),
    ("join_into_clause", "", Role::Bind),
    ("labeled_statement", "#0", Role::Bind),
    ("type_parameter", "name", Role::Bind),
    ("parenthesized_variable_designation", "name", Role::Bind),
    ("extern_alias_directive", "name", Role::Bind),
    ("with_initializer", "#0", Role::Bind),
];

fn namespace(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(declared) = visit.named(SymbolKind::Namespace, node) else { return Action::Enter };
    Action::Declare(declared.opens(ScopeKind::Module))
}

fn method(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    common::typed(visit, node);
    visit.named(SymbolKind::Method, node).map(|declared| declared.opens(ScopeKind::Function)).into()
}

fn destructor(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let declared = visit.named(SymbolKind::Method, node);
    declared
        .map(|mut declared| {
            declared.name.insert(0, '~');
            declared.opens(ScopeKind::Function)
        })
        .into()
}

fn operator(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let sign = node.child_by_field_name("operator").or_else(|| node.child_by_field_name("type"));
    let Some(sign) = sign else { return Action::Enter };
    let name = format!("operator {}", visit.text(sign));
    let declared = visit.declared_as(SymbolKind::Operator, node, name, sign.start_position().row);
    Action::Declare(declared.opens(ScopeKind::Function))
}

fn indexer(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    common::typed(visit, node);
    let end = accessors(node);
    let mut declared =
        visit.declared_as(SymbolKind::Property, node, "this".to_owned(), node.start_position().row);
    declared.head_end = end.unwrap_or(declared.head_end);
    declared.name_row = declared.start_row;
    Action::Declare(declared.opens(ScopeKind::Function))
}

fn property(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    common::typed(visit, node);
    let kind = if node.kind() == "event_declaration" { SymbolKind::Event } else { SymbolKind::Property };
    let Some(declared) = visit.named(kind, node) else { return Action::Enter };
    let end = accessors(node).unwrap_or(declared.head_end);
    Action::Declare(declared.head_end(end).opens(ScopeKind::Function))
}

fn accessors(node: Node<'_>) -> Option<usize> {
    let body = node.child_by_field_name("accessors").or_else(|| node.child_by_field_name("value"))?;
    Some(body.start_byte())
}

fn event(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    let list = node.named_children(&mut cursor).find(|child| child.kind() == "variable_declaration");
    let Some(list) = list else { return Action::Enter };
    let mut cursor = list.walk();
    let first = list.named_children(&mut cursor).find(|child| child.kind() == "variable_declarator");
    match first.and_then(|first| first.child_by_field_name("name")) {
        Some(name) => visit.declared(SymbolKind::Event, node, name).into(),
        None => Action::Enter,
    }
}

fn using(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let alias = node.child_by_field_name("name").map(|name| visit.text(name));
    if let Some(path) = common::last_named(node) {
        visit.import(path, visit.text(path), None, alias);
    }
    Action::Skip
}

fn new(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(name) = node.child_by_field_name("type") {
        visit.use_path(ReferenceKind::Instantiation, name);
    }
    Action::Enter
}
