//! A key's value: read from text, checked against its row of the table, shown again.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use model::DocType;

use super::keys::{KeyKind, KeySpec, Preset};
use crate::print::safe;
use crate::secrets::Secret;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConfigValue {
    Bool(bool),
    Int(u64),
    Text(String),
    List(Vec<String>),
    Duration(Duration),
    Sizes(BTreeMap<DocType, u64>),
    Secret(Option<ConfiguredSecret>),
}

/// A secret that the environment or the file holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConfiguredSecret {
    pub secret: Secret,
    /// The variable that a `${NAME}` in the file stood for.
    pub variable: Option<String>,
}

impl ConfigValue {
    pub(crate) fn preset(spec: &KeySpec) -> ConfigValue {
        match (spec.preset, spec.kind) {
            (Preset::Bool(value), _) => ConfigValue::Bool(value),
            (Preset::Int(value), _) => ConfigValue::Int(value),
            (Preset::Text(text), KeyKind::Duration) => {
                ConfigValue::Duration(parse_duration(text).expect("the table's durations are valid"))
            }
            (Preset::Text(text), _) => ConfigValue::Text(text.into()),
            (Preset::List(items), _) => {
                ConfigValue::List(items.iter().map(|item| item.to_string()).collect())
            }
            (Preset::PathExcludes, _) => ConfigValue::List(policy::default_path_excludes()),
            (Preset::IncludeExtensions, _) => {
                ConfigValue::List(contracts::repo::default_include_extensions())
            }
            (Preset::ExcludeGlobs, _) => ConfigValue::List(contracts::repo::default_exclude_globs()),
            (Preset::Empty, KeyKind::Secret) => ConfigValue::Secret(None),
            (Preset::Empty, _) => ConfigValue::Sizes(BTreeMap::new()),
        }
    }

    /// Reads the text of a variable, a flag or a scalar of the file.
    pub(crate) fn parse(spec: &KeySpec, text: &str) -> Result<ConfigValue, WrongValue> {
        let wrong = || WrongValue { expected: spec.expected(), found: FoundValue::text(spec, text) };
        let trimmed = text.trim();
        Ok(match spec.kind {
            KeyKind::Bool => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" | "y" | "t" => ConfigValue::Bool(true),
                "false" | "no" | "off" | "0" | "n" | "f" => ConfigValue::Bool(false),
                _ => return Err(wrong()),
            },
            KeyKind::Int { min, max } => {
                let number: u64 = trimmed.parse().map_err(|_| wrong())?;
                if !(min..=max).contains(&number) {
                    return Err(wrong());
                }
                ConfigValue::Int(number)
            }
            // A prompt keeps its line ends; nothing else has use for blanks around it.
            KeyKind::Text if spec.path == "rag.system_prompt" => ConfigValue::Text(text.into()),
            KeyKind::Text | KeyKind::Path => ConfigValue::Text(trimmed.into()),
            KeyKind::Choice(choices) => {
                let choice = choices.iter().find(|choice| choice.eq_ignore_ascii_case(trimmed));
                ConfigValue::Text(choice.ok_or_else(wrong)?.to_string())
            }
            KeyKind::List | KeyKind::Paths => ConfigValue::List(
                trimmed.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Into::into).collect(),
            ),
            KeyKind::Duration => ConfigValue::Duration(parse_duration(trimmed).ok_or_else(wrong)?),
            KeyKind::Sizes => {
                let mut sizes = BTreeMap::new();
                for pair in trimmed.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
                    let (name, number) = pair.split_once('=').ok_or_else(wrong)?;
                    let (doc_type, size) = size_entry(name, number).ok_or_else(wrong)?;
                    sizes.insert(doc_type, size);
                }
                ConfigValue::Sizes(sizes)
            }
            KeyKind::Secret => ConfigValue::Secret(
                (!trimmed.is_empty())
                    .then(|| ConfiguredSecret { secret: Secret::new(trimmed), variable: None }),
            ),
        })
    }
}

/// One `type: megabytes` pair of a [`KeyKind::Sizes`] key.
pub(crate) fn size_entry(name: &str, number: &str) -> Option<(DocType, u64)> {
    let doc_type = DocType::parse(name.trim())?;
    let size = number.trim().parse().ok().filter(|size| (1..=16_384).contains(size))?;
    Some((doc_type, size))
}

/// A value that its key does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrongValue {
    pub expected: String,
    pub found: FoundValue,
}

impl fmt::Display for WrongValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

/// What the file or the variable held instead of a valid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FoundValue {
    Quoted(String),
    /// A long text, or one where a secret belongs: somebody may have pasted a key into the wrong place.
    Withheld {
        characters: usize,
    },
    Structure(&'static str),
}

impl FoundValue {
    pub(crate) fn text(spec: &KeySpec, text: &str) -> FoundValue {
        let characters = text.chars().count();
        if characters > 16 || spec.kind == KeyKind::Secret {
            FoundValue::Withheld { characters }
        } else {
            FoundValue::Quoted(text.into())
        }
    }
}

impl fmt::Display for FoundValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoundValue::Quoted(text) => write!(f, "\"{}\"", safe(text)),
            FoundValue::Withheld { characters } => write!(f, "a text of {characters} characters"),
            FoundValue::Structure(what) => f.write_str(what),
        }
    }
}

/// Reads `24h`, `1h30m`, `1.5s`, `500ms` or a bare `0`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let seconds = match &rest[..letters] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        rest = &rest[letters..];
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
    }
    (!text.is_empty()).then_some(total)
}

/// Writes what [`parse_duration`] reads, in the largest units that fit.
pub(crate) fn format_duration(duration: Duration) -> String {
    let mut ms = duration.as_millis();
    let mut text = String::new();
    for (unit, length) in [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)] {
        if ms >= length {
            text.push_str(&format!("{}{unit}", ms / length));
            ms %= length;
        }
    }
    if text.is_empty() { "0".into() } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::keys::{Key, TABLE};

    fn parse(key: Key, text: &str) -> Result<ConfigValue, String> {
        ConfigValue::parse(KeySpec::of(key), text).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn durations() {
        let ms = |text| parse_duration(text).map(|d| d.as_millis());
        assert_eq!(ms("24h"), Some(86_400_000));
        assert_eq!(ms("1h30m"), Some(5_400_000));
        assert_eq!(ms("500ms"), Some(500));
        assert_eq!(ms("1.5s"), Some(1500));
        assert_eq!(ms("0"), Some(0));
        assert_eq!(ms("0s"), Some(0));
        for wrong in ["", "h", "5", "-1s", "5 h", "1d", "h5", "99999999999999999999h", "1..5s", "nan", "infs"]
        {
            assert_eq!(ms(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn durations_round_trip(ms in 0u64..10_000_000_000) {
            let duration = Duration::from_millis(ms);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Some(duration));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            for spec in TABLE {
                let _ = ConfigValue::parse(spec, &text);
            }
        }
    }

    #[test]
    fn kinds_are_read() {
        assert_eq!(parse(Key::IngestGitignore, " no "), Ok(ConfigValue::Bool(false)));
        assert_eq!(parse(Key::X402Mode, "REQUIRED"), Ok(ConfigValue::Text("required".into())));
        assert_eq!(parse(Key::ServerTools, "a, b,,"), Ok(ConfigValue::List(vec!["a".into(), "b".into()])));
        let sizes = BTreeMap::from([(DocType::Pdf, 50), (DocType::Image, 10)]);
        assert_eq!(parse(Key::IngestMaxFileMbByType, "pdf=50, image=10"), Ok(ConfigValue::Sizes(sizes)));
    }

    #[test]
    fn wrong_values_say_what_is_expected() {
        assert_eq!(
            parse(Key::IngestPdfMode, "ocrr").unwrap_err(),
            "expected one of off, ocr, auto, found \"ocrr\""
        );
        assert_eq!(
            parse(Key::RagKDefault, "51").unwrap_err(),
            "expected a whole number from 1 to 50, found \"51\""
        );
        assert!(parse(Key::IngestMaxFileMbByType, "movie=1").is_err());
    }

    #[test]
    fn a_long_value_is_not_repeated() {
        let pasted = "k".repeat(40);
        let message = parse(Key::SecurityAuthMode, &pasted).unwrap_err();
        assert_eq!(message, "expected one of auto, none, file, found a text of 40 characters");
    }

    #[test]
    fn presets_satisfy_their_own_kind() {
        for spec in TABLE {
            match ConfigValue::preset(spec) {
                ConfigValue::Text(text) => {
                    assert_eq!(ConfigValue::parse(spec, &text), Ok(ConfigValue::Text(text)), "{}", spec.path)
                }
                ConfigValue::Int(number) => {
                    assert_eq!(ConfigValue::parse(spec, &number.to_string()), Ok(ConfigValue::Int(number)))
                }
                _ => {}
            }
        }
    }
}
