//! The config file: YAML with places, `${VAR}` filled in, every key known.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::env::Environment;
use super::error::{Problem, Problems};
use super::keys::{Key, KeyKind, KeySpec, TABLE};
use super::nearest::nearest;
use super::options::{Layer, Setting, ValueOrigin, anchored};
use super::value::{ConfigValue, ConfiguredSecret, FoundValue, WrongValue, size_entry};
use super::yaml_words;
use crate::print::safe;

/// A YAML value whose scalars stay text: the key, not the spelling, decides what they mean.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum YamlNode {
    Null,
    Scalar(String),
    List(Vec<Spanned<YamlNode>>),
    Map(Vec<(Spanned<String>, Spanned<YamlNode>)>),
}

/// Why the text is not YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub line: u32,
    pub message: String,
}

/// Reads YAML. `on` and `off` stay words: several keys take them as choices.
pub(crate) fn parse(text: &str) -> Result<YamlNode, SyntaxError> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        // A quoted line of the file could hold a key.
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Option<YamlNode>>(text, options) {
        Ok(node) => Ok(node.unwrap_or(YamlNode::Null)),
        Err(error) => {
            let line = error.location().map_or(1, |location| location.line() as u32);
            Err(SyntaxError { line, message: yaml_words::cause(text, line, &error.to_string()) })
        }
    }
}

/// The keys of a file, and the variables that they refer to.
#[derive(Debug, Default)]
pub(crate) struct FileLayer {
    pub layer: Layer,
    /// Variables of the shell that were filled in, with the key whose value refers to them.
    pub references: Vec<VariableReference>,
}

/// A `${NAME}` in the file that stands for a variable of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariableReference {
    pub key: Key,
    pub line: u32,
    pub variable: String,
}

/// Every key that the file sets.
pub(crate) fn read(
    path: &Path,
    text: &str,
    environment: &Environment,
    problems: &mut Problems,
    warnings: &mut Vec<String>,
) -> FileLayer {
    let mut reader = YamlReader { path, environment, problems, warnings, file: FileLayer::default() };
    match parse(text) {
        Err(error) => {
            let message = format!("this cannot be read as YAML: {}", error.message);
            reader.problem(error.line, message);
        }
        Ok(YamlNode::Null) => {}
        Ok(YamlNode::Map(entries)) => reader.section("", &entries),
        Ok(_) => reader.problem(1, "expected keys with values, such as \"version: 1\"".into()),
    }
    reader.file
}

struct YamlReader<'a> {
    path: &'a Path,
    environment: &'a Environment,
    problems: &'a mut Problems,
    warnings: &'a mut Vec<String>,
    file: FileLayer,
}

impl YamlReader<'_> {
    fn section(&mut self, prefix: &str, entries: &[(Spanned<String>, Spanned<YamlNode>)]) {
        for (name, node) in entries {
            let line = line_of(name);
            let path =
                if prefix.is_empty() { name.value.clone() } else { format!("{prefix}.{}", name.value) };
            if let Some(spec) = KeySpec::find(&path) {
                self.leaf(spec, line, &node.value);
            } else if !is_section(&path) {
                self.problem(line, unknown(&path, prefix));
            } else {
                match &node.value {
                    YamlNode::Map(children) => self.section(&path, children),
                    // A section whose lines are all comments.
                    YamlNode::Null => {}
                    _ => self.problem(line, format!("{path}: expected a section with keys below it")),
                }
            }
        }
    }

    fn leaf(&mut self, spec: &'static KeySpec, line: u32, node: &YamlNode) {
        let value = match (node, spec.kind) {
            (YamlNode::Null, _) => return,
            (YamlNode::Scalar(text), KeyKind::Secret) => match self.secret(spec, text, line) {
                Some(credential) => Ok(ConfigValue::Secret(Some(credential))),
                None => return,
            },
            (YamlNode::Scalar(text), kind)
                if !matches!(kind, KeyKind::List | KeyKind::Paths | KeyKind::Sizes) =>
            {
                let text = self.expand(spec, text, line);
                ConfigValue::parse(spec, &text)
            }
            (YamlNode::List(items), KeyKind::List | KeyKind::Paths) => self.list(spec, items),
            (YamlNode::Map(entries), KeyKind::Sizes) => self.sizes(spec, entries),
            (other, _) => Err(WrongValue { expected: spec.expected(), found: other.kind() }),
        };
        match value {
            Ok(value) => {
                let folder = self.path.parent().unwrap_or(Path::new("/"));
                let origin = self.origin(line);
                self.file.layer.push(Setting { key: spec.key, value: anchored(spec, value, folder), origin });
            }
            Err(wrong) => self.problem(line, format!("{}: {wrong}", spec.path)),
        }
    }

    fn list(&mut self, spec: &KeySpec, items: &[Spanned<YamlNode>]) -> Result<ConfigValue, WrongValue> {
        let mut texts = Vec::new();
        for item in items {
            match &item.value {
                YamlNode::Scalar(text) => texts.push(self.expand(spec, text, item.referenced.line() as u32)),
                other => return Err(WrongValue { expected: spec.expected(), found: other.kind() }),
            }
        }
        Ok(ConfigValue::List(texts))
    }

    fn sizes(
        &mut self,
        spec: &KeySpec,
        entries: &[(Spanned<String>, Spanned<YamlNode>)],
    ) -> Result<ConfigValue, WrongValue> {
        let mut sizes = BTreeMap::new();
        for (name, node) in entries {
            let wrong = |found| WrongValue { expected: spec.expected(), found };
            let YamlNode::Scalar(number) = &node.value else { return Err(wrong(node.value.kind())) };
            let pair = format!("{}: {number}", name.value);
            let (doc_type, size) =
                size_entry(&name.value, number).ok_or_else(|| wrong(FoundValue::text(spec, &pair)))?;
            sizes.insert(doc_type, size);
        }
        Ok(ConfigValue::Sizes(sizes))
    }

    /// A key in the file: by reference, or in plain text with a warning. An unset variable is no key at all.
    fn secret(&mut self, spec: &KeySpec, text: &str, line: u32) -> Option<ConfiguredSecret> {
        let text = text.trim();
        let expanded = expand(text, |name| self.environment.get_key(name).map(|variable| variable.value));
        let value = expanded.text.trim();
        if value.is_empty() {
            return None;
        }
        // A key from the folder's own dotenv file belongs to the folder.
        let shell: Vec<String> =
            expanded.variables.iter().filter(|name| self.environment.get(name).is_some()).cloned().collect();
        self.refers(spec, line, shell);
        let variable = expanded.variables.first().cloned();
        if variable.is_none() {
            self.warnings.push(format!(
                "{}: {} holds a key in plain text; write a reference such as ${{MISTRAL_API_KEY}} instead",
                self.place(line),
                spec.path
            ));
        }
        Some(ConfiguredSecret { secret: crate::secrets::Secret::new(value), variable })
    }

    /// Fills in the shell's variables. What a dotenv file says could change under a file that is trusted.
    fn expand(&mut self, spec: &KeySpec, text: &str, line: u32) -> String {
        let expanded = expand(text, |name| self.environment.get(name).map(|variable| variable.value));
        self.refers(spec, line, expanded.variables);
        for name in &expanded.unset {
            self.warnings
                .push(format!("{}: ${{{name}}} is not set and stands for nothing", self.place(line)));
        }
        expanded.text
    }

    fn refers(&mut self, spec: &KeySpec, line: u32, variables: Vec<String>) {
        let references =
            variables.into_iter().map(|variable| VariableReference { key: spec.key, line, variable });
        self.file.references.extend(references);
    }

    fn problem(&mut self, line: u32, message: String) {
        let origin = self.origin(line);
        self.problems.push(Problem::at(origin, message));
    }

    fn origin(&self, line: u32) -> ValueOrigin {
        ValueOrigin::File { path: self.path.into(), line }
    }

    fn place(&self, line: u32) -> String {
        format!("{}:{line}", safe(&self.path.to_string_lossy()))
    }
}

/// A text with its variables filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expanded {
    pub text: String,
    pub variables: Vec<String>,
    pub unset: Vec<String>,
}

/// Fills in `${NAME}` and `${NAME:-otherwise}`. `$${NAME}` keeps its text, and a lone `$` means itself.
pub(crate) fn expand<'a>(text: &str, get: impl Fn(&str) -> Option<&'a str>) -> Expanded {
    let mut expanded = Expanded { text: String::new(), variables: Vec::new(), unset: Vec::new() };
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let reference = rest[at + 2..].split_once('}').and_then(|(inside, after)| {
            let (name, otherwise) = inside.split_once(":-").map_or((inside, None), |(n, o)| (n, Some(o)));
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
            (!name.is_empty() && name.chars().all(legal)).then_some((name, otherwise, after))
        });
        match reference {
            _ if rest[..at].ends_with('$') => {
                expanded.text.push_str(&rest[..at]);
                expanded.text.push('{');
                rest = &rest[at + 2..];
            }
            None => {
                expanded.text.push_str(&rest[..at + 2]);
                rest = &rest[at + 2..];
            }
            Some((name, otherwise, after)) => {
                expanded.text.push_str(&rest[..at]);
                match (get(name), otherwise) {
                    (Some(value), _) => {
                        expanded.text.push_str(value);
                        expanded.variables.push(name.into());
                    }
                    (None, Some(otherwise)) => expanded.text.push_str(otherwise),
                    (None, None) => expanded.unset.push(name.into()),
                }
                rest = after;
            }
        }
    }
    expanded.text.push_str(rest);
    expanded
}

/// What to say about a key that is not in the table.
fn unknown(path: &str, section: &str) -> String {
    let last = |path: &str| path.rsplit('.').next().unwrap_or(path).to_string();
    // A key in the wrong section is a likelier mistake than any typing error.
    let moved = TABLE.iter().find(|spec| last(spec.path) == last(path)).map(|spec| spec.path);
    let sections = TABLE.iter().flat_map(|spec| spec.path.match_indices('.').map(|(at, _)| &spec.path[..at]));
    let near = nearest(path, TABLE.iter().map(|spec| spec.path).chain(sections));
    match near.or(moved) {
        Some(name) => format!("unknown key \"{}\"; did you mean \"{name}\"?", safe(path)),
        None => {
            let inside = if section.is_empty() { String::new() } else { format!("{section}.") };
            let mut names: Vec<&str> = TABLE
                .iter()
                .filter_map(|spec| spec.path.strip_prefix(&inside))
                .filter_map(|rest| rest.split('.').next())
                .collect();
            names.dedup();
            format!("unknown key \"{}\"; known here: {}", safe(path), names.join(", "))
        }
    }
}

fn is_section(path: &str) -> bool {
    TABLE.iter().any(|spec| spec.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

fn line_of<T>(node: &Spanned<T>) -> u32 {
    node.referenced.line() as u32
}

impl YamlNode {
    fn kind(&self) -> FoundValue {
        FoundValue::Structure(match self {
            YamlNode::Null => "nothing",
            YamlNode::Scalar(_) => "a single value",
            YamlNode::List(_) => "a list",
            YamlNode::Map(_) => "a section",
        })
    }
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<YamlNode, D::Error> {
        struct Nodes;

        impl<'de> Visitor<'de> for Nodes {
            type Value = YamlNode;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<YamlNode, E> {
                Ok(YamlNode::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<YamlNode, E> {
                Ok(YamlNode::Scalar(value.to_string()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<YamlNode, E> {
                Ok(YamlNode::Scalar(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<YamlNode, E> {
                Ok(YamlNode::Scalar(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<YamlNode, E> {
                Ok(YamlNode::Scalar(value.to_string()))
            }

            fn visit_str<E>(self, value: &str) -> Result<YamlNode, E> {
                Ok(YamlNode::Scalar(value.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<YamlNode, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(YamlNode::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<YamlNode, A::Error> {
                let mut map = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    map.push(entry);
                }
                Ok(YamlNode::Map(map))
            }
        }

        deserializer.deserialize_any(Nodes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Read {
        layer: Layer,
        problems: Vec<String>,
        warnings: Vec<String>,
    }

    fn read(text: &str) -> Read {
        let environment = Environment::of(&[("SET", "value"), ("PORT", "80")]);
        let (mut problems, mut warnings) = (Problems::default(), Vec::new());
        let path = Path::new("/r/.dir2mcp.yaml");
        let layer = super::read(path, text, &environment, &mut problems, &mut warnings).layer;
        Read { layer, problems: problems.messages(), warnings }
    }

    fn value(read: &Read, key: Key) -> Option<ConfigValue> {
        read.layer.iter().find(|setting| setting.key == key).map(|setting| setting.value.clone())
    }

    #[test]
    fn nested_keys_with_their_lines() {
        let read = read("version: 1\nserver:\n  listen: 127.0.0.1:9\n  tls:\n    cert_file: c.pem\n");
        assert_eq!(read.problems, [""; 0]);
        assert_eq!(value(&read, Key::ServerListen), Some(ConfigValue::Text("127.0.0.1:9".into())));
        assert_eq!(value(&read, Key::ServerTlsCertFile), Some(ConfigValue::Text("/r/c.pem".into())));
        assert_eq!(read.layer[1].origin, ValueOrigin::File { path: "/r/.dir2mcp.yaml".into(), line: 3 });
    }

    #[test]
    fn words_stay_words_and_numbers_become_what_the_key_wants() {
        let read = read(
            "x402:\n  mode: off\n  route_policy:\n    tools_call:\n      price: 0.001\n\
             ingest:\n  audio:\n    mode: on\n  gitignore: no\n  max_file_mb: \"7\"\n\
             server:\n  session_max_lifetime: 0\nsecrets:\n  file:\n    mode: 0600\n",
        );
        assert_eq!(read.problems, [""; 0]);
        assert_eq!(value(&read, Key::X402Mode), Some(ConfigValue::Text("off".into())));
        assert_eq!(value(&read, Key::IngestAudioMode), Some(ConfigValue::Text("on".into())));
        assert_eq!(value(&read, Key::IngestGitignore), Some(ConfigValue::Bool(false)));
        assert_eq!(value(&read, Key::IngestMaxFileMb), Some(ConfigValue::Int(7)));
        assert_eq!(value(&read, Key::X402Price), Some(ConfigValue::Text("0.001".into())));
        assert_eq!(
            value(&read, Key::ServerSessionMaxLifetime),
            Some(ConfigValue::Duration(std::time::Duration::ZERO))
        );
    }

    #[test]
    fn d181_variables_are_filled_in() {
        let read = read(
            "mistral:\n  chat_model: ${SET}-x\n  ocr_model: a${NONE}b\n  embed_text_model: ${NONE:-other}\n\
             server:\n  listen: 127.0.0.1:${PORT}\n  mcp_path: /$${SET}\n",
        );
        assert_eq!(value(&read, Key::MistralChatModel), Some(ConfigValue::Text("value-x".into())));
        assert_eq!(value(&read, Key::MistralOcrModel), Some(ConfigValue::Text("ab".into())));
        assert_eq!(value(&read, Key::MistralEmbedTextModel), Some(ConfigValue::Text("other".into())));
        assert_eq!(value(&read, Key::ServerListen), Some(ConfigValue::Text("127.0.0.1:80".into())));
        assert_eq!(value(&read, Key::ServerMcpPath), Some(ConfigValue::Text("/${SET}".into())));
        assert_eq!(read.warnings, ["/r/.dir2mcp.yaml:3: ${NONE} is not set and stands for nothing"]);
    }

    #[test]
    fn a_regular_expression_keeps_its_dollar() {
        let expand = |text| expand(text, |_| None).text;
        assert_eq!(expand("^a{3}$"), "^a{3}$");
        assert_eq!(expand("a${2,}b"), "a${2,}b");
        assert_eq!(expand("${"), "${");
        assert_eq!(expand("$${X} ${X}."), "${X} .");
    }

    #[test]
    fn unknown_keys_name_the_nearest_known_one() {
        let read = read(
            "server:\n  listne: x\nsession_max_lifetime: 1h\nsevrer:\n  listen: x\nfrobnicate: 1\nrag:\n  zzzzzzzz: 1\n",
        );
        assert_eq!(
            read.problems[..3],
            [
                "/r/.dir2mcp.yaml:2: unknown key \"server.listne\"; did you mean \"server.listen\"?",
                "/r/.dir2mcp.yaml:3: unknown key \"session_max_lifetime\"; did you mean \
                 \"server.session_max_lifetime\"?",
                "/r/.dir2mcp.yaml:4: unknown key \"sevrer\"; did you mean \"server\"?",
            ]
        );
        assert!(read.problems[3].starts_with(
            "/r/.dir2mcp.yaml:6: unknown key \"frobnicate\"; known here: version, mistral, openai"
        ));
        assert!(read.problems[4].contains("known here: generate_answer, k_default"));
    }

    #[test]
    fn wrong_types_name_the_key_and_the_type() {
        let read = read(
            "server:\n  listen: [a]\nrag: 5\nsecurity:\n  path_excludes: x\n  allowed_origins: {a: b}\n\
             ingest:\n  gitignore: maybe\n  max_file_mb_by_type: {movie: 3}\nversion: 2\n",
        );
        assert_eq!(
            read.problems,
            [
                "/r/.dir2mcp.yaml:2: server.listen: expected a text, found a list",
                "/r/.dir2mcp.yaml:3: rag: expected a section with keys below it",
                "/r/.dir2mcp.yaml:5: security.path_excludes: expected a list of texts, found a single value",
                "/r/.dir2mcp.yaml:6: security.allowed_origins: expected a list of texts, found a section",
                "/r/.dir2mcp.yaml:8: ingest.gitignore: expected true or false, found \"maybe\"",
                "/r/.dir2mcp.yaml:9: ingest.max_file_mb_by_type: expected megabytes by document type, such as \
                 pdf: 50, found \"movie: 3\"",
                "/r/.dir2mcp.yaml:10: version: expected 1, found \"2\"",
            ]
        );
    }

    #[test]
    fn broken_yaml_is_one_problem_with_its_line_and_no_source_text() {
        let read = read("version: 1\nmistral:\n  api_key: \"canary\nserver: [");
        assert_eq!(read.problems.len(), 1);
        assert!(read.problems[0].starts_with("/r/.dir2mcp.yaml:"), "{:?}", read.problems);
        assert!(!read.problems[0].contains("canary"), "{:?}", read.problems);
        assert!(super::tests::read("a: 1\na: 2").problems[0].contains("twice"));
    }

    #[test]
    fn empty_files_and_empty_sections_change_nothing() {
        for text in
            ["", "# only a comment\n", "---\n", "server:\n  # listen: x\nrag:\n", "server:\n  tls: ~\n"]
        {
            let read = read(text);
            assert!(read.layer.is_empty() && read.problems.is_empty(), "{text:?} {:?}", read.problems);
        }
        assert_eq!(read("- a\n").problems.len(), 1);
    }

    #[test]
    fn keys_are_references_or_cause_a_warning() {
        let credential = |read: &Read| match value(read, Key::MistralApiKey) {
            Some(ConfigValue::Secret(Some(credential))) => credential,
            other => panic!("{other:?}"),
        };
        let referenced = read("mistral:\n  api_key: ${SET}\n");
        assert_eq!(credential(&referenced).variable.as_deref(), Some("SET"));
        assert!(referenced.warnings.is_empty());
        let plain = read("mistral:\n  api_key: canary\n");
        assert_eq!(credential(&plain).variable, None);
        assert!(plain.warnings[0].contains("plain text") && !plain.warnings[0].contains("canary"));
        let unset = read("mistral:\n  api_key: ${NONE}\n");
        assert!(unset.layer.is_empty() && unset.warnings.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_stumble(text in "[a-z:\\-\\[\\]{}&*\"'#|> \n\t${}]{0,120}") {
            let _ = read(&text);
        }
    }
}
