//! YAML: its upper keys.

use tree_sitter::Node;

use super::json;
use crate::rules::{Action, Adapter, Rule};
use crate::visit::Visit;

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "yaml",
    extensions: &["yaml", "yml"],
    file_names: &[".clang-format", ".clang-tidy", ".clangd"],
    grammar: tree_sitter_yaml::LANGUAGE,
    rules: &[
        ("comment", Rule::Comment),
        ("block_mapping_pair", Rule::On(pair)),
        ("flow_pair", Rule::Skip),
        ("block_sequence", Rule::Skip),
        ("flow_sequence", Rule::Skip),
        ("block_scalar", Rule::Skip),
    ],
    ..Adapter::DEFAULT
};

fn pair(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(key) = node.child_by_field_name("key") else { return Action::Skip };
    json::keyed(visit, node, key, node.child_by_field_name("value"))
}
