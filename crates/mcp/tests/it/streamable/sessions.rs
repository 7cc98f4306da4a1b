//! Sessions as clients see them: begun, owned, expired, deleted, asleep and awake.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::json;

use super::harness::{
    Server, alpha, beta, call, in_session, initialize, initialized, list_tools, modern, modern_call,
};
use super::wire::{Ask, Wire};

const HOUR: Duration = Duration::from_secs(60 * 60);

#[tokio::test]
async fn d117_d127_a_handshake_gives_an_unguessable_id() {
    let server = Server::start().await;
    let mut wire = Wire::open(server.address).await;
    let mut seen = HashSet::new();
    for _ in 0..50 {
        let answer = wire.ask(&Ask::post(initialize()).token(&alpha())).await;
        let id = answer.header("mcp-session-id").expect("an id").to_owned();
        let hex = id.strip_prefix("sess_").expect("the prefix");
        assert!(hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        assert!(seen.insert(id));
        let result = &answer.json()["result"];
        assert_eq!(result["protocolVersion"], "2025-11-25");
        assert_eq!(result["serverInfo"]["name"], "dir2mcp");
    }
    server.stop().await;
}

#[tokio::test]
async fn d123_d128_notifications_are_accepted_with_202_and_no_body() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    let unknown = json!({ "jsonrpc": "2.0", "method": "notifications/unknown" }).to_string();
    for body in [initialized(), unknown] {
        let answer = server.ask_as_alice(in_session(&session, body)).await;
        assert_eq!((answer.status, answer.body.len()), (202, 0));
    }
    let answer = server.ask_as_alice(modern("notifications/x", json!({}))).await;
    assert_eq!(answer.status, 404, "a request, not a notification");
    let notification = Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#)
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "notifications/x");
    let answer = server.ask_as_alice(notification).await;
    assert_eq!((answer.status, answer.body.len()), (202, 0));
    server.stop().await;
}

#[tokio::test]
async fn d122_unknown_session_is_404_and_a_new_handshake_gives_a_new_id() {
    let server = Server::start().await;
    let first = server.initialize(&alpha()).await;
    for id in
        ["sess_00000000000000000000000000000000", "x", &"x".repeat(5000), &first.to_uppercase(), "", "0 0"]
    {
        let answer = server.ask_as_alice(in_session(id, list_tools(9))).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "SESSION_NOT_FOUND"), "{id}");
        let json = answer.json();
        assert_eq!((json["error"]["code"].as_i64(), json["id"].as_i64()), (Some(-32001), Some(9)));
        assert_eq!(answer.header("x-mcp-session-expired"), None);
    }
    assert_ne!(server.initialize(&alpha()).await, first);
    assert_eq!(server.ask_as_alice(in_session(&first, list_tools(1))).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn c38_missing_session_is_400_and_so_is_an_unknown_revision() {
    let server = Server::start().await;
    for body in [list_tools(1), initialized(), call(1, "echo", json!({}))] {
        let answer = server.ask_as_alice(Ask::post(body)).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "MISSING_FIELD"));
    }
    let session = server.initialize(&alpha()).await;
    for version in ["1999-01-01", "2025-03-26", "", "x", "2025-11-25,2025-11-25"] {
        let ask = in_session(&session, list_tools(1)).with("MCP-Protocol-Version", version);
        let answer = server.ask_as_alice(ask).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_FIELD"), "{version}");
    }
    let without = in_session(&session, list_tools(1)).without("MCP-Protocol-Version");
    assert_eq!(server.ask_as_alice(without).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn c28_a_handshake_falls_back_to_a_revision_that_is_served() {
    let server = Server::start().await;
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let body = initialize().replace("2025-11-25", asked);
        for ask in [Ask::post(body.clone()), Ask::post(body).with("MCP-Protocol-Version", asked)] {
            let answer = server.ask_as_alice(ask).await;
            assert_eq!(answer.json()["result"]["protocolVersion"], agreed, "{asked}: {answer:?}");
            let session = answer.header("mcp-session-id").expect("an id").to_owned();
            let list = in_session(&session, list_tools(2)).with("MCP-Protocol-Version", agreed);
            assert_eq!(server.ask_as_alice(list).await.status, 200, "{asked}");
        }
    }
    let contradiction = Ask::post(initialize()).with("MCP-Protocol-Version", "2099-01-01");
    assert_eq!(server.ask_as_alice(contradiction).await.status, 400);
    server.stop().await;
}

#[tokio::test]
async fn a_handshake_with_a_stale_id_begins_another_session() {
    let server = Server::start().await;
    let answer = server.ask_as_alice(in_session("sess_stale", initialize())).await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("mcp-session-id").expect("an id").starts_with("sess_"));
    server.stop().await;
}

#[tokio::test]
async fn d118_d120_d121_case_7_inactivity_ends_a_session() {
    let server = Server::with_sessions(|config| config.session_inactivity = HOUR).await;
    let session = server.initialize(&alpha()).await;
    let list = || in_session(&session, list_tools(1));
    for _ in 0..5 {
        server.clock.advance(HOUR - Duration::from_secs(1));
        assert_eq!(server.ask_as_alice(list()).await.status, 200, "each request begins the hour again");
    }
    server.clock.advance(HOUR);
    for _ in 0..2 {
        let answer = server.ask_as_alice(list()).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "SESSION_NOT_FOUND"));
        assert_eq!(answer.header("x-mcp-session-expired"), Some("inactivity"));
    }
    let answer = server.ask(&list().token(&beta())).await;
    assert_eq!(
        (answer.status, answer.header("x-mcp-session-expired")),
        (404, None),
        "told to its owner only"
    );
    server.initialize(&alpha()).await;
    server.stop().await;
}

#[tokio::test]
async fn d119_case_7_a_maximum_lifetime_ends_a_session_in_use() {
    let server = Server::with_sessions(|config| {
        config.session_inactivity = HOUR;
        config.session_max_lifetime = Some(2 * HOUR);
    })
    .await;
    let session = server.initialize(&alpha()).await;
    let list = || in_session(&session, list_tools(1));
    for _ in 0..3 {
        server.clock.advance(HOUR / 2);
        assert_eq!(server.ask_as_alice(list()).await.status, 200);
    }
    server.clock.advance(HOUR / 2);
    let answer = server.ask_as_alice(list()).await;
    assert_eq!((answer.status, answer.header("x-mcp-session-expired")), (404, Some("max-lifetime")));
    server.stop().await;
}

#[tokio::test]
async fn a_call_that_outlives_its_session_is_still_answered() {
    let server = Server::with_sessions(|config| {
        config.session_inactivity = HOUR;
        config.session_max_lifetime = Some(HOUR);
    })
    .await;
    let session = server.initialize(&alpha()).await;
    let mut wire = Wire::open(server.address).await;
    wire.send(&in_session(&session, call(2, "wait", json!({}))).token(&alpha()).to_bytes()).await;
    server.tools.until_started(1).await;
    server.clock.advance(2 * HOUR);
    assert_eq!(server.ask_as_alice(in_session(&session, list_tools(1))).await.status, 404);
    server.tools.release();
    assert_eq!(wire.answer().await.json()["result"]["structuredContent"]["waited"], true);
    server.stop().await;
}

#[tokio::test]
async fn m12_a_session_belongs_to_the_credential_that_began_it() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    let mut stolen = Wire::open(server.address).await;
    for ask in [
        in_session(&session, list_tools(1)),
        in_session(&session, initialized()),
        Ask { method: "GET".into(), body: Vec::new(), ..in_session(&session, "") },
        Ask { method: "DELETE".into(), body: Vec::new(), ..in_session(&session, "") },
    ] {
        let answer = stolen.ask(&ask.token(&beta())).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "SESSION_NOT_FOUND"), "{answer:?}");
    }
    // A stateless request has no session to steal: the id is ignored.
    let answer =
        stolen.ask(&modern_call("whoami", json!({})).with("MCP-Session-Id", &session).token(&beta())).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["caller"], "http:bob@127.0.0.1");
    assert_eq!(answer.header("mcp-session-id"), None);
    assert_eq!(server.ask_as_alice(in_session(&session, list_tools(1))).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn delete_ends_ones_own_session() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    let delete = |id: &str| Ask { method: "DELETE".into(), body: Vec::new(), ..in_session(id, "") };
    let answer = server.ask_as_alice(delete(&session)).await;
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    for ask in [delete(&session), in_session(&session, list_tools(1)), delete("sess_unknown")] {
        let answer = server.ask_as_alice(ask).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "SESSION_NOT_FOUND"));
    }
    let answer = server.ask_as_alice(delete("").without("MCP-Session-Id")).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "MISSING_FIELD"));
    server.stop().await;
}

#[tokio::test]
async fn stateless_revisions_have_neither_get_nor_delete_nor_sessions() {
    let server = Server::start().await;
    for method in ["GET", "DELETE"] {
        let ask = Ask { method: method.into(), body: Vec::new(), ..modern("x", json!({})) };
        let answer = server.ask_as_alice(ask).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")), "{method}");
    }
    let answer = server.ask_as_alice(modern("server/discover", json!({}))).await;
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    server.stop().await;
}

#[tokio::test]
async fn get_opens_a_stream_for_the_owner() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    let get = Ask { method: "GET".into(), body: Vec::new(), ..in_session(&session, "") }.token(&alpha());
    let mut wire = Wire::open(server.address).await;
    wire.send(&get.clone().with("Accept", "text/event-stream").to_bytes()).await;
    let (status, headers) = wire.head().await.expect("an answer");
    assert_eq!(status, 200);
    assert!(
        headers.iter().any(|(name, value)| name == "content-type" && value.starts_with("text/event-stream"))
    );
    assert!(wire.chunk().await.is_some(), "the opening event");
    assert_eq!(server.ask(&get.clone().with("Accept", "text/html")).await.status, 406);
    assert_eq!(server.ask(&get.clone().without("MCP-Session-Id")).await.status, 400);
    // Deleting the session ends its streams.
    let delete = Ask { method: "DELETE".into(), ..get };
    assert_eq!(server.ask(&delete).await.status, 204);
    while wire.chunk().await.is_some() {}
    server.stop().await;
}

#[tokio::test]
async fn sleeping_sessions_wake_up() {
    let server = Server::with_sessions(|config| config.max_awake_sessions = 2).await;
    let mut sessions = Vec::new();
    for _ in 0..12 {
        sessions.push(server.initialize(&alpha()).await);
    }
    let mut wire = Wire::open(server.address).await;
    for round in 0..3 {
        for session in &sessions {
            let answer = wire
                .ask(&in_session(session, call(round, "echo", json!({ "of": session }))).token(&alpha()))
                .await;
            assert_eq!(answer.json()["result"]["structuredContent"]["echo"]["of"], json!(session));
        }
    }
    // Several requests at once on one sleeping session.
    let asks = (0..8).map(|n| {
        let ask = in_session(&sessions[0], call(n, "echo", json!({ "n": n }))).token(&alpha());
        let server = &server;
        async move { server.ask(&ask).await.json()["result"]["structuredContent"]["echo"]["n"].clone() }
    });
    let answers = futures::future::join_all(asks).await;
    assert_eq!(answers, (0..8).map(|n| json!(n)).collect::<Vec<_>>());
    server.stop().await;
}

/// Clients open their stream and ask their first question at the same moment, on two connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn first_requests_may_come_together() {
    let server = Server::start().await;
    let rounds = (0..100).map(|n| {
        let server = &server;
        async move {
            let session = server.initialize(&alpha()).await;
            let get = Ask { method: "GET".into(), body: Vec::new(), ..in_session(&session, "") };
            let mut stream = Wire::open(server.address).await;
            let opened = async {
                stream.send(&get.token(&alpha()).to_bytes()).await;
                stream.head().await.expect("an answer").0
            };
            let ready = server.ask_as_alice(in_session(&session, initialized()));
            let first = server.ask_as_alice(in_session(&session, call(1, "echo", json!({ "n": n }))));
            let second = server.ask_as_alice(in_session(&session, list_tools(2)));
            let (opened, ready, first, second) = tokio::join!(opened, ready, first, second);
            assert_eq!((opened, ready.status), (200, 202));
            assert_eq!(first.json()["result"]["structuredContent"]["echo"]["n"], n, "{first:?}");
            assert_eq!(second.status, 200, "{second:?}");
        }
    });
    futures::future::join_all(rounds).await;
    server.stop().await;
}

/// Far more sessions in use than may be awake: each request finds its session, whatever happens to the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_fall_asleep_and_wake_up_under_load() {
    let server = Server::with_sessions(|config| config.max_awake_sessions = 2).await;
    let mut sessions = Vec::new();
    for _ in 0..16 {
        sessions.push(server.initialize(&alpha()).await);
    }
    let clients = (0..32).map(|n| {
        let (server, session) = (&server, &sessions[n % 16]);
        async move {
            let mut wire = Wire::open(server.address).await;
            for round in 0..30 {
                let canary = format!("{n}-{round}");
                let body = call(n, "echo", json!({ "canary": canary }));
                let answer = wire.ask(&in_session(session, body).token(&alpha())).await;
                assert_eq!(answer.status, 200, "{answer:?}");
                assert_eq!(answer.json()["result"]["structuredContent"]["echo"]["canary"], json!(canary));
            }
        }
    });
    futures::future::join_all(clients).await;
    server.stop().await;
}

#[tokio::test]
async fn legacy_calls_survive_a_lost_connection_and_stateless_calls_end_with_it() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    let mut wire = Wire::open(server.address).await;
    wire.send(&in_session(&session, call(2, "wait", json!({}))).token(&alpha()).to_bytes()).await;
    server.tools.until_started(1).await;
    let (_, _) = wire.head().await.expect("the stream begins");
    let opening = String::from_utf8(wire.chunk().await.expect("the opening event")).unwrap();
    drop(wire);
    // The answer is fetched on another connection, from after the event seen last.
    let last =
        opening.lines().find_map(|line| line.strip_prefix("id:")).expect("an event id").trim().to_owned();
    let resume = Ask { method: "GET".into(), body: Vec::new(), ..in_session(&session, "") }
        .with("Last-Event-ID", &last)
        .token(&alpha());
    let mut wire = Wire::open(server.address).await;
    wire.send(&resume.to_bytes()).await;
    let (status, _) = wire.head().await.expect("an answer");
    assert_eq!(status, 200);
    server.tools.release();
    let event = String::from_utf8(wire.chunk().await.expect("an event")).unwrap();
    assert!(event.contains("waited"), "the event seen last is not repeated: {event}");
    assert_eq!(server.tools.cancelled(), 0);

    let mut wire = Wire::open(server.address).await;
    wire.send(&modern_call("wait", json!({})).token(&alpha()).to_bytes()).await;
    server.tools.until_started(2).await;
    drop(wire);
    server.tools.until_cancelled(1).await;
    server.stop().await;
}

#[tokio::test]
async fn cancellation_reaches_a_running_call() {
    let server = Server::start().await;
    let session = server.initialize(&alpha()).await;
    let mut wire = Wire::open(server.address).await;
    wire.send(&in_session(&session, call(2, "wait", json!({}))).token(&alpha()).to_bytes()).await;
    server.tools.until_started(1).await;
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    assert_eq!(server.ask_as_alice(in_session(&session, cancel.to_string())).await.status, 202);
    server.tools.until_cancelled(1).await;
    server.stop().await;
}

#[tokio::test]
async fn m14_equal_request_ids_are_never_mixed_up() {
    let server = Server::start().await;
    let mut sessions = Vec::new();
    for _ in 0..100 {
        sessions.push(server.initialize(&alpha()).await);
    }
    let asks = (0..200).map(|n| {
        let body = call("same", "echo", json!({ "canary": n }));
        let ask = if n % 2 == 0 {
            in_session(&sessions[n / 2], body)
        } else {
            modern_call("echo", json!({ "canary": n }))
        };
        let server = &server;
        async move {
            let mut wire = Wire::open(server.address).await;
            if n % 5 == 0 {
                // Gone before the answer.
                wire.send(&ask.clone().token(&alpha()).to_bytes()).await;
                return;
            }
            let answer = wire.ask(&ask.token(&alpha())).await;
            assert_eq!(answer.json()["result"]["structuredContent"]["echo"]["canary"], n, "{answer:?}");
        }
    });
    futures::future::join_all(asks).await;
    server.stop().await;
}
