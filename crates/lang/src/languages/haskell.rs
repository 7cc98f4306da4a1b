//! Haskell.

use tree_sitter::Node;

use super::common;
use crate::notes::line;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::visit::{Visit, end_row};
use crate::walk;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "haskell",
    interpreters: &["runhaskell", "runghc", "stack"],
    grammar: tree_sitter_haskell::LANGUAGE,
    rules: &[
        ("variable", Rule::Name),
        ("constructor", Rule::Name),
        ("comment", Rule::Comment),
        ("haddock", Rule::Comment),
        ("pragma", Rule::Attribute),
        ("header", Rule::On(header)),
        ("signature", Rule::On(function)),
        ("function", Rule::On(function)),
        ("bind", Rule::On(function)),
        ("data_type", Rule::On(data)),
        ("newtype", Rule::On(data)),
        ("data_constructor", Rule::On(constructor)),
        ("newtype_constructor", Rule::On(constructor)),
        ("gadt_constructor", Rule::On(constructor)),
        ("type_synonym", Rule::Declare(SymbolKind::Type)),
        ("type_family", Rule::Declare(SymbolKind::Type)),
        ("data_family", Rule::Declare(SymbolKind::Type)),
        ("class", Rule::On(class)),
        ("instance", Rule::On(class)),
        ("declarations", Rule::On(declarations)),
        ("field_name", Rule::On(field)),
        ("import", Rule::On(import)),
        ("apply", Rule::On(apply)),
        ("name", Rule::On(common::type_name)),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("field_update", "field", Role::Write),
    ("infix", "operator", Role::Read),
    ("function", "patterns", Role::Pattern),
    ("lambda", "patterns", Role::Pattern),
    ("alternative", "pattern", Role::Pattern),
    ("generator", "pattern", Role::Pattern),
    ("bind", "pattern", Role::Pattern),
    ("pattern_guard", "pattern", Role::Pattern),
    ("function", "name", Role::Bind),
    ("bind", "name", Role::Bind),
    ("signature", "name", Role::Bind),
    ("signature", "type", Role::Bind),
    ("binding_list", "", Role::Bind),
    ("type_params", "", Role::Bind),
    ("type_patterns", "", Role::Bind),
    ("field", "name", Role::Bind),
    ("field", "type", Role::Bind),
    ("field", "parameter", Role::Bind),
    ("field_pattern", "field", Role::Bind),
    ("prefix", "name", Role::Bind),
    ("prefix", "field", Role::Bind),
    ("record", "name", Role::Bind),
    ("newtype_constructor", "name", Role::Bind),
    ("gadt_constructor", "name", Role::Bind),
    ("gadt_constructor", "type", Role::Bind),
    ("quantified_variables", "", Role::Bind),
    ("fundep", "", Role::Bind),
    ("class", "context", Role::Bind),
    ("instance", "context", Role::Bind),
    ("data_type", "context", Role::Bind),
    ("type_synonym", "type", Role::Bind),
    ("qualified", "id", Role::Member),
    ("projection", "field", Role::Member),
    ("apply", "", Role::Same),
    ("tuple", "", Role::Same),
    ("list", "", Role::Same),
    ("parens", "", Role::Same),
    ("as", "", Role::Same),
    ("irrefutable", "", Role::Same),
    ("strict", "", Role::Same),
    ("infix", "", Role::Same),
    ("record", "", Role::Same),
    ("field_name", "", Role::Same),
    ("function", "parameter", Role::Same),
    ("function", "result", Role::Same),
    ("context", "", Role::Same),
    ("forall", "", Role::Same),
    ("constraints", "", Role::Same),
    ("strict_field", "", Role::Same),
    ("lazy_field", "", Role::Same),
    ("literal", "", Role::Same),
    ("linear_function", "", Role::Same),
    ("annotated", "", Role::Same),
    ("kind_application", "", Role::Same),
    ("explicit_type", "", Role::Same),
];

fn header(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.child_by_field_name("module") else { return Action::Skip };
    let declared = visit.declared(SymbolKind::Module, node, name);
    declared.map(|declared| declared.head_end(name.end_byte()).leaf()).into()
}

/// A signature and the equations after it are one function.
fn function(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    if visit.scope_kind() == ScopeKind::Function {
        return Action::Enter;
    }
    let text = visit.text(name);
    if let Some(before) = visit.sibling()
        && let Some(symbol) = visit.symbols.get_mut(before as usize)
        && symbol.name == text
        && matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method)
    {
        symbol.end_line = symbol.end_line.max(line(end_row(node)));
        // The first equation is the definition; the signature announces it.
        if symbol.name_line == symbol.start_line
            && symbol.signature.contains("::")
            && node.kind() != "signature"
        {
            symbol.name_line = line(name.start_position().row);
        }
        visit.name_at(name);
        return Action::Reopen(before, ScopeKind::Function);
    }
    let kind = visit.callable();
    let Some(declared) = visit.declared(kind, node, name) else { return Action::Enter };
    let end = node.child_by_field_name("match").map_or(declared.head_end, |body| body.start_byte());
    let end = if node.kind() == "signature" { declared.head_end } else { end };
    Action::Declare(declared.head_end(end).opens(ScopeKind::Function))
}

/// The comment in front of the first declaration is in front of the list of them.
fn declarations(_: &mut Visit<'_>, node: Node<'_>) -> Action {
    const DECLARING: [&str; 7] =
        ["signature", "function", "bind", "data_type", "newtype", "type_synonym", "class"];
    match node.named_child(0) {
        Some(first) if DECLARING.contains(&first.kind()) => Action::Wrap,
        _ => Action::Enter,
    }
}

fn data(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = if node.kind() == "newtype" { SymbolKind::Struct } else { SymbolKind::Type };
    let Some(declared) = visit.named(kind, node) else { return Action::Enter };
    let body = node.child_by_field_name("constructors").or_else(|| node.child_by_field_name("constructor"));
    let end = body.map_or(declared.head_end, |body| body.start_byte());
    let head = visit.slice(declared.start, end).trim_end();
    let end = declared.start + head.strip_suffix('=').unwrap_or(head).len();
    Action::Declare(declared.head_end(end).opens(ScopeKind::Class))
}

/// `Leaf` and `Node` of `data Tree a = Leaf | Node a`: what makes a value of the type.
fn constructor(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    // Several of a GADT may share a type: `A, B :: T`.
    if let Some(list) = node.child_by_field_name("names") {
        let mut cursor = list.walk();
        let names: Vec<Node<'_>> = list.children_by_field_name("name", &mut cursor).collect();
        for name in names {
            if let Some(declared) = visit.declared(SymbolKind::Constructor, node, name) {
                walk::add(visit, declared);
            }
        }
        return Action::Enter;
    }
    let inner = node.child_by_field_name("constructor").unwrap_or(node);
    let name = inner.child_by_field_name("name").or_else(|| inner.child_by_field_name("operator"));
    let Some(name) = name else { return Action::Enter };
    visit.declared(SymbolKind::Constructor, node, name).into()
}

/// A field of a record is a function to its value; in a pattern or an update it is only named.
fn field(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let of = node.parent().filter(|parent| parent.kind() == "field");
    let Some(of) = of.filter(|_| visit.scope_kind() == ScopeKind::Class) else { return Action::Enter };
    let Some(declared) = visit.declared(SymbolKind::Property, node, node) else { return Action::Enter };
    let end = of.end_byte();
    Action::Declare(declared.head_end(end).leaf())
}

fn class(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    let patterns = node.child_by_field_name("patterns");
    let (kind, text) = match (node.kind(), patterns) {
        // An instance is told from others by its types.
        ("instance", Some(patterns)) => {
            visit.refer(ReferenceKind::Inheritance, name, None);
            let types = visit.text(patterns).split_whitespace().collect::<Vec<_>>().join(" ");
            (SymbolKind::Instance, format!("{} {types}", visit.text(name)))
        }
        ("instance", None) => (SymbolKind::Instance, visit.text(name).to_owned()),
        _ => (SymbolKind::Class, visit.text(name).to_owned()),
    };
    visit.name_at(name);
    let mut declared = visit.declared_as(kind, node, text, name.start_position().row);
    crate::text::truncate(&mut declared.name, 100);
    let body = node.child_by_field_name("declarations").map_or(declared.head_end, |body| body.start_byte());
    Action::Declare(declared.head_end(body).opens(ScopeKind::Class))
}

fn import(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(module) = node.child_by_field_name("module") else { return Action::Skip };
    let alias = node.child_by_field_name("alias").map(|alias| visit.text(alias));
    let text = visit.text(module);
    let mut named = false;
    if let Some(list) = node.child_by_field_name("names") {
        let mut cursor = list.walk();
        for item in list.children_by_field_name("name", &mut cursor) {
            if let Some(name) = item.named_child(0) {
                named = true;
                visit.import(name, text, Some(visit.text(name)), alias);
            }
        }
    }
    if !named {
        visit.import(module, text, None, alias);
    }
    Action::Skip
}

fn apply(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(callee) = node.child_by_field_name("function") else { return Action::Enter };
    match callee.kind() {
        "variable" => visit.refer(ReferenceKind::Call, callee, None),
        "constructor" => visit.refer(ReferenceKind::Instantiation, callee, None),
        "qualified" => {
            if let Some(name) = callee.child_by_field_name("id") {
                visit.refer(ReferenceKind::Call, name, callee.child_by_field_name("module"));
            }
        }
        _ => {}
    }
    Action::Enter
}
