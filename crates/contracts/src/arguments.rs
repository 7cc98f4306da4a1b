//! Arguments against the published schema, and what a violation is called.

use jsonschema::Validator;
use jsonschema::error::{ValidationError, ValidationErrorKind};
use model::{ErrorCode, Failure};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::text::shown;

/// A schema, compiled once.
pub(crate) struct Schema {
    document: Value,
    validator: Validator,
}

impl Schema {
    /// Fails only for a schema of ours that is no schema; a test compiles them all.
    pub(crate) fn compile(document: Value) -> Result<Schema, String> {
        let validator = jsonschema::validator_for(&document).map_err(|error| error.to_string())?;
        Ok(Schema { document, validator })
    }

    pub(crate) fn document(&self) -> &Value {
        &self.document
    }

    /// The first thing that is wrong, in the order in which a person would want to hear of it: a name that
    /// does not exist, a value that is missing, one of the wrong type, one out of range.
    ///
    /// `out_of_range` is the code for numbers outside their limits, in which contracts and tools differ.
    pub(crate) fn check(&self, arguments: &Value, out_of_range: ErrorCode) -> Result<(), Failure> {
        let mut violations: Vec<(u8, Failure)> = self
            .validator
            .iter_errors(arguments)
            .map(|error| self.violation(&error, arguments, out_of_range))
            .collect();
        violations.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.message.cmp(&y.message)));
        violations.into_iter().next().map_or(Ok(()), |(_, failure)| Err(failure))
    }

    /// Where a value breaks the schema, for values of our own making.
    pub(crate) fn complaint(&self, value: &Value) -> Option<String> {
        let error = self.validator.iter_errors(value).next()?;
        Some(format!("{} at {}", error.masked(), error.instance_path()))
    }

    fn violation(
        &self,
        error: &ValidationError<'_>,
        arguments: &Value,
        out_of_range: ErrorCode,
    ) -> (u8, Failure) {
        let path = error.instance_path().to_string();
        let field = field_name(&path);
        let schema = self.at(&path);
        let (rank, code, message) = match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                (0, ErrorCode::InvalidField, self.unknown(unexpected))
            }
            // How a schema without properties refuses whatever comes.
            ValidationErrorKind::FalseSchema => {
                let names: Vec<String> =
                    arguments.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
                (0, ErrorCode::InvalidField, self.unknown(&names))
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                (1, ErrorCode::MissingField, format!("{name} is required"))
            }
            ValidationErrorKind::Minimum { .. } | ValidationErrorKind::Maximum { .. } => {
                (3, out_of_range, format!("{field} must be {}", range(schema)))
            }
            ValidationErrorKind::Enum { options } => {
                (2, ErrorCode::InvalidField, format!("{field} must be one of {}", alternatives(options)))
            }
            ValidationErrorKind::MinLength { .. } => {
                (2, ErrorCode::InvalidField, format!("{field} must not be empty"))
            }
            ValidationErrorKind::Type { .. } => {
                (2, ErrorCode::InvalidField, format!("{field} must be {}", type_name(schema)))
            }
            _ => (2, ErrorCode::InvalidField, format!("{field} is not acceptable")),
        };
        (rank, Failure::new(code, message))
    }

    fn unknown(&self, names: &[String]) -> String {
        let names: Vec<String> = names.iter().take(3).map(|name| format!("\"{}\"", shown(name))).collect();
        let known: Vec<&str> = self
            .document
            .get("properties")
            .and_then(Value::as_object)
            .map(|properties| properties.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let allowed = if known.is_empty() {
            "this tool takes no arguments".to_owned()
        } else {
            format!("the arguments are: {}", known.join(", "))
        };
        format!("unknown argument {}; {allowed}", names.join(", "))
    }

    /// The schema of the value at a JSON pointer into the arguments.
    fn at(&self, pointer: &str) -> &Value {
        let mut schema = &self.document;
        for step in pointer.split('/').filter(|step| !step.is_empty()) {
            let next = schema.get("properties").and_then(|properties| properties.get(step));
            schema = next.or_else(|| schema.get("items")).unwrap_or(&Value::Null);
        }
        schema
    }
}

/// `/doc_types/0` as people write it: `doc_types[0]`.
fn field_name(pointer: &str) -> String {
    let mut name = String::new();
    for step in pointer.split('/').filter(|step| !step.is_empty()) {
        if !name.is_empty() && step.bytes().all(|b| b.is_ascii_digit()) {
            name.push_str(&format!("[{step}]"));
        } else {
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(step);
        }
    }
    if name.is_empty() { "the arguments".into() } else { shown(&name) }
}

fn range(schema: &Value) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(low), Some(high)) => format!("between {low} and {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "within its range".into(),
    }
}

fn alternatives(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    options.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

fn type_name(schema: &Value) -> &'static str {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => "a string",
        Some("integer") => "an integer",
        Some("number") => "a number",
        Some("boolean") => "true or false",
        Some("array") => "an array",
        Some("object") => "an object",
        _ => "of another type",
    }
}

/// Reads a checked whole number. JSON Schema counts `10.0` and `1e3` as integers, so they are; a number
/// beyond `u64` is as good as the largest.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64));
    number.map(Some).ok_or_else(|| serde::de::Error::custom("not a whole number"))
}

/// Checked arguments as their type. The schema admits nothing that the type does not; if it ever did, the
/// caller hears of the argument, not of our types.
pub(crate) fn typed<T: serde::de::DeserializeOwned>(arguments: Value) -> Result<T, Failure> {
    serde_json::from_value(arguments)
        .map_err(|_| Failure::new(ErrorCode::InvalidField, "the arguments could not be read"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        Schema::compile(json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "query": { "type": "string", "minLength": 1 },
                "k": { "type": "integer", "minimum": 1, "maximum": 50 },
                "offset": { "type": "integer", "minimum": 0 },
                "index": { "type": "string", "enum": ["auto", "text"] },
                "doc_types": { "type": "array", "items": { "type": "string" } }
            },
            "required": ["query"]
        }))
        .unwrap()
    }

    fn refused(arguments: Value) -> (ErrorCode, String) {
        let failure = schema().check(&arguments, ErrorCode::InvalidRange).unwrap_err();
        (failure.code, failure.message)
    }

    #[test]
    fn violations_have_their_codes_and_name_the_field() {
        use ErrorCode::{InvalidField, InvalidRange, MissingField};
        let message = |text: &str| text.to_owned();
        assert_eq!(refused(json!({})), (MissingField, message("query is required")));
        assert_eq!(refused(json!({"query": ""})), (InvalidField, message("query must not be empty")));
        assert_eq!(refused(json!({"query": 1})), (InvalidField, message("query must be a string")));
        assert_eq!(
            refused(json!({"query": "x", "k": 0})),
            (InvalidRange, message("k must be between 1 and 50"))
        );
        assert_eq!(refused(json!({"query": "x", "k": 51})).0, InvalidRange);
        assert_eq!(refused(json!({"query": "x", "k": "5"})), (InvalidField, message("k must be an integer")));
        assert_eq!(refused(json!({"query": "x", "k": 1.5})).0, InvalidField);
        assert_eq!(refused(json!({"query": "x", "k": null})).0, InvalidField);
        assert_eq!(
            refused(json!({"query": "x", "offset": -1})),
            (InvalidRange, message("offset must be at least 0"))
        );
        assert_eq!(
            refused(json!({"query": "x", "index": "all"})),
            (InvalidField, message("index must be one of auto, text"))
        );
        assert_eq!(
            refused(json!({"query": "x", "doc_types": [1]})),
            (InvalidField, message("doc_types[0] must be a string"))
        );
        assert_eq!(
            refused(json!({"query": "x", "doc_types": "md"})),
            (InvalidField, message("doc_types must be an array"))
        );
    }

    #[test]
    fn an_unknown_argument_is_named_first_and_cut() {
        let (code, message) = refused(json!({"q": "x"}));
        assert_eq!(code, ErrorCode::InvalidField);
        assert_eq!(message, "unknown argument \"q\"; the arguments are: query, k, offset, index, doc_types");
        let (_, message) = refused(json!({"z".repeat(10_000): 1}));
        assert!(message.len() < 300);
    }

    #[test]
    fn a_value_is_never_repeated() {
        let secret = "hunter".to_owned() + "2";
        for arguments in [json!({"query": "x", "k": secret}), json!({"query": "x", "index": secret})] {
            assert!(!refused(arguments).1.contains(&secret));
        }
    }

    #[test]
    fn whole_numbers_in_all_their_spellings() {
        #[derive(Deserialize)]
        struct Number {
            #[serde(default, deserialize_with = "whole")]
            n: Option<u64>,
        }
        let read = |value: Value| serde_json::from_value::<Number>(value).map(|number| number.n).ok();
        assert_eq!(read(json!({"n": 10})), Some(Some(10)));
        assert_eq!(read(json!({"n": 10.0})), Some(Some(10)));
        assert_eq!(read(json!({"n": 1e300})), Some(Some(u64::MAX)));
        assert_eq!(read(json!({})), Some(None));
        assert_eq!(read(json!({"n": -1})), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("query|k|offset|index|doc_types|\\PC{0,6}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_arguments_are_accepted_or_refused_shortly(arguments in any_json()) {
            if let Err(failure) = schema().check(&arguments, ErrorCode::InvalidRange) {
                prop_assert!(failure.message.len() < 600);
                prop_assert!(!failure.message.is_empty());
            }
        }
    }
}
