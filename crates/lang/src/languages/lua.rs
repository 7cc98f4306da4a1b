//! Lua.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Declared, Place, Role, Rule};
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "lua",
    interpreters: &["lua", "luajit", "texlua"],
    grammar: tree_sitter_lua::LANGUAGE,
    rules: &[
        ("identifier", Rule::Name),
        ("comment", Rule::Comment),
        ("function_declaration", Rule::On(function)),
        ("variable_declaration", Rule::Wrap(true)),
        ("assignment_statement", Rule::On(assignment)),
        ("field", Rule::On(field)),
        ("if_statement", Rule::Branch("if")),
        ("for_statement", Rule::Branch("for")),
        ("while_statement", Rule::Branch("while")),
        ("repeat_statement", Rule::Branch("repeat")),
        ("function_call", Rule::On(call)),
        ("string", Rule::Skip),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment_statement", ">variable_list", Role::Write),
    ("for_generic_clause", ">variable_list", Role::Write),
    ("for_numeric_clause", "name", Role::Write),
    ("dot_index_expression", "field", Role::Member),
    ("method_index_expression", "method", Role::Member),
    ("bracket_index_expression", "table", Role::Same),
    ("variable_list", "", Role::Same),
    ("variable_declaration", "", Role::Bind),
    ("parameters", "", Role::Bind),
    ("field", "name", Role::Bind),
    ("attribute", "", Role::Bind),
    ("label_statement", "", Role::Bind),
    ("goto_statement", "", Role::Bind),
];

fn function(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    declared(visit, node, name, node).into()
}

/// `function M.a:b()` is `b` of `M.a`; `function` is where parameters and body are.
fn declared(visit: &mut Visit<'_>, node: Node<'_>, name: Node<'_>, function: Node<'_>) -> Option<Declared> {
    let last =
        name.child_by_field_name("method").or_else(|| name.child_by_field_name("field")).unwrap_or(name);
    let owner = name.child_by_field_name("table").map(|table| visit.text(table).replace(':', "."));
    let owner = owner.filter(|owner| owner.len() < 100 && !owner.contains(['(', '[', '\n']));
    let kind = if owner.is_some() { SymbolKind::Method } else { SymbolKind::Function };
    let declared = visit.declared(kind, node, last)?;
    let end = function.child_by_field_name("parameters").map_or(declared.head_end, |list| list.end_byte());
    Some(declared.head_end(end).owner(owner).opens(ScopeKind::Function))
}

/// `a.b = function`
fn assignment(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let (Some(names), Some(values)) = (node.named_child(0), node.named_child(1)) else {
        return Action::Enter;
    };
    let (Some(name), Some(value)) = (names.named_child(0), values.named_child(0)) else {
        return Action::Enter;
    };
    if value.kind() == "function_definition" {
        return declared(visit, node, name, value).into();
    }
    if name.kind() == "identifier" && value.kind() == "table_constructor" && visit.scopes.is_empty() {
        let declared = visit.declared(SymbolKind::Variable, node, name);
        return declared.map(|d| d.head_end(value.start_byte()).opens(ScopeKind::Class)).into();
    }
    Action::Enter
}

/// `{ name = function () end }`
fn field(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    match (node.child_by_field_name("name"), node.child_by_field_name("value")) {
        (Some(name), Some(value)) if value.kind() == "function_definition" => {
            let declared = declared(visit, node, name, value);
            let unquoted = common::unquoted(visit, name);
            declared
                .map(|mut declared| {
                    declared.name = unquoted.to_owned();
                    declared
                })
                .filter(|declared| !declared.name.is_empty())
                .into()
        }
        // `[name] = value` computes its key.
        (Some(name), _) if name.kind() == "identifier" && node.child(0).is_some_and(|c| c.kind() == "[") => {
            visit.value(name, Role::Read, None);
            Action::Enter
        }
        _ => Action::Enter,
    }
}

fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(callee) = node.child_by_field_name("name") else { return Action::Enter };
    let first = node.child_by_field_name("arguments").and_then(|list| list.named_child(0));
    if let ("require" | "dofile", Some(path)) = (visit.text(callee), first)
        && path.kind() == "string"
    {
        visit.import(path, common::unquoted(visit, path), None, None);
        visit.no_use(callee);
        return Action::Enter;
    }
    let last = callee.child_by_field_name("method").or_else(|| callee.child_by_field_name("field"));
    match last {
        Some(name) => visit.refer(ReferenceKind::Call, name, callee.child_by_field_name("table")),
        None if callee.kind() == "identifier" => visit.refer(ReferenceKind::Call, callee, None),
        None => {}
    }
    Action::Enter
}
