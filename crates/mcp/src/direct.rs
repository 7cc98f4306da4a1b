//! The short way of the most frequent request: a tool call of revision 2026-07-28 that leaves nothing to negotiate.
//!
//! Such a call says everything itself, and its answer is one document. Taking it apart into the library's types, and
//! its answer together again through a channel and a stream, costs several times what the call itself does. Whatever
//! is unusual in any way takes the long way, which also words all refusals; on the short way nothing is refused.

use std::future::Future;

use bytes::Bytes;
use contracts::{CallContext, CallRefused, ToolResult};
use http::HeaderMap;
use model::Caller;
use rmcp::model::{ClientCapabilities, Implementation, ProtocolVersion};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::server::McpServer;

/// A server that may answer some requests without the transport.
pub trait Direct {
    /// The whole answer to a request, or `None` if it must take the long way. `body` is only emptied in the first case.
    fn direct(
        &self,
        headers: &HeaderMap,
        id: &Value,
        body: &mut Map<String, Value>,
        caller: &Caller,
        cancel: CancellationToken,
    ) -> Option<impl Future<Output = Option<Bytes>> + Send>;
}

/// Writing a longer text as JSON takes milliseconds, in which the connections of others would wait.
const LARGE: usize = 64 * 1024;

const REVISION: ProtocolVersion = ProtocolVersion::V_2026_07_28;

impl Direct for McpServer {
    fn direct(
        &self,
        headers: &HeaderMap,
        id: &Value,
        body: &mut Map<String, Value>,
        caller: &Caller,
        cancel: CancellationToken,
    ) -> Option<impl Future<Output = Option<Bytes>> + Send> {
        let name = self.plain_call(headers, body)?.to_owned();
        let params = body.get_mut("params")?;
        let arguments = match params.get_mut("arguments").map(Value::take) {
            Some(Value::Object(arguments)) => Some(arguments),
            _ => None,
        };
        let request_id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let context =
            CallContext { caller: caller.clone(), cancel, progress: None, request_id: Some(request_id) };
        let id = id.clone();
        Some(async move {
            let result = match self.run(&name, arguments, context).await? {
                Ok(result) => result,
                Err(CallRefused::BadArguments(why)) => return Some(refused_arguments(&id, &why)),
                Err(CallRefused::UnknownTool(_)) => return None,
            };
            let audio = result.audio.iter().map(|audio| audio.data.len());
            let is_large = result.content.iter().map(String::len).chain(audio).sum::<usize>() > LARGE;
            let identity = self.identity().clone();
            let encode =
                move || serde_json::to_vec(&DirectAnswer::new(&id, &result, &identity)).ok().map(Bytes::from);
            if is_large { tokio::task::spawn_blocking(encode).await.ok()? } else { encode() }
        })
    }
}

impl McpServer {
    /// The tool's name, if this is a call that the long way would let through as well.
    fn plain_call<'a>(&self, headers: &HeaderMap, body: &'a Map<String, Value>) -> Option<&'a str> {
        let is = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
        if !is("mcp-protocol-version", REVISION.as_str()) || !is("mcp-method", "tools/call") {
            return None;
        }
        if body.get("method")?.as_str()? != "tools/call" {
            return None;
        }
        let params = body.get("params")?.as_object()?;
        let known = |key: &String| ["name", "arguments", "_meta"].contains(&key.as_str());
        if !params.keys().all(known) || !params.get("arguments").is_none_or(Value::is_object) {
            return None;
        }
        let name = params.get("name")?.as_str()?;
        let meta = params.get("_meta")?.as_object()?;
        let version = meta.get("io.modelcontextprotocol/protocolVersion")?.as_str()?;
        let client = meta.get("io.modelcontextprotocol/clientInfo");
        let capabilities = meta.get("io.modelcontextprotocol/clientCapabilities")?;
        let plain = is("mcp-name", name)
            && version == REVISION.as_str()
            && client.is_none_or(|client| Implementation::deserialize(client).is_ok())
            && ClientCapabilities::deserialize(capabilities).is_ok()
            && !meta.contains_key("progressToken")
            && self.serves_directly(&REVISION, name);
        plain.then_some(name)
    }
}

/// As the long way words arguments that break the schema.
fn refused_arguments(id: &Value, why: &str) -> Bytes {
    let error = json!({ "code": -32602, "message": why });
    Bytes::from(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
}

/// A JSON-RPC response, in the order of keys of the long way.
#[derive(Serialize)]
struct DirectAnswer<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    result: CallResult<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    result_type: &'static str,
    content: Vec<DirectContent<'a>>,
    structured_content: &'a Value,
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum DirectContent<'a> {
    Text {
        text: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    Audio {
        data: &'a str,
        mime_type: &'static str,
    },
}

#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    server: &'a Value,
}

impl<'a> DirectAnswer<'a> {
    fn new(id: &'a Value, result: &'a ToolResult, server: &'a Value) -> DirectAnswer<'a> {
        let spoken = result
            .audio
            .iter()
            .map(|audio| DirectContent::Audio { data: &audio.data, mime_type: audio.media_type });
        let content = result.content.iter().map(|text| DirectContent::Text { text }).chain(spoken).collect();
        DirectAnswer {
            jsonrpc: "2.0",
            id,
            result: CallResult {
                result_type: "complete",
                content,
                structured_content: &result.structured,
                is_error: result.is_error,
                meta: Meta { server },
            },
        }
    }
}
