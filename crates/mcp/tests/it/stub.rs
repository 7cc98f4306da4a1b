//! Tools that do nothing but show how they were called.

use std::sync::Arc;
use std::time::Duration;

use contracts::{CallContext, CallRefused, ToolInfo, ToolResult, ToolService};
use futures::FutureExt;
use futures::future::BoxFuture;
use mcp::{CallerSource, McpOptions, McpServer};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

pub(crate) struct Stub {
    tools: Vec<ToolInfo>,
    /// Told when `stub.wait` begins and when it sees its cancellation.
    pub(crate) waiting: Arc<Notify>,
    pub(crate) cancelled: Arc<Notify>,
}

impl Stub {
    pub(crate) fn new() -> Arc<Stub> {
        // Not in alphabetical order, and with keys that are not either: both orders must survive.
        let names = ["stub.wait", "stub.echo", "stub.fail", "stub.progress", "stub.panic", "stub.caller"];
        let tools = names.iter().map(|name| info(name)).collect();
        Arc::new(Stub { tools, waiting: Arc::default(), cancelled: Arc::default() })
    }
}

pub(crate) fn server(stub: &Arc<Stub>) -> McpServer {
    server_with(stub, McpOptions::new("1.2.3", CallerSource::Stdio))
}

pub(crate) fn server_with(stub: &Arc<Stub>, options: McpOptions) -> McpServer {
    McpServer::new(stub.clone(), options)
}

impl ToolService for Stub {
    fn tools(&self) -> &[ToolInfo] {
        &self.tools
    }

    fn call(
        &self,
        name: &str,
        arguments: Option<Map<String, Value>>,
        context: CallContext,
    ) -> BoxFuture<'_, Result<ToolResult, CallRefused>> {
        let name = name.to_owned();
        async move {
            match name.as_str() {
                "stub.echo" => Ok(ok(json!({ "arguments": arguments }))),
                "stub.fail" => Ok(ToolResult {
                    content: vec!["ERROR: FILE_NOT_FOUND: a.txt".into()],
                    audio: Vec::new(),
                    structured: json!({ "error": { "code": "FILE_NOT_FOUND", "message": "a.txt", "retryable": false } }).into(),
                    is_error: true,
                }),
                "stub.progress" => {
                    if let Some(report) = &context.progress {
                        // The second does not advance, the third is no number: neither may reach the caller.
                        for done in [1.0, 1.0, f64::NAN, 2.0, 3.0] {
                            report(done, Some(3.0), format!("step {done}"));
                            tokio::task::yield_now().await;
                        }
                    }
                    Ok(ok(json!({ "asked": context.progress.is_some() })))
                }
                "stub.wait" => {
                    self.waiting.notify_one();
                    context.cancel.cancelled().await;
                    self.cancelled.notify_one();
                    Ok(ok(json!({ "cancelled": true })))
                }
                "stub.panic" => panic!("a tool that panics"),
                "stub.caller" => Ok(ok(json!({ "caller": context.caller.to_string() }))),
                _ => Err(CallRefused::UnknownTool(name)),
            }
        }
        .boxed()
    }

    fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    fn instructions(&self) -> String {
        "Use tools/list then tools/call.".to_owned()
    }
}

fn ok(structured: Value) -> ToolResult {
    ToolResult {
        content: vec![structured.to_string()],
        audio: Vec::new(),
        structured: structured.into(),
        is_error: false,
    }
}

fn info(name: &str) -> ToolInfo {
    let schema = |value: Value| match value {
        Value::Object(schema) => Arc::new(schema),
        _ => unreachable!("a schema is an object"),
    };
    ToolInfo {
        name: name.to_owned(),
        title: "A stub",
        description: "Shows how it was called",
        input_schema: schema(
            json!({ "type": "object", "properties": { "z": {}, "a": {} }, "additionalProperties": true }),
        ),
        output_schema: schema(json!({ "type": "object", "$defs": {} })),
        read_only: true,
        idempotent: true,
        price: model::PriceClass::Free,
        timeout: Duration::from_secs(1),
    }
}
