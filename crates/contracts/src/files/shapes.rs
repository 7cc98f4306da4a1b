//! Arguments and answers that several of these tools have in common.

use engine::{FileEntry, MutationGuard, MutationKey, StoreTime};
use model::{ContentHash, ErrorCode, Failure};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// The time of what has none: directories, and what does not exist.
pub const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

/// RFC 3339, UTC.
pub fn store_time_text(time: Option<StoreTime>) -> String {
    match time.and_then(|time| jiff::Timestamp::from_microsecond(time.0).ok()) {
        Some(time) => time.to_string(),
        None => ZERO_TIME.to_owned(),
    }
}

/// What every change takes besides what it changes; additions to the specification.
#[derive(Debug, Default, Deserialize)]
pub(super) struct GuardArguments {
    idempotency_key: Option<String>,
    expected_hash: Option<String>,
    #[serde(default)]
    must_be_new: bool,
}

impl GuardArguments {
    pub(super) fn guard(self) -> Result<MutationGuard, Failure> {
        let read = |text: String| {
            ContentHash::from_hex(&text).ok_or_else(|| {
                Failure::new(ErrorCode::InvalidQuery, "expected_hash must be 64 hexadecimal digits")
            })
        };
        Ok(MutationGuard {
            key: self.idempotency_key.map(MutationKey),
            expected: self.expected_hash.map(read).transpose()?,
            must_be_new: self.must_be_new,
        })
    }
}

/// The schema of a tool's arguments: a project, some of its own, and for changes the guard's.
pub(super) fn input(own: Value, required: &[&str]) -> Value {
    let mut properties = Map::new();
    properties.insert(
        "project".into(),
        json!({ "type": "string", "description": "Whose root the paths start at: 1 to 128 of A-Z a-z 0-9 _ - ." }),
    );
    properties.extend(own.as_object().cloned().unwrap_or_default());
    let required: Vec<&str> = ["project"].into_iter().chain(required.iter().copied()).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required })
}

/// The same for changes.
pub(super) fn changing(own: Value, required: &[&str]) -> Value {
    let mut schema = input(own, required);
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.insert(
            "idempotency_key".into(),
            json!({
                "type": "string",
                "description": "Chosen by you: the same change sent again under the same key happens once."
            }),
        );
        properties.insert(
            "expected_hash".into(),
            json!({
                "type": "string",
                "description": "content_hash of the file as you know it; PRECONDITION_FAILED if it has changed."
            }),
        );
    }
    schema
}

pub(super) fn path(what: &str) -> Value {
    json!({ "type": "string", "description": what })
}

pub(super) fn file_path() -> Value {
    path("Absolute within the project, such as /notes/today.md.")
}

/// The schema of an answer; all but the optional fields are required.
pub(super) fn answer(properties: Value, optional: &[&str]) -> Value {
    let names = properties.as_object().into_iter().flat_map(Map::keys);
    let required: Vec<&String> = names.filter(|name| !optional.contains(&name.as_str())).collect();
    let required = json!(required);
    json!({ "type": "object", "properties": properties, "required": required })
}

pub(super) fn count(what: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": what })
}

pub(super) fn time(what: &str) -> Value {
    json!({ "type": "string", "description": what })
}

pub(super) fn hash() -> Value {
    json!({ "type": "string", "description": "BLAKE3 of the content, in hexadecimal digits." })
}

/// A file or directory as listings show it.
pub(super) fn entry(entry: &FileEntry) -> Value {
    json!({
        "name": entry.path.name(),
        "path": entry.path.as_str(),
        "type": if entry.is_directory { "DIRECTORY" } else { "FILE" },
        "size": entry.size,
        "created_at": store_time_text(entry.created_at.filter(|_| !entry.is_directory)),
        "updated_at": store_time_text(entry.updated_at),
    })
}

/// Bytes as text; `true` where some had to be replaced, because a range begins or ends within a character.
pub(super) fn as_text(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    }
}

/// Only UTF-8 is stored.
pub(super) fn check_encoding(encoding: Option<&str>) -> Result<(), Failure> {
    match encoding {
        None => Ok(()),
        Some(name) if name.eq_ignore_ascii_case("utf-8") => Ok(()),
        Some(_) => Err(Failure::new(ErrorCode::InvalidQuery, "content_encoding must be utf-8")),
    }
}

/// Reads a checked whole number of either sign. JSON Schema counts `10.0` and `1e3` as integers, so they are; a number beyond
/// `i64` is as good as the largest.
pub(super) fn signed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = value.as_i64().or_else(|| value.as_f64().map(|n| n as i64));
    number.map(Some).ok_or_else(|| serde::de::Error::custom("not a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f008_times_are_utc_and_directories_have_the_zero_time() {
        assert_eq!(store_time_text(Some(StoreTime(1_730_815_391_123_456))), "2024-11-05T14:03:11.123456Z");
        assert_eq!(store_time_text(Some(StoreTime(0))), "1970-01-01T00:00:00Z");
        assert_eq!(store_time_text(None), "0001-01-01T00:00:00Z");
    }

    #[test]
    fn f027_only_utf8_is_an_encoding() {
        for good in [None, Some("utf-8"), Some("UTF-8")] {
            assert!(check_encoding(good).is_ok());
        }
        for bad in ["utf8", "", "latin-1", "base64"] {
            assert_eq!(check_encoding(Some(bad)).unwrap_err().code, ErrorCode::InvalidQuery);
        }
    }

    #[test]
    fn a_range_that_cuts_a_character_says_so() {
        assert_eq!(as_text(b"ab".to_vec()), ("ab".into(), false));
        assert_eq!(as_text("é".as_bytes()[1..].to_vec()), ("\u{fffd}".into(), true));
    }

    #[test]
    fn whole_numbers_of_either_sign() {
        #[derive(Deserialize)]
        struct Number {
            #[serde(default, deserialize_with = "signed")]
            n: Option<i64>,
        }
        let read = |value: Value| serde_json::from_value::<Number>(value).map(|number| number.n).ok();
        assert_eq!(read(json!({"n": -1})), Some(Some(-1)));
        assert_eq!(read(json!({"n": 2.0})), Some(Some(2)));
        assert_eq!(read(json!({"n": -1e300})), Some(Some(i64::MIN)));
        assert_eq!(read(json!({"n": u64::MAX})), Some(Some(i64::MAX)));
        assert_eq!(read(json!({})), Some(None));
    }
}
