//! A minimal HTTP/1.1 client that sends exactly the bytes it is told to.

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A request, header by header.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: &str, target: &str) -> Ask {
        Ask {
            method: method.into(),
            target: target.into(),
            headers: vec![("Host".into(), b"127.0.0.1".to_vec())],
            body: Vec::new(),
        }
    }

    pub(crate) fn post(body: impl Into<Vec<u8>>) -> Ask {
        let mut ask = Ask::new("POST", "/mcp")
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream");
        ask.body = body.into();
        ask
    }

    /// Replaces a header.
    pub(crate) fn with(self, name: &str, value: impl AsRef<[u8]>) -> Ask {
        self.without(name).and(name, value)
    }

    /// Adds a header, perhaps a second time.
    pub(crate) fn and(mut self, name: &str, value: impl AsRef<[u8]>) -> Ask {
        self.headers.push((name.into(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Ask {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn token(self, token: &str) -> Ask {
        self.with("Authorization", format!("Bearer {token}"))
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        let framed = self.headers.iter().any(|(name, _)| {
            name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("transfer-encoding")
        });
        if !framed && (self.method == "POST" || !self.body.is_empty()) {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The JSON document, or the last message of the event stream.
    pub(crate) fn json(&self) -> Value {
        let text = self.text();
        let json = match self.header("content-type") {
            Some(kind) if kind.starts_with("text/event-stream") => text
                .lines()
                .filter_map(|line| line.strip_prefix("data:"))
                .map(str::trim)
                .rfind(|data| !data.is_empty())
                .unwrap_or_else(|| panic!("no message in {text:?}"))
                .to_owned(),
            _ => text.clone(),
        };
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The public code of a refusal.
    pub(crate) fn code(&self) -> String {
        let json = self.json();
        assert_eq!(json["jsonrpc"], "2.0", "{json}");
        json["error"]["data"]["code"].as_str().unwrap_or_else(|| panic!("no code in {json}")).to_owned()
    }
}

/// One connection.
pub(crate) struct Wire {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
}

impl Wire {
    pub(crate) async fn open(address: std::net::SocketAddr) -> Wire {
        Wire::over(TcpStream::connect(address).await.expect("connects"))
    }

    pub(crate) fn over(stream: impl Stream + 'static) -> Wire {
        Wire { stream: Box::new(stream), buffer: Vec::new() }
    }

    pub(crate) async fn ask(&mut self, ask: &Ask) -> Answer {
        self.send(&ask.to_bytes()).await;
        self.answer_to(&ask.method).await
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        // The server may already have answered and closed; the answer tells.
        let _ = self.stream.write_all(bytes).await;
        let _ = self.stream.flush().await;
    }

    pub(crate) async fn shut_down_write(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        self.answer_to("POST").await
    }

    async fn answer_to(&mut self, method: &str) -> Answer {
        let (status, headers) = self.head().await.expect("an answer");
        let mut answer = Answer { status, headers, body: Vec::new() };
        if method == "HEAD" || matches!(status, 100..200 | 204 | 304) {
            return answer;
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                answer.body.extend_from_slice(&chunk);
            }
        } else if let Some(length) = answer.header("content-length").map(str::to_owned) {
            let length: usize = length.parse().expect("a length");
            while self.buffer.len() < length && self.fill().await {}
            assert!(self.buffer.len() >= length, "the body was cut short");
            answer.body = self.buffer.drain(..length).collect();
        } else if status != 202 {
            while self.fill().await {}
            answer.body = std::mem::take(&mut self.buffer);
        }
        answer
    }

    /// Status and headers only, for streams that do not end.
    pub(crate) async fn head(&mut self) -> Option<(u16, Vec<(String, String)>)> {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            if !self.fill().await {
                return None;
            }
        };
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        let head = String::from_utf8_lossy(&head[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        Some((status, headers))
    }

    /// The next chunk of a chunked body; nothing at its end.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let line_end = loop {
            if let Some(at) = self.buffer.windows(2).position(|window| window == b"\r\n") {
                break at;
            }
            assert!(self.fill().await, "the stream was cut short");
        };
        let size = String::from_utf8_lossy(&self.buffer[..line_end]).into_owned();
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk size");
        while self.buffer.len() < line_end + 2 + size + 2 {
            assert!(self.fill().await, "the chunk was cut short");
        }
        let chunk: Vec<u8> =
            self.buffer.drain(..line_end + 2 + size + 2).skip(line_end + 2).take(size).collect();
        (size > 0).then_some(chunk)
    }

    /// Reads until the server closes.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while self.fill().await {}
        std::mem::take(&mut self.buffer)
    }

    async fn fill(&mut self) -> bool {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes).await {
            Ok(0) | Err(_) => false,
            Ok(n) => {
                self.buffer.extend_from_slice(&bytes[..n]);
                true
            }
        }
    }
}
