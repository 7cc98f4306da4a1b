//! Which language a file is in.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use crate::languages::COUNT;
pub use crate::languages::Language;
use crate::rules::{Adapter, Table};

impl Language {
    /// By the file's name: whole, or its extension.
    pub fn from_path(path: &str) -> Option<Language> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
        if let Some(language) = NAMES.file_names.get(name.as_str()) {
            return Some(*language);
        }
        let (stem, extension) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        NAMES.extensions.get(extension).copied()
    }

    /// By the file's name, else by its `#!` line.
    pub fn detect(path: &str, source: &str) -> Option<Language> {
        Language::from_path(path).or_else(|| Language::from_shebang(source))
    }

    /// By the program that a first line such as `#!/usr/bin/env python3` names.
    pub fn from_shebang(source: &str) -> Option<Language> {
        let line = source.strip_prefix("#!")?.lines().next()?;
        let mut words = line.split_whitespace();
        let mut program = words.next()?.rsplit('/').next()?;
        if program == "env" {
            program = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
            program = program.rsplit('/').next()?;
        }
        let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        NAMES.interpreters.get(program).or_else(|| NAMES.interpreters.get(bare)).copied()
    }

    pub fn from_name(name: &str) -> Option<Language> {
        Language::ALL.iter().copied().find(|language| language.name() == name)
    }

    /// Lower case, without blanks: `python`, `csharp`.
    pub fn name(self) -> &'static str {
        self.adapter().name
    }

    /// Without dots, lower case.
    pub fn extensions(self) -> &'static [&'static str] {
        self.adapter().extensions
    }

    pub(crate) fn table(self) -> &'static Table {
        static TABLES: [OnceLock<Table>; COUNT] = [const { OnceLock::new() }; COUNT];
        TABLES[self as usize].get_or_init(|| Table::new(self.adapter()))
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

struct Names {
    extensions: HashMap<&'static str, Language>,
    file_names: HashMap<&'static str, Language>,
    interpreters: HashMap<&'static str, Language>,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let by = |of: fn(&Adapter) -> &'static [&'static str]| {
        // The first language that claims a name has it.
        Language::ALL.iter().rev().flat_map(|l| of(l.adapter()).iter().map(|name| (*name, *l))).collect()
    };
    Names {
        extensions: by(|adapter| adapter.extensions),
        file_names: by(|adapter| adapter.file_names),
        interpreters: by(|adapter| adapter.interpreters),
    }
});

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn by_name_extension_and_shebang() {
        for (path, source, expected) in [
            ("a/b.py", "", Some(Language::Python)),
            ("A.RS", "", Some(Language::Rust)),
            ("web/app.tsx", "", Some(Language::Tsx)),
            ("run", "#!/usr/bin/env -S python3.11 -u\n", Some(Language::Python)),
            (".py", "", None),
            ("notes", "", None),
        ] {
            assert_eq!(Language::detect(path, source), expected, "{path}");
        }
    }

    #[test]
    fn names_have_the_recorded_languages() {
        let recorded = include_str!("../../model/tests/file_kinds.tsv");
        for line in recorded.lines().filter(|line| !line.starts_with("lang:")) {
            let mut columns = line.split('\t');
            let (name, expected) = (columns.next().unwrap(), columns.nth(1).unwrap());
            let found = Language::from_path(name).map_or("-", Language::name);
            assert_eq!(found, expected, "{name}");
        }
    }

    /// A rule for a node that the grammar does not have would never fire, in silence.
    #[test]
    fn every_rule_names_a_node_of_its_grammar() {
        for language in Language::ALL {
            let table = language.table();
            for (kind, _) in language.adapter().rules {
                let id = table.grammar.id_for_node_kind(kind, true);
                assert_ne!(id, 0, "{language}: no node {kind}");
            }
        }
    }

    #[test]
    fn every_place_of_a_name_is_one_of_its_grammar() {
        for language in Language::ALL {
            let grammar = &language.table().grammar;
            for (kind, part, _) in language.adapter().roles {
                // Elements are in a grammar of their own.
                if language.name() == "typescript" && kind.starts_with("jsx") {
                    continue;
                }
                assert_ne!(grammar.id_for_node_kind(kind, true), 0, "{language}: no node {kind}");
                match (part.strip_prefix('>'), part.strip_prefix('#')) {
                    (Some(child), _) => {
                        assert_ne!(grammar.id_for_node_kind(child, true), 0, "{language}: no node {child}");
                    }
                    (None, None) if !part.is_empty() => {
                        assert!(grammar.field_id_for_name(part).is_some(), "{language}: no field {part}");
                    }
                    _ => {}
                }
            }
        }
    }
}
