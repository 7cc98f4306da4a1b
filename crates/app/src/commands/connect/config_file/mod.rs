//! Other programs' configuration files: one entry is set or removed, every other byte stays, comments included.
//!
//! Each edit is read again and compared: either the entry is what was wanted and nothing else moved, or there is no edit.

mod json;
mod toml;
mod yaml;

use serde_json::{Map, Value};

/// How a client writes its servers down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryFormat {
    /// JSON, perhaps with comments; the servers are an object at this path.
    Json(&'static [&'static str]),
    /// TOML; the servers are tables below this one.
    Toml(&'static str),
    /// YAML; the servers are a mapping below this top-level key.
    Yaml(&'static str),
    /// A YAML file for each server.
    OwnYaml,
}

/// Why a file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CannotEditEntry {
    #[error("it is not valid {format}: {why}")]
    Broken { format: &'static str, why: String },
    #[error("it is written in a way that cannot be changed safely")]
    Unusual,
}

impl EntryFormat {
    pub(crate) fn word(self) -> &'static str {
        match self {
            EntryFormat::Json(_) => "json",
            EntryFormat::Toml(_) => "toml",
            EntryFormat::Yaml(_) | EntryFormat::OwnYaml => "yaml",
        }
    }

    /// The servers that the file names. An empty text has none.
    pub(crate) fn servers(self, text: &str) -> Result<Map<String, Value>, CannotEditEntry> {
        let whole = self.parse(text)?;
        let mut servers = &whole;
        for key in self.path() {
            match servers {
                Value::Object(fields) if fields.contains_key(key) => servers = &fields[key],
                Value::Object(_) | Value::Null => return Ok(Map::new()),
                _ => return Err(CannotEditEntry::Unusual),
            }
        }
        match servers {
            Value::Object(fields) => Ok(fields.clone()),
            Value::Null => Ok(Map::new()),
            _ => Err(CannotEditEntry::Unusual),
        }
    }

    /// The text with this entry, whether it was there before or not.
    pub(crate) fn set(self, text: &str, name: &str, entry: &Value) -> Result<String, CannotEditEntry> {
        let edited = match self {
            EntryFormat::Json(path) => json::set(text, path, name, entry)?,
            EntryFormat::Toml(table) => toml::set(text, table, name, entry)?,
            EntryFormat::Yaml(key) => yaml::set(text, key, name, entry)?,
            EntryFormat::OwnYaml => return Ok(yaml::render(entry)),
        };
        let mut wanted = self.parse(text)?;
        put(&mut wanted, &self.path(), name, entry.clone());
        self.check(edited, &wanted)
    }

    /// The text without this entry.
    pub(crate) fn remove(self, text: &str, name: &str) -> Result<String, CannotEditEntry> {
        let edited = match self {
            EntryFormat::Json(path) => json::remove(text, path, name)?,
            EntryFormat::Toml(table) => toml::remove(text, table, name)?,
            EntryFormat::Yaml(key) => yaml::remove(text, key, name)?,
            EntryFormat::OwnYaml => return Ok(String::new()),
        };
        let mut wanted = self.parse(text)?;
        take(&mut wanted, &self.path(), name);
        self.check(edited, &wanted)
    }

    /// The text with one more prompt for a value, as VS Code has them; as it was if there is one of this id.
    pub(crate) fn with_input(self, text: &str, input: &Value) -> Result<String, CannotEditEntry> {
        let before = self.parse(text)?;
        let inputs = before.get("inputs").and_then(Value::as_array).cloned().unwrap_or_default();
        if inputs.iter().any(|known| known.get("id") == input.get("id")) {
            return Ok(text.to_owned());
        }
        let edited = json::append(text, "inputs", input)?;
        let mut wanted = before;
        if !wanted.is_object() {
            wanted = Value::Object(Map::new());
        }
        wanted["inputs"] = inputs.into_iter().chain([input.clone()]).collect();
        self.check(edited, &wanted)
    }

    /// The entry alone, in a file of its own, as it is shown to be copied.
    pub(crate) fn alone(self, name: &str, entry: &Value) -> String {
        self.set("", name, entry).unwrap_or_default()
    }

    fn path(self) -> Vec<&'static str> {
        match self {
            EntryFormat::Json(path) => path.to_vec(),
            EntryFormat::Toml(key) | EntryFormat::Yaml(key) => vec![key],
            EntryFormat::OwnYaml => Vec::new(),
        }
    }

    fn parse(self, text: &str) -> Result<Value, CannotEditEntry> {
        match self {
            EntryFormat::Json(_) => json::parse(text),
            EntryFormat::Toml(_) => toml::parse(text),
            EntryFormat::Yaml(_) | EntryFormat::OwnYaml => yaml::parse(text),
        }
    }

    fn check(self, edited: String, wanted: &Value) -> Result<String, CannotEditEntry> {
        let (found, wanted) = (self.parse(&edited)?, wanted.clone());
        if self.without_nothing(found) == self.without_nothing(wanted) {
            Ok(edited)
        } else {
            Err(CannotEditEntry::Unusual)
        }
    }

    /// No servers are the same as no section for them.
    fn without_nothing(self, mut whole: Value) -> Value {
        if let (Value::Object(fields), Some(section)) = (&mut whole, self.path().first()) {
            let nothing = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
            if fields.get(*section).is_some_and(nothing) {
                fields.shift_remove(*section);
            }
        }
        whole
    }
}

fn put(whole: &mut Value, path: &[&str], name: &str, entry: Value) {
    let mut at = whole;
    for key in path.iter().copied().chain([name]) {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[key];
    }
    *at = entry;
}

fn take(whole: &mut Value, path: &[&str], name: &str) {
    let mut at = whole;
    for key in path {
        match at.get_mut(*key) {
            Some(inner) => at = inner,
            None => return,
        }
    }
    if let Value::Object(fields) = at {
        fields.shift_remove(name);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const JSON: EntryFormat = EntryFormat::Json(&["mcpServers"]);
    const TOML: EntryFormat = EntryFormat::Toml("mcp_servers");
    const YAML: EntryFormat = EntryFormat::Yaml("extensions");

    fn entry() -> Value {
        json!({ "command": "/opt/my tools/dir2mcp", "args": ["stdio", "--dir", "/a \"b\"/c: #d"] })
    }

    #[test]
    fn an_entry_comes_and_goes_without_a_trace_in_files_full_of_comments() {
        let files = [
            (JSON, include_str!("samples/settings.jsonc")),
            (TOML, include_str!("samples/config.toml")),
            (YAML, include_str!("samples/config.yaml")),
        ];
        for (format, text) in files {
            let with = format.set(text, "dir2mcp-notes", &entry()).unwrap();
            assert_eq!(format.servers(&with).unwrap()["dir2mcp-notes"], entry(), "{with}");
            for line in text.lines() {
                let kept = line.trim().trim_end_matches(',');
                assert!(with.contains(kept), "{kept:?} is missing in\n{with}");
            }
            let other = json!({ "command": "x", "args": [] });
            let changed = format.set(&with, "dir2mcp-notes", &other).unwrap();
            assert_eq!(format.servers(&changed).unwrap()["dir2mcp-notes"], other);
            let without = format.remove(&changed, "dir2mcp-notes").unwrap();
            assert_eq!(without, text, "what was added is gone and nothing else");
            assert_eq!(format.remove(text, "never-there").unwrap(), text);
        }
    }

    #[test]
    fn empty_files_and_missing_sections_are_filled() {
        for (format, texts) in [
            (JSON, &["", "{}", "{\n}\n", "// mine\n{}\n", "{ \"mcpServers\": {} }", "{\"a\": 1}"][..]),
            (TOML, &["", "# mine\n", "model = \"x\"\n", "[mcp_servers]\n", "[other]\na = 1"]),
            (YAML, &["", "# mine\n", "extensions:\n", "extensions: {}\n", "a: 1\n", "a: 1"]),
        ] {
            for text in texts {
                let with = format
                    .set(text, "dir2mcp-x", &entry())
                    .unwrap_or_else(|error| panic!("{text:?}: {error}"));
                assert_eq!(format.servers(&with).unwrap().len(), 1, "{text:?} became {with}");
                assert!(!text.contains("mine") || with.contains("mine"), "{with}");
                let again = format.set(&with, "dir2mcp-y", &entry()).unwrap();
                assert_eq!(format.servers(&again).unwrap().len(), 2, "{again}");
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        for (format, text) in [
            (JSON, "{ \"mcpServers\": "),
            (JSON, "[1]"),
            (JSON, "{ \"mcpServers\": 3 }"),
            (TOML, "[mcp_servers"),
            (TOML, "mcp_servers = 3"),
            (YAML, "extensions: [a"),
            (YAML, "extensions: {a: {b: 1}}"),
            (YAML, "extensions:\n  - a\n"),
        ] {
            assert!(format.set(text, "dir2mcp-x", &entry()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_prompt_for_the_token_is_added_once() {
        let format = EntryFormat::Json(&["servers"]);
        let input = json!({ "type": "promptString", "id": "dir2mcp-token", "password": true });
        let once = format.with_input("{ \"servers\": {} }", &input).unwrap();
        assert_eq!(format.with_input(&once, &input).unwrap(), once);
        assert_eq!(json::parse(&once).unwrap()["inputs"], json!([input]));
    }

    proptest! {
        #[test]
        fn json_edits_keep_every_comment_and_every_other_value(
            names in prop::collection::btree_set("[a-z]{1,6}", 0..6),
            comments in prop::collection::vec("[a-z ]{1,12}", 0..6),
            trailing in any::<bool>(),
            newline in any::<bool>(),
            name in "dir2mcp-[a-z]{1,6}",
        ) {
            let end = if newline { "\n" } else { " " };
            let mut text = format!("{{{end}\"before\": 1,{end}\"mcpServers\": {{{end}");
            let count = names.len();
            for (at, server) in names.iter().enumerate() {
                if let Some(comment) = comments.get(at) {
                    text.push_str(&format!("/* {comment} */{end}"));
                }
                let comma = if at + 1 < count || trailing { "," } else { "" };
                text.push_str(&format!("\"{server}\": {{ \"command\": \"x\" }}{comma}{end}"));
            }
            text.push_str(&format!("}},{end}\"after\": [1, 2]{end}}}"));
            let with = JSON.set(&text, &name, &entry()).unwrap();
            for comment in comments.iter().take(count) {
                let marked = format!("/* {comment} */");
                prop_assert!(with.contains(&marked), "{}", with);
            }
            let without = JSON.remove(&with, &name).unwrap();
            for comment in comments.iter().take(count) {
                let marked = format!("/* {comment} */");
                prop_assert!(without.contains(&marked), "{}", without);
            }
            prop_assert_eq!(json::parse(&without).unwrap(), json::parse(&text).unwrap());
        }
    }
}
