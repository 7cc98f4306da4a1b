//! The least HTTP/1.1 client that can talk to the server and lie to it: any header, any bytes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::DEADLINE;

/// A request as it will be sent. `Host` and `Content-Length` are added unless they are given.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: &'static str,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// One connection, kept alive between requests.
#[derive(Debug)]
pub struct Connection {
    address: String,
    stream: Option<BufReader<TcpStream>>,
}

impl Request {
    pub fn new(method: &'static str, target: &str) -> Request {
        Request { method, target: target.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    /// A JSON-RPC message, with the headers every client sends.
    pub fn post(target: &str, message: &Value) -> Request {
        Request::new("POST", target)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(message.to_string())
    }

    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn bearer(self, token: Option<&str>) -> Request {
        match token {
            Some(token) => self.header("Authorization", &format!("Bearer {token}")),
            None => self,
        }
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name))
    }

    /// The bytes of the request.
    pub fn encode(&self, address: &str) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.has("host") {
            head.push_str(&format!("Host: {address}\r\n"));
        }
        if !self.has("content-length") && !self.has("transfer-encoding") {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The JSON-RPC messages of the body: one of a JSON body, any number of an event stream.
    pub fn messages(&self) -> Vec<Value> {
        if !self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return serde_json::from_slice(&self.body).into_iter().collect();
        }
        self.text()
            .replace("\r\n", "\n")
            .split("\n\n")
            .filter_map(|event| {
                let data: Vec<&str> = event
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:"))
                    .map(str::trim_start)
                    .collect();
                serde_json::from_str(&data.join("\n")).ok()
            })
            .collect()
    }

    /// The message that answers a request.
    pub fn reply(&self) -> Option<Value> {
        self.messages().into_iter().find(|message| message.get("method").is_none())
    }
}

impl Connection {
    /// `address` is `host:port`.
    pub fn new(address: &str) -> Connection {
        Connection { address: address.to_owned(), stream: None }
    }

    pub fn send(&mut self, request: &Request) -> io::Result<Response> {
        let bytes = request.encode(&self.address);
        let reused = self.stream.is_some();
        match self.exchange(&bytes) {
            // A server may close an idle connection at any time; only a fresh one tells the truth.
            Err(_) if reused => {
                self.stream = None;
                self.exchange(&bytes)
            }
            result => result,
        }
    }

    /// Sends bytes that need not be HTTP at all.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<Response> {
        self.stream = None;
        self.exchange(bytes)
    }

    fn exchange(&mut self, bytes: &[u8]) -> io::Result<Response> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(DEADLINE))?;
            stream.set_nodelay(true)?;
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut().expect("just connected");
        let sent = stream.get_mut().write_all(bytes);
        let received = receive(stream);
        // A server that refuses early answers before it has read everything; the answer counts.
        let response = match (sent, received) {
            (_, Ok(response)) => response,
            (Err(error), Err(_)) | (Ok(()), Err(error)) => {
                self.stream = None;
                return Err(error);
            }
        };
        let closes = response.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if closes {
            self.stream = None;
        }
        Ok(response)
    }
}

fn receive(stream: &mut BufReader<TcpStream>) -> io::Result<Response> {
    let status_line = line(stream)?;
    let status =
        status_line.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP: {status_line:?}"))
        })?;
    let mut headers = Vec::new();
    loop {
        let header = line(stream)?;
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':') {
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    let mut response = Response { status, headers, body: Vec::new() };
    if response.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        loop {
            let size = line(stream)?;
            let size = usize::from_str_radix(size.split(';').next().unwrap_or("").trim(), 16)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let start = response.body.len();
            response.body.resize(start + size, 0);
            stream.read_exact(&mut response.body[start..])?;
            line(stream)?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = response.header("content-length") {
        let length = length.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        response.body.resize(length, 0);
        stream.read_exact(&mut response.body)?;
    } else if status != 204 && status != 304 {
        stream.read_to_end(&mut response.body)?;
    }
    Ok(response)
}

fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut text = String::new();
    if stream.read_line(&mut text)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
