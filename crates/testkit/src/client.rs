//! What a client of either era says, whatever carries it.

use serde_json::{Value, json};

pub const LEGACY: &str = "2025-11-25";
pub const MODERN: &str = "2026-07-28";

/// The two ways of speaking the protocol: with a handshake and a session, or with all of it in each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    Legacy,
    Modern,
}

/// The answer to one request: a result, or a JSON-RPC error.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The HTTP status; 200 on stdio.
    pub status: u16,
    pub message: Value,
}

/// The result of `tools/call`.
#[derive(Debug, Clone)]
pub struct ToolReply {
    pub result: Value,
}

/// A connected client. One trait for four ways of connecting, so that a test can demand the same of all.
pub trait Client {
    /// For messages of failed assertions.
    fn name(&self) -> String;

    fn request(&mut self, method: &str, params: Value) -> Reply;

    /// Calls a tool and expects a tool result, failed or not.
    fn call(&mut self, tool: &str, arguments: Value) -> ToolReply {
        let reply = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        match reply.message.get("result") {
            Some(result) => ToolReply { result: result.clone() },
            None => panic!("{} {tool} {arguments}: no result but {reply:?}", self.name()),
        }
    }

    /// Calls a tool and expects success; returns its structured content.
    fn expect(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments.clone());
        assert!(!reply.is_error(), "{} {tool} {arguments}: {}", self.name(), reply.result);
        reply.structured().clone()
    }
}

impl Reply {
    pub fn result(&self) -> &Value {
        self.message.get("result").unwrap_or_else(|| panic!("no result but {self:?}"))
    }

    /// The JSON-RPC error code, if it is an error.
    pub fn error_code(&self) -> Option<i64> {
        self.message.pointer("/error/code").and_then(Value::as_i64)
    }
}

impl ToolReply {
    pub fn is_error(&self) -> bool {
        self.result.get("isError").and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn structured(&self) -> &Value {
        self.result.get("structuredContent").unwrap_or(&Value::Null)
    }

    /// The code of a failed call.
    pub fn code(&self) -> Option<&str> {
        self.is_error().then(|| self.structured().pointer("/error/code").and_then(Value::as_str)).flatten()
    }

    /// All text items together.
    pub fn text(&self) -> String {
        let items = self.result.get("content").and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| item.get("text").and_then(Value::as_str)).collect::<Vec<_>>().join("\n")
    }
}

/// The parameters of a handshake.
pub fn initialize_params(version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "testkit", "version": "1" } })
}

/// `params._meta` of a request without a handshake.
pub fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": { "name": "testkit", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A JSON-RPC request of the era.
pub(crate) fn message(era: Era, id: u64, method: &str, mut params: Value) -> Value {
    if era == Era::Modern
        && let Some(params) = params.as_object_mut()
        && !params.contains_key("_meta")
    {
        params.insert("_meta".into(), modern_meta());
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}
