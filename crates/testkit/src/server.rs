//! A running `dir2mcp up`, and clients connected to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::message;
use crate::{
    Client, Connection, DEADLINE, Era, Finished, LEGACY, MODERN, Process, Reply, Request, initialize_params,
};

/// Between two questions to a server that is not there yet.
const PACE: Duration = Duration::from_millis(20);

/// A server that has printed its `connection` event.
#[derive(Debug)]
pub struct Server {
    process: Process,
    /// `host:port`.
    pub address: String,
    /// `/mcp`, or what was asked for.
    pub path: String,
    /// None with `--auth none`.
    pub token: Option<String>,
    /// The data of the `connection` event.
    pub connection: Value,
    state: PathBuf,
    events: Mutex<Vec<Value>>,
}

/// A client of one era on its own connection.
#[derive(Debug)]
pub struct HttpClient {
    pub connection: Connection,
    pub era: Era,
    path: String,
    token: Option<String>,
    pub session: Option<String>,
    version: String,
    last_id: u64,
}

impl Server {
    /// Reads NDJSON until the `connection` event. A server that ends instead is the error.
    pub(crate) fn ready(process: Process, state: &Path) -> Result<Server, Finished> {
        let deadline = Instant::now() + DEADLINE;
        let mut events = Vec::new();
        loop {
            let Some(line) = process.next_line(deadline.saturating_duration_since(Instant::now())) else {
                return Err(if process.output_ends(Duration::ZERO) {
                    process.wait()
                } else {
                    process.kill_now()
                });
            };
            let Ok(event) = serde_json::from_str::<Value>(&line) else {
                panic!("a line of `up --json` is not JSON: {line:?}");
            };
            events.push(event.clone());
            if event["event"] != "connection" {
                continue;
            }
            let data = event["data"].clone();
            let url = data["url"].as_str().expect("connection.data.url");
            let (mut address, path) = split_url(url);
            // A server on all addresses is reached on loopback.
            if let Some(listen) = data["listen"].as_str() {
                address = listen.replace("0.0.0.0", "127.0.0.1");
            }
            let token = match data["token_source"].as_str() {
                Some("none") => None,
                Some("file") => Some(PathBuf::from(data["token_file"].as_str().expect("token_file"))),
                _ => Some(state.join("secret.token")),
            };
            let token = token.and_then(|file| Some(fs::read_to_string(file).ok()?.trim().to_owned()));
            return Ok(Server {
                process,
                address,
                path,
                token,
                connection: data,
                state: state.to_owned(),
                events: Mutex::new(events),
            });
        }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn url(&self) -> String {
        self.connection["url"].as_str().unwrap_or_default().to_owned()
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    pub fn connect(&self) -> Connection {
        Connection::new(&self.address)
    }

    /// Sends one request on a new connection, with the token and nothing else added.
    pub fn send(&self, request: Request) -> crate::Response {
        self.connect().send(&request.bearer(self.token.as_deref())).expect("the server answers")
    }

    /// A client of the era; the legacy one has done its handshake.
    pub fn client(&self, era: Era) -> HttpClient {
        let mut client = self.stranger(era);
        if era == Era::Legacy {
            client.initialize(LEGACY);
        }
        client
    }

    /// A client of another endpoint than the main one.
    pub fn client_at(&self, path: &str) -> HttpClient {
        HttpClient { path: path.to_owned(), ..self.stranger(Era::Modern) }
    }

    /// A client of the legacy era at another URL, its handshake done.
    pub fn legacy_client_at(&self, path: &str) -> HttpClient {
        let mut client = HttpClient { path: path.to_owned(), ..self.stranger(Era::Legacy) };
        client.initialize(LEGACY);
        client
    }

    /// A client that has said nothing yet.
    pub fn stranger(&self, era: Era) -> HttpClient {
        HttpClient {
            connection: self.connect(),
            era,
            path: self.path.clone(),
            token: self.token.clone(),
            session: None,
            version: if era == Era::Legacy { LEGACY } else { MODERN }.to_owned(),
            last_id: 0,
        }
    }

    /// Calls a tool on a new connection and expects success.
    pub fn expect(&self, tool: &str, arguments: Value) -> Value {
        self.client(Era::Modern).expect(tool, arguments)
    }

    /// Everything printed to standard output so far, as events.
    pub fn events(&self) -> Vec<Value> {
        while let Some(line) = self.process.next_line(Duration::ZERO) {
            self.note(&line);
        }
        self.events.lock().expect("no holder panics").clone()
    }

    /// Waits for an event, past ones included.
    pub fn wait_for_event(&self, name: &str) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(event) = self.events().into_iter().find(|event| event["event"] == name) {
                return event;
            }
            match self.process.next_line(deadline.saturating_duration_since(Instant::now())) {
                Some(line) => self.note(&line),
                None => panic!("no event {name}: {:?}", self.process.printed()),
            }
        }
    }

    /// Asks until the answer is `Some`. Between two tries it waits for the server's next line of output, or a moment.
    pub fn poll<T>(&self, what: &str, mut attempt: impl FnMut(&mut HttpClient) -> Option<T>) -> T {
        let mut client = self.client(Era::Modern);
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(value) = attempt(&mut client) {
                return value;
            }
            assert!(
                Instant::now() < deadline,
                "waited {DEADLINE:?} for {what}: {:?}",
                self.process.printed()
            );
            if let Some(line) = self.process.next_line(PACE) {
                self.note(&line);
            }
        }
    }

    /// The least resident memory, in bytes, that is seen within the time; stops looking at one that is low enough.
    pub fn least_memory(&self, within: Duration, low_enough: u64) -> u64 {
        let deadline = Instant::now() + within;
        let mut least = self.memory();
        while least > low_enough && Instant::now() < deadline {
            if let Some(line) = self.process.next_line(PACE) {
                self.note(&line);
            }
            least = least.min(self.memory());
        }
        least
    }

    /// Waits until the first scan is through and everything it found can be searched.
    pub fn wait_indexed(&self) -> &Server {
        self.poll("the first scan", |client| {
            let stats = client.expect("dir2mcp.stats", json!({}));
            let answer = client.expect("dir2mcp.search", json!({ "query": "anything", "k": 1 }));
            (stats["indexing"]["running"] == false && answer["indexing_complete"] == true).then_some(())
        });
        self
    }

    /// Resident memory in bytes.
    pub fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
    }

    pub fn printed(&self) -> (String, String) {
        self.process.printed()
    }

    /// Ends the server as a user would (SIGTERM).
    pub fn stop(self) -> Finished {
        self.process.terminate()
    }

    /// `kill -9`.
    pub fn kill(self) -> Finished {
        self.process.kill_now()
    }

    /// Waits for the server to end by itself.
    pub fn ends(self) -> Finished {
        self.process.wait()
    }

    fn note(&self, line: &str) {
        if let Ok(event) = serde_json::from_str(line) {
            self.events.lock().expect("no holder panics").push(event);
        }
    }
}

impl HttpClient {
    /// The same client with another credential, or none.
    pub fn bearing(mut self, token: Option<&str>) -> HttpClient {
        self.token = token.map(str::to_owned);
        self
    }

    /// The handshake and the notification that ends it. Returns the handshake's reply.
    pub fn initialize(&mut self, version: &str) -> Reply {
        let request = self.envelope(&message(Era::Legacy, 1, "initialize", initialize_params(version)));
        let response = self.connection.send(&request).expect("the server answers");
        let reply = Reply { status: response.status, message: response.reply().unwrap_or(Value::Null) };
        if response.status == 200 {
            self.session = response.header("mcp-session-id").map(str::to_owned);
            self.version = reply.message["result"]["protocolVersion"].as_str().unwrap_or(version).to_owned();
            let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            let request = self.envelope(&done);
            let response = self.connection.send(&request).expect("the server answers");
            assert_eq!(response.status, 202, "notifications/initialized: {}", response.text());
        }
        self.last_id = 1;
        reply
    }

    /// The HTTP request that carries a message of this client.
    pub fn envelope(&self, message: &Value) -> Request {
        let mut request = Request::post(&self.path, message).bearer(self.token.as_deref());
        match self.era {
            Era::Legacy => {
                if let Some(session) = &self.session {
                    request = request
                        .header("Mcp-Session-Id", session)
                        .header("MCP-Protocol-Version", &self.version);
                }
            }
            Era::Modern => {
                request = request.header("MCP-Protocol-Version", MODERN);
                if let Some(method) = message["method"].as_str() {
                    request = request.header("Mcp-Method", method);
                }
                if let Some(name) = message["params"]["name"].as_str() {
                    request = request.header("Mcp-Name", name);
                }
            }
        }
        request
    }

    /// The next request of this client, as a message.
    pub fn message(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        message(self.era, self.last_id, method, params)
    }
}

impl Client for HttpClient {
    fn name(&self) -> String {
        format!("HTTP, {:?}", self.era)
    }

    fn request(&mut self, method: &str, params: Value) -> Reply {
        let message = self.message(method, params);
        let request = self.envelope(&message);
        let response = self.connection.send(&request).unwrap_or_else(|error| panic!("{method}: {error}"));
        let reply = response.reply().unwrap_or_else(|| {
            panic!("{} {method}: status {} and no reply: {}", self.name(), response.status, response.text())
        });
        Reply { status: response.status, message: reply }
    }
}

fn split_url(url: &str) -> (String, String) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    (address.to_owned(), format!("/{path}"))
}
