//! CSS: rules, and the at-rules that have a name.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Rule};
use crate::visit::Visit;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "css",
    extensions: &["css", "pcss"],
    grammar: tree_sitter_css::LANGUAGE,
    rules: &[
        ("comment", Rule::Comment),
        ("js_comment", Rule::Comment),
        ("rule_set", Rule::On(rule)),
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

fn rule(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let body = common::body_start(node, &["block", "keyframe_block_list"]);
    let Some(end) = body else { return Action::Enter };
    let mut name = crate::text::one_line(visit.slice(node.start_byte(), end));
    crate::text::truncate(&mut name, 200);
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
