//! YAML in block style, edited line by line: nothing else is touched, and what is written otherwise is left alone.

use serde_json::{Map, Value};

use super::CannotEditEntry;

pub(super) fn parse(text: &str) -> Result<Value, CannotEditEntry> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let options = serde_saphyr::options! { with_snippet: false };
    let value: Option<Value> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        CannotEditEntry::Broken { format: "YAML", why: format!("line {line} cannot be read") }
    })?;
    Ok(value.filter(|value| !value.is_null()).unwrap_or(Value::Object(Map::new())))
}

/// Puts the entry at the end of the section, or in place of the one of this name.
pub(super) fn set(text: &str, key: &str, name: &str, entry: &Value) -> Result<String, CannotEditEntry> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut whole = Map::new();
    whole.insert(name.to_owned(), entry.clone());
    match section(&lines, key)? {
        None => {
            lines.push(format!("{key}:"));
            lines.extend(block(&Value::Object(whole), 2));
        }
        Some(section) => {
            let added = block(&Value::Object(whole), section.indent);
            let place = section.entry(&lines, name).unwrap_or(section.end..section.end);
            if section.is_empty_map {
                lines[section.start] = format!("{key}:");
            }
            lines.splice(place, added);
        }
    }
    Ok(lines.join("\n") + "\n")
}

pub(super) fn remove(text: &str, key: &str, name: &str) -> Result<String, CannotEditEntry> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let Some(place) = section(&lines, key)?.and_then(|section| section.entry(&lines, name)) else {
        return Ok(text.to_owned());
    };
    lines.drain(place);
    Ok(lines.join("\n") + if text.ends_with('\n') { "\n" } else { "" })
}

/// A value as a file of its own.
pub(super) fn render(value: &Value) -> String {
    block(value, 0).join("\n") + "\n"
}

/// The lines of one top-level key.
struct YamlSection {
    start: usize,
    /// After its last line that is neither blank nor a comment at the margin.
    end: usize,
    indent: usize,
    /// Written as `key: {}`.
    is_empty_map: bool,
}

impl YamlSection {
    /// The lines of the entry of this name.
    fn entry(&self, lines: &[String], name: &str) -> Option<std::ops::Range<usize>> {
        let head = |line: &String| {
            indent(line) == self.indent
                && line
                    .trim_start()
                    .split_once(':')
                    .is_some_and(|(key, _)| key.trim_matches(['"', '\'']) == name)
        };
        let first = (self.start + 1..self.end).find(|at| head(&lines[*at]))?;
        let end = (first + 1..self.end)
            .find(|at| !lines[*at].trim().is_empty() && indent(&lines[*at]) <= self.indent)
            .unwrap_or(self.end);
        Some(first..end)
    }
}

fn section(lines: &[String], key: &str) -> Result<Option<YamlSection>, CannotEditEntry> {
    let head = |line: &String| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    let Some(start) = lines.iter().position(head) else { return Ok(None) };
    let rest = lines[start][key.len() + 1..].split(" #").next().unwrap_or_default().trim();
    if !rest.is_empty() && rest != "{}" {
        return Err(CannotEditEntry::Unusual);
    }
    let (mut end, mut inner) = (start + 1, None);
    for (at, line) in lines.iter().enumerate().skip(start + 1) {
        let text = line.trim_start();
        if text.is_empty() || (text.starts_with('#') && indent(line) == 0) {
            continue;
        }
        if indent(line) == 0 {
            break;
        }
        if !text.starts_with('#') && inner.is_none() {
            inner = Some(indent(line));
        }
        end = at + 1;
    }
    Ok(Some(YamlSection { start, end, indent: inner.unwrap_or(2), is_empty_map: rest == "{}" }))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A value in block style. Scalars are written as JSON, which YAML reads alike.
fn block(value: &Value, indent: usize) -> Vec<String> {
    let margin = " ".repeat(indent);
    let mut lines = Vec::new();
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::Object(inner) if !inner.is_empty() => {
                        lines.push(format!("{margin}{key}:"));
                        lines.extend(block(value, indent + 2));
                    }
                    Value::Array(items) if !items.is_empty() => {
                        lines.push(format!("{margin}{key}:"));
                        lines.extend(block(value, indent + 2));
                    }
                    scalar => lines.push(format!("{margin}{key}: {scalar}")),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::Object(_) => {
                        let mut inner = block(item, indent + 2);
                        if let Some(first) = inner.first_mut() {
                            *first = format!("{margin}- {}", first.trim_start());
                        }
                        lines.extend(inner);
                    }
                    scalar => lines.push(format!("{margin}- {scalar}")),
                }
            }
        }
        scalar => lines.push(format!("{margin}{scalar}")),
    }
    lines
}
