//! JSON with or without comments and trailing commas, edited as a syntax tree.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::CannotEditEntry;

pub(super) fn parse(text: &str) -> Result<Value, CannotEditEntry> {
    let root = root(text)?;
    match root.value() {
        None => Ok(Value::Object(Map::new())),
        Some(value) => value.to_serde_value().ok_or(CannotEditEntry::Unusual),
    }
}

pub(super) fn set(text: &str, path: &[&str], name: &str, entry: &Value) -> Result<String, CannotEditEntry> {
    let root = root(text)?;
    let mut object = root.object_value_or_create().ok_or(CannotEditEntry::Unusual)?;
    for key in path {
        object = object.object_value_or_create(key).ok_or(CannotEditEntry::Unusual)?;
    }
    match object.get(name) {
        Some(known) => known.set_value(input(entry)),
        None => {
            object.ensure_multiline();
            object.append(name, input(entry));
        }
    }
    Ok(ended(root.to_string()))
}

pub(super) fn remove(text: &str, path: &[&str], name: &str) -> Result<String, CannotEditEntry> {
    let root = root(text)?;
    if let Some(known) = servers(&root, path).and_then(|servers| servers.get(name)) {
        known.remove();
    }
    Ok(root.to_string())
}

/// Adds a value to a top-level array.
pub(super) fn append(text: &str, key: &str, value: &Value) -> Result<String, CannotEditEntry> {
    let root = root(text)?;
    let object = root.object_value_or_create().ok_or(CannotEditEntry::Unusual)?;
    let array = object.array_value_or_create(key).ok_or(CannotEditEntry::Unusual)?;
    array.append(input(value));
    Ok(ended(root.to_string()))
}

fn servers(root: &CstRootNode, path: &[&str]) -> Option<CstObject> {
    path.iter().try_fold(root.object_value()?, |object, key| object.object_value(key))
}

fn root(text: &str) -> Result<CstRootNode, CannotEditEntry> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| CannotEditEntry::Broken { format: "JSON", why: error.to_string() })
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

/// A file ends with a line end.
fn ended(text: String) -> String {
    if text.ends_with('\n') { text } else { format!("{text}\n") }
}
