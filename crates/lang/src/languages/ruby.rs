//! Ruby.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Rule};
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "ruby",
    extensions: &["rb", "rake", "gemspec", "ru", "podspec", "jbuilder", "thor"],
    file_names: &[
        "rakefile",
        "gemfile",
        "podfile",
        "fastfile",
        "appfile",
        "guardfile",
        "berksfile",
        "thorfile",
        "capfile",
        "brewfile",
        "vagrantfile",
    ],
    interpreters: &["ruby", "jruby", "rake"],
    grammar: tree_sitter_ruby::LANGUAGE,
    rules: &[
        ("comment", Rule::Comment),
        ("module", Rule::On(class)),
        ("class", Rule::On(class)),
        ("method", Rule::On(method)),
        ("singleton_method", Rule::On(method)),
        ("assignment", Rule::On(constant)),
        ("if", Rule::Branch("if")),
        ("unless", Rule::Branch("unless")),
        ("if_modifier", Rule::Branch("if")),
        ("unless_modifier", Rule::Branch("unless")),
        ("while", Rule::Branch("while")),
        ("until", Rule::Branch("until")),
        ("for", Rule::Branch("for")),
        ("case", Rule::Branch("case")),
        ("begin", Rule::Branch("begin")),
        ("superclass", Rule::On(superclass)),
        ("call", Rule::On(call)),
        ("string", Rule::Skip),
        ("regex", Rule::Skip),
    ],
    ..Adapter::DEFAULT
};

/// `class A::B` is `B` of `A`.
fn class(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = if node.kind() == "module" { SymbolKind::Module } else { SymbolKind::Class };
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    let last = name.child_by_field_name("name").unwrap_or(name);
    let owner = name.child_by_field_name("scope").map(|scope| visit.text(scope).replace("::", "."));
    let Some(declared) = visit.declared(kind, node, last) else { return Action::Enter };
    let head = node.child_by_field_name("superclass").unwrap_or(name).end_byte();
    Action::Declare(declared.head_end(head).owner(owner).opens(ScopeKind::Class))
}

fn method(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = visit.callable();
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    let Some(declared) = visit.declared(kind, node, name) else { return Action::Enter };
    let head = node.child_by_field_name("parameters").unwrap_or(name).end_byte();
    Action::Declare(declared.head_end(head).opens(ScopeKind::Function))
}

/// `NAME = value`
fn constant(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    match node.child_by_field_name("left").filter(|left| left.kind() == "constant") {
        Some(name) => {
            let value = node.child_by_field_name("right");
            common::constant(visit, SymbolKind::Const, node, name, value).into()
        }
        None => Action::Enter,
    }
}

fn superclass(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(base) = node.named_child(0) {
        visit.use_path(ReferenceKind::Inheritance, base);
    }
    Action::Enter
}

fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.child_by_field_name("method") else { return Action::Enter };
    let receiver = node.child_by_field_name("receiver");
    let first = node.child_by_field_name("arguments").and_then(|list| list.named_child(0));
    match (visit.text(name), first, receiver) {
        ("require" | "require_relative" | "load", Some(path), None) if path.kind() == "string" => {
            visit.import(path, common::unquoted(visit, path), None, None);
        }
        ("include" | "extend" | "prepend", Some(base), None) => {
            visit.use_path(ReferenceKind::Inheritance, base);
        }
        ("new", _, Some(class)) => visit.use_path(ReferenceKind::Instantiation, class),
        _ => visit.refer(ReferenceKind::Call, name, receiver),
    }
    Action::Enter
}
