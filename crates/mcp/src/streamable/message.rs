//! What the transport must know of a JSON-RPC message before it lets it through.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Map, Value};

use super::refusal::{Refused, TransportRefusal};
use crate::envelope::{self, MessageEnvelope, MessageKind};

/// The first protocol revision without a handshake and without sessions.
const STATELESS: &str = "2026-07-28";

pub(super) const PROTOCOL_VERSION: &str = "mcp-protocol-version";
pub(super) const SESSION_ID: &str = "mcp-session-id";

const INITIALIZE: &str = "initialize";

/// Headers that steer a message. Of two, a proxy in front may have read the other one.
const STEERING: [&str; 4] = [PROTOCOL_VERSION, SESSION_ID, "mcp-method", "mcp-name"];

/// A message whose envelope is sound.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    /// Only requests have one.
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    /// Each request speaks for itself; there is no session.
    pub(super) stateless: bool,
    /// What a handshake says.
    pub(super) handshake: Option<Value>,
    /// The message itself.
    pub(super) body: Map<String, Value>,
}

pub(super) fn check_headers(headers: &HeaderMap) -> Result<(), TransportRefusal> {
    for name in STEERING {
        if headers.get_all(name).iter().nth(1).is_some() {
            return Err(TransportRefusal::BadField {
                detail: format!("the header {name} was sent twice").into(),
            });
        }
    }
    Ok(())
}

/// Whether the header alone says that there is no session.
pub(super) fn is_stateless(headers: &HeaderMap) -> bool {
    headers.get(PROTOCOL_VERSION).is_some_and(|version| version.as_bytes() >= STATELESS.as_bytes())
}

impl Message {
    pub(super) fn read(bytes: &Bytes, headers: &HeaderMap) -> Result<Message, Refused> {
        let MessageEnvelope { kind, mut body } = envelope::read(bytes).map_err(|rejection| Refused {
            refusal: TransportRefusal::BadMessage { rpc: rejection.code, detail: rejection.message },
            id: Some(rejection.id).filter(|id| !id.is_null()),
        })?;
        let (id, method) = match kind {
            MessageKind::Request { id, method } => (Some(id), Some(method)),
            MessageKind::Notification { method } => (None, Some(method)),
            MessageKind::Response => (None, None),
        };
        let stateless = match method.as_deref() {
            // The handshake exists only where there are sessions, whatever version it names.
            Some(INITIALIZE) if id.is_some() => false,
            Some("server/discover") => true,
            Some(_) if names_its_version(body.get("params")) => true,
            _ => is_stateless(headers),
        };
        let begins_session = id.is_some() && method.as_deref() == Some(INITIALIZE);
        let handshake = begins_session.then(|| body.remove("params").unwrap_or_default());
        Ok(Message { id, method, stateless, handshake, body })
    }

    pub(super) fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }
}

fn names_its_version(params: Option<&Value>) -> bool {
    params
        .and_then(|params| params.get("_meta"))
        .is_some_and(|meta| meta.get("io.modelcontextprotocol/protocolVersion").is_some())
}
