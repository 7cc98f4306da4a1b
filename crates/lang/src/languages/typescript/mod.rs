//! TypeScript: JavaScript's rules and those for types.

pub(super) mod older;

use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::{common, javascript, lost};
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::skim::Dialect;
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "typescript",
    interpreters: &["ts-node", "deno", "tsx"],
    grammar: tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
    rules: TYPES,
    shared: javascript::SHARED,
    roles: ROLES,
    shared_roles: javascript::SHARED_ROLES,
    older: older::older,
    recover,
    skim: Some(Dialect::TypeScript),
    ..Adapter::DEFAULT
};

/// Where names are declared that JavaScript does not have; and the names of elements.
pub(super) const ROLES: &[Place] = &[
    ("required_parameter", "pattern", Role::Bind),
    ("optional_parameter", "pattern", Role::Bind),
    ("required_parameter", "name", Role::Bind),
    ("optional_parameter", "name", Role::Bind),
    ("public_field_definition", "name", Role::Bind),
    ("property_signature", "name", Role::Bind),
    ("enum_body", "name", Role::Bind),
    ("enum_assignment", "name", Role::Bind),
    ("index_signature", "name", Role::Bind),
    ("import_alias", "#0", Role::Bind),
    ("non_null_expression", "", Role::Same),
    ("jsx_opening_element", "name", Role::Bind),
    ("jsx_self_closing_element", "name", Role::Bind),
    ("jsx_closing_element", "name", Role::Bind),
    ("jsx_attribute", "#0", Role::Bind),
    ("jsx_attribute", ">property_identifier", Role::Bind),
];

pub(super) const TYPES: &[(&str, Rule)] = &[
    ("abstract_class_declaration", Rule::Open(SymbolKind::Class, ScopeKind::Class)),
    ("interface_declaration", Rule::Open(SymbolKind::Interface, ScopeKind::Class)),
    ("type_alias_declaration", Rule::On(alias)),
    ("enum_declaration", Rule::Open(SymbolKind::Enum, ScopeKind::Class)),
    ("internal_module", Rule::On(namespace)),
    ("module", Rule::On(namespace)),
    ("ambient_declaration", Rule::Wrap(true)),
    ("function_signature", Rule::On(common::function)),
    ("method_signature", Rule::On(javascript::method)),
    ("abstract_method_signature", Rule::On(javascript::method)),
    ("public_field_definition", Rule::On(javascript::field)),
    ("property_signature", Rule::On(property)),
    ("construct_signature", Rule::On(construct)),
    ("extends_clause", Rule::On(extends)),
    ("extends_type_clause", Rule::On(common::bases)),
    ("implements_clause", Rule::On(common::bases)),
    ("type_identifier", Rule::On(common::type_name)),
];

/// A property that is a function is a method by another name.
fn property(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let of = node.child_by_field_name("type").and_then(|annotation| annotation.named_child(0));
    match of.map(|of| of.kind()) {
        Some("function_type") => visit.named(SymbolKind::Method, node).into(),
        _ => Action::Enter,
    }
}

fn construct(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let row = node.start_position().row;
    Action::Declare(visit.declared_as(SymbolKind::Constructor, node, "new".to_owned(), row))
}

fn alias(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    visit.named(SymbolKind::Type, node).into()
}

fn namespace(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    let text = common::unquoted(visit, name).to_owned();
    visit.name_at(name);
    let declared = visit.declared_as(SymbolKind::Namespace, node, text, name.start_position().row);
    Action::Declare(declared.opens(ScopeKind::Module))
}

fn extends(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(base) = node.child_by_field_name("value") {
        visit.use_path(ReferenceKind::Inheritance, base);
    }
    Action::Enter
}

/// New syntax derails the grammar, which then loses what follows.
pub(super) fn recover(visit: &mut Visit<'_>) {
    static DECLARED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?m)^[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?(?:abstract[ \t]+)?(?:const[ \t]+)?(?:async[ \t]+)?(?P<word>class|interface|namespace|enum|type|function\*?)[ \t]+(?P<name>[A-Za-z_$][\w$]*)(?:[ \t]*[<({=]|[ \t]+extends\b|[ \t]+implements\b|[ \t]*\n[ \t]*(?:extends|implements|=|\{|<))",
        )
        .ok()
    });
    if let Some(pattern) = DECLARED.as_ref() {
        lost::find(visit, pattern);
    }
}
