//! Markdown: its headings.

use tree_sitter::Node;

use crate::rules::{Action, Adapter, Rule};
use crate::visit::Visit;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "markdown",
    grammar: tree_sitter_md::LANGUAGE,
    rules: &[
        ("section", Rule::On(section)),
        ("setext_heading", Rule::On(underlined)),
        ("paragraph", Rule::Skip),
        ("list", Rule::Skip),
        ("block_quote", Rule::Skip),
        ("pipe_table", Rule::Skip),
        ("fenced_code_block", Rule::Skip),
        ("indented_code_block", Rule::Skip),
        ("html_block", Rule::Skip),
    ],
    separator: " > ",
    ..Adapter::DEFAULT
};

/// A section is its heading and everything up to the next heading of its rank.
fn section(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(heading) = node.named_child(0).filter(|first| first.kind().ends_with("_heading")) else {
        return Action::Enter;
    };
    if heading.kind() == "setext_heading" {
        return Action::Enter;
    }
    let Some(text) = title(visit, heading) else { return Action::Enter };
    let declared = visit.declared_as(SymbolKind::Heading, node, text, heading.start_position().row);
    Action::Declare(declared.head_end(heading.end_byte()).opens(ScopeKind::Module))
}

/// An underlined heading opens no section in this grammar: its part ends where the next heading begins.
fn underlined(visit: &mut Visit<'_>, heading: Node<'_>) -> Action {
    // Each step to a sibling looks through those before it.
    const MAX_BLOCKS: usize = 500;
    let Some(text) = title(visit, heading) else { return Action::Skip };
    let mut last = heading;
    for _ in 0..MAX_BLOCKS {
        match last.next_named_sibling() {
            Some(next) if next.kind() != "setext_heading" && next.kind() != "section" => last = next,
            _ => break,
        }
    }
    let mut declared = visit.declared_as(SymbolKind::Heading, heading, text, heading.start_position().row);
    declared.end_row = visit.last_row(last);
    let line = visit.text(heading).lines().next().unwrap_or("");
    declared.signature = Some(crate::text::one_line(line));
    Action::Declare(declared.leaf())
}

fn title(visit: &Visit<'_>, heading: Node<'_>) -> Option<String> {
    let content = heading.child_by_field_name("heading_content")?;
    let text = visit.text(content).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = text.trim_end_matches('#').trim().to_owned();
    crate::text::truncate(&mut text, 200);
    (!text.is_empty()).then_some(text)
}
