//! Elixir, where every declaration is the call of a macro.

use tree_sitter::Node;

use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "elixir",
    interpreters: &["elixir"],
    grammar: tree_sitter_elixir::LANGUAGE,
    rules: &[
        ("identifier", Rule::Name),
        ("alias", Rule::Name),
        ("comment", Rule::Comment),
        ("unary_operator", Rule::On(attribute)),
        ("call", Rule::On(call)),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("binary_operator", "left", Role::Matched),
    ("stab_clause", "left", Role::Pattern),
    ("dot", "right", Role::Member),
    ("tuple", "", Role::Same),
    ("list", "", Role::Same),
    ("map", "", Role::Same),
    ("map_content", "", Role::Same),
    ("keywords", "", Role::Same),
    ("pair", "value", Role::Same),
    ("arguments", "", Role::Same),
    ("access_call", "target", Role::Same),
];

/// `@doc "…"` and `@spec …` belong to what follows; `@type t :: …` declares.
fn attribute(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(operand) = node.child_by_field_name("operand").filter(|operand| operand.kind() == "call") else {
        return Action::Enter;
    };
    let Some(target) = operand.child_by_field_name("target") else { return Action::Enter };
    let argument = super::common::last_named(operand)
        .filter(|list| list.kind() == "arguments")
        .and_then(|list| list.named_child(0));
    match (visit.text(target), argument) {
        ("doc" | "typedoc", Some(text)) => Action::Lead(Some((text.start_byte(), text.end_byte()))),
        ("moduledoc", _) => Action::Skip,
        ("spec" | "impl" | "deprecated" | "since" | "tag" | "doc", _) => Action::Lead(None),
        ("type" | "typep" | "opaque", Some(of)) => {
            let left = of.child_by_field_name("left").unwrap_or(of);
            let name = left.child_by_field_name("target").unwrap_or(left);
            visit.declared(SymbolKind::Type, node, name).map(|declared| declared.leaf()).into()
        }
        ("callback" | "macrocallback", Some(of)) => {
            let mut left = of;
            while let Some(inner) = left.child_by_field_name("left") {
                left = inner;
            }
            let name = left.child_by_field_name("target").unwrap_or(left);
            visit.declared(SymbolKind::Method, node, name).map(|declared| declared.leaf()).into()
        }
        _ => Action::Enter,
    }
}

fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(target) = node.child_by_field_name("target") else { return Action::Enter };
    if target.kind() != "identifier" {
        // `Mod.fun(…)`
        if let Some(name) = target.child_by_field_name("right") {
            visit.refer(ReferenceKind::Call, name, target.child_by_field_name("left"));
        }
        return Action::Enter;
    }
    if visit.is_name(target) {
        return Action::Enter;
    }
    let word = visit.text(target);
    visit.no_use(target);
    let mut cursor = node.walk();
    let arguments = node.named_children(&mut cursor).find(|child| child.kind() == "arguments");
    let first = arguments.and_then(|list| list.named_child(0));
    let head = super::common::body_start(node, &["do_block"]).unwrap_or(node.end_byte());
    let (kind, scope) = match word {
        "defmodule" => (SymbolKind::Module, ScopeKind::Class),
        "defprotocol" => (SymbolKind::Protocol, ScopeKind::Class),
        "defimpl" => (SymbolKind::Impl, ScopeKind::Class),
        "def" | "defp" | "defdelegate" | "defguard" | "defguardp" | "defn" | "defnp" => {
            (SymbolKind::Function, ScopeKind::Function)
        }
        "defmacro" | "defmacrop" => (SymbolKind::Macro, ScopeKind::Function),
        "test" => (SymbolKind::Test, ScopeKind::Function),
        "if" | "unless" | "case" | "cond" | "with" | "for" | "try" | "receive" => {
            return Action::Branch(label(word));
        }
        "alias" | "import" | "require" | "use" => {
            if let Some(module) = first {
                let kind = visit.text(module);
                if word == "use" {
                    visit.refer(ReferenceKind::Inheritance, module, None);
                }
                visit.import(module, kind, None, None);
            }
            return Action::Skip;
        }
        _ => {
            visit.refer(ReferenceKind::Call, target, None);
            return Action::Enter;
        }
    };
    let Some(mut name) = first else { return Action::Enter };
    // `def f(a) when g(a)`: the name is in the left part of the left part. `def a + b` declares `+`.
    for _ in 0..8 {
        name = match name.kind() {
            "binary_operator" => {
                let operator = name.child_by_field_name("operator");
                let is_guard = operator.is_some_and(|o| matches!(visit.text(o), "when" | "\\\\" | "::"));
                match (is_guard, name.child_by_field_name("left"), operator) {
                    (true, Some(left), _) => left,
                    (false, _, Some(operator)) => {
                        let declared = visit.declared(kind, node, operator);
                        return declared.map(|d| d.head_end(head).opens(scope)).into();
                    }
                    _ => return Action::Enter,
                }
            }
            "call" if scope == ScopeKind::Function => match name.child_by_field_name("target") {
                Some(target) => target,
                None => return Action::Enter,
            },
            _ => break,
        };
    }
    let text = visit.text(name).trim_matches('"').to_owned();
    visit.name_at(name);
    if let (ScopeKind::Function, Some(head)) = (scope, first) {
        parameters(visit, head);
    }
    let declared = visit.declared_as(kind, node, text, name.start_position().row);
    Action::Declare(declared.head_end(head).opens(scope))
}

/// The names in front of a guard are bound by the call, whatever pattern they are in.
fn parameters(visit: &mut Visit<'_>, mut head: Node<'_>) {
    while head.kind() == "binary_operator"
        && head.child_by_field_name("operator").is_some_and(|operator| visit.text(operator) == "when")
        && let Some(left) = head.child_by_field_name("left")
    {
        head = left;
    }
    let mut cursor = head.walk();
    let mut depth = 0;
    loop {
        if cursor.node().kind() == "identifier" {
            visit.no_use(cursor.node());
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            if depth == 0 {
                return;
            }
            if cursor.goto_next_sibling() {
                break;
            }
            cursor.goto_parent();
            depth -= 1;
        }
    }
}

fn label(word: &str) -> &'static str {
    const WORDS: [&str; 8] = ["if", "unless", "case", "cond", "with", "for", "try", "receive"];
    WORDS.iter().find(|known| **known == word).copied().unwrap_or("if")
}
