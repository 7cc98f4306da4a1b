//! A client that knows lines, and nothing else.

use std::time::Duration;

use mcp::{McpServer, StdioError};
use rmcp::ServerHandler;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) struct Wire {
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    serving: JoinHandle<Result<(), StdioError>>,
    pub(crate) stop: CancellationToken,
}

impl Wire {
    pub(crate) fn new(server: impl ServerHandler) -> Wire {
        Wire::with_grace(server, Duration::from_secs(60))
    }

    pub(crate) fn with_grace(server: impl ServerHandler, grace: Duration) -> Wire {
        let (ours, theirs) = tokio::io::duplex(4096);
        let (reader, writer) = tokio::io::split(theirs);
        let stop = CancellationToken::new();
        let serving = tokio::spawn(mcp::serve_io(server, reader, writer, grace, stop.clone()));
        let (from, to) = tokio::io::split(ours);
        Wire { to, from: BufReader::new(from).lines(), serving, stop }
    }

    /// A connection on which a legacy handshake for `version` has been made.
    pub(crate) async fn legacy(server: McpServer, version: &str) -> Wire {
        let mut wire = Wire::new(server);
        let answer = wire.ask(initialize(version)).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        wire
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_line(message.to_string().as_bytes()).await;
    }

    pub(crate) async fn send_line(&mut self, line: &[u8]) {
        self.to.write_all(line).await.unwrap();
        self.to.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.to.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Value {
        let line = self.from.next_line().await.unwrap().expect("the server ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) async fn ask(&mut self, message: Value) -> Value {
        self.send(message).await;
        self.next().await
    }

    /// Asks and checks that the answer is an error; returns its code.
    pub(crate) async fn refused(&mut self, message: Value) -> i64 {
        let answer = self.ask(message.clone()).await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{message} was answered {answer}"))
    }

    /// Sends all messages without waiting for answers, reading meanwhile; returns as many lines as were sent.
    pub(crate) async fn exchange(&mut self, messages: Vec<Value>) -> Vec<Value> {
        let Wire { to, from, .. } = self;
        let sending = async {
            for message in &messages {
                to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
            }
        };
        let receiving = async {
            let mut answers = Vec::new();
            while answers.len() < messages.len() {
                let line = from.next_line().await.unwrap().expect("the server ended");
                answers.push(serde_json::from_str(&line).unwrap());
            }
            answers
        };
        tokio::join!(sending, receiving).1
    }

    /// Closes the input and returns what the server still had to say.
    pub(crate) async fn end(mut self) -> Vec<Value> {
        self.to.shutdown().await.unwrap();
        self.rest().await
    }

    /// What the server says until it ends, which it must do well.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(line) = self.from.next_line().await.unwrap() {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        self.serving.await.unwrap().unwrap();
        rest
    }

    /// Hangs up both ways.
    pub(crate) fn hang_up(self) -> JoinHandle<Result<(), StdioError>> {
        self.serving
    }
}

pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

pub(crate) fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

pub(crate) fn initialize(version: &str) -> Value {
    let client = json!({ "name": "test", "version": "0" });
    request(0, "initialize", json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client }))
}

/// The same request as the revision without handshakes wants it.
pub(crate) fn modern(mut message: Value) -> Value {
    let meta = &mut message["params"]["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    message
}
