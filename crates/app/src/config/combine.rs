//! Puts the layers on top of each other: flags over environment over file over defaults, each value with the
//! place it came from.

use super::keys::{Key, KeySpec, TABLE};
use super::options::{Layer, ValueOrigin};
use super::value::{ConfigValue, ConfiguredSecret};
use std::collections::BTreeMap;
use std::time::Duration;

use model::DocType;

/// The effective value of every key.
#[derive(Debug, Clone)]
pub(crate) struct Values(Vec<ValueEntry>);

#[derive(Debug, Clone)]
struct ValueEntry {
    value: ConfigValue,
    /// More than one only for a list that others added to.
    origins: Vec<ValueOrigin>,
}

impl Values {
    /// Combines layers, the weakest first, over the defaults.
    pub(crate) fn combine(layers: impl IntoIterator<Item = Layer>) -> Values {
        let defaults = TABLE
            .iter()
            .map(|spec| ValueEntry { value: ConfigValue::preset(spec), origins: vec![ValueOrigin::Default] });
        let mut values = Values(defaults.collect());
        for setting in layers.into_iter().flatten() {
            let entry = &mut values.0[setting.key as usize];
            let adds = match setting.key {
                // The last pattern that matches decides, so what is added comes after what was there.
                Key::SecurityPathExcludes => true,
                key => {
                    KeySpec::of(key).adds()
                        && matches!(setting.origin, ValueOrigin::Env { .. } | ValueOrigin::Flag(_))
                }
            };
            match (&mut entry.value, setting.value) {
                (ConfigValue::List(list), ConfigValue::List(more)) if adds => {
                    for item in more {
                        let known = list.iter().position(|known| known.eq_ignore_ascii_case(&item));
                        match known {
                            Some(at) if setting.key == Key::SecurityPathExcludes => {
                                list.remove(at);
                                list.push(item);
                            }
                            Some(_) => {}
                            None => list.push(item),
                        }
                    }
                    entry.origins.push(setting.origin);
                }
                (value, stronger) => {
                    *value = stronger;
                    entry.origins = vec![setting.origin];
                }
            }
        }
        values
    }

    pub(crate) fn value(&self, key: Key) -> &ConfigValue {
        &self.0[key as usize].value
    }

    pub(crate) fn origins(&self, key: Key) -> &[ValueOrigin] {
        &self.0[key as usize].origins
    }

    /// The strongest place.
    pub(crate) fn origin(&self, key: Key) -> &ValueOrigin {
        self.origins(key).last().unwrap_or(&ValueOrigin::Default)
    }

    /// True where the key was set, even to its default value.
    pub(crate) fn is_explicit(&self, key: Key) -> bool {
        *self.origin(key) != ValueOrigin::Default
    }

    pub(crate) fn bool(&self, key: Key) -> bool {
        match self.value(key) {
            ConfigValue::Bool(value) => *value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn int(&self, key: Key) -> u64 {
        match self.value(key) {
            ConfigValue::Int(value) => *value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn text(&self, key: Key) -> &str {
        match self.value(key) {
            ConfigValue::Text(value) => value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn list(&self, key: Key) -> &[String] {
        match self.value(key) {
            ConfigValue::List(value) => value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn duration(&self, key: Key) -> Duration {
        match self.value(key) {
            ConfigValue::Duration(value) => *value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn sizes(&self, key: Key) -> &BTreeMap<DocType, u64> {
        match self.value(key) {
            ConfigValue::Sizes(value) => value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn credential(&self, key: Key) -> Option<&ConfiguredSecret> {
        match self.value(key) {
            ConfigValue::Secret(value) => value.as_ref(),
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::options::Setting;

    fn file() -> ValueOrigin {
        ValueOrigin::File { path: "/c.yaml".into(), line: 4 }
    }

    fn env() -> ValueOrigin {
        ValueOrigin::Env { name: "X".into(), dotenv: None }
    }

    fn text(key: Key, value: &str, origin: ValueOrigin) -> Setting {
        Setting { key, value: ConfigValue::Text(value.into()), origin }
    }

    #[test]
    fn d166_flags_over_env_over_file_over_defaults() {
        let key = Key::ServerListen;
        let layers = [
            vec![text(key, "file", file())],
            vec![text(key, "env", env())],
            vec![text(key, "flag", ValueOrigin::Flag("--listen"))],
        ];
        let expected = [
            ("127.0.0.1:0", ValueOrigin::Default),
            ("file", file()),
            ("env", env()),
            ("flag", ValueOrigin::Flag("--listen")),
        ];
        for (count, (value, origin)) in expected.into_iter().enumerate() {
            let values = Values::combine(layers[..count].iter().cloned());
            assert_eq!((values.text(key), values.origin(key)), (value, &origin));
            assert_eq!(values.is_explicit(key), count > 0);
        }
    }

    #[test]
    fn allowed_origins_are_added_to() {
        let key = Key::SecurityAllowedOrigins;
        let list = |items: &[&str], origin| Setting {
            key,
            value: ConfigValue::List(items.iter().map(|i| i.to_string()).collect()),
            origin,
        };
        let values = Values::combine([
            vec![list(&["https://a"], env())],
            vec![list(&["https://b", "HTTP://LOCALHOST"], ValueOrigin::Flag("--allowed-origins"))],
        ]);
        assert_eq!(values.list(key), ["http://localhost", "http://127.0.0.1", "https://a", "https://b"]);
        assert_eq!(values.origins(key).len(), 3);
        let values = Values::combine([vec![list(&["https://c"], file())]]);
        assert_eq!(values.list(key), ["https://c"]);
    }

    #[test]
    fn d083_d090_path_excludes_are_added_to_the_defaults() {
        let key = Key::SecurityPathExcludes;
        let list = |items: &[&str], origin| Setting {
            key,
            value: ConfigValue::List(items.iter().map(|i| i.to_string()).collect()),
            origin,
        };
        let defaults = Values::combine([]).list(key).to_vec();
        let layers = [vec![list(&["**/priv/**", "!**/dist/**"], file())], vec![list(&["**/dist/**"], env())]];
        let values = Values::combine(layers);
        let expected: Vec<&str> =
            defaults.iter().map(String::as_str).filter(|item| *item != "**/dist/**").collect();
        assert_eq!(values.list(key), [&expected[..], &["**/priv/**", "!**/dist/**", "**/dist/**"]].concat());
        assert_eq!(values.origins(key).len(), 3);
    }
}
