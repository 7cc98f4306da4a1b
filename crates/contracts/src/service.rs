//! What a transport needs to know of the tools: their list, and how to call one.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use model::{Caller, PriceClass};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// A tool as it is published.
#[derive(Debug, Clone)]
pub struct ToolInfo {
    pub name: String,
    pub title: &'static str,
    pub description: &'static str,
    /// JSON Schema objects, key order kept.
    pub input_schema: Arc<Map<String, Value>>,
    pub output_schema: Arc<Map<String, Value>>,
    pub read_only: bool,
    pub idempotent: bool,
    /// What a call costs, where calls are paid for.
    pub price: PriceClass,
    /// How long one call may take.
    pub timeout: Duration,
}

/// What one call brings along besides its arguments.
#[derive(Clone)]
pub struct CallContext {
    pub caller: Caller,
    pub cancel: CancellationToken,
    /// Where to report progress, if the caller asked for it.
    pub progress: Option<ProgressSink>,
    /// The request's own id, where the transport has one.
    pub request_id: Option<String>,
}

/// Receives `(done, total, message)`.
pub type ProgressSink = Arc<dyn Fn(f64, Option<f64>, String) + Send + Sync>;

/// A finished call, failed or not, in the shape of an MCP tool result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Text items; never empty.
    pub content: Vec<String>,
    /// Recordings, behind the text.
    pub audio: Vec<SpokenContent>,
    pub structured: Arc<Value>,
    pub is_error: bool,
}

/// A recording as MCP carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpokenContent {
    /// In base64.
    pub data: String,
    pub media_type: &'static str,
}

/// Why a call did not reach its tool: the failures that are the protocol's, not the tool's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallRefused {
    /// The name is not that of a tool.
    #[error("unknown tool: {0}")]
    UnknownTool(String),
    /// The arguments break the published schema, in a contract that leaves this to the protocol.
    #[error("{0}")]
    BadArguments(String),
}

pub trait ToolService: Send + Sync + 'static {
    /// All tools, in a stable order, on one page.
    fn tools(&self) -> &[ToolInfo];

    /// Runs one tool: validates the arguments against the published schema, applies the tool's time limit and
    /// the caller's cancellation, and renders any failure in the contract's own shape.
    fn call(
        &self,
        name: &str,
        arguments: Option<Map<String, Value>>,
        context: CallContext,
    ) -> BoxFuture<'_, Result<ToolResult, CallRefused>>;

    /// Whether a call by this name would find its tool, however the list spells it.
    fn has(&self, name: &str) -> bool;

    /// The `instructions` text of the MCP handshake, as of now.
    fn instructions(&self) -> String;
}
