//! The outer shape of a JSON-RPC 2.0 message, checked before anything looks inside.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::strict;

/// A message whose envelope is sound. What its method and parameters mean is not known yet.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageEnvelope {
    pub kind: MessageKind,
    /// The whole message, as it came.
    pub body: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum MessageKind {
    Request {
        id: Value,
        method: String,
    },
    Notification {
        method: String,
    },
    /// An answer to something the server asked.
    Response,
}

/// The answer to a message that cannot be served: a JSON-RPC error, with the id if one could be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Rejection {
    pub code: i32,
    pub message: String,
    pub id: Value,
}

pub const PARSE_ERROR: i32 = -32700;
pub const INVALID_REQUEST: i32 = -32600;
pub const INVALID_PARAMS: i32 = -32602;

/// Reads one message. Batches are refused: revisions from 2025-06-18 on have none.
pub fn read(bytes: &[u8]) -> Result<MessageEnvelope, Rejection> {
    let body = match strict::parse(bytes) {
        Ok(Value::Object(body)) => body,
        Ok(Value::Array(_)) => return Err(Rejection::invalid("batches are not supported", Value::Null)),
        Ok(_) => return Err(Rejection::invalid("a message is a JSON object", Value::Null)),
        Err(error) => {
            return Err(Rejection { code: error.code(), message: error.to_string(), id: Value::Null });
        }
    };
    let id = match body.get("id") {
        None => None,
        Some(id) if is_id(id) => Some(id.clone()),
        Some(_) => return Err(Rejection::invalid("id must be a string or an integer", Value::Null)),
    };
    let known_id = || id.clone().unwrap_or(Value::Null);
    if body.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(Rejection::invalid("jsonrpc must be \"2.0\"", known_id()));
    }
    let answers =
        [body.contains_key("result"), body.contains_key("error")].into_iter().filter(|has| *has).count();
    let kind = match (body.get("method"), id.clone()) {
        (Some(Value::String(_)), _) if answers > 0 => {
            return Err(Rejection::invalid("a message with a method has no result and no error", known_id()));
        }
        (Some(Value::String(method)), Some(id)) => MessageKind::Request { id, method: method.clone() },
        (Some(Value::String(method)), None) => MessageKind::Notification { method: method.clone() },
        (Some(_), _) => return Err(Rejection::invalid("method must be a string", known_id())),
        (None, _) if answers == 1 => MessageKind::Response,
        (None, _) => return Err(Rejection::invalid("neither a request nor a response", known_id())),
    };
    // `"params": null` is not JSON-RPC, but clients that serialise an absent field send it.
    if let (MessageKind::Request { id, .. }, Some(params)) = (&kind, body.get("params"))
        && !(params.is_object() || params.is_null())
    {
        let message = "params must be an object".to_owned();
        return Err(Rejection { code: INVALID_PARAMS, message, id: id.clone() });
    }
    Ok(MessageEnvelope { kind, body })
}

impl Rejection {
    pub fn invalid(message: impl Into<String>, id: Value) -> Rejection {
        Rejection { code: INVALID_REQUEST, message: message.into(), id }
    }

    pub fn to_value(&self) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.id, "error": { "code": self.code, "message": self.message } })
    }
}

impl Serialize for Rejection {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

/// MCP forbids null ids, and an id must survive the trip: fractions and integers beyond 64 bits do not.
fn is_id(id: &Value) -> bool {
    match id {
        Value::String(_) => true,
        Value::Number(number) => number.as_i64().is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (i32, Value) {
        let rejection = read(text.as_bytes()).expect_err(text);
        (rejection.code, rejection.id)
    }

    #[test]
    fn the_three_kinds_are_told_apart() {
        let kind = |text: &str| read(text.as_bytes()).expect(text).kind;
        assert_eq!(
            kind(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#),
            MessageKind::Request { id: json!("a"), method: "ping".into() }
        );
        assert_eq!(
            kind(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            MessageKind::Notification { method: "notifications/initialized".into() }
        );
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), MessageKind::Response);
        assert_eq!(kind(r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#), MessageKind::Response);
    }

    #[test]
    fn c37_batches_are_refused() {
        assert_eq!(refused(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#), (-32600, Value::Null));
        assert_eq!(refused("[]"), (-32600, Value::Null));
    }

    #[test]
    fn m18_wrong_types_are_refused_with_the_id_if_there_is_one() {
        assert_eq!(refused("{"), (-32700, Value::Null));
        assert_eq!(refused("1"), (-32600, Value::Null));
        assert_eq!(refused("{}"), (-32600, Value::Null));
        assert_eq!(refused(r#"{"id":1,"method":"ping"}"#), (-32600, json!(1)));
        assert_eq!(refused(r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#), (-32600, json!(1)));
        assert_eq!(refused(r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#), (-32600, json!("x")));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"method":7}"#), (-32600, json!(1)));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1}"#), (-32600, json!(1)));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#), (-32600, json!(1)));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#), (-32600, json!(1)));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#), (-32602, json!(1)));
        for id in ["null", "true", "1.5", "[]", "{}", "18446744073709551615"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            assert_eq!(refused(&text), (-32600, Value::Null));
        }
    }
}
