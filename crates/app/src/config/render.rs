//! The configuration as text: YAML and JSON of the effective values, the snapshot, the template of
//! `config init` and the reference page.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Map, Value as Json, json};

use super::keys::{Key, KeyKind, KeySpec, TABLE};
use super::options::ValueOrigin;
use super::value::{ConfigValue, format_duration};
use super::{Loaded, files};
use crate::print::{is_unsafe, safe};
use crate::secrets::token::TokenSource;
use crate::secrets::{FoundSecret, SecretName, SecretSource};

const MASK: &str = "****";

/// The effective configuration as YAML that can be read back, but for the secrets in it.
pub(crate) fn yaml(loaded: &Loaded, origins: bool) -> String {
    let mut text = format!(
        "# dir2mcp {}: effective configuration\n# root:        {}\n# state dir:   {}\n# config file: {}\n",
        env!("CARGO_PKG_VERSION"),
        safe(&loaded.settings.root.to_string_lossy()),
        safe(&loaded.settings.state_dir.to_string_lossy()),
        match &loaded.settings.config_file {
            Some(path) => safe(&path.to_string_lossy()).into_owned(),
            None => "none".into(),
        }
    );
    if origins {
        text.push_str(
            "# A config file that is found in a folder may set what widens access once you trust it: dir2mcp trust.\n",
        );
    }
    let lines = lines(loaded);
    let width = lines.iter().filter(|line| line.origin.is_some()).map(|line| line.text.chars().count()).max();
    let width = width.unwrap_or(0).min(60);
    for line in lines {
        match line.origin.filter(|_| origins) {
            Some((origin, widens)) => {
                text.push_str(&format!("{:width$}  # {origin} | widens: {widens}\n", line.text));
            }
            None => text.push_str(&format!("{}\n", line.text)),
        }
    }
    text
}

/// The same as JSON, with the origin of every key.
pub(crate) fn json(loaded: &Loaded) -> Json {
    let mut config = Map::new();
    let (mut origins, mut widens) = (Map::new(), Map::new());
    for spec in TABLE {
        let value = match loaded.values.value(spec.key) {
            ConfigValue::Secret(_) => json!(shown_secret(loaded, spec.key).map_or("", |_| MASK)),
            value => value_json(value),
        };
        let mut section = &mut config;
        let mut names = spec.path.split('.').peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                section.insert(name.into(), value);
                break;
            }
            let child = section.entry(name).or_insert_with(|| Json::Object(Map::new()));
            let Json::Object(child) = child else { unreachable!("a section is an object") };
            section = child;
        }
        origins.insert(spec.path.into(), json!(origin_text(loaded, spec)));
        widens.insert(spec.path.into(), json!(spec.reach.text()));
    }
    json!({
        "root": loaded.settings.root.to_string_lossy(),
        "state_dir": loaded.settings.state_dir.to_string_lossy(),
        "config_file": loaded.settings.config_file.as_ref().map(|path| path.to_string_lossy()),
        "config": config,
        "origins": origins,
        "widens": widens,
        "secret_sources": loaded.secrets.words().into_iter().collect::<BTreeMap<_, _>>(),
    })
}

fn value_json(value: &ConfigValue) -> Json {
    match value {
        ConfigValue::Bool(value) => json!(value),
        ConfigValue::Int(value) => json!(value),
        ConfigValue::Text(text) => json!(text),
        ConfigValue::List(items) => json!(items),
        ConfigValue::Duration(duration) => json!(format_duration(*duration)),
        ConfigValue::Sizes(sizes) => {
            sizes.iter().map(|(name, size)| (name.to_string(), json!(size))).collect()
        }
        ConfigValue::Secret(secret) => json!(secret.as_ref().map_or("", |_| MASK)),
    }
}

/// Writes `.dir2mcp.yaml.snapshot` into the state directory.
pub(crate) fn write_snapshot(loaded: &Loaded, token: &TokenSource) -> io::Result<()> {
    let path = loaded.settings.state_dir.join(".dir2mcp.yaml.snapshot");
    files::write(&path, &snapshot(loaded, token), 0o600)
}

/// What this run uses, and where its secrets come from, but no secret.
fn snapshot(loaded: &Loaded, token: &TokenSource) -> String {
    let mut text = yaml(loaded, false);
    text.push_str("secret_sources:\n");
    for (name, word) in loaded.secrets.words() {
        let word = match (name, token) {
            ("DIR2MCP_AUTH_TOKEN", TokenSource::SecretToken { .. } | TokenSource::File { .. }) => "file",
            ("DIR2MCP_AUTH_TOKEN", TokenSource::Env { .. }) => "env",
            ("DIR2MCP_AUTH_TOKEN", TokenSource::Keychain) => "keychain",
            ("DIR2MCP_AUTH_TOKEN", TokenSource::None) => "none",
            _ => word,
        };
        text.push_str(&format!("  {name}: {word}\n"));
    }
    text
}

const LONG_LIST: usize = 16;

/// The file that `config init` writes: every key with its default, commented out, so that a later version's
/// better default is not held back by this file.
pub(crate) fn template() -> String {
    let mut text = String::from(
        "# dir2mcp configuration.\n\
         #\n\
         # Each line below that begins with a bare \"#\" shows a default: remove the \"#\" to change it.\n\
         # Flags and environment variables win over this file; \"dir2mcp config print --origins\" shows the result.\n\
         # Keys and tokens do not belong here: use the environment, the OS keychain or the secrets file.\n\n\
         version: 1\n",
    );
    let mut open: Vec<&str> = Vec::new();
    for spec in TABLE.iter().filter(|spec| spec.key != Key::Version) {
        let (sections, name) = sections_of(spec.path);
        headers(&mut open, &sections, |depth, header| {
            let gap = if depth == 0 { "\n" } else { "" };
            text.push_str(&format!("{gap}{}{header}:\n", "  ".repeat(depth)));
        });
        let indent = "  ".repeat(sections.len());
        text.push_str(&format!("{indent}# {}{}\n", spec.doc.trim(), choices(spec)));
        let lines = match reference(spec.key) {
            Some(variable) => vec![format!("{name}: ${{{variable}}}")],
            None => entry(name, &ConfigValue::preset(spec)),
        };
        for line in lines {
            text.push_str(&format!("{indent}#{line}\n"));
        }
    }
    text
}

/// One YAML line per key of a section path, to tell the user what to add by hand.
pub(crate) fn entry_for(path: &str, value: &ConfigValue) -> String {
    let (sections, name) = sections_of(path);
    let mut text = String::new();
    for (depth, section) in sections.iter().enumerate() {
        text.push_str(&format!("{}{section}:\n", "  ".repeat(depth)));
    }
    for line in entry(name, value) {
        text.push_str(&format!("{}{line}\n", "  ".repeat(sections.len())));
    }
    text
}

/// The reference page: every key, its default, variables, flag and meaning.
pub(crate) fn reference_markdown() -> String {
    let mut text = String::from(REFERENCE_HEAD);
    let mut section = "";
    for spec in TABLE {
        let this = spec.path.split('.').next().unwrap_or(spec.path);
        if this != section {
            section = this;
            text.push_str(&format!(
                "\n## {section}\n\n| key | default | widens | environment | flag | meaning |\n|---|---|---|---|---|---|\n"
            ));
        }
        let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
        let env: Vec<String> = spec.env_names().map(|name| code(&name)).collect();
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {}{} |\n",
            code(spec.path),
            preset_inline(spec).replace('|', "\\|"),
            spec.reach.text(),
            env.join(", "),
            code(spec.flag.first().unwrap_or(&"")),
            spec.doc.trim(),
            choices(spec).replace('|', ", "),
        ));
    }
    text
}

/// The same page as data.
pub(crate) fn reference_json() -> Json {
    let keys: Vec<Json> = TABLE
        .iter()
        .map(|spec| {
            json!({
                "key": spec.path,
                "expected": spec.expected(),
                "default": value_json(&ConfigValue::preset(spec)),
                "widens": spec.reach.text(),
                "environment": spec.env_names().collect::<Vec<_>>(),
                "flag": spec.flag.first(),
                "meaning": spec.doc.trim(),
            })
        })
        .collect();
    json!({ "keys": keys })
}

/// What the reference page says before its tables.
const REFERENCE_HEAD: &str = "\
# Configuration

Generated by `dir2mcp config print --reference`; `--json` gives the same to programs.

Each of these is stronger than those below it; `dir2mcp config print --origins` shows where each value comes from:

| source | what it may set |
|---|---|
| flags | everything |
| the shell's environment variables | everything |
| `repo_mcp.toml` in the served folder | the `repo` keys; `repo.data_dir` once it is trusted |
| the file named by `--config` or `DIR2MCP_CONFIG` | everything |
| else `.dir2mcp.yaml` in the current folder, else in the served one | what does not widen; everything once it is trusted |
| `config.yaml` in `$XDG_CONFIG_HOME/dir2mcp` (`~/.config/dir2mcp`) | everything |
| `.env.local` and `.env` in the current folder | the keys of providers, where the shell does not have them |
| the defaults | |

`${NAME}` in a file stands for a variable of the shell, and for one of `.env` where the key of a provider is wanted.
`DIR2MCP_DIR`, `DIR2MCP_CONFIG` and `DIR2MCP_STATE_DIR` stand for `--dir`, `--config` and `--state-dir`.
The state directory belongs to one root; another root is refused.

## Trust

A config file that is merely found may have come with the folder: with a repository that was cloned, or an archive that was
unpacked. It may narrow what is served. The column *widens* names the values by which a key lets more in or out than before:
other folders, other tools, callers without a token, other origins and hosts, fewer secret rules, providers and their
addresses, payments. Such a key counts once you have said so, and until then the program ends with exit code 2 and names it:

- `dir2mcp trust [DIR]` trusts the folder's files as they are now, by path and digest; a changed file has to be trusted again.
  `--list` shows what is trusted, `--remove` takes it back. The list is `trust.json` in your own configuration directory.
- On a terminal the program asks.
- `dir2mcp config init` and `dir2mcp roots` trust what they write.
- `--trust-config` lets the file count for one run, and so does naming it with `--config FILE`.
";

struct PrintedLine {
    text: String,
    /// Where the value comes from and which values widen; present on the line that names a key.
    origin: Option<(String, String)>,
}

fn lines(loaded: &Loaded) -> Vec<PrintedLine> {
    let mut lines = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for spec in TABLE {
        let (sections, name) = sections_of(spec.path);
        headers(&mut open, &sections, |depth, header| {
            lines.push(PrintedLine { text: format!("{}{header}:", "  ".repeat(depth)), origin: None });
        });
        let value = match loaded.values.value(spec.key) {
            ConfigValue::Secret(_) => {
                ConfigValue::Text(shown_secret(loaded, spec.key).map_or("", |_| MASK).to_string())
            }
            value => value.clone(),
        };
        let indent = "  ".repeat(sections.len());
        for (at, line) in entry(name, &value).into_iter().enumerate() {
            let origin =
                (at == 0).then(|| (safe(&origin_text(loaded, spec)).into_owned(), spec.reach.text()));
            lines.push(PrintedLine { text: format!("{indent}{line}"), origin });
        }
    }
    lines
}

fn sections_of(path: &str) -> (Vec<&str>, &str) {
    let mut names: Vec<&str> = path.split('.').collect();
    let name = names.pop().unwrap_or(path);
    (names, name)
}

/// Names the sections that are not open yet.
fn headers<'a>(open: &mut Vec<&'a str>, sections: &[&'a str], mut emit: impl FnMut(usize, &'a str)) {
    let same = open.iter().zip(sections).take_while(|(a, b)| a == b).count();
    for (depth, section) in sections.iter().enumerate().skip(same) {
        emit(depth, section);
    }
    *open = sections.to_vec();
}

/// The lines of one key, not indented.
fn entry(name: &str, value: &ConfigValue) -> Vec<String> {
    match value {
        ConfigValue::Bool(value) => vec![format!("{name}: {value}")],
        ConfigValue::Int(value) => vec![format!("{name}: {value}")],
        ConfigValue::Duration(duration) => vec![format!("{name}: \"{}\"", format_duration(*duration))],
        ConfigValue::Text(text) => text_entry(name, text),
        ConfigValue::List(items) if items.is_empty() => vec![format!("{name}: []")],
        // A long list on one line: nobody reads it item by item, and readers of YAML bound the comments in a row.
        ConfigValue::List(items) if items.len() > LONG_LIST => {
            let items: Vec<String> = items.iter().map(|item| serde_json::json!(item).to_string()).collect();
            vec![format!("{name}: [{}]", items.join(", "))]
        }
        ConfigValue::List(items) => {
            let items = items.iter().map(|item| format!("  - {}", scalar(item)));
            std::iter::once(format!("{name}:")).chain(items).collect()
        }
        ConfigValue::Sizes(sizes) if sizes.is_empty() => vec![format!("{name}: {{}}")],
        ConfigValue::Sizes(sizes) => {
            let items = sizes.iter().map(|(doc_type, size)| format!("  {doc_type}: {size}"));
            std::iter::once(format!("{name}:")).chain(items).collect()
        }
        ConfigValue::Secret(_) => vec![format!("{name}: \"{MASK}\"")],
    }
}

/// A text of several lines reads best as a block, where nothing in it needs escaping.
fn text_entry(name: &str, text: &str) -> Vec<String> {
    let block = text.strip_suffix('\n').filter(|body| {
        body.contains('\n')
            && !body.contains("${")
            && !body.chars().any(|c| c != '\n' && is_unsafe(c))
            && body.split('\n').all(|line| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(' '))
    });
    match block {
        Some(body) => {
            let lines = body.lines().map(|line| format!("  {line}"));
            std::iter::once(format!("{name}: |")).chain(lines).collect()
        }
        None => vec![format!("{name}: {}", scalar(text))],
    }
}

/// A scalar that every YAML reader takes for this text, and that is safe on a terminal.
pub(crate) fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') && text.chars().all(plain);
    let meant_otherwise = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    if word && !meant_otherwise.contains(&text.to_lowercase().as_str()) {
        return text.into();
    }
    let mut quoted = String::from("\"");
    for c in text.replace("${", "$${").chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if is_unsafe(c) && (c as u32) < 0x1_0000 => quoted.push_str(&format!("\\u{:04X}", c as u32)),
            c if is_unsafe(c) => quoted.push_str(&format!("\\U{:08X}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn origin_text(loaded: &Loaded, spec: &KeySpec) -> String {
    if let Some(found) = shown_secret(loaded, spec.key) {
        return match found.source {
            SecretSource::Env { name, .. } => format!("env {name}"),
            SecretSource::Keychain => "keychain".into(),
            SecretSource::File { path } => format!("file {}", path.to_string_lossy()),
            SecretSource::Session => "session".into(),
        };
    }
    let origins: Vec<String> = loaded.values.origins(spec.key).iter().map(ValueOrigin::to_string).collect();
    origins.join(" + ")
}

fn shown_secret(loaded: &Loaded, key: Key) -> Option<FoundSecret> {
    let name = match key {
        Key::MistralApiKey => SecretName::MistralApiKey,
        Key::SttMistralApiKey => SecretName::MistralSttApiKey,
        Key::SttElevenlabsApiKey => SecretName::ElevenlabsApiKey,
        Key::OpenaiApiKey => SecretName::OpenaiApiKey,
        Key::CohereApiKey => SecretName::CohereApiKey,
        _ => return None,
    };
    loaded.secrets.get(name).ok().flatten()
}

/// The variable by which the template refers to a secret.
pub(super) fn reference(key: Key) -> Option<&'static str> {
    match key {
        Key::MistralApiKey | Key::SttMistralApiKey => Some("MISTRAL_API_KEY"),
        Key::SttElevenlabsApiKey => Some("ELEVENLABS_API_KEY"),
        Key::OpenaiApiKey => Some("OPENAI_API_KEY"),
        Key::CohereApiKey => Some("COHERE_API_KEY"),
        _ => None,
    }
}

/// A value on one line.
pub(super) fn inline(value: &ConfigValue) -> String {
    match value {
        ConfigValue::Bool(value) => value.to_string(),
        ConfigValue::Int(value) => value.to_string(),
        ConfigValue::Duration(duration) => format_duration(*duration),
        ConfigValue::Text(text) => text.trim_end().replace('\n', " "),
        ConfigValue::List(items) => items.join(", "),
        ConfigValue::Sizes(sizes) => {
            let sizes: Vec<String> = sizes.iter().map(|(name, size)| format!("{name}: {size}")).collect();
            sizes.join(", ")
        }
        ConfigValue::Secret(_) => MASK.into(),
    }
}

fn preset_inline(spec: &KeySpec) -> String {
    let text = match ConfigValue::preset(spec) {
        ConfigValue::Secret(_) => {
            reference(spec.key).map_or(String::new(), |variable| format!("${{{variable}}}"))
        }
        value => inline(&value),
    };
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

fn choices(spec: &KeySpec) -> String {
    match spec.kind {
        KeyKind::Choice(choices) if choices.len() > 1 && spec.key != Key::SecretsFileMode => {
            format!(" ({})", choices.join("|"))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::config::FILE_NAME;
    use crate::config::combine::Values;
    use crate::config::env::Environment;
    use crate::config::error::Problems;
    use crate::config::tests::load_in;
    use crate::config::yaml as reader;

    fn read(text: &str) -> Values {
        let (mut problems, mut warnings) = (Problems::default(), Vec::new());
        let file =
            reader::read(Path::new("/c.yaml"), text, &Environment::default(), &mut problems, &mut warnings);
        assert_eq!(problems.messages(), [""; 0], "{text}");
        Values::combine([file.layer])
    }

    fn assert_same(one: &Values, other: &Values) {
        for spec in TABLE.iter().filter(|spec| spec.kind != KeyKind::Secret) {
            // A path is anchored at the folder of the file it is read from.
            if spec.kind != KeyKind::Path {
                assert_eq!(one.value(spec.key), other.value(spec.key), "{}", spec.path);
            }
        }
    }

    #[test]
    fn the_template_changes_nothing_and_uncommented_spells_the_defaults() {
        let template = template();
        assert_same(&read(&template), &Values::combine([]));
        for spec in TABLE {
            assert!(!read(&template).is_explicit(spec.key) || spec.key == Key::Version);
        }
        let uncommented: String = template
            .lines()
            .map(|line| match line.trim_start().strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') && !rest.is_empty() || rest.starts_with("  ") => {
                    format!("{}{rest}\n", &line[..line.len() - line.trim_start().len()])
                }
                _ => format!("{line}\n"),
            })
            .collect();
        let values = read(&uncommented);
        assert_same(&values, &Values::combine([]));
        for spec in TABLE.iter().filter(|spec| spec.kind != KeyKind::Secret) {
            assert!(values.is_explicit(spec.key), "{} is missing", spec.path);
        }
    }

    #[test]
    fn d011_the_printed_configuration_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let config = "ingest:\n  max_file_mb_by_type: {pdf: 50}\nrag:\n  system_prompt: \"one\\ttwo $${X} \\u202e\"\n\
                      security:\n  path_excludes: ['a: b', '- c', ' d']\nserver:\n  session_inactivity_timeout: 90m\n";
        std::fs::write(dir.path().join(FILE_NAME), config).unwrap();
        let loaded =
            load_in(dir.path(), &["up", "--x402-price", "12"], &[("DIR2MCP_CHAT_MODEL", "on")]).unwrap();
        for origins in [false, true] {
            let text = yaml(&loaded, origins);
            assert_same(&read(&text), &loaded.values);
            assert!(!text.contains('\u{202e}'));
        }
        let text = yaml(&loaded, true);
        assert!(text.contains("# env DIR2MCP_CHAT_MODEL | widens: any other value\n"), "{text}");
        assert!(text.contains("# flag --x402-price | widens: "));
        assert!(text.contains(&format!("{FILE_NAME}:8 | widens: ")), "{text}");
    }

    #[test]
    fn d055_d168_d186_the_snapshot_names_sources_and_holds_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), "stt: {elevenlabs: {api_key: canary-two}}\n").unwrap();
        let loaded = load_in(dir.path(), &["up"], &[("MISTRAL_API_KEY", "canary-one")]).unwrap();
        let text = snapshot(&loaded, &TokenSource::SecretToken { path: "/s/secret.token".into() });
        assert!(!text.contains("canary"), "{text}");
        assert!(text.ends_with(
            "secret_sources:\n  MISTRAL_API_KEY: env\n  ELEVENLABS_API_KEY: file\n  OPENAI_API_KEY: unset\n  \
             COHERE_API_KEY: unset\n  DIR2MCP_AUTH_TOKEN: file\n"
        ));
        crate::config::files::prepare_state_dir(&loaded.settings.state_dir).unwrap();
        write_snapshot(&loaded, &TokenSource::None).unwrap();
        let written = dir.path().join(".dir2mcp/.dir2mcp.yaml.snapshot");
        assert_eq!(std::fs::metadata(&written).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(std::fs::read_to_string(&written).unwrap().ends_with("DIR2MCP_AUTH_TOKEN: none\n"));
        assert!(!json(&loaded).to_string().contains("canary"));
        assert_eq!(json(&loaded)["config"]["mistral"]["api_key"], "****");
        assert_eq!(json(&loaded)["origins"]["mistral.api_key"], "env MISTRAL_API_KEY");
    }

    #[test]
    fn the_reference_names_every_key() {
        let text = reference_markdown();
        for spec in TABLE {
            assert!(text.contains(&format!("| `{}` |", spec.path)), "{}", spec.path);
        }
        assert!(
            text.contains(
                "`DIR2MCP_ALLOWED_ORIGINS`, `DIR2MCP_SECURITY_ALLOWED_ORIGINS` | `--allowed-origins`"
            )
        );
    }

    proptest! {
        #[test]
        fn every_scalar_reads_back(text in any::<String>()) {
            let yaml = format!("mistral:\n  ocr_model: {}\n", scalar(&text));
            let values = read(&yaml);
            prop_assert_eq!(values.text(Key::MistralOcrModel), text.trim());
        }

        #[test]
        fn every_prompt_reads_back(text in "(?s)[a-c ${}#:'\n\t-]{0,40}") {
            let yaml = format!("rag:\n  {}\n", text_entry("system_prompt", &text).join("\n  "));
            let values = read(&yaml);
            prop_assert_eq!(values.text(Key::RagSystemPrompt), text);
        }
    }
}
