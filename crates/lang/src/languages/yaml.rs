//! YAML: the keys of its upper levels.

use tree_sitter::Node;

use super::json;
use crate::rules::{Action, Adapter, Rule};
use crate::visit::Visit;

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "yaml",
    grammar: tree_sitter_yaml::LANGUAGE,
    too_nested,
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

/// The scanner writes past its buffer of 1024 bytes when more than 253 levels are open. A level takes a column.
fn too_nested(source: &str) -> bool {
    const MAX_COLUMNS: usize = 240;
    source.lines().any(|line| {
        line.len() > MAX_COLUMNS
            && line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b'-' | b'?' | b':')).count()
                > MAX_COLUMNS
    })
}

fn pair(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(key) = node.child_by_field_name("key") else { return Action::Skip };
    json::keyed(visit, node, key, node.child_by_field_name("value"))
}
