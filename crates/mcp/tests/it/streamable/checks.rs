//! What is checked before a body is read: Host, Origin, credential, path, method; and what browsers are told.

use std::sync::Arc;

use dir2mcp_http::{Anonymous, HttpConfig, bind};
use serde_json::json;

use super::harness::{Server, alpha, in_session, initialize, initialized, modern, modern_call};
use super::wire::{Ask, Wire};

/// Announces a body that never comes: a server that reads it before the check waits for ever.
fn bodiless(ask: Ask) -> Ask {
    ask.with("Content-Length", "1000")
}

#[tokio::test]
async fn m7_foreign_hosts_are_refused_before_the_body_is_read() {
    let server = Server::start().await;
    let post = || bodiless(Ask::post("")).token(&alpha());
    let foreign: [&[u8]; 9] = [
        b"evil.example",
        b"evil.example:80",
        b"127.0.0.1.nip.io",
        b"localhost.",
        b"localhost.evil.com",
        b"0.0.0.0",
        b"",
        b"a b",
        b"\xff\xfe",
    ];
    for path in ["/mcp", "/healthz", "/readyz", "/nothing"] {
        let to = |ask: Ask| Ask { target: path.into(), ..ask };
        for host in foreign {
            let answer = server.ask(&to(post().with("Host", host))).await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "FORBIDDEN_HOST"), "{path} {host:?}");
        }
        assert_eq!(server.ask(&to(post().without("Host"))).await.status, 403, "no Host");
        assert_eq!(server.ask(&to(post().and("Host", "127.0.0.1"))).await.status, 403, "two Hosts");
        assert_eq!(server.ask(&to(post().and("Host", "evil.example"))).await.status, 403, "two Hosts");
        let absolute = Ask { target: format!("http://evil.example{path}"), ..post() };
        assert_eq!(server.ask(&absolute).await.status, 403, "absolute target");
    }
    server.stop().await;
}

#[tokio::test]
async fn m7_our_own_names_are_accepted() {
    let server = Server::start().await;
    let port = server.address.port();
    for host in ["127.0.0.1", "localhost", "LocalHost:1", "[::1]:80", &format!("127.0.0.1:{port}")] {
        let answer = server.ask_as_alice(modern("tools/list", json!({})).with("Host", host)).await;
        assert_eq!(answer.status, 200, "{host}");
    }
    let absolute = Ask { target: "http://localhost/mcp".into(), ..modern("tools/list", json!({})) };
    assert_eq!(server.ask_as_alice(absolute.with("Host", "localhost")).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn m22_the_public_is_not_served_without_a_token_and_by_named_hosts_only() {
    let open = HttpConfig { listen: "0.0.0.0:0".into(), ..HttpConfig::default() };
    let error = bind(open.clone()).await.err().expect("refused");
    assert_eq!(error.code(), "CONFIG_INVALID", "{error}");
    let public = HttpConfig { public: true, ..HttpConfig::default() };
    assert!(bind(public).await.is_err());
    assert!(bind(HttpConfig { allow_insecure: true, ..open }).await.is_ok());

    let server = Server::with(|config| {
        config.listen = "0.0.0.0:0".into();
        config.public = true;
        config.allowed_hosts = vec!["mcp.example.com".into()];
    })
    .await;
    assert!(server.url.starts_with("http://127.0.0.1:"), "{}", server.url);
    for (host, status) in
        [("mcp.example.com", 200), ("192.0.2.7:80", 200), ("evil.example", 403), ("0.0.0.0", 403)]
    {
        let answer = server.ask_as_alice(modern("tools/list", json!({})).with("Host", host)).await;
        assert_eq!(answer.status, status, "{host}");
    }
    server.stop().await;
}

#[tokio::test]
async fn d124_m8_foreign_origins_are_refused_before_the_body_is_read() {
    let server = Server::start().await;
    let post = || bodiless(Ask::post("")).token(&alpha());
    let foreign: [&[u8]; 11] = [
        b"http://evil.example",
        b"https://localhost",
        b"http://localhost.evil.com",
        b"http://localhost:80@evil.com",
        b"http://localhost/",
        b"null",
        b"",
        b"file://",
        b"localhost",
        b"http://localhost http://evil.example",
        b"http://loc\xffalhost",
    ];
    for path in ["/mcp", "/healthz", "/nothing"] {
        for origin in foreign {
            let answer = server.ask(&Ask { target: path.into(), ..post().with("Origin", origin) }).await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (403, "FORBIDDEN_ORIGIN"),
                "{path} {origin:?}"
            );
            assert_eq!(answer.json()["error"]["code"], -32000);
            assert_eq!(answer.json()["error"]["data"]["retryable"], false);
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    let twice = post().with("Origin", "http://localhost").and("Origin", "http://localhost");
    assert_eq!(server.ask(&twice).await.status, 403);
    server.stop().await;
}

#[tokio::test]
async fn case_8_an_entry_without_a_port_admits_every_port() {
    let server = Server::with(|config| config.allowed_origins = vec!["http://localhost".into()]).await;
    let list = || modern("tools/list", json!({})).token(&alpha());
    assert_eq!(server.ask(&list()).await.status, 200, "no Origin");
    for (origin, status) in
        [("http://localhost:5173", 200), ("http://localhost", 200), ("http://127.0.0.2", 403), ("x", 403)]
    {
        assert_eq!(server.ask(&list().with("Origin", origin)).await.status, status, "{origin}");
    }
    server.stop().await;
}

#[tokio::test]
async fn c43_a_bad_origin_is_told_before_a_missing_token() {
    let server = Server::start().await;
    let answer = server.ask(&Ask::post(initialize()).with("Origin", "http://evil.example")).await;
    assert_eq!(answer.status, 403);
    let answer = server.ask(&Ask::post(initialize()).with("Origin", "http://localhost")).await;
    assert_eq!(answer.status, 401);
    server.stop().await;
}

#[tokio::test]
async fn d125_d137_a_bearer_token_is_required() {
    let server = Server::start().await;
    let post = || bodiless(Ask::post(""));
    let query = Ask { target: format!("/mcp?token={}&access_token={}", alpha(), alpha()), ..post() };
    for ask in [
        post(),
        post().token("wrong"),
        post().token(""),
        post().with("Authorization", format!("Basic {}", alpha())),
        post().with("Authorization", alpha()),
        post().token(&alpha()).and("Authorization", format!("Bearer {}", alpha())),
        post().with("Cookie", format!("token={}", alpha())),
        query,
        Ask { method: "GET".into(), ..post() },
        Ask { method: "DELETE".into(), ..post() },
    ] {
        let answer = server.ask(&ask).await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "UNAUTHORIZED"));
        assert_eq!(answer.json()["error"]["code"], -32000);
        assert!(answer.header("www-authenticate").expect("a challenge").starts_with("Bearer"));
    }
    let answer = server
        .ask(&modern("tools/list", json!({})).with("authorization", format!("bearer {}", alpha())))
        .await;
    assert_eq!(answer.status, 200, "the scheme has no case");
    server.stop().await;
}

#[tokio::test]
async fn d022_auth_none_serves_the_local_user_as_anonymous() {
    let server = Server::with(|config| config.auth = Arc::new(Anonymous::default())).await;
    let answer = server.ask(&modern_call("whoami", json!({}))).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["caller"], "http:anonymous@127.0.0.1");
    server.stop().await;
}

#[tokio::test]
async fn the_caller_is_known_by_a_label_in_both_eras() {
    let server = Server::start().await;
    let answer = server.ask_as_alice(modern_call("whoami", json!({}))).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["caller"], "http:alice@127.0.0.1");
    let session = server.initialize(&alpha()).await;
    let body = super::harness::call(2, "whoami", json!({}));
    let answer = server.ask_as_alice(in_session(&session, body)).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["caller"], "http:alice@127.0.0.1");
    server.stop().await;
}

#[tokio::test]
async fn unknown_paths_and_methods() {
    let server = Server::start().await;
    for path in ["/", "/mcp/", "/MCP", "/mcp/x", "/favicon.ico", "/.well-known/oauth-protected-resource"] {
        let answer = server.ask_as_alice(Ask { target: path.into(), ..Ask::post(initialize()) }).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"), "{path}");
    }
    for method in ["PUT", "PATCH", "HEAD", "TRACE", "BREW"] {
        let answer = server.ask_as_alice(Ask { method: method.into(), ..Ask::post("") }).await;
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.header("allow").expect("Allow").contains("POST"));
    }
    server.stop().await;
}

#[tokio::test]
async fn health_needs_no_token_and_tells_nothing() {
    let server = Server::start().await;
    for (path, body) in [("/healthz", r#"{"status":"ok"}"#), ("/readyz", r#"{"status":"ready"}"#)] {
        let answer = server.ask(&Ask::new("GET", path)).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, body));
        assert_eq!(server.ask(&Ask::new("HEAD", path)).await.status, 200);
        assert_eq!(server.ask(&Ask::new("POST", path)).await.status, 405);
    }
    server.stop().await;
}

#[tokio::test]
async fn cors_for_allowed_pages() {
    let server = Server::start().await;
    let preflight = Ask::new("OPTIONS", "/mcp")
        .with("Origin", "http://localhost:5173")
        .with("Access-Control-Request-Method", "POST")
        .with("Access-Control-Request-Headers", "authorization, mcp-param-region, x-other");
    let answer = server.ask(&preflight).await;
    assert_eq!(answer.status, 204, "no token is needed");
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:5173"));
    assert_eq!(answer.header("access-control-max-age"), Some("86400"));
    assert!(answer.header("vary").expect("Vary").contains("Origin"));
    let methods = answer.header("access-control-allow-methods").expect("methods");
    assert!(["POST", "GET", "DELETE", "OPTIONS"].iter().all(|method| methods.contains(method)));
    let headers = answer.header("access-control-allow-headers").expect("headers").to_ascii_lowercase();
    for name in [
        "authorization",
        "content-type",
        "mcp-protocol-version",
        "mcp-session-id",
        "payment-signature",
        "mcp-param-region",
    ] {
        assert!(headers.contains(name), "{name} in {headers}");
    }
    assert!(!headers.contains("x-other"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);

    let answer = server.ask(&Ask::post(initialize()).with("Origin", "http://localhost:5173")).await;
    assert_eq!(answer.status, 401, "a page may read why it was refused");
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:5173"));
    let answer = server.ask_as_alice(Ask::post(initialize()).with("Origin", "http://localhost:5173")).await;
    let exposed = answer.header("access-control-expose-headers").expect("exposed");
    for name in ["MCP-Session-Id", "PAYMENT-REQUIRED", "PAYMENT-RESPONSE", "X-MCP-Session-Expired"] {
        assert!(exposed.contains(name), "{name}");
    }
    let answer = server.ask(&preflight.with("Origin", "http://evil.example")).await;
    assert_eq!(answer.status, 403);
    let answer = server.ask_as_alice(Ask::post(initialize())).await;
    assert_eq!(answer.header("access-control-allow-origin"), None, "not a page");
    server.stop().await;
}

#[tokio::test]
async fn every_answer_forbids_caching_and_sniffing() {
    let server = Server::start().await;
    for ask in [
        Ask::post(initialize()),
        Ask::post(initialize()).with("Host", "evil.example"),
        Ask::new("GET", "/healthz"),
        modern("tools/list", json!({})).token(&alpha()),
        Ask::post(initialize()).token(&alpha()),
    ] {
        let answer = server.ask(&ask).await;
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.header("cache-control").expect("set").starts_with("no-"));
    }
    server.stop().await;
}

#[tokio::test]
async fn m17_headers_that_contradict_the_body_are_refused() {
    let server = Server::start().await;
    for ask in [
        modern_call("echo", json!({})).with("Mcp-Name", "whoami"),
        modern_call("echo", json!({})).with("Mcp-Method", "tools/list"),
        modern_call("echo", json!({})).with("MCP-Protocol-Version", "2025-11-25"),
        modern_call("echo", json!({})).without("Mcp-Method"),
    ] {
        let answer = server.ask_as_alice(ask).await;
        assert_eq!(
            (answer.status, answer.json()["error"]["code"].as_i64()),
            (400, Some(-32020)),
            "{answer:?}"
        );
    }
    for name in ["Mcp-Name", "Mcp-Method", "MCP-Protocol-Version", "MCP-Session-Id"] {
        let answer = server.ask_as_alice(modern_call("echo", json!({})).and(name, "x").and(name, "x")).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "INVALID_FIELD"), "two of {name}");
    }
    server.stop().await;
}

#[tokio::test]
async fn d116_accept_is_a_recommendation() {
    let server = Server::start().await;
    for accept in [None, Some("*/*"), Some("application/json"), Some("application/json, text/event-stream")] {
        let ask = |body: String| match accept {
            Some(accept) => Ask::post(body).with("Accept", accept),
            None => Ask::post(body).without("Accept"),
        };
        let answer = server.ask_as_alice(ask(initialize())).await;
        assert_eq!(answer.status, 200, "{accept:?}");
        assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25");
        if accept == Some("application/json") {
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
        let session = answer.header("mcp-session-id").expect("an id").to_owned();
        let answer =
            server.ask_as_alice(ask(super::harness::list_tools(2)).with("MCP-Session-Id", &session)).await;
        assert!(answer.json()["result"]["tools"].is_array(), "{accept:?}: {answer:?}");
        let answer = server.ask_as_alice(ask(initialized()).with("MCP-Session-Id", &session)).await;
        assert_eq!((answer.status, answer.body.len()), (202, 0));
    }
    let answer = server.ask_as_alice(Ask::post(initialize()).with("Accept", "text/html")).await;
    assert_eq!((answer.status, answer.code().as_str()), (406, "INVALID_FIELD"));
    server.stop().await;
}

#[tokio::test]
async fn d137_bind_failures_say_what_to_do() {
    let server = Server::start().await;
    let taken = HttpConfig { listen: server.address.to_string(), ..HttpConfig::default() };
    let error = bind(taken).await.err().expect("the port is taken");
    assert_eq!(error.code(), "BIND_FAILED");
    assert!(error.to_string().contains(&server.address.to_string()) && error.to_string().contains("port 0"));
    for bad in ["", "nonsense", "127.0.0.1", "127.0.0.1:99999", ":80"] {
        let error = bind(HttpConfig { listen: bad.into(), ..HttpConfig::default() }).await.err().expect(bad);
        assert_eq!(error.code(), "CONFIG_INVALID", "{bad}");
    }
    server.stop().await;
}

#[tokio::test]
async fn d019_d020_the_url_names_the_bound_address_and_path() {
    let bound = bind(HttpConfig::default()).await.unwrap();
    assert_eq!(bound.url("/other"), format!("http://127.0.0.1:{}/other", bound.local_addr().port()));
    let bound = bind(HttpConfig { listen: "localhost:0".into(), ..HttpConfig::default() }).await.unwrap();
    assert!(bound.url("/mcp").starts_with("http://localhost:"));
}

#[tokio::test]
async fn several_servers_at_several_paths_do_not_share_sessions() {
    let server = Server::mounted(&["/mcp", "/mcp/repo"], |_| {}, |_| {}).await;
    let to_repo = |ask: Ask| Ask { target: "/mcp/repo".into(), ..ask };
    let session = server.initialize(&alpha()).await;
    let list = in_session(&session, super::harness::list_tools(2)).token(&alpha());
    assert_eq!(server.ask(&list).await.status, 200);
    assert_eq!(server.ask(&to_repo(list.clone())).await.status, 404);
    let answer = server.ask(&to_repo(modern("tools/list", json!({})).token(&alpha()))).await;
    assert_eq!(answer.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn keep_alive_serves_one_request_after_another() {
    let server = Server::start().await;
    let mut wire = Wire::open(server.address).await;
    for n in 0..5 {
        let answer = wire.ask(&modern_call("echo", json!({ "n": n })).token(&alpha())).await;
        assert_eq!(answer.json()["result"]["structuredContent"]["echo"]["n"], n);
        assert_eq!(
            wire.ask(&Ask::post("{").token(&alpha())).await.status,
            400,
            "a refusal keeps the connection"
        );
    }
    server.stop().await;
}
