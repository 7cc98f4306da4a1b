//! Neither the token nor a session id may be found where they do not belong.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use super::harness::{Server, alpha, call, in_session, initialize, initialized, list_tools, modern_call};
use super::wire::{Ask, Wire};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Captured;

    fn make_writer(&'a self) -> Captured {
        self.clone()
    }
}

/// Everything any library says, at the most talkative level, while everything happens to a session that can.
#[tokio::test]
async fn d121_m13_m27_logs_hold_neither_tokens_nor_session_ids() {
    let log = Captured::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .with_ansi(false)
        .finish();
    // With a single subscriber `tracing` asks only the thread that first comes by whether anybody listens, and other
    // tests run on other threads. A second one makes it ask everybody.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(subscriber);
    tracing::callsite::rebuild_interest_cache();

    let server = Server::with_sessions(|config| config.max_awake_sessions = 1).await;
    let first = server.initialize(&alpha()).await;
    let mut sessions = vec![first.clone()];
    for ask in [in_session(&first, initialized()), in_session(&first, call(2, "whoami", json!({})))] {
        server.ask_as_alice(ask).await;
    }
    // The second puts the first to sleep; then the first wakes up again.
    let second = server.initialize(&alpha()).await;
    sessions.push(second.clone());
    assert_eq!(server.ask_as_alice(in_session(&first, list_tools(3))).await.status, 200);
    let get = Ask { method: "GET".into(), body: Vec::new(), ..in_session(&first, "") }.token(&alpha());
    let mut stream = Wire::open(server.address).await;
    stream.send(&get.with("Last-Event-ID", "9/9").to_bytes()).await;
    stream.head().await;
    server.ask_as_alice(modern_call("whoami", json!({}))).await;
    server.ask_as_alice(Ask::post(initialize()).with("Cookie", alpha())).await;
    server.ask_as_alice(Ask { method: "DELETE".into(), body: Vec::new(), ..in_session(&second, "") }).await;
    server.ask(&in_session(&first, list_tools(4)).token("wrong")).await;
    let third = server.initialize(&alpha()).await;
    sessions.push(third.clone());
    server.clock.advance(std::time::Duration::from_secs(90_000));
    for session in [&second, &third] {
        assert_eq!(server.ask_as_alice(in_session(session, list_tools(5))).await.status, 404);
    }
    server.stop().await;

    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("TRACE"), "the log was captured");
    let expiry = log.lines().find(|line| line.contains("session ended") && line.contains("inactivity"));
    assert!(
        expiry.is_some_and(|line| line.contains("INFO") && line.contains("session=")),
        "D121: {expiry:?}"
    );
    assert!(!log.contains(&alpha()), "the token is in the log");
    for session in sessions {
        let bare = session.strip_prefix("sess_").unwrap();
        if let Some(line) = log.lines().find(|line| line.contains(bare)) {
            panic!("a session id is in the log: {line}");
        }
    }
}

#[tokio::test]
async fn m13_no_answer_but_the_handshake_holds_a_session_id_and_none_a_token() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    for ask in [
        in_session(&session, list_tools(1)),
        in_session(&session, call(2, "whoami", json!({}))),
        in_session(&session, "{"),
        modern_call("whoami", json!({})).with("MCP-Session-Id", &session),
        Ask { target: format!("/mcp?session={session}"), ..in_session(&session, "[]") },
        Ask { method: "DELETE".into(), body: Vec::new(), ..in_session(&session, "") },
        in_session(&session, list_tools(1)),
    ] {
        let answer = server.ask_as_alice(ask).await;
        let whole = format!("{:?} {}", answer.headers, answer.text());
        assert!(!whole.contains(&session) && !whole.contains(&alpha()), "{whole}");
    }
    server.stop().await;
}
