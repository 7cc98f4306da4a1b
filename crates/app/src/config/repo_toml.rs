//! `repo_mcp.toml` at the root: what a repository says about its own tools (repo specification, section 8.2). It comes
//! with the files it describes, so it chooses among them within the specification's bounds, never touches the deny list,
//! and names another data directory only once the user trusts it.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ReadFile;
use super::error::{Problem, Problems};
use super::files;
use super::keys::{KeyKind, KeySpec, TABLE};
use super::nearest::nearest;
use super::options::{Layer, Setting, ValueOrigin, anchored};
use super::trust::UnnamedFile;
use super::value::ConfigValue;
use crate::print::safe;

pub(crate) const FILE_NAME: &str = "repo_mcp.toml";

/// The section of our own keys that the sections of this file belong to.
const PREFIX: &str = "repo.";

/// Every key that the file sets; nothing where there is none.
pub(super) fn read(root: &Path, problems: &mut Problems) -> ReadFile {
    let path = root.join(FILE_NAME);
    let text = match files::read_if_present(&path) {
        Ok(Some(file)) => file.text,
        Ok(None) => return ReadFile::default(),
        Err(error) => {
            let message = format!("cannot read {}: {error}", safe(&path.to_string_lossy()));
            problems.push(Problem { place: None, message });
            return ReadFile::default();
        }
    };
    let mut reader = TomlReader { path: &path, text: &text, root, problems, layer: Layer::new() };
    match DeTable::parse(&text) {
        Ok(table) => reader.section("", table.get_ref()),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            reader.problem(at, format!("not TOML: {}", safe(error.message())));
        }
    }
    ReadFile { layer: reader.layer, file: Some(UnnamedFile::new(&path, &text)), references: Vec::new() }
}

struct TomlReader<'a> {
    path: &'a Path,
    text: &'a str,
    root: &'a Path,
    problems: &'a mut Problems,
    layer: Layer,
}

impl TomlReader<'_> {
    fn section(&mut self, prefix: &str, table: &DeTable<'_>) {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in entries {
            let key = format!("{prefix}{}", name.get_ref());
            let at = name.span().start;
            match value.get_ref() {
                DeValue::Table(inner) => self.section(&format!("{key}."), inner),
                _ => self.value(&key, at, value),
            }
        }
    }

    fn value(&mut self, key: &str, at: usize, value: &Spanned<DeValue<'_>>) {
        if key.starts_with("security.") {
            let message = format!("{}: the deny list cannot be relaxed; take this key out", safe(key));
            return self.problem(at, message);
        }
        // The specification's reserved name for it.
        let known = if key == "embeddings.enabled" { "semantic.enabled" } else { key };
        let Some(spec) = KeySpec::find(&format!("{PREFIX}{known}")) else {
            let names = TABLE.iter().filter_map(|spec| spec.path.strip_prefix(PREFIX));
            let hint = nearest(known, names).map_or(String::new(), |near| format!("; did you mean {near}?"));
            return self.problem(at, format!("unknown key {}{hint}", safe(key)));
        };
        let origin = self.origin(at);
        match typed(spec, value.get_ref()) {
            Some(value) => {
                let value = anchored(spec, value, self.root);
                self.layer.push(Setting { key: spec.key, value, origin });
            }
            None => self.problem(at, format!("{}: expected {}", safe(key), spec.expected())),
        }
    }

    fn problem(&mut self, at: usize, message: String) {
        self.problems.push(Problem::at(self.origin(at), message));
    }

    fn origin(&self, at: usize) -> ValueOrigin {
        let before = self.text.get(..at).unwrap_or(self.text);
        ValueOrigin::File { path: self.path.to_owned(), line: before.matches('\n').count() as u32 + 1 }
    }
}

/// A value of the type that the key wants; TOML has types of its own, so a text is no number.
fn typed(spec: &KeySpec, value: &DeValue<'_>) -> Option<ConfigValue> {
    match (spec.kind, value) {
        (KeyKind::Bool, DeValue::Boolean(value)) => Some(ConfigValue::Bool(*value)),
        (KeyKind::Int { .. }, DeValue::Integer(number)) if number.radix() == 10 => {
            ConfigValue::parse(spec, number.as_str()).ok()
        }
        (KeyKind::Path | KeyKind::Text, DeValue::String(text)) => ConfigValue::parse(spec, text).ok(),
        (KeyKind::List, DeValue::Array(items)) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                _ => None,
            })
            .collect::<Option<Vec<String>>>()
            .map(ConfigValue::List),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::Key;

    fn read_toml(text: &str) -> (Layer, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), text).unwrap();
        let mut problems = Problems::default();
        let layer = read(dir.path(), &mut problems).layer;
        let root = dir.path().display().to_string();
        let messages = problems.messages().into_iter().map(|message| message.replace(&root, "")).collect();
        (layer, messages)
    }

    #[test]
    fn r019_sections_and_their_types() {
        let (layer, problems) = read_toml(
            "[limits]\nmax_open_lines = 100\n[index]\ninclude_extensions = [\".py\"]\n[adapters]\npython_enabled = false\n",
        );
        assert!(problems.is_empty(), "{problems:?}");
        let values: Vec<_> = layer.iter().map(|setting| (setting.key, setting.value.clone())).collect();
        assert_eq!(
            values,
            [
                (Key::RepoMaxOpenLines, ConfigValue::Int(100)),
                (Key::RepoIncludeExtensions, ConfigValue::List(vec![".py".into()])),
                (Key::RepoPythonEnabled, ConfigValue::Bool(false)),
            ]
        );
    }

    #[test]
    fn case_25_what_is_wrong_is_named_with_its_line() {
        let (layer, problems) = read_toml(
            "[limits]\nmax_search_hits = 500\nmax_file_bytes = \"1\"\nmax_opn_lines = 1\n[security]\ndenylist_relax = true\n",
        );
        assert!(layer.is_empty());
        assert_eq!(
            problems,
            [
                "/repo_mcp.toml:2: limits.max_search_hits: expected a whole number from 1 to 200",
                "/repo_mcp.toml:3: limits.max_file_bytes: expected a whole number from 1 to 4194304",
                "/repo_mcp.toml:4: unknown key limits.max_opn_lines; did you mean limits.max_open_lines?",
                "/repo_mcp.toml:6: security.denylist_relax: the deny list cannot be relaxed; take this key out",
            ]
        );
        assert!(read_toml("[limits\n").1[0].contains("not TOML"));
    }
}
