//! Markdown: its headings.

use tree_sitter::Node;

use crate::rules::{Action, Adapter, Rule};
use crate::symbol::{ScopeKind, SymbolKind};
use crate::visit::Visit;

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "markdown",
    extensions: &["md", "markdown", "mdown", "mkd", "mkdn", "mdx", "mdwn", "rmd", "qmd"],
    grammar: tree_sitter_md::LANGUAGE,
    rules: &[
        ("section", Rule::On(section)),
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
    let Some(content) = heading.child_by_field_name("heading_content") else { return Action::Enter };
    let text = visit.text(content).split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.trim_end_matches('#').trim();
    if text.is_empty() {
        return Action::Enter;
    }
    let mut text = text.to_owned();
    crate::text::truncate(&mut text, 200);
    let declared = visit.declared_as(SymbolKind::Heading, node, text, heading.start_position().row);
    Action::Declare(declared.head_end(heading.end_byte()).opens(ScopeKind::Module))
}
