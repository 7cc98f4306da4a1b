//! A JSON reader that refuses what lets two readers see two different messages.
//!
//! `serde_json` keeps the last of two equal keys without a word, so a gateway that keeps the first would check
//! another request than the one that runs. Here a repeated key is an error, at any depth.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::envelope::{INVALID_REQUEST, PARSE_ERROR};

/// Objects and arrays inside each other: more than any message needs, less than a stack can bear.
pub const MAX_DEPTH: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StrictError {
    #[error("invalid JSON at line {line}, column {column}")]
    Syntax { line: usize, column: usize },
    #[error("invalid UTF-8 at byte {at}")]
    Utf8 { at: usize },
    #[error("a key is given twice: {key:?}")]
    DuplicateKey { key: String },
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl StrictError {
    /// The JSON-RPC code: unreadable is a parse error, readable but ambiguous or oversized an invalid request.
    pub fn code(&self) -> i32 {
        match self {
            StrictError::Syntax { .. } | StrictError::Utf8 { .. } => PARSE_ERROR,
            StrictError::DuplicateKey { .. } | StrictError::TooDeep => INVALID_REQUEST,
        }
    }
}

/// Reads one JSON value: UTF-8, no repeated keys, nothing after it, at most [`MAX_DEPTH`] levels.
pub fn parse(bytes: &[u8]) -> Result<Value, StrictError> {
    // Checked up front: serde_json looks at the bytes of strings only.
    let text = std::str::from_utf8(bytes).map_err(|error| StrictError::Utf8 { at: error.valid_up_to() })?;
    let refused = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    StrictValue { depth: 0, refused: &refused }
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| {
            refused.take().unwrap_or(StrictError::Syntax { line: error.line(), column: error.column() })
        })
}

/// One value, with the place where the reason of a refusal is left: serde errors carry text only.
#[derive(Clone, Copy)]
struct StrictValue<'a> {
    depth: usize,
    refused: &'a RefCell<Option<StrictError>>,
}

impl StrictValue<'_> {
    fn inside(self) -> Self {
        StrictValue { depth: self.depth + 1, ..self }
    }

    fn refuse<E: serde::de::Error>(self, reason: StrictError) -> E {
        let error = E::custom(&reason);
        self.refused.replace(Some(reason));
        error
    }
}

impl<'de> DeserializeSeed<'de> for StrictValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        if self.depth == MAX_DEPTH {
            return Err(self.refuse(StrictError::TooDeep));
        }
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.inside())? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        if self.depth == MAX_DEPTH {
            return Err(self.refuse(StrictError::TooDeep));
        }
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                // Long enough to recognise, short enough to repeat in an answer.
                let key = key.chars().take(64).collect();
                return Err(self.refuse(StrictError::DuplicateKey { key }));
            }
            let value = entries.next_value_seed(self.inside())?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ordinary_json_reads_as_serde_json_reads_it() {
        let text = r#" {"b":[1,-2,3.5,18446744073709551615,true,null],"a":{"ü":"\u00e9\ud83d\ude00"}} "#;
        let value = parse(text.as_bytes()).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(
            serde_json::to_string(&value).unwrap(),
            serde_json::to_string(&serde_json::from_str::<Value>(text).unwrap()).unwrap()
        );
    }

    #[test]
    fn m16_repeated_keys_are_refused_at_any_depth() {
        for text in [
            r#"{"method":"tools/list","method":"tools/call"}"#,
            r#"{"a":[{"x":1,"y":2,"x":3}]}"#,
            r#"{"a":1,"\u0061":2}"#,
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(matches!(error, StrictError::DuplicateKey { .. }), "{text}: {error}");
            assert_eq!(error.code(), -32600);
        }
    }

    #[test]
    fn m16_keys_that_differ_in_case_are_different_keys() {
        let value = parse(br#"{"method":"tools/list","Method":"tools/call"}"#).unwrap();
        assert_eq!(value["method"], "tools/list");
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(parse(nested(MAX_DEPTH + 1).as_bytes()), Err(StrictError::TooDeep));
        assert_eq!(parse(nested(1_000_000).as_bytes()), Err(StrictError::TooDeep));
        assert_eq!(parse("[".repeat(1_000_000).as_bytes()), Err(StrictError::TooDeep));
    }

    #[test]
    fn broken_json_says_where() {
        assert_eq!(parse(b"{\"a\":\n tru"), Err(StrictError::Syntax { line: 2, column: 4 }));
        assert_eq!(parse(b"\"\xff\""), Err(StrictError::Utf8 { at: 1 }));
        for text in
            ["", " ", "{", "{}{}", "{'a':1}", "[1,]", "nul", "\"\\ud800\"", "1e400", "NaN", "\u{feff}{}"]
        {
            assert_eq!(parse(text.as_bytes()).unwrap_err().code(), -32700, "{text:?}");
        }
        assert_eq!(parse(b"{}").unwrap(), json!({}));
    }
}
