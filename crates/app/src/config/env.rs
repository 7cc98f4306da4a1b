//! The environment: the shell's variables, and below them the provider keys of `.env.local` and `.env` in the current
//! folder. Nothing else in the program reads a variable.
//!
//! A dotenv file comes with the folder, so nothing else in it counts: it could name another folder to serve, or switch
//! the token off.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Problems};
use super::files;
use super::keys::{Key, KeyKind, KeySpec, OLD_ENV, OTHER_ENV, TABLE, UNUSED_ENV};
use super::nearest::nearest;
use super::options::{Layer, ValueOrigin, read_text};
use crate::print::safe;

#[derive(Clone, Default)]
pub(crate) struct Environment {
    shell: BTreeMap<String, String>,
    dotenv: BTreeMap<String, (String, PathBuf)>,
}

/// Names only: values may be keys.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |names: Vec<&String>| format!("{names:?}");
        f.debug_struct("Environment")
            .field("shell", &names(self.shell.keys().collect()))
            .field("dotenv", &names(self.dotenv.keys().collect()))
            .finish()
    }
}

/// A variable that is set to something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variable<'a> {
    pub value: &'a str,
    /// The dotenv file that sets it.
    pub dotenv: Option<&'a Path>,
}

impl Environment {
    /// The process's environment and the dotenv files in `cwd`.
    pub(crate) fn read(cwd: &Path) -> Result<Environment, ConfigError> {
        let text = |value: OsString| value.into_string().ok();
        let shell = std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        Environment { shell: shell.collect(), dotenv: BTreeMap::new() }.with_dotenv(cwd)
    }

    pub(super) fn with_dotenv(mut self, cwd: &Path) -> Result<Environment, ConfigError> {
        for name in [".env.local", ".env"] {
            let path = cwd.join(name);
            // Python projects like to call a folder `.env`, and some password managers put a pipe there.
            if !files::is_file(&path) {
                continue;
            }
            let file = files::read(&path).map_err(|error| {
                ConfigError::one(format!("cannot read {}: {error}", safe(&path.to_string_lossy())))
            })?;
            for (name, value) in parse_dotenv(&file.text) {
                self.dotenv.entry(name).or_insert_with(|| (value, path.clone()));
            }
        }
        Ok(self)
    }

    /// The shell's variable, unless it is unset or empty.
    pub(crate) fn get(&self, name: &str) -> Option<Variable<'_>> {
        let value = self.shell.get(name).filter(|value| !value.trim().is_empty())?;
        Some(Variable { value, dotenv: None })
    }

    /// The same for the key of a provider, which a dotenv file may hold too.
    pub(crate) fn get_key(&self, name: &str) -> Option<Variable<'_>> {
        self.get(name).or_else(|| {
            let (value, path) = self.dotenv.get(name).filter(|(value, _)| !value.trim().is_empty())?;
            Some(Variable { value, dotenv: Some(path) })
        })
    }

    /// Where the user's own configuration lives, if the shell says where its home is.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        let folder = |name: &str| self.get(name).map(|variable| PathBuf::from(variable.value));
        let base = folder("XDG_CONFIG_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| folder("HOME").filter(|path| path.is_absolute()).map(|home| home.join(".config")))?;
        Some(base.join("dir2mcp"))
    }

    /// Where programs keep data for the user, if the shell says where its home is.
    pub(crate) fn data_dir(&self) -> Option<PathBuf> {
        let folder = |name: &str| self.get(name).map(|variable| PathBuf::from(variable.value));
        let base = folder("XDG_DATA_HOME").filter(|path| path.is_absolute()).or_else(|| {
            folder("HOME").filter(|path| path.is_absolute()).map(|home| home.join(".local/share"))
        })?;
        Some(base.join("dir2mcp"))
    }

    /// The shell's `PATH` alone: a dotenv file that comes with a folder must not choose which programs run.
    pub(crate) fn search_path(&self) -> Option<&str> {
        self.shell.get("PATH").map(String::as_str)
    }

    /// Every key that a variable sets.
    pub(crate) fn layer(&self, cwd: &Path, problems: &mut Problems, warnings: &mut Vec<String>) -> Layer {
        let mut layer = Layer::new();
        for spec in TABLE {
            let get = |name: &str| match spec.kind {
                KeyKind::Secret => self.get_key(name),
                _ => self.get(name),
            };
            let found = spec.env_names().find_map(|name| Some((get(&name)?, name.into_owned())));
            let found = found.or_else(|| self.old_name(spec.key, warnings));
            if let Some((variable, name)) = found {
                let origin = ValueOrigin::Env { name, dotenv: variable.dotenv.map(Into::into) };
                layer.extend(read_text(spec, variable.value, &origin, cwd, problems));
            }
        }
        self.warn_of_unknown(warnings);
        layer
    }

    fn old_name(&self, key: Key, warnings: &mut Vec<String>) -> Option<(Variable<'_>, String)> {
        let (name, _) = OLD_ENV.iter().find(|(name, of)| *of == key && self.get(name).is_some())?;
        let today = KeySpec::of(key).env_names().next()?;
        warnings.push(format!("{name} is an old name; use {today}"));
        Some((self.get(name)?, name.to_string()))
    }

    /// A misspelt variable would otherwise do nothing, in silence.
    fn warn_of_unknown(&self, warnings: &mut Vec<String>) {
        let known: Vec<String> = TABLE
            .iter()
            .flat_map(|spec| spec.env_names())
            .map(|name| name.into_owned())
            .chain(OTHER_ENV.iter().chain(OLD_ENV.iter().map(|(name, _)| name)).map(|name| name.to_string()))
            .collect();
        for (name, (_, path)) in &self.dotenv {
            let is_ours = name.starts_with("DIR2MCP_") || known.contains(name);
            if is_ours && !is_key(name) && !self.shell.contains_key(name) {
                warnings.push(format!(
                    "{} in {} is ignored: only the keys of providers are taken from this file; set it in the shell, or \
                     in a config file that you trust",
                    safe(name),
                    safe(&path.to_string_lossy())
                ));
            }
        }
        for name in self.shell.keys().filter(|name| name.starts_with("DIR2MCP_")) {
            if UNUSED_ENV.contains(&name.as_str()) {
                warnings.push(format!("{name} is not used"));
            } else if !known.contains(name) {
                let hint = nearest(name, known.iter().map(String::as_str))
                    .map_or(String::new(), |nearest| format!("; did you mean {nearest}?"));
                warnings.push(format!("{} is not a known variable{hint}", safe(name)));
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Environment {
        let shell = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Environment { shell, dotenv: BTreeMap::new() }
    }
}

/// True for a variable that holds the key of a provider.
fn is_key(name: &str) -> bool {
    TABLE.iter().any(|spec| spec.kind == KeyKind::Secret && spec.env_names().any(|known| known == name))
}

/// The `NAME=value` lines of a dotenv file. Other tools write these files too, so what is not understood is
/// passed over.
pub(crate) fn parse_dotenv(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let line = rest.split('\n').next().unwrap_or(rest);
        let mut end = line.len();
        if let Some((name, start)) = assignment(line) {
            let value = &rest[start..];
            let quoted = match value.chars().next() {
                Some(quote @ ('"' | '\'')) => closing(value, quote),
                _ => None,
            };
            let value = match quoted {
                Some(length) => {
                    // A quoted value may run over several lines.
                    end = start
                        + length
                        + rest[start + length..].find('\n').unwrap_or(rest.len() - start - length);
                    unquoted(&value[..length])
                }
                None => bare(&line[start..]).to_string(),
            };
            pairs.push((name.to_string(), value));
        }
        rest = rest.get(end + 1..).unwrap_or("");
    }
    pairs
}

/// The name before `=` and where the value begins.
fn assignment(line: &str) -> Option<(&str, usize)> {
    let equals = line.find('=')?;
    let before = line[..equals].trim();
    let name =
        before.strip_prefix("export").filter(|n| n.starts_with(char::is_whitespace)).unwrap_or(before).trim();
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(legal) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let blanks = line[equals + 1..].len() - line[equals + 1..].trim_start().len();
    Some((name, equals + 1 + blanks))
}

/// The length of a quoted value with both its quotes, if it ends.
fn closing(value: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in value.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn unquoted(quoted: &str) -> String {
    let inner = &quoted[1..quoted.len() - 1];
    if quoted.starts_with('\'') {
        return inner.into();
    }
    let mut value = String::new();
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match (c, c == '\\') {
            (_, false) => value.push(c),
            (_, true) => match characters.next() {
                Some('n') => value.push('\n'),
                Some('r') => value.push('\r'),
                Some('t') => value.push('\t'),
                Some(other) => value.push(other),
                None => value.push('\\'),
            },
        }
    }
    value
}

/// An unquoted value, up to a comment.
fn bare(text: &str) -> &str {
    let end = text.match_indices('#').find(|(at, _)| *at == 0 || text[..*at].ends_with([' ', '\t']));
    text[..end.map_or(text.len(), |(at, _)| at)].trim()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::value::ConfigValue;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse_dotenv(text)
    }

    #[test]
    fn dotenv_lines() {
        let text = "# comment\nA=1\nexport B = two words # tail\nC='single # kept'\nD=\"a\\nb \\\"c\\\"\"\r\n\
                    not a line\nE=\nF=x#y\nG=\"first\nsecond\"\nH=last\n2BAD=x\nexported=yes";
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "single # kept"),
            ("D", "a\nb \"c\""),
            ("E", ""),
            ("F", "x#y"),
            ("G", "first\nsecond"),
            ("H", "last"),
            ("exported", "yes"),
        ];
        let expected: Vec<_> = expected.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        assert_eq!(pairs(text), expected);
        assert_eq!(
            pairs("A=\"never closed\nB=2"),
            [("A".into(), "\"never closed".into()), ("B".into(), "2".into())]
        );
    }

    proptest! {
        #[test]
        fn no_dotenv_text_makes_it_stumble(text in "(?s).{0,200}") {
            let _ = parse_dotenv(&text);
        }

        #[test]
        fn no_dotenv_like_text_makes_it_stumble(text in "[A-C='\"\\\\\n# é]{0,60}") {
            let _ = parse_dotenv(&text);
        }
    }

    #[test]
    fn the_shell_wins_then_env_local_then_env() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".env.local"), "A=local\nB=local\n").unwrap();
        std::fs::write(dir.path().join(".env"), "A=env\nB=env\nC=env\nD=env\nPATH=/evil\n").unwrap();
        let environment = Environment::of(&[("A", "shell"), ("D", " "), ("PATH", "/bin")]);
        let environment = environment.with_dotenv(dir.path()).unwrap();
        let value = |name| environment.get_key(name).unwrap().value;
        assert_eq!((value("A"), value("B"), value("C"), value("D")), ("shell", "local", "env", "env"));
        assert_eq!(environment.search_path(), Some("/bin"));
        assert_eq!(environment.get("A").map(|variable| variable.value), Some("shell"));
        assert!(environment.get("B").is_none());
    }

    #[test]
    fn d166_only_keys_of_providers_are_taken_from_a_dotenv_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut text = "DATABASE_URL=postgres://x\nDIR2MCP_TYPO=1\n".to_owned();
        let names = || TABLE.iter().flat_map(|spec| spec.env_names().map(move |name| (spec, name)));
        for (_, name) in names() {
            text.push_str(&format!("{name}=1\n"));
        }
        for name in OTHER_ENV.iter().chain(OLD_ENV.iter().map(|(name, _)| name)) {
            text.push_str(&format!("{name}=1\n"));
        }
        std::fs::write(dir.path().join(".env"), text).unwrap();
        let environment = Environment::default().with_dotenv(dir.path()).unwrap();
        let (mut problems, mut warnings) = (Problems::default(), Vec::new());
        let layer = environment.layer(Path::new("/"), &mut problems, &mut warnings);
        let set: Vec<Key> = layer.iter().map(|setting| setting.key).collect();
        assert_eq!(
            set,
            [
                Key::MistralApiKey,
                Key::OpenaiApiKey,
                Key::CohereApiKey,
                Key::SttMistralApiKey,
                Key::SttElevenlabsApiKey
            ]
        );
        assert!(problems.messages().is_empty());
        let said = |name: &str| warnings.iter().any(|warning| warning.starts_with(&format!("{name} in ")));
        for (spec, name) in names() {
            assert_eq!(said(&name), spec.kind != KeyKind::Secret, "{name}");
        }
        assert!(OTHER_ENV.iter().all(|name| said(name)) && said("DIR2MCP_TYPO") && !said("DATABASE_URL"));
    }

    #[test]
    fn the_user_s_own_folder_is_named_by_the_shell_alone() {
        let folder = |env: &[(&str, &str)]| Environment::of(env).config_dir();
        assert_eq!(folder(&[("HOME", "/h")]), Some("/h/.config/dir2mcp".into()));
        assert_eq!(folder(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]), Some("/x/dir2mcp".into()));
        assert_eq!(folder(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "x")]), Some("/h/.config/dir2mcp".into()));
        assert_eq!(folder(&[("HOME", "h")]), None);
    }

    #[test]
    fn an_unreadable_dotenv_is_an_error_and_a_folder_is_none() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".env")).unwrap();
        assert!(Environment::default().with_dotenv(dir.path()).is_ok());
        std::fs::write(dir.path().join(".env.local"), [0xff, b'=']).unwrap();
        assert!(Environment::default().with_dotenv(dir.path()).is_err());
    }

    #[test]
    fn names_of_variables() {
        let environment = Environment::of(&[
            ("DIR2MCP_SERVER_LISTEN", "127.0.0.1:1"),
            ("DIR2MCP_RATE_LIMIT_RPS", " 7 "),
            ("DIR2MCP_SESSION_TIMEOUT", "3s"),
            ("DIR2MCP_X402_PRICE", "5"),
            ("DIR2MCP_X402_PRICE_ATOMIC", "6"),
            ("MISTRAL_BASE_URL", "https://m.example"),
            ("DIR2MCP_SERVER_LISTE", "x"),
            ("DIR2MCP_AUTH_TOKEN", "t"),
        ]);
        let (mut problems, mut warnings) = (Problems::default(), Vec::new());
        let layer = environment.layer(Path::new("/"), &mut problems, &mut warnings);
        let value = |key| layer.iter().find(|s| s.key == key).map(|s| s.value.clone());
        assert_eq!(value(Key::ServerListen), Some(ConfigValue::Text("127.0.0.1:1".into())));
        assert_eq!(value(Key::ServerRateLimitRps), Some(ConfigValue::Int(7)));
        assert_eq!(value(Key::X402Price), Some(ConfigValue::Text("6".into())));
        assert_eq!(value(Key::MistralBaseUrl), Some(ConfigValue::Text("https://m.example".into())));
        assert_eq!(
            value(Key::ServerSessionInactivityTimeout),
            Some(ConfigValue::Duration(std::time::Duration::from_secs(3)))
        );
        assert_eq!(layer.len(), 5);
        assert_eq!(
            warnings,
            [
                "DIR2MCP_SESSION_TIMEOUT is an old name; use DIR2MCP_SESSION_INACTIVITY_TIMEOUT",
                "DIR2MCP_SERVER_LISTE is not a known variable; did you mean DIR2MCP_SERVER_LISTEN?",
            ]
        );
        assert!(problems.messages().is_empty());
    }
}
