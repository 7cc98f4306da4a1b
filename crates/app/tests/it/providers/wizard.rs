//! The set-up of models on a terminal: what is found is offered, what is typed is kept and not shown.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use crate::pty::Terminal;
use crate::sandbox::Sandbox;

/// A model server on loopback: a list of models, and vectors of three numbers.
fn model_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut first, mut length) = (String::new(), 0);
            reader.read_line(&mut first).unwrap();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            reader.take(length).read_to_end(&mut Vec::new()).unwrap();
            let body = if first.starts_with("GET /v1/models ") {
                r#"{"object":"list","data":[{"id":"our-embedder"},{"id":"our-embed-v2"},{"id":"llama3.2:latest"}]}"#
            } else {
                r#"{"data":[{"index":0,"embedding":[0.1,0.2,0.3]}]}"#
            };
            let _ = write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    address
}

#[test]
fn d010_d035_a_server_on_this_machine_is_offered_and_used_only_after_a_yes() {
    let address = model_server();
    let start = |sandbox: &Sandbox| {
        let mut terminal = Terminal::start(sandbox, &["config", "init"]);
        for question in ["server.listen [", "ingest.gitignore [", "ingest.max_file_mb ["] {
            terminal.answer(question, "");
        }
        terminal
    };
    let no = Sandbox::new().env("OLLAMA_HOST", &address);
    let mut terminal = start(&no);
    terminal.answer("Let it write answers? [y/N] ", "");
    terminal.answer("Let it make vectors with our-embedder? [y/N] ", "n");
    terminal.answer("Use a service: none, mistral or openai [as it is]: ", "");
    let screen = terminal.finish();
    assert!(screen.contains(&format!("Ollama answers at http://{address}/v1")), "{screen}");
    let printed = no.ok(&["config", "print", "--json"]).json();
    assert_eq!(printed["origins"]["openai.base_url"], "default");

    let yes = Sandbox::new().env("OLLAMA_HOST", &address);
    let mut terminal = start(&yes);
    terminal.answer("Let it write answers? [y/N] ", "y");
    terminal.answer("openai.chat_model [llama3.2:latest]: ", "");
    terminal.answer("Let it make vectors with our-embedder? [y/N] ", "y");
    let screen = terminal.finish();
    assert!(screen.contains("No key is needed"), "{screen}");
    let config = &yes.ok(&["config", "print", "--json"]).json()["config"];
    assert_eq!(config["openai"]["base_url"], format!("http://{address}/v1"));
    assert_eq!(config["openai"]["chat_model"], "llama3.2:latest");
    assert_eq!(config["chat"]["provider"], "openai");
    assert_eq!(config["embed"]["provider"], "openai");
    assert_eq!(config["openai"]["embed_dimensions"], 3, "the server was asked");
}

#[test]
fn d035_d039_up_on_a_terminal_asks_for_the_key_that_is_missing() {
    let sandbox = Sandbox::new()
        .file("a.md", "lighthouse")
        .file(".dir2mcp.yaml", "embed: {provider: mistral}\nmistral: {base_url: 'http://127.0.0.1:9'}\n")
        .trusting();
    let mut terminal = Terminal::start(&sandbox, &["search", "lighthouse"]);
    terminal.answer("MISTRAL_API_KEY: ", "canary-0123456789");
    terminal.answer("Keep it in: file, session", "session");
    let screen = terminal.finish();
    assert!(screen.contains("a.md") && !screen.contains("canary"), "{screen}");
    assert!(!sandbox.has(".dir2mcp/secret.env"), "it was kept in memory");
    // Nothing typed is nothing agreed to.
    let mut terminal = Terminal::start(&sandbox, &["search", "lighthouse"]);
    terminal.answer("MISTRAL_API_KEY: ", "");
    assert!(terminal.ends(2).contains("Missing MISTRAL_API_KEY"));
}
