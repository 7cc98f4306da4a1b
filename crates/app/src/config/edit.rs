//! Sets one key in a config file and leaves every other byte alone, comments included.

use serde_saphyr::Spanned;

use super::render;
use super::value::ConfigValue;
use super::yaml::{self, YamlNode};

/// The file is written in a way that cannot be edited line by line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the file cannot be edited safely; add these lines yourself:\n{wanted}")]
pub(crate) struct CannotEdit {
    pub wanted: String,
}

/// Sets the key at `path`. The result is read again: either it says what was wanted and nothing else moved,
/// or there is no result.
pub(crate) fn set(text: &str, path: &str, value: &ConfigValue) -> Result<String, CannotEdit> {
    let wanted = render::entry_for(path, value);
    let cannot = || CannotEdit { wanted: wanted.clone() };
    let before = yaml::parse(text).map_err(|_| cannot())?;
    let edited = edit(text, &before, path, value).ok_or_else(cannot)?;
    let after = yaml::parse(&edited).map_err(|_| cannot())?;
    let target = yaml::parse(&wanted).map_err(|_| cannot())?;
    let (mut old, mut new, mut added) = (Vec::new(), Vec::new(), Vec::new());
    leaves(&before, "", &mut old);
    leaves(&after, "", &mut new);
    leaves(&target, "", &mut added);
    let inside = |leaf: &str| leaf == path || leaf.starts_with(&format!("{path}["));
    let (set, others): (Vec<_>, Vec<_>) = new.into_iter().partition(|(leaf, _)| inside(leaf));
    old.retain(|(leaf, _)| !inside(leaf));
    old.sort();
    let mut others = others;
    others.sort();
    if set == added && others == old { Ok(edited) } else { Err(cannot()) }
}

fn edit(text: &str, root: &YamlNode, path: &str, value: &ConfigValue) -> Option<String> {
    let names: Vec<&str> = path.split('.').collect();
    let mut node = root;
    let mut header: Option<&Spanned<String>> = None;
    for (depth, name) in names.iter().enumerate() {
        let entries = match node {
            YamlNode::Map(entries) => entries.as_slice(),
            YamlNode::Null => &[],
            _ => return None,
        };
        let Some((key, child)) = entries.iter().find(|(key, _)| key.value == *name) else {
            let rest = names[depth..].join(".");
            return Some(match (entries.first(), header) {
                // Above the section's first key, at its indentation.
                (Some((first, _)), _) if depth > 0 => {
                    let line = first.referenced.line() as usize;
                    insert(text, line - 1, first.referenced.column() as usize - 1, &rest, value)
                }
                // Below a section header that has nothing under it but comments.
                (None, Some(header)) => {
                    let line = header.referenced.line() as usize;
                    insert(text, line, header.referenced.column() as usize + 1, &rest, value)
                }
                _ => insert(text, text.lines().count(), 0, &rest, value),
            });
        };
        header = Some(key);
        node = &child.value;
        if depth + 1 == names.len() {
            return replace(text, key, child, name, value);
        }
    }
    None
}

/// Puts the key's lines, indented, after `line` lines of the text.
fn insert(text: &str, line: usize, indent: usize, path: &str, value: &ConfigValue) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let added = render::entry_for(path, value);
    let added = added.lines().map(|added| format!("{}{added}", " ".repeat(indent)));
    let at = line.min(lines.len());
    lines.splice(at..at, added);
    lines.join("\n") + "\n"
}

/// Replaces a value that is on the same line as its key.
fn replace(
    text: &str,
    key: &Spanned<String>,
    old: &Spanned<YamlNode>,
    name: &str,
    value: &ConfigValue,
) -> Option<String> {
    if let YamlNode::List(items) = &old.value {
        return Some(replace_list(text, key, old, items, name, value));
    }
    let entry = render::entry_for(name, value);
    let new = entry.trim_end().strip_prefix(name)?.strip_prefix(':')?.trim_start();
    if new.is_empty() || new.contains('\n') {
        return None;
    }
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let line = lines.get_mut(key.referenced.line() as usize - 1)?;
    match &old.value {
        YamlNode::Null => {
            let colon = line.find(':')? + 1;
            line.insert_str(colon, &format!(" {new}"));
        }
        YamlNode::Scalar(_) if old.referenced.line() == key.referenced.line() => {
            let start = old.referenced.column() as usize - 1;
            let length = old.referenced.span().len() as usize;
            let characters: Vec<char> = line.chars().collect();
            let before: String = characters.get(..start)?.iter().collect();
            let after: String = characters.get(start + length..)?.iter().collect();
            *line = format!("{before}{new}{after}");
        }
        _ => return None,
    }
    Some(lines.join("\n") + "\n")
}

/// Replaces a list, from its key's line to that of its last item.
fn replace_list(
    text: &str,
    key: &Spanned<String>,
    old: &Spanned<YamlNode>,
    items: &[Spanned<YamlNode>],
    name: &str,
    value: &ConfigValue,
) -> String {
    let first = key.referenced.line() as usize;
    let last = items.iter().chain([old]).map(|item| item.referenced.line() as usize).max().unwrap_or(first);
    let indent = " ".repeat((key.referenced.column() as usize).saturating_sub(1));
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let new = render::entry_for(name, value);
    let end = last.clamp(first, lines.len());
    lines.splice(first - 1..end, new.lines().map(|line| format!("{indent}{line}")));
    lines.join("\n") + "\n"
}

/// Every scalar with its path, for comparing two files.
fn leaves(node: &YamlNode, path: &str, out: &mut Vec<(String, String)>) {
    match node {
        YamlNode::Null => {}
        YamlNode::Scalar(text) => out.push((path.into(), text.clone())),
        YamlNode::List(items) => {
            for (at, item) in items.iter().enumerate() {
                leaves(&item.value, &format!("{path}[{at}]"), out);
            }
        }
        YamlNode::Map(entries) => {
            for (key, child) in entries {
                let inner = if path.is_empty() { key.value.clone() } else { format!("{path}.{}", key.value) };
                leaves(&child.value, &inner, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> ConfigValue {
        ConfigValue::Text(value.into())
    }

    #[test]
    fn a_list_is_written_anew() {
        let list = |items: &[&str]| ConfigValue::List(items.iter().map(|item| (*item).to_owned()).collect());
        let file = "# mine\nworkspace:\n  roots:\n    - /a\n    - /b # two\nrag:\n  k_default: 5 # five\n";
        let rest = "rag:\n  k_default: 5 # five\n";
        let more = set(file, "workspace.roots", &list(&["/a", "/c"])).unwrap();
        assert_eq!(more, format!("# mine\nworkspace:\n  roots:\n    - /a\n    - /c\n{rest}"));
        let none = set(file, "workspace.roots", &list(&[])).unwrap();
        assert_eq!(none, format!("# mine\nworkspace:\n  roots: []\n{rest}"));
        let again = set(&none, "workspace.roots", &list(&["/d"])).unwrap();
        assert_eq!(again, format!("# mine\nworkspace:\n  roots:\n    - /d\n{rest}"));
        // A list that ends on a line of its own is left to its owner.
        assert!(set("workspace:\n  roots: [\n    /a,\n  ]\n", "workspace.roots", &list(&["/d"])).is_err());
    }

    #[test]
    fn a_value_is_swapped_and_its_comment_kept() {
        let file = "# mine\nserver:\n  listen: \"127.0.0.1:0\"  # local\n  mcp_path: /mcp\n";
        let edited = set(file, "server.listen", &text("127.0.0.1:8087")).unwrap();
        assert_eq!(edited, file.replace("127.0.0.1:0", "127.0.0.1:8087"));
        let plain = set("rag:\n  k_default: 10 # ten\n", "rag.k_default", &ConfigValue::Int(5)).unwrap();
        assert_eq!(plain, "rag:\n  k_default: 5 # ten\n");
        assert_eq!(
            set("server:\n  listen:\n", "server.listen", &text("a")).unwrap(),
            "server:\n  listen: a\n"
        );
    }

    #[test]
    fn a_key_joins_its_section() {
        let file = "server:\n    # indented by four\n    mcp_path: /mcp\nrag:\n  k_default: 3\n";
        let edited = set(file, "server.tls.enabled", &ConfigValue::Bool(true)).unwrap();
        assert_eq!(
            edited,
            "server:\n    # indented by four\n    tls:\n      enabled: true\n    mcp_path: /mcp\nrag:\n  k_default: 3\n"
        );
    }

    #[test]
    fn a_section_of_comments_gets_its_first_key() {
        let file = "version: 1\nserver:\n  #listen: x\nrag:\n  #k_default: 10\n";
        let edited = set(file, "rag.k_default", &ConfigValue::Int(7)).unwrap();
        assert_eq!(edited, "version: 1\nserver:\n  #listen: x\nrag:\n  k_default: 7\n  #k_default: 10\n");
    }

    #[test]
    fn a_new_section_goes_to_the_end() {
        assert_eq!(set("version: 1", "a.b.c", &text("x")).unwrap(), "version: 1\na:\n  b:\n    c: x\n");
        assert_eq!(set("", "a.b", &ConfigValue::List(vec!["x".into()])).unwrap(), "a:\n  b:\n    - x\n");
    }

    #[test]
    fn what_cannot_be_edited_is_said_not_damaged() {
        for file in [
            "server: {mcp_path: /mcp}\n",
            "server: {listen: a, mcp_path: /x}\n",
            "- a\n",
            "a: [",
            "server: &a\n  listen: |\n    x\n",
        ] {
            match set(file, "server.listen", &text("b")) {
                Ok(edited) => assert!(yaml::parse(&edited).is_ok(), "{file}"),
                Err(CannotEdit { wanted }) => assert_eq!(wanted, "server:\n  listen: b\n"),
            }
        }
    }

    #[test]
    fn the_template_takes_every_answer_of_the_wizard() {
        let mut file = render::template();
        for (path, value) in [
            ("server.listen", text("127.0.0.1:9")),
            ("server.tls.enabled", ConfigValue::Bool(true)),
            ("secrets.provider", text("keychain")),
            ("ingest.max_file_mb", ConfigValue::Int(50)),
            ("server.listen", text("127.0.0.1:10")),
        ] {
            file = set(&file, path, &value).unwrap();
        }
        assert!(
            file.contains("\n  listen: \"127.0.0.1:10\"\n") && !file.contains("\n  listen: \"127.0.0.1:9\"")
        );
    }
}
