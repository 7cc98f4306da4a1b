//! Model servers on this machine: which of the usual ones answer on loopback, and with which models. They are offered
//! and never used unasked, since another user of the machine may own the port.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::config::Environment;

/// For the whole of a question to one port.
const PATIENCE: Duration = Duration::from_millis(300);

/// For the first vector of a model, which the server may have to load.
const LOADING: Duration = Duration::from_secs(30);

/// A list of models is a few kilobytes.
const MAX_ANSWER: u64 = 4 << 20;

/// Where these servers listen unless they are told otherwise.
const USUAL: &[(&str, u16)] = &[("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080), ("vLLM", 8000)];

/// A server that answered, in the form of the OpenAI API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalServer {
    pub name: &'static str,
    /// For `openai.base_url`.
    pub base_url: String,
    pub models: Vec<String>,
}

impl LocalServer {
    /// The first model that makes vectors, by its name; the API does not say.
    pub(crate) fn embedding_model(&self) -> Option<&str> {
        self.models.iter().map(String::as_str).find(|model| embeds(model))
    }

    /// The first model that is no embedding model.
    pub(crate) fn chat_model(&self) -> Option<&str> {
        self.models.iter().map(String::as_str).find(|model| !embeds(model))
    }

    /// How many numbers a vector of the model has, by asking for one.
    pub(crate) fn dimensions(&self, model: &str) -> Option<usize> {
        let address = self.base_url.strip_prefix("http://")?.strip_suffix("/v1")?.parse().ok()?;
        let question = json!({ "model": model, "input": "a", "encoding_format": "float" });
        let answer = ask(address, "/v1/embeddings", Some(&question), LOADING)?;
        answer["data"][0]["embedding"].as_array().map(Vec::len).filter(|length| *length > 0)
    }
}

/// Asks all usual places at once.
pub(crate) fn find(environment: &Environment) -> Vec<LocalServer> {
    let ollama = environment.get("OLLAMA_HOST").map(|variable| variable.value);
    let places = USUAL.iter().filter_map(|(name, port)| {
        let address = match (*name, ollama) {
            ("Ollama", Some(host)) => ollama_address(host)?,
            _ => SocketAddr::from((Ipv4Addr::LOCALHOST, *port)),
        };
        Some((*name, address))
    });
    let asked: Vec<_> =
        places.map(|(name, address)| std::thread::spawn(move || models_of(name, address))).collect();
    asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
}

fn embeds(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    ["embed", "bge-", "minilm", "gte-", "e5-"].iter().any(|part| model.contains(part))
}

fn models_of(name: &'static str, address: SocketAddr) -> Option<LocalServer> {
    let answer = ask(address, "/v1/models", None, PATIENCE)?;
    let models = answer["data"].as_array()?;
    let models = models.iter().filter_map(|model| Some(model["id"].as_str()?.to_owned())).collect();
    Some(LocalServer { name, base_url: format!("http://{address}/v1"), models })
}

/// The address that `OLLAMA_HOST` means, if it is on this machine: `127.0.0.1:11434`, `:11434`, `localhost`,
/// `http://0.0.0.0:8000`.
fn ollama_address(text: &str) -> Option<SocketAddr> {
    let rest = text.trim().trim_end_matches('/');
    let rest = rest.strip_prefix("http://").unwrap_or(rest);
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') => (host, port.parse().ok()?),
        _ => (rest, 11434),
    };
    let address = match host.trim_matches(['[', ']']) {
        "" | "localhost" | "0.0.0.0" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        host => host.parse().ok().filter(IpAddr::is_loopback)?,
    };
    Some(SocketAddr::new(address, port))
}

/// One request, all of it within `patience`. HTTP 1.0, so that the answer ends with the connection.
fn ask(address: SocketAddr, path: &str, body: Option<&Value>, patience: Duration) -> Option<Value> {
    let deadline = Instant::now() + patience;
    let left = || Some(deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero());
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE.min(patience)).ok()?;
    stream.set_write_timeout(left()).ok()?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let method = if body.is_empty() { "GET" } else { "POST" };
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        stream.set_read_timeout(Some(left()?)).ok()?;
        match stream.read(&mut piece).ok()? {
            0 => break,
            count => answer.extend_from_slice(&piece[..count]),
        }
        if answer.len() as u64 > MAX_ANSWER {
            return None;
        }
        // Some servers keep the connection open all the same.
        if let Some(value) = parse(&answer) {
            return Some(value);
        }
    }
    parse(&answer)
}

/// The JSON of a successful answer, once all of it is there.
fn parse(answer: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?;
    if status != "200" {
        return None;
    }
    serde_json::from_str(body.trim()).ok()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    use super::*;

    /// A server that answers every request with this body.
    fn server(body: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                while reader.read_line(&mut line).unwrap() > 2 {
                    line.clear();
                }
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        address
    }

    #[test]
    fn a_server_says_its_models() {
        let address =
            server(r#"{"object":"list","data":[{"id":"nomic-embed-text:latest"},{"id":"llama3.2:latest"}]}"#);
        let found = models_of("Ollama", address).unwrap();
        assert_eq!(found.base_url, format!("http://{address}/v1"));
        assert_eq!(found.embedding_model(), Some("nomic-embed-text:latest"));
        assert_eq!(found.chat_model(), Some("llama3.2:latest"));
        assert_eq!(found.dimensions("x"), None, "that is no vector");
    }

    #[test]
    fn what_is_no_model_server_is_not_offered() {
        assert_eq!(models_of("vLLM", server("<html>hello</html>")), None);
        assert_eq!(models_of("vLLM", server(r#"{"data":"none"}"#)), None);
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(models_of("vLLM", closed), None);
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let started = Instant::now();
        assert_eq!(models_of("vLLM", silent.local_addr().unwrap()), None);
        assert!(started.elapsed() < LOADING, "it waited {:?}", started.elapsed());
    }

    #[test]
    fn a_vector_tells_its_length() {
        let address = server(r#"{"data":[{"index":0,"embedding":[0.1,0.2,0.3]}]}"#);
        let server = LocalServer { name: "Ollama", base_url: format!("http://{address}/v1"), models: vec![] };
        assert_eq!(server.dimensions("x"), Some(3));
    }

    #[test]
    fn ollama_s_variable_is_honoured_on_this_machine_only() {
        for (text, address) in [
            ("127.0.0.1:4711", Some("127.0.0.1:4711")),
            ("0.0.0.0", Some("127.0.0.1:11434")),
            (":4711", Some("127.0.0.1:4711")),
            ("http://localhost:4711/", Some("127.0.0.1:4711")),
            ("[::1]:4711", Some("[::1]:4711")),
            ("gpu.example:11434", None),
            ("10.0.0.7", None),
        ] {
            assert_eq!(ollama_address(text), address.map(|address| address.parse().unwrap()), "{text}");
        }
    }
}
