//! HTML: headings, and elements that have an id.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Rule};
use crate::visit::Visit;
use model::SymbolKind;

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "html",
    grammar: tree_sitter_html::LANGUAGE,
    rules: &[
        ("comment", Rule::Comment),
        ("element", Rule::On(element)),
        ("script_element", Rule::On(script)),
        ("style_element", Rule::Skip),
        ("text", Rule::Skip),
    ],
    separator: " > ",
    ..Adapter::DEFAULT
};

fn element(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(tag) = node.named_child(0) else { return Action::Enter };
    let name = tag.named_child(0).map_or("", |name| visit.text(name));
    let is_heading =
        matches!(name.as_bytes(), [b'h' | b'H', b'1'..=b'6']) || name.eq_ignore_ascii_case("title");
    let (kind, mut text) = if is_heading {
        (SymbolKind::Heading, content(visit, node))
    } else {
        match attribute(visit, tag, "id") {
            Some(id) => (SymbolKind::Element, format!("{name}#{id}")),
            None => return Action::Enter,
        }
    };
    if text.is_empty() {
        return Action::Enter;
    }
    crate::text::truncate(&mut text, 200);
    let declared = visit.declared_as(kind, node, text, node.start_position().row);
    Action::Declare(declared.head_end(tag.end_byte()))
}

/// The text in an element, without its tags.
fn content(visit: &Visit<'_>, node: Node<'_>) -> String {
    let mut words = Vec::new();
    let mut cursor = node.walk();
    let mut depth = 0;
    loop {
        if matches!(cursor.node().kind(), "text" | "entity") {
            words.extend(visit.text(cursor.node()).split_whitespace());
        }
        if words.len() < 50 && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            if depth == 0 {
                return words.join(" ");
            }
            if cursor.goto_next_sibling() {
                break;
            }
            cursor.goto_parent();
            depth -= 1;
        }
    }
}

fn attribute<'s>(visit: &Visit<'s>, tag: Node<'_>, wanted: &str) -> Option<&'s str> {
    let mut cursor = tag.walk();
    let found = tag.named_children(&mut cursor).find(|child| {
        child.kind() == "attribute"
            && child.named_child(0).is_some_and(|name| visit.text(name).eq_ignore_ascii_case(wanted))
    })?;
    Some(common::unquoted(visit, found.named_child(1)?)).filter(|value| !value.is_empty())
}

fn script(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(tag) = node.named_child(0)
        && let Some(path) = attribute(visit, tag, "src")
    {
        visit.import(tag, path, None, None);
    }
    Action::Skip
}
