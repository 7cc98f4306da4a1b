//! Which route a path belongs to.

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use dir2mcp_http::{Anonymous, HttpConfig, HttpSite, Route, RouteGuard, bind};
use http::Request;
use tokio_util::sync::CancellationToken;

use crate::harness::Server;
use crate::wire::Ask;

fn named(path: &str, name: &'static str) -> Route {
    Route::new(path, Router::new().fallback(async move || name)).guard(RouteGuard::Open)
}

#[tokio::test]
async fn a_router_serves_the_paths_below_its_own() {
    let api = Router::new()
        .route("/api/files/{*path}", get(async |Path(path): Path<String>| path))
        .route("/api/status", get(async || "fine"));
    let api = Route::new("/api", api).with_subpaths().guard(RouteGuard::Open);
    let routes = [api, named("/api/search", "exactly"), named("/apis", "another")];
    let server = Server::start(routes).await;
    for (path, status, text) in [
        ("/api/status", 200, "fine"),
        ("/api/files/a/b.txt", 200, "a/b.txt"),
        ("/api/search", 200, "exactly"),
        ("/apis", 200, "another"),
        ("/api/files/%2e%2e/x", 200, "../x"),
    ] {
        let answer = server.ask(&Ask::new("GET", path)).await;
        assert_eq!((answer.status, answer.text().as_str()), (status, text), "{path}");
    }
    for path in ["/api/none", "/api/", "/apis/x", "/ap"] {
        assert_eq!(server.ask(&Ask::new("GET", path)).await.status, 404, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_path_is_served_once_and_the_health_checks_keep_theirs() {
    for routes in [["/a", "/a"], ["/b", "/healthz"], ["/c", "not a path"]] {
        let bound = bind(HttpConfig { auth: Arc::new(Anonymous::default()), ..HttpConfig::default() });
        let bound = bound.await.expect("binds");
        let site = HttpSite::default().vitals(Arc::new(dir2mcp_http::NoVitals));
        let site = routes.iter().fold(site, |site, path| site.route(named(path, "x")));
        let error = bound.serve(site, CancellationToken::new()).await.expect_err("refused");
        assert_eq!(error.code(), "CONFIG_INVALID", "{error}");
        assert!(error.to_string().contains(routes[1]), "{error}");
    }
}

#[tokio::test]
async fn a_service_never_sees_a_secret() {
    let echo =
        Router::new().fallback(async |request: Request<axum::body::Body>| format!("{:?}", request.headers()));
    let server = Server::start([Route::new("/echo", echo)]).await;
    let ask = Ask::new("GET", "/echo")
        .with("Cookie", "secret-cookie")
        .with("Proxy-Authorization", "secret-proxy")
        .with("X-Provider-Key", "secret-provider")
        .with("X-Other", "visible");
    let seen = server.ask_as_alice(ask).await.text();
    assert!(seen.contains("visible") && !seen.contains("secret") && !seen.contains("canary"), "{seen}");
    server.stop().await;
}
