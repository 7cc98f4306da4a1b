//! A server with three toy tools, a clock that is moved by hand, and two callers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use contracts::{CallContext, CallRefused, ToolInfo, ToolResult, ToolService};
use dir2mcp_http::{BearerTokens, Credential, HttpConfig, HttpError, NoVitals, SecretToken, bind};
use futures::future::BoxFuture;
use mcp::streamable::{Streamable, StreamableConfig, Variant};
use mcp::{CallerSource, McpOptions, McpServer};
use model::{Identity, MonotonicClock};
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::mount;
use super::wire::{Answer, Ask, Wire};

/// Built from parts, so that no scanner takes them for secrets.
pub(crate) fn alpha() -> String {
    ["alpha", "canary", "0123456789"].join("-")
}

pub(crate) fn beta() -> String {
    ["beta", "canary", "9876543210"].join("-")
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
    pub(crate) clock: Arc<Hand>,
    pub(crate) tools: Arc<Toys>,
    pub(crate) cancel: CancellationToken,
    pub(crate) task: JoinHandle<Result<(), HttpError>>,
}

impl Server {
    pub(crate) async fn start() -> Server {
        Server::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut HttpConfig)) -> Server {
        Server::mounted(&["/mcp"], change, |_| {}).await
    }

    pub(crate) async fn with_sessions(change: impl FnOnce(&mut StreamableConfig)) -> Server {
        Server::mounted(&["/mcp"], |_| {}, change).await
    }

    pub(crate) async fn mounted(
        paths: &[&str],
        change_http: impl FnOnce(&mut HttpConfig),
        change_sessions: impl FnOnce(&mut StreamableConfig),
    ) -> Server {
        let clock = Arc::new(Hand(Mutex::new(Instant::now())));
        let credential = |identity: &str, token: String| Credential {
            identity: Identity::new(identity),
            token: SecretToken::new(token),
        };
        let tokens = [credential("alice", alpha()), credential("bob", beta())];
        let mut config = HttpConfig {
            auth: Arc::new(BearerTokens::new(&tokens).expect("usable tokens")),
            clock: clock.clone(),
            ..HttpConfig::default()
        };
        change_http(&mut config);
        let bound = bind(config).await.expect("binds");
        let (address, url) = (bound.local_addr(), bound.url(paths[0]));
        let mut config = StreamableConfig {
            clock: clock.clone(),
            stopping: bound.shutdown().stopping.clone(),
            stopped: bound.shutdown().stopped.clone(),
            ..StreamableConfig::default()
        };
        change_sessions(&mut config);
        let streamable = Streamable::new(config).expect("sound limits");
        let tools = Arc::new(Toys::default());
        let server = McpServer::new(tools.clone(), McpOptions::new("0.0.0", CallerSource::Http));
        let mut site = mount::site().vitals(Arc::new(NoVitals));
        for path in paths {
            let variants = vec![Variant { query: None, server: server.clone() }];
            site = site.route(mount::route(path, streamable.endpoint(variants, Vec::new())));
        }
        let site = site.background(streamable.look_after_sessions());
        let cancel = CancellationToken::new();
        let task = tokio::spawn(bound.serve(site, cancel.clone()));
        Server { address, url, clock, tools, cancel, task }
    }

    /// One request on its own connection.
    pub(crate) async fn ask(&self, ask: &Ask) -> Answer {
        Wire::open(self.address).await.ask(ask).await
    }

    /// As the first caller.
    pub(crate) async fn ask_as_alice(&self, ask: Ask) -> Answer {
        self.ask(&ask.token(&alpha())).await
    }

    pub(crate) async fn initialize(&self, token: &str) -> String {
        let answer = self.ask(&Ask::post(initialize()).token(token)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.header("mcp-session-id").expect("a session id").to_owned()
    }

    pub(crate) async fn assert_works(&self) {
        let answer = self.ask_as_alice(modern("tools/list", json!({}))).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.json()["result"]["tools"].is_array(), "{answer:?}");
    }

    pub(crate) async fn stop(self) {
        self.cancel.cancel();
        self.task.await.expect("no panic").expect("stops well");
    }
}

/// A request of the revision without sessions.
pub(crate) fn modern(method: &str, mut params: Value) -> Ask {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    let mut ask =
        Ask::post(json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string())
            .with("MCP-Protocol-Version", "2026-07-28")
            .with("Mcp-Method", method);
    if let Some(name) = params["name"].as_str() {
        ask = ask.with("Mcp-Name", name);
    }
    ask
}

pub(crate) fn modern_call(tool: &str, arguments: Value) -> Ask {
    modern("tools/call", json!({ "name": tool, "arguments": arguments }))
}

pub(crate) fn initialize() -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    })
    .to_string()
}

pub(crate) fn initialized() -> String {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized", "params": {} }).to_string()
}

/// A request within a session.
pub(crate) fn in_session(session: &str, body: impl Into<Vec<u8>>) -> Ask {
    Ask::post(body).with("MCP-Protocol-Version", "2025-11-25").with("MCP-Session-Id", session)
}

pub(crate) fn list_tools(id: impl Into<Value>) -> String {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "tools/list", "params": {} }).to_string()
}

pub(crate) fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params }).to_string()
}

/// A clock that stands still until it is moved.
pub(crate) struct Hand(Mutex<Instant>);

impl Hand {
    pub(crate) fn advance(&self, by: Duration) {
        *self.0.lock().unwrap() += by;
    }
}

impl MonotonicClock for Hand {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }
}

/// `echo` gives its arguments back, `whoami` the caller, `wait` waits to be released.
pub(crate) struct Toys {
    tools: Vec<ToolInfo>,
    started: watch::Sender<usize>,
    cancelled: watch::Sender<usize>,
    release: Semaphore,
}

impl Default for Toys {
    fn default() -> Toys {
        let schema: Arc<Map<String, Value>> =
            Arc::new(Map::from_iter([("type".to_owned(), json!("object"))]));
        let tools = ["echo", "whoami", "wait"].map(|name| ToolInfo {
            name: name.to_owned(),
            title: "a toy",
            description: "a toy",
            input_schema: schema.clone(),
            output_schema: schema.clone(),
            read_only: true,
            idempotent: true,
            price: model::PriceClass::Free,
            timeout: Duration::from_secs(60),
        });
        Toys {
            tools: tools.to_vec(),
            started: watch::Sender::new(0),
            cancelled: watch::Sender::new(0),
            release: Semaphore::new(0),
        }
    }
}

impl Toys {
    /// Waits until this many calls of `wait` have begun.
    pub(crate) async fn until_started(&self, calls: usize) {
        self.started.subscribe().wait_for(|started| *started >= calls).await.expect("the tools live");
    }

    pub(crate) async fn until_cancelled(&self, calls: usize) {
        self.cancelled.subscribe().wait_for(|cancelled| *cancelled >= calls).await.expect("the tools live");
    }

    pub(crate) fn cancelled(&self) -> usize {
        *self.cancelled.borrow()
    }

    pub(crate) fn release(&self) {
        self.release.add_permits(1);
    }
}

/// Counts a call as cancelled when it goes.
struct Unfinished<'a>(&'a watch::Sender<usize>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|cancelled| *cancelled += 1);
    }
}

impl ToolService for Toys {
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
        Box::pin(async move {
            let structured = match name.as_str() {
                "echo" => json!({ "echo": arguments }),
                "whoami" => json!({ "caller": context.caller.to_string() }),
                "wait" => {
                    self.started.send_modify(|started| *started += 1);
                    // Stopped by its token or dropped half done: either way the work has ended.
                    let unfinished = Unfinished(&self.cancelled);
                    tokio::select! {
                        permit = self.release.acquire() => {
                            permit.expect("open").forget();
                            std::mem::forget(unfinished);
                        }
                        () = context.cancel.cancelled() => {}
                    }
                    json!({ "waited": true })
                }
                _ => return Err(CallRefused::UnknownTool(name)),
            };
            Ok(ToolResult {
                content: vec![structured.to_string()],
                audio: Vec::new(),
                structured: structured.into(),
                is_error: false,
            })
        })
    }

    fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    fn instructions(&self) -> String {
        "Toys.".to_owned()
    }
}
