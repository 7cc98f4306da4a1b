//! The web console by plain HTTP: each route's shape, its headers, and what it refuses.

mod answers;
mod guards;
mod live;
mod page;
mod sign_in;
mod status;
mod store;
mod view;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::Value;
use testkit::{DEADLINE, Folder, Program, Request, Response, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_dir2mcp");

fn program(folder: &Folder) -> Program {
    Program::new(BINARY, folder)
}

/// A server that has indexed the folder.
fn serve(folder: &Folder) -> Server {
    let server = program(folder).serve(&[]);
    server.wait_indexed();
    server
}

fn get(server: &Server, target: &str) -> Response {
    server.send(Request::new("GET", target))
}

fn json_of(response: &Response) -> Value {
    serde_json::from_slice(&response.body)
        .unwrap_or_else(|error| panic!("{error}: {} {}", response.status, response.text()))
}

/// The answer of a route that succeeds.
fn ask(server: &Server, target: &str) -> Value {
    let response = get(server, target);
    assert_eq!(response.status, 200, "{target}: {}", response.text());
    json_of(&response)
}

/// Status and code of a refusal.
fn refusal(response: &Response) -> (u16, String) {
    let body = json_of(response);
    (response.status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
}

fn post(server: &Server, target: &str, body: &Value) -> Response {
    server
        .send(Request::new("POST", target).header("Content-Type", "application/json").body(body.to_string()))
}

/// A stream of server-sent events, read as they come.
struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    fn open(server: &Server, request: Request) -> Events {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(&request.bearer(server.token.as_deref()).encode(&server.address)).unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(lines.read_line(&mut head).unwrap(), 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
        Events { lines }
    }

    /// The id, name and data of the next event; comments are passed over. `None` at the end.
    fn next(&mut self) -> Option<(String, String, Value)> {
        let (mut id, mut name, mut data) = (String::new(), String::new(), None);
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // The frames of the chunked coding lie between the lines.
            let line = line.trim_end();
            if let Some(given) = line.strip_prefix("id: ") {
                id = given.to_owned();
            } else if let Some(given) = line.strip_prefix("event: ") {
                name = given.to_owned();
            } else if let Some(given) = line.strip_prefix("data: ") {
                data = Some(serde_json::from_str(given).unwrap_or_else(|error| panic!("{error}: {given}")));
            } else if line.is_empty()
                && let Some(data) = data.take()
            {
                return Some((id, name, data));
            }
        }
    }

    /// The data of the next event of this name.
    fn wait_for(&mut self, wanted: &str) -> Value {
        loop {
            let (_, name, data) = self.next().unwrap_or_else(|| panic!("the stream ended before {wanted}"));
            if name == wanted {
                return data;
            }
        }
    }
}
