//! Rust.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::skim::Dialect;
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "rust",
    interpreters: &["rust-script"],
    grammar: tree_sitter_rust::LANGUAGE,
    rules: &[
        ("identifier", Rule::Name),
        ("field_identifier", Rule::Name),
        ("shorthand_field_identifier", Rule::Name),
        ("line_comment", Rule::Comment),
        ("block_comment", Rule::Comment),
        ("attribute_item", Rule::Attribute),
        ("function_item", Rule::On(common::function)),
        ("function_signature_item", Rule::On(common::function)),
        ("struct_item", Rule::Open(SymbolKind::Struct, ScopeKind::Class)),
        ("union_item", Rule::Open(SymbolKind::Union, ScopeKind::Class)),
        ("enum_item", Rule::Open(SymbolKind::Enum, ScopeKind::Class)),
        ("trait_item", Rule::Open(SymbolKind::Trait, ScopeKind::Class)),
        ("mod_item", Rule::Open(SymbolKind::Mod, ScopeKind::Module)),
        ("impl_item", Rule::On(implementation)),
        ("type_item", Rule::Declare(SymbolKind::Type)),
        ("associated_type", Rule::Declare(SymbolKind::Type)),
        ("const_item", Rule::On(constant)),
        ("static_item", Rule::On(constant)),
        ("macro_definition", Rule::On(macro_rules)),
        ("if_expression", Rule::Branch("if")),
        ("match_expression", Rule::Branch("match")),
        ("for_expression", Rule::Branch("for")),
        ("while_expression", Rule::Branch("while")),
        ("loop_expression", Rule::Branch("loop")),
        ("use_declaration", Rule::On(use_)),
        ("extern_crate_declaration", Rule::On(extern_crate)),
        ("call_expression", Rule::On(common::call)),
        ("macro_invocation", Rule::On(macro_call)),
        ("struct_expression", Rule::On(literal)),
        ("type_identifier", Rule::On(common::type_name)),
        ("string_literal", Rule::Skip),
        ("raw_string_literal", Rule::Skip),
    ],
    roles: ROLES,
    skim: Some(Dialect::Rust),
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment_expression", "left", Role::Write),
    ("compound_assignment_expr", "left", Role::Write),
    ("for_expression", "pattern", Role::Write),
    ("field_expression", "field", Role::Member),
    ("scoped_identifier", "name", Role::Member),
    ("index_expression", "#0", Role::Same),
    ("unary_expression", "", Role::Same),
    ("parenthesized_expression", "", Role::Same),
    ("tuple_expression", "", Role::Same),
    ("array_expression", "", Role::Same),
    ("let_declaration", "pattern", Role::Pattern),
    ("let_condition", "pattern", Role::Pattern),
    ("match_arm", "pattern", Role::Pattern),
    ("parameters", "", Role::Bind),
    ("closure_parameters", "", Role::Bind),
    ("parameter", "pattern", Role::Bind),
    ("variadic_parameter", "pattern", Role::Bind),
    ("const_parameter", "name", Role::Bind),
    ("field_declaration", "name", Role::Bind),
    ("enum_variant", "name", Role::Bind),
    ("field_initializer", "field", Role::Bind),
    ("field_pattern", ">field_identifier", Role::Bind),
    ("label", "", Role::Bind),
    ("lifetime", "", Role::Bind),
    ("attribute", ">identifier", Role::Bind),
    ("match_pattern", "condition", Role::Read),
    ("tuple_struct_pattern", "type", Role::Read),
    ("range_pattern", "", Role::Read),
];

/// `impl Trait for Type` is a place for the members of `Type`.
fn implementation(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(base) = node.child_by_field_name("trait") {
        common::base_type(visit, base);
    }
    let Some(target) = node.child_by_field_name("type") else { return Action::Enter };
    let mut name = target;
    while let Some(inner) = match name.kind() {
        "generic_type" | "reference_type" | "pointer_type" => name.child_by_field_name("type"),
        "scoped_type_identifier" => name.child_by_field_name("name"),
        _ => None,
    } {
        name = inner;
    }
    visit.declared(SymbolKind::Impl, node, name).map(|declared| declared.opens(ScopeKind::Class)).into()
}

fn constant(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = if node.kind() == "static_item" { SymbolKind::Static } else { SymbolKind::Const };
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    common::constant(visit, kind, node, name, node.child_by_field_name("value")).into()
}

fn macro_rules(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(declared) = visit.named(SymbolKind::Macro, node) else { return Action::Skip };
    let end = node.child_by_field_name("name").map_or(declared.head_end, |name| name.end_byte());
    Action::Declare(declared.head_end(end).leaf())
}

fn macro_call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(name) = node.child_by_field_name("macro") {
        visit.use_path(ReferenceKind::Call, name);
    }
    Action::Enter
}

fn literal(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(name) = node.child_by_field_name("name") {
        let last = name.child_by_field_name("name").unwrap_or(name);
        visit.name_at(last);
        visit.use_path(ReferenceKind::Instantiation, name);
    }
    Action::Enter
}

fn extern_crate(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(name) = node.child_by_field_name("name") {
        let alias = node.child_by_field_name("alias").map(|alias| visit.text(alias));
        visit.import(name, visit.text(name), None, alias);
    }
    Action::Skip
}

/// A tree of paths, one import for each leaf.
fn use_(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut todo: Vec<(String, Node<'_>, Option<&str>)> = Vec::new();
    todo.extend(node.child_by_field_name("argument").map(|argument| (String::new(), argument, None)));
    while let Some((front, at, alias)) = todo.pop() {
        // Nested deeper than anyone writes.
        if front.len() > 500 {
            continue;
        }
        let join = |more: &str| if front.is_empty() { more.to_owned() } else { format!("{front}::{more}") };
        match at.kind() {
            "use_as_clause" => {
                let alias = at.child_by_field_name("alias").map(|alias| visit.text(alias));
                todo.extend(at.child_by_field_name("path").map(|path| (front, path, alias)));
            }
            "scoped_use_list" => {
                let path = at.child_by_field_name("path").map_or("", |path| visit.text(path));
                let list = at.child_by_field_name("list");
                let path = if path.is_empty() { front.clone() } else { join(path) };
                todo.extend(list.map(|list| (path, list, None)));
            }
            "use_list" => {
                let mut cursor = at.walk();
                let children: Vec<_> = at.named_children(&mut cursor).collect();
                todo.extend(children.into_iter().rev().map(|child| (front.clone(), child, None)));
            }
            "use_wildcard" => {
                let path = at.named_child(0).map_or(front.clone(), |path| join(visit.text(path)));
                visit.import(at, &path, Some("*"), alias);
            }
            "line_comment" | "block_comment" => {}
            "self" => visit.import(at, &front, None, alias),
            _ => {
                let path = join(visit.text(at));
                match path.rsplit_once("::") {
                    Some((module, name)) => visit.import(at, module, Some(name), alias),
                    None => visit.import(at, &path, None, alias),
                }
            }
        }
    }
    Action::Skip
}
