//! C++, and the headers that may be C.

use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::{c, common, lost, macros};
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::skim::Dialect;
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "cpp",
    extensions: &[
        "cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "h", "ipp", "tpp", "inl", "ixx", "cppm", "cu",
        "cuh", "ino",
    ],
    grammar: tree_sitter_cpp::LANGUAGE,
    rules: &[
        ("namespace_identifier", Rule::Name),
        ("class_specifier", Rule::On(c::record)),
        ("namespace_definition", Rule::On(namespace)),
        ("template_declaration", Rule::Wrap(true)),
        ("alias_declaration", Rule::Declare(SymbolKind::Type)),
        ("concept_definition", Rule::Declare(SymbolKind::Type)),
        ("field_declaration", Rule::On(c::declaration)),
        ("try_statement", Rule::Branch("try")),
        ("base_class_clause", Rule::On(base_classes)),
        ("new_expression", Rule::On(new)),
        ("raw_string_literal", Rule::Skip),
    ],
    shared: c::SHARED,
    macros: macros::find,
    recover,
    roles: ROLES,
    shared_roles: c::SHARED_ROLES,
    skim: Some(Dialect::C),
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path, beyond C.
const ROLES: &[Place] = &[
    ("for_range_loop", "declarator", Role::Write),
    ("field_initializer", "#0", Role::Write),
    ("qualified_identifier", "name", Role::Member),
    ("reference_declarator", "", Role::Same),
    ("variadic_declarator", "", Role::Same),
    ("structured_binding_declarator", "", Role::Same),
    ("optional_parameter_declaration", "declarator", Role::Bind),
    ("lambda_capture_initializer", "left", Role::Bind),
    ("namespace_alias_definition", "name", Role::Bind),
    ("destructor_name", "", Role::Bind),
];

fn namespace(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    visit.name_at(name);
    let text = visit.text(name).replace("::", ".").replace(' ', "");
    let declared = visit.declared_as(SymbolKind::Namespace, node, text, name.start_position().row);
    Action::Declare(declared.opens(ScopeKind::Module))
}

fn base_classes(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    for base in node.named_children(&mut cursor) {
        if matches!(base.kind(), "type_identifier" | "qualified_identifier" | "template_type") {
            common::base_type(visit, base);
        }
    }
    Action::Enter
}

fn new(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(name) = node.child_by_field_name("type") {
        visit.name_at(name);
        visit.use_path(ReferenceKind::Instantiation, name);
    }
    Action::Enter
}

fn recover(visit: &mut Visit<'_>) {
    static TYPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?m)^[ \t]*(?:template[ \t]*<[^;{}]*>\s*)?(?:inline[ \t]+)?(?:(?P<word>namespace|struct|class|union|enum(?:[ \t]+class)?|using)[ \t]+)(?:[A-Z][A-Z_]+[ \t]+)?(?P<name>[A-Za-z_]\w*)(?:[ \t]*=[^=]|[^;{}()=]*\{)",
        )
        .ok()
    });
    c::recover(visit);
    if let Some(pattern) = TYPES.as_ref() {
        lost::find(visit, pattern);
    }
}
