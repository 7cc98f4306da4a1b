//! A running `dir2mcp stdio`, and the client at the other end of its pipes.

use std::io::{self, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::client::message;
use crate::{Client, DEADLINE, Era, Finished, LEGACY, Process, Reply, initialize_params};

/// The process and its only client.
#[derive(Debug)]
pub struct StdioServer {
    process: Process,
    input: Option<ChildStdin>,
    pub era: Era,
    last_id: u64,
}

impl StdioServer {
    pub(crate) fn new(mut process: Process) -> StdioServer {
        let input = process.stdin();
        StdioServer { process, input, era: Era::Modern, last_id: 0 }
    }

    /// Any program that speaks MCP on its standard input and output.
    pub fn start(command: &mut Command) -> io::Result<StdioServer> {
        Ok(StdioServer::new(Process::start(command.stdin(Stdio::piped()))?))
    }

    /// Chooses the era; the legacy one does its handshake.
    pub fn connect(mut self, era: Era) -> StdioServer {
        self.era = era;
        if era == Era::Legacy {
            self.last_id += 1;
            self.send_line(&message(era, self.last_id, "initialize", initialize_params(LEGACY)).to_string());
            let reply = self.reply_to(self.last_id);
            assert!(reply.get("result").is_some(), "initialize: {reply}");
            self.send_line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        }
        self
    }

    /// Sends one line that need not be JSON.
    pub fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        // A server that has ended is noticed by the missing reply.
        let _ = input
            .write_all(line.as_bytes())
            .and_then(|()| input.write_all(b"\n"))
            .and_then(|()| input.flush());
    }

    /// The next message from the server, whatever it is.
    pub fn next_message(&mut self) -> Value {
        let line = self
            .process
            .next_line(DEADLINE)
            .unwrap_or_else(|| panic!("no line: {:?}", self.process.printed()));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?} on standard output"))
    }

    /// Closes the input and waits for the server to end by itself.
    pub fn close(mut self) -> Finished {
        self.input = None;
        self.process.wait()
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn kill(self) -> Finished {
        self.process.kill_now()
    }

    pub fn printed(&self) -> (String, String) {
        self.process.printed()
    }

    /// Waits until the first scan is through.
    pub fn wait_indexed(&mut self) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let stats = self.expect("dir2mcp.stats", json!({}));
            let answer = self.expect("dir2mcp.search", json!({ "query": "anything", "k": 1 }));
            if stats["indexing"]["running"] == false && answer["indexing_complete"] == true {
                return;
            }
            assert!(Instant::now() < deadline, "waited {DEADLINE:?} for the first scan");
        }
    }

    fn reply_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.next_message();
            if message.get("method").is_none() && message["id"] == id {
                return message;
            }
        }
    }
}

impl Client for StdioServer {
    fn name(&self) -> String {
        format!("stdio, {:?}", self.era)
    }

    fn request(&mut self, method: &str, params: Value) -> Reply {
        self.last_id += 1;
        self.send_line(&message(self.era, self.last_id, method, params).to_string());
        Reply { status: 200, message: self.reply_to(self.last_id) }
    }
}
