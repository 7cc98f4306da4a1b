//! Scala, 2 and 3.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "scala",
    interpreters: &["scala", "scala-cli", "amm"],
    grammar: tree_sitter_scala::LANGUAGE,
    rules: &[
        ("identifier", Rule::Name),
        ("comment", Rule::Comment),
        ("block_comment", Rule::Comment),
        ("annotation", Rule::Attribute),
        ("class_definition", Rule::Open(SymbolKind::Class, ScopeKind::Class)),
        ("trait_definition", Rule::Open(SymbolKind::Trait, ScopeKind::Class)),
        ("object_definition", Rule::Open(SymbolKind::Object, ScopeKind::Class)),
        ("package_object", Rule::Open(SymbolKind::Object, ScopeKind::Class)),
        ("enum_definition", Rule::Open(SymbolKind::Enum, ScopeKind::Class)),
        ("given_definition", Rule::On(given)),
        ("function_definition", Rule::On(function)),
        ("function_declaration", Rule::On(function)),
        ("type_definition", Rule::Declare(SymbolKind::Type)),
        ("val_definition", Rule::On(value)),
        ("var_definition", Rule::On(value)),
        ("val_declaration", Rule::On(value)),
        ("var_declaration", Rule::On(value)),
        ("if_expression", Rule::Branch("if")),
        ("match_expression", Rule::Branch("match")),
        ("for_expression", Rule::Branch("for")),
        ("while_expression", Rule::Branch("while")),
        ("try_expression", Rule::Branch("try")),
        ("import_declaration", Rule::On(import)),
        ("extends_clause", Rule::On(common::bases)),
        ("call_expression", Rule::On(common::call)),
        ("instance_expression", Rule::On(new)),
        ("type_identifier", Rule::On(common::type_name)),
        ("string", Rule::Skip),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment_expression", "left", Role::Write),
    ("enumerator", "#0", Role::Write),
    ("field_expression", "field", Role::Member),
    ("stable_identifier", "#+", Role::Member),
    ("val_definition", "pattern", Role::Pattern),
    ("var_definition", "pattern", Role::Pattern),
    ("case_clause", "pattern", Role::Pattern),
    ("arguments", ">assignment_expression", Role::Bind),
    ("val_declaration", "name", Role::Bind),
    ("var_declaration", "name", Role::Bind),
    ("parameter", "name", Role::Bind),
    ("class_parameter", "name", Role::Bind),
    ("binding", "name", Role::Bind),
    ("lambda_expression", "parameters", Role::Bind),
    ("type_parameters", "name", Role::Bind),
    ("self_type", "", Role::Bind),
    ("simple_enum_case", "name", Role::Bind),
    ("full_enum_case", "name", Role::Bind),
    ("package_clause", "name", Role::Bind),
    ("capture_pattern", "name", Role::Bind),
    ("interpolated_string_expression", "interpolator", Role::Bind),
    ("package_identifier", "", Role::Same),
    ("identifiers", "", Role::Same),
];

fn function(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = visit.callable();
    let Some(mut declared) = visit.named(kind, node) else { return Action::Enter };
    let head = visit.slice(declared.start, declared.head_end).trim_end();
    // `def f: T =` needs no `=` in its signature.
    declared.head_end = declared.start + head.strip_suffix('=').unwrap_or(head).len();
    Action::Declare(declared.opens(ScopeKind::Function))
}

fn given(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let declared = visit.named(SymbolKind::Instance, node);
    declared.map(|declared| declared.opens(ScopeKind::Class)).into()
}

fn value(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = if node.kind().starts_with("var") { SymbolKind::Variable } else { SymbolKind::Const };
    let name = node.child_by_field_name("name").or_else(|| node.child_by_field_name("pattern"));
    match name.filter(|name| name.kind() == "identifier") {
        Some(name) => common::constant(visit, kind, node, name, node.child_by_field_name("value")).into(),
        None => Action::Enter,
    }
}

fn import(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let text = visit.text(node).trim_start_matches("import").trim();
    // `import a.b, c.{d, e => f}`: a part for each path, cut at the commas outside braces.
    let mut depth = 0;
    for part in text.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    }) {
        let part = part.trim();
        let (module, names) = match part.split_once('{') {
            Some((module, names)) => (module.trim_end().trim_end_matches('.'), names.trim_end_matches('}')),
            None => part.rsplit_once('.').unwrap_or((part, "")),
        };
        for name in names.split(',').map(str::trim) {
            let (name, alias) = match name.split_once("=>").or_else(|| name.split_once(" as ")) {
                Some((name, alias)) => (name.trim(), Some(alias.trim())),
                None => (name, None),
            };
            let name = if name == "_" { "*" } else { name };
            visit.import(node, module, Some(name).filter(|name| !name.is_empty()), alias);
        }
    }
    Action::Skip
}

fn new(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(class) = node.named_child(0).filter(|class| class.kind() != "template_body") {
        visit.name_at(class);
        visit.use_path(ReferenceKind::Instantiation, class);
    }
    Action::Enter
}
