//! TOML, edited in place.

use serde_json::{Value, json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::CannotEditEntry;

pub(super) fn parse(text: &str) -> Result<Value, CannotEditEntry> {
    Ok(of_table(document(text)?.as_table()))
}

pub(super) fn set(text: &str, table: &str, name: &str, entry: &Value) -> Result<String, CannotEditEntry> {
    let mut document = document(text)?;
    let servers = document.entry(table).or_insert_with(|| {
        let mut servers = Table::new();
        // Only its children have a header.
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers.as_table_mut().ok_or(CannotEditEntry::Unusual)?;
    let fields = entry.as_object().ok_or(CannotEditEntry::Unusual)?;
    let mut server = Table::new();
    for (key, value) in fields {
        server.insert(key, Item::Value(input(value).ok_or(CannotEditEntry::Unusual)?));
    }
    match servers.get_mut(name).and_then(Item::as_table_mut) {
        // Its place and the comments above it stay.
        Some(known) => {
            known.clear();
            known.extend(server.into_iter().map(|(key, item)| (key.to_string(), item)));
        }
        None => {
            if !text.is_empty() {
                server.decor_mut().set_prefix("\n");
            }
            servers.insert(name, Item::Table(server));
        }
    }
    Ok(document.to_string())
}

pub(super) fn remove(text: &str, table: &str, name: &str) -> Result<String, CannotEditEntry> {
    let mut document = document(text)?;
    if let Some(servers) = document.get_mut(table).and_then(Item::as_table_like_mut) {
        servers.remove(name);
    }
    Ok(document.to_string())
}

fn document(text: &str) -> Result<DocumentMut, CannotEditEntry> {
    text.parse().map_err(|error: toml_edit::TomlError| broken(error.message()))
}

fn of_table(table: &dyn TableLike) -> Value {
    table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect()
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| of_table(table)).collect(),
    }
}

fn of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => json!(text.value()),
        toml_edit::Value::Integer(number) => json!(number.value()),
        toml_edit::Value::Float(number) => json!(number.value()),
        toml_edit::Value::Boolean(value) => json!(value.value()),
        toml_edit::Value::Datetime(time) => json!(time.value().to_string()),
        toml_edit::Value::Array(items) => items.iter().map(of_value).collect(),
        toml_edit::Value::InlineTable(table) => of_table(table),
    }
}

fn broken(why: &str) -> CannotEditEntry {
    CannotEditEntry::Broken { format: "TOML", why: why.to_owned() }
}

fn input(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(input).collect::<Option<Array>>()?.into(),
        Value::Object(fields) => {
            let mut table = InlineTable::new();
            for (key, value) in fields {
                table.insert(key, input(value)?);
            }
            table.into()
        }
    })
}
