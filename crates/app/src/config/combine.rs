//! Puts the layers on top of each other: flags over environment over file over defaults, each value with the
//! place it came from.

use super::keys::{Key, Spec, TABLE};
use super::options::{Layer, Origin};
use super::value::{Credential, Value};
use std::collections::BTreeMap;
use std::time::Duration;

use model::DocType;

/// The effective value of every key.
#[derive(Debug, Clone)]
pub(crate) struct Values(Vec<Entry>);

#[derive(Debug, Clone)]
struct Entry {
    value: Value,
    /// More than one only for a list that others added to.
    origins: Vec<Origin>,
}

impl Values {
    /// Combines layers, the weakest first, over the defaults.
    pub(crate) fn combine(layers: impl IntoIterator<Item = Layer>) -> Values {
        let defaults =
            TABLE.iter().map(|spec| Entry { value: Value::preset(spec), origins: vec![Origin::Default] });
        let mut values = Values(defaults.collect());
        for setting in layers.into_iter().flatten() {
            let entry = &mut values.0[setting.key as usize];
            let adds = match setting.key {
                // The last pattern that matches decides, so what is added comes after what was there.
                Key::SecurityPathExcludes => true,
                key => Spec::of(key).adds() && matches!(setting.origin, Origin::Env { .. } | Origin::Flag(_)),
            };
            match (&mut entry.value, setting.value) {
                (Value::List(list), Value::List(more)) if adds => {
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

    pub(crate) fn value(&self, key: Key) -> &Value {
        &self.0[key as usize].value
    }

    pub(crate) fn origins(&self, key: Key) -> &[Origin] {
        &self.0[key as usize].origins
    }

    /// The strongest place.
    pub(crate) fn origin(&self, key: Key) -> &Origin {
        self.origins(key).last().unwrap_or(&Origin::Default)
    }

    /// True where somebody said so, be it the default's own value.
    pub(crate) fn is_explicit(&self, key: Key) -> bool {
        *self.origin(key) != Origin::Default
    }

    pub(crate) fn bool(&self, key: Key) -> bool {
        match self.value(key) {
            Value::Bool(value) => *value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn int(&self, key: Key) -> u64 {
        match self.value(key) {
            Value::Int(value) => *value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn text(&self, key: Key) -> &str {
        match self.value(key) {
            Value::Text(value) => value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn list(&self, key: Key) -> &[String] {
        match self.value(key) {
            Value::List(value) => value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn duration(&self, key: Key) -> Duration {
        match self.value(key) {
            Value::Duration(value) => *value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn sizes(&self, key: Key) -> &BTreeMap<DocType, u64> {
        match self.value(key) {
            Value::Sizes(value) => value,
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }

    pub(crate) fn credential(&self, key: Key) -> Option<&Credential> {
        match self.value(key) {
            Value::Secret(value) => value.as_ref(),
            other => unreachable!("{key:?} holds {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::options::Setting;

    fn file() -> Origin {
        Origin::File { path: "/c.yaml".into(), line: 4 }
    }

    fn env() -> Origin {
        Origin::Env { name: "X".into(), dotenv: None }
    }

    fn text(key: Key, value: &str, origin: Origin) -> Setting {
        Setting { key, value: Value::Text(value.into()), origin }
    }

    #[test]
    fn d166_flags_over_env_over_file_over_defaults() {
        let key = Key::ServerListen;
        let layers = [
            vec![text(key, "file", file())],
            vec![text(key, "env", env())],
            vec![text(key, "flag", Origin::Flag("--listen"))],
        ];
        let expected = [
            ("127.0.0.1:0", Origin::Default),
            ("file", file()),
            ("env", env()),
            ("flag", Origin::Flag("--listen")),
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
            value: Value::List(items.iter().map(|i| i.to_string()).collect()),
            origin,
        };
        let values = Values::combine([
            vec![list(&["https://a"], env())],
            vec![list(&["https://b", "HTTP://LOCALHOST"], Origin::Flag("--allowed-origins"))],
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
            value: Value::List(items.iter().map(|i| i.to_string()).collect()),
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
