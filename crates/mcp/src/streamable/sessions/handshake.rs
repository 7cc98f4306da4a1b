//! What a client said of itself when it began a session, kept as few bytes.

use rmcp::model::{ClientJsonRpcMessage, InitializeRequestParams};
use serde_json::{Value, json};

/// Ten thousand of the longest take forty megabytes.
const MAX_BYTES: usize = 4096;

/// The parameters of an `initialize` request, in a form that can be replayed.
pub(crate) struct Handshake(Box<[u8]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadHandshake {
    /// Not parameters of `initialize`; the MCP layer says so better.
    Unreadable,
    TooLong {
        limit: usize,
    },
}

impl Handshake {
    /// Leaves out what no tool can use: pictures, prose and links.
    pub(crate) fn new(params: Option<&Value>) -> Result<Handshake, BadHandshake> {
        let mut params: InitializeRequestParams = params
            .cloned()
            .and_then(|params| serde_json::from_value(params).ok())
            .ok_or(BadHandshake::Unreadable)?;
        params.meta = None;
        params.client_info.icons = None;
        params.client_info.description = None;
        params.client_info.website_url = None;
        let bytes = serde_json::to_vec(&params).map_err(|_| BadHandshake::Unreadable)?;
        if bytes.len() > MAX_BYTES {
            return Err(BadHandshake::TooLong { limit: MAX_BYTES });
        }
        Ok(Handshake(bytes.into_boxed_slice()))
    }

    /// The name and the version of the client, as it gave them.
    pub(super) fn client(&self) -> String {
        let params: Value = serde_json::from_slice(&self.0).unwrap_or_default();
        let word = |name: &str| params["clientInfo"][name].as_str().unwrap_or_default();
        let text = format!("{} {}", word("name"), word("version"));
        text.trim().chars().take(100).collect()
    }

    /// The two messages of the handshake.
    pub(super) fn replay(&self) -> serde_json::Result<(ClientJsonRpcMessage, ClientJsonRpcMessage)> {
        let params: Value = serde_json::from_slice(&self.0)?;
        let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        Ok((serde_json::from_value(initialize)?, serde_json::from_value(initialized)?))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ClientRequest;

    use super::*;

    #[test]
    fn capabilities_are_kept_and_pictures_are_not() {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "roots": { "listChanged": true } },
            "clientInfo": {
                "name": "x", "version": "1", "description": "x".repeat(50_000),
                "icons": [{ "src": format!("data:image/png;base64,{}", "A".repeat(50_000)) }],
            },
        });
        let (initialize, _) = Handshake::new(Some(&params)).ok().unwrap().replay().unwrap();
        let ClientJsonRpcMessage::Request(request) = initialize else { panic!("a request") };
        let ClientRequest::InitializeRequest(initialize) = request.request else { panic!("a handshake") };
        let kept = initialize.params;
        assert!(kept.capabilities.roots.is_some());
        assert_eq!((kept.client_info.name.as_str(), kept.client_info.icons), ("x", None));
        assert_eq!(Handshake::new(Some(&params)).ok().unwrap().client(), "x 1");
    }

    #[test]
    fn unreadable_or_endless() {
        let refused = |params: &Value| Handshake::new(Some(params)).err();
        assert_eq!(Handshake::new(None).err(), Some(BadHandshake::Unreadable));
        assert_eq!(refused(&json!({ "protocolVersion": 1 })), Some(BadHandshake::Unreadable));
        let name = "x".repeat(MAX_BYTES);
        let params = json!({ "protocolVersion": "x", "capabilities": {}, "clientInfo": { "name": name, "version": "" } });
        assert_eq!(refused(&params), Some(BadHandshake::TooLong { limit: MAX_BYTES }));
    }
}
