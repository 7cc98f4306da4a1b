//! Which values of a key widen what is served, read, sent out or paid for. A file that came with a folder may not set
//! them without the user's word; `trust` asks this table.

use super::combine::Values;
use super::keys::{Key, KeySpec};
use super::settings::Listen;
use super::value::ConfigValue;

/// In which direction a value of a key widens, compared with the value that would hold without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// No value widens anything.
    Never,
    /// Every other value does.
    Change,
    /// A larger number or a longer time does.
    Larger,
    /// A larger number does, and so does 0, which switches the limit off.
    LargerOrZero,
    /// `true` does.
    True,
    /// `false` does.
    False,
    /// An item that was not in the list does.
    MoreItems,
    /// An item that is missing from the list does.
    FewerItems,
    /// An item that begins with `!` does: it takes an exclude back.
    Exceptions,
    /// A choice further to the right does. Choices of one group reach equally far.
    Ranked(&'static [&'static [&'static str]]),
    /// Every address does but a free port of this machine's own loopback.
    Address,
    /// A key that is written out does, since a service is used once its key is there; and so does a reference to a
    /// variable other than the provider's own, which would be sent to the provider.
    Reference,
}

impl Reach {
    /// For the reference page and `config print --origins`.
    pub(crate) fn text(self) -> String {
        match self {
            Reach::Never => "no".into(),
            Reach::Change => "any other value".into(),
            Reach::Larger => "larger".into(),
            Reach::LargerOrZero => "larger, or 0".into(),
            Reach::True => "true".into(),
            Reach::False => "false".into(),
            Reach::MoreItems => "more items".into(),
            Reach::FewerItems => "fewer items".into(),
            Reach::Exceptions => "items with !".into(),
            Reach::Ranked(groups) => {
                let groups: Vec<String> = groups.iter().map(|group| group.join(" or ")).collect();
                groups.join(" < ")
            }
            Reach::Address => "all but port 0 of loopback".into(),
            Reach::Reference => "a key, or a reference to another variable".into(),
        }
    }

    /// Whether `new` widens what `base` allows.
    pub(crate) fn widens(self, spec: &KeySpec, base: &Values, new: &ConfigValue) -> bool {
        let old = base.value(spec.key);
        match (self, old, new) {
            (_, old, new) if old == new => false,
            (Reach::Never, ..) => false,
            // References are looked at where the variables are known.
            (Reach::Reference, _, ConfigValue::Secret(secret)) => {
                secret.as_ref().is_some_and(|secret| secret.variable.is_none())
            }
            (Reach::Larger, ConfigValue::Int(old), ConfigValue::Int(new)) => new > old,
            (Reach::Larger, ConfigValue::Sizes(old), ConfigValue::Sizes(new)) => new
                .iter()
                .any(|(doc_type, size)| size > old.get(doc_type).unwrap_or(&base.int(Key::IngestMaxFileMb))),
            (Reach::LargerOrZero, ConfigValue::Int(old), ConfigValue::Int(new)) => {
                *old != 0 && (*new == 0 || new > old)
            }
            (Reach::LargerOrZero, ConfigValue::Duration(old), ConfigValue::Duration(new)) => {
                !old.is_zero() && (new.is_zero() || new > old)
            }
            (Reach::True, _, ConfigValue::Bool(new)) => *new,
            (Reach::False, _, ConfigValue::Bool(new)) => !*new,
            (Reach::MoreItems, ConfigValue::List(old), ConfigValue::List(new)) => {
                new.iter().any(|item| !old.iter().any(|known| known.eq_ignore_ascii_case(item)))
            }
            (Reach::FewerItems, ConfigValue::List(old), ConfigValue::List(new)) => {
                old.iter().any(|item| !new.contains(item))
            }
            (Reach::Exceptions, _, ConfigValue::List(new)) => {
                new.iter().any(|item| item.trim_start().starts_with('!'))
            }
            (Reach::Ranked(groups), ConfigValue::Text(old), ConfigValue::Text(new)) => {
                let rank = |text: &str| groups.iter().position(|group| group.contains(&text));
                match (rank(old), rank(new)) {
                    (Some(old), Some(new)) => new > old,
                    _ => true,
                }
            }
            (Reach::Address, _, ConfigValue::Text(new)) => {
                !Listen::parse(new).is_some_and(|listen| listen.is_loopback() && listen.port == 0)
            }
            // A change, or a value of a kind that the direction does not fit.
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::TABLE;
    use crate::config::options::{Setting, ValueOrigin};

    fn widens(key: Key, below: Option<&str>, new: &str) -> bool {
        let spec = KeySpec::of(key);
        let value = |text: &str| ConfigValue::parse(spec, text).unwrap();
        let origin = ValueOrigin::Flag("--x");
        let below = below.map(|text| Setting { key, value: value(text), origin });
        spec.reach.widens(spec, &Values::combine([below.into_iter().collect()]), &value(new))
    }

    #[test]
    fn no_default_widens() {
        let base = Values::combine([]);
        for spec in TABLE {
            assert!(!spec.reach.widens(spec, &base, base.value(spec.key)), "{}", spec.path);
        }
    }

    #[test]
    fn directions() {
        for (key, below, narrow, wide) in [
            (Key::IngestMaxFileMb, None, "1", "21"),
            (Key::IngestMaxFileMb, Some("5"), "4", "20"),
            (Key::IngestMaxFileMbByType, None, "pdf=20", "pdf=21"),
            (Key::IngestMaxFileMbByType, Some("pdf=50"), "pdf=40", "image=21"),
            (Key::ServerRateLimitRps, None, "59", "0"),
            (Key::ServerRateLimitRps, None, "1", "61"),
            (Key::ServerSessionMaxLifetime, Some("48h"), "24h", "0"),
            (Key::ServerPublic, None, "false", "true"),
            (Key::ServerReadOnly, Some("true"), "true", "false"),
            (Key::ServerTools, Some("dir2mcp,repo"), "repo", "repo,smart"),
            (Key::SecurityAllowedOrigins, None, "http://localhost", "http://localhost,http://evil.example"),
            (Key::SecuritySecretPatterns, None, "default,own", "own"),
            (Key::SecurityPathExcludes, None, "**/private/**", "!**/dist/**"),
            (Key::SecurityAuthMode, Some("file"), "auto", "none"),
            (Key::EmbedProvider, None, "builtin", "mistral"),
            (Key::OcrProvider, None, "tesseract", "command"),
            (Key::LimitsSpendCallsPerDay, Some("10"), "9", "0"),
            (Key::LimitsSpendCallsPerDay, None, "9", "x"),
            (Key::MistralApiKey, None, "", "written-out"),
            (Key::IngestPdfMode, None, "auto", "x"),
            (Key::ServerListen, None, "localhost:0", "127.0.0.1:8080"),
            (Key::ServerListen, None, "[::1]:0", "0.0.0.0:0"),
            (Key::X402PayTo, None, "", "someone"),
        ] {
            assert!(!widens(key, below, narrow), "{key:?} {narrow}");
            if wide != "x" {
                assert!(widens(key, below, wide), "{key:?} {wide}");
            }
        }
    }
}
