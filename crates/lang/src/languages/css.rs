//! CSS: rules, and the at-rules that have a name.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Declared, Rule};
use crate::text::{one_line, truncate};
use crate::visit::Visit;
use crate::walk;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "css",
    grammar: tree_sitter_css::LANGUAGE,
    rules: &[
        ("comment", Rule::Comment),
        ("js_comment", Rule::Comment),
        ("rule_set", Rule::On(selectors)),
        ("media_statement", Rule::On(rule)),
        ("supports_statement", Rule::On(rule)),
        ("keyframes_statement", Rule::On(rule)),
        ("at_rule", Rule::On(rule)),
        ("scope_statement", Rule::On(rule)),
        ("import_statement", Rule::On(import)),
        ("declaration", Rule::Skip),
    ],
    separator: " > ",
    minified: true,
    ..Adapter::DEFAULT
};

/// Each selector of a list is declared where it is; what is nested in the rule is nested in the first.
fn selectors(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(list) = node.named_child(0).filter(|list| list.kind() == "selectors") else {
        return rule(visit, node);
    };
    let mut cursor = list.walk();
    let mut all = list.named_children(&mut cursor).filter(|selector| !selector.kind().contains("comment"));
    let Some(first) = all.next() else { return Action::Enter };
    let declared = selector(visit, node, first);
    for other in all {
        let (start, start_row) = (other.start_byte(), other.start_position().row);
        let other = Declared { start, start_row, ..selector(visit, node, other) };
        walk::add(visit, other);
    }
    Action::Declare(declared.opens(ScopeKind::Class))
}

fn selector(visit: &mut Visit<'_>, rule: Node<'_>, selector: Node<'_>) -> Declared {
    let row = selector.start_position().row;
    let declared = visit.declared_as(SymbolKind::Rule, rule, name(visit.text(selector)), row);
    declared.head_end(selector.end_byte())
}

/// What comes before a block, as a name: not longer than can be read.
fn name(head: &str) -> String {
    let mut name = one_line(head);
    truncate(&mut name, 200);
    name
}

fn rule(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let body = common::body_start(node, &["block", "keyframe_block_list"]);
    let Some(end) = body else { return Action::Enter };
    let name = name(visit.slice(node.start_byte(), end));
    if name.is_empty() {
        return Action::Enter;
    }
    let declared = visit.declared_as(SymbolKind::Rule, node, name, node.start_position().row);
    Action::Declare(declared.head_end(end).opens(ScopeKind::Class))
}

fn import(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(path) = node.named_child(0) {
        let text = visit.text(path).trim_start_matches("url(").trim_end_matches(')');
        visit.import(path, text.trim_matches(['"', '\'']), None, None);
    }
    Action::Skip
}
