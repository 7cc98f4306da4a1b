//! Rates, floods and caps.

use std::time::Duration;

use dir2mcp_http::{Network, RateLimit};
use serde_json::json;

use super::harness::{Server, alpha, beta, in_session, initialize, list_tools, modern};
use super::wire::{Ask, Wire};

fn list() -> Ask {
    modern("tools/list", json!({})).token(&alpha())
}

async fn limited(trusted: &[&str]) -> Server {
    let trusted: Vec<Network> = trusted.iter().map(|network| network.parse().unwrap()).collect();
    Server::with(|config| {
        config.public = true;
        config.rate_limit = Some(RateLimit { per_second: 1, burst: 1 });
        config.trusted_proxies = trusted;
    })
    .await
}

#[tokio::test]
async fn case_9_one_address_may_ask_so_often() {
    let server = limited(&["127.0.0.1/32"]).await;
    let from = |address: &str| list().with("X-Forwarded-For", address);
    assert_eq!(server.ask(&from("203.0.113.9")).await.status, 200);
    let answer = server.ask(&from("203.0.113.9")).await;
    assert_eq!((answer.status, answer.code().as_str()), (429, "RATE_LIMIT_EXCEEDED"));
    assert_eq!(answer.json()["error"]["code"], -32000);
    assert_eq!(answer.json()["error"]["data"]["retryable"], true);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(server.ask(&from("203.0.113.10")).await.status, 200, "another address");
    assert_eq!(server.ask(&from("8.8.8.8, 203.0.113.9")).await.status, 429, "an invented hop on the left");
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(server.ask(&from("203.0.113.9")).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn case_9_the_local_user_is_never_limited_and_strangers_cannot_pose_as_others() {
    let server = limited(&[]).await;
    for n in 0..10 {
        assert_eq!(server.ask(&list()).await.status, 200);
        let posing = list().with("X-Forwarded-For", format!("203.0.113.{n}"));
        assert_eq!(server.ask(&posing).await.status, 200, "the header is not believed");
    }
    server.stop().await;
}

#[tokio::test]
async fn rates_apply_to_the_public_only() {
    let server = Server::with(|config| config.rate_limit = Some(RateLimit { per_second: 1, burst: 1 })).await;
    for _ in 0..5 {
        assert_eq!(server.ask(&list().with("X-Forwarded-For", "203.0.113.9")).await.status, 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn guessing_tokens_is_limited_too() {
    let server = limited(&["127.0.0.1"]).await;
    let guess = |n: u32| list().token(&format!("guess{n}")).with("X-Forwarded-For", "203.0.113.9");
    assert_eq!(server.ask(&guess(0)).await.status, 401);
    for n in 1..5 {
        assert_eq!(server.ask(&guess(n)).await.status, 429);
    }
    server.stop().await;
}

#[tokio::test]
async fn m20_a_flood_of_handshakes_is_capped_and_honest_clients_are_served() {
    let server = Server::with_sessions(|config| {
        config.max_sessions = 32;
        config.max_awake_sessions = 4;
    })
    .await;
    let honest = server.initialize(&alpha()).await;
    let mut wire = Wire::open(server.address).await;
    let mut flood = Wire::open(server.address).await;
    let mut full = 0;
    for n in 0..400 {
        let answer = flood.ask(&Ask::post(initialize()).token(&beta())).await;
        match answer.status {
            200 => {}
            503 => {
                full += 1;
                assert_eq!(answer.code(), "SESSION_LIMIT_REACHED");
                assert_eq!(answer.json()["error"]["data"]["retryable"], true);
                assert!(answer.header("retry-after").expect("set").parse::<u64>().expect("seconds") >= 1);
            }
            other => panic!("{other}"),
        }
        if n % 10 == 0 {
            let answer = wire.ask(&in_session(&honest, list_tools(n)).token(&alpha())).await;
            assert_eq!(answer.status, 200, "the honest client is served after {n} handshakes");
        }
    }
    assert_eq!(full, 400 - 31, "no session may be dropped yet");
    // Two seconds later those that were never used make room, and the one in use stays.
    server.clock.advance(Duration::from_secs(3));
    let second = server.initialize(&alpha()).await;
    for session in [&honest, &second] {
        assert_eq!(wire.ask(&in_session(session, list_tools(1)).token(&alpha())).await.status, 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn m20_unknown_sessions_allocate_nothing() {
    let server = Server::with_sessions(|config| config.max_sessions = 1).await;
    let mut wire = Wire::open(server.address).await;
    for n in 0..200 {
        let ask = in_session(&format!("sess_{n:032x}"), list_tools(1)).token(&alpha());
        assert_eq!(wire.ask(&ask).await.status, 404);
    }
    assert_eq!(wire.ask(&Ask::post(initialize()).token(&alpha())).await.status, 200, "the one place is free");
    server.stop().await;
}

#[tokio::test]
async fn a_refused_handshake_takes_no_place() {
    let server = Server::with_sessions(|config| config.max_sessions = 1).await;
    let mismatched = Ask::post(initialize()).with("MCP-Protocol-Version", "2025-06-18").token(&alpha());
    for _ in 0..3 {
        let answer = server.ask(&mismatched).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.header("mcp-session-id"), None);
    }
    server.initialize(&alpha()).await;
    server.stop().await;
}

#[tokio::test]
async fn connections_beyond_the_cap_wait_their_turn() {
    let server = Server::with(|config| config.max_connections = 2).await;
    let mut first = Wire::open(server.address).await;
    let mut second = Wire::open(server.address).await;
    assert_eq!(first.ask(&Ask::new("GET", "/healthz")).await.status, 200);
    assert_eq!(second.ask(&Ask::new("GET", "/healthz")).await.status, 200);
    let mut third = Wire::open(server.address).await;
    third.send(&Ask::new("GET", "/healthz").to_bytes()).await;
    drop(first);
    assert_eq!(third.answer().await.status, 200);
    server.stop().await;
}
