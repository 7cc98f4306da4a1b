//! What no route of the console does: answer strangers, foreign pages, or whoever came by a name that is not the server's.

use serde_json::json;
use testkit::{Folder, Request, Server};

use super::{get, refusal, serve};

const READ: &[&str] = &[
    "/console/me",
    "/console/view?source=dir&path=a.md",
    "/console/list?source=dir",
    "/console/raw?source=dir&path=a.md",
    "/console/explain?q=a",
    "/console/events",
    "/console/status",
    "/console/files",
    "/console/connect",
];

const WRITTEN: &[&str] = &["/console/code", "/console/merge", "/console/ask"];

fn requests() -> impl Iterator<Item = Request> {
    let read = READ.iter().map(|path| Request::new("GET", path));
    read.chain(WRITTEN.iter().map(|path| {
        Request::new("POST", path).header("Content-Type", "application/json").body(json!({}).to_string())
    }))
}

fn send(server: &Server, request: &Request) -> testkit::Response {
    server.connect().send(request).expect("an answer")
}

#[test]
fn without_a_token_nothing_is_answered() {
    let folder = Folder::from("//- a.md\n# Canary\n");
    let server = serve(&folder);
    for request in requests() {
        let answer = send(&server, &request);
        assert_eq!(refusal(&answer), (401, "UNAUTHORIZED".into()), "{}", request.target);
        assert!(answer.header("www-authenticate").is_some());
        assert!(!answer.text().contains("Canary"));
        let wrong = send(&server, &request.clone().bearer(Some("guess")));
        assert_eq!(refusal(&wrong), (401, "UNAUTHORIZED".into()), "{}", request.target);
        // A token in the URL is no credential.
        let token = server.token.clone().unwrap();
        let joint = if request.target.contains('?') { '&' } else { '?' };
        let in_url = Request { target: format!("{}{joint}token={token}", request.target), ..request.clone() };
        assert_eq!(send(&server, &in_url).status, 401, "{}", request.target);
    }
}

#[test]
fn foreign_hosts_and_origins_are_refused_and_the_own_origin_is_not() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    let token = server.token.as_deref();
    for request in requests().chain([Request::new("POST", "/console/sign-in")]) {
        let foreign = request.clone().bearer(token).header("Origin", "http://evil.example");
        assert_eq!(refusal(&send(&server, &foreign)), (403, "FORBIDDEN_ORIGIN".into()), "{}", request.target);
        let rebound = request.clone().bearer(token).header("Host", "evil.example");
        assert_eq!(refusal(&send(&server, &rebound)), (403, "FORBIDDEN_HOST".into()), "{}", request.target);
    }
    let page = Request::new("GET", "/").header("Accept", "text/html");
    assert_eq!(send(&server, &page.clone().header("Origin", "http://evil.example")).status, 403);
    assert_eq!(send(&server, &page.header("Host", "evil.example")).status, 403);
    // The page's own requests: by the very name that it was fetched by.
    let own = format!("http://{}", server.address);
    let asked = Request::new("GET", "/console/me").bearer(token).header("Origin", &own);
    assert_eq!(send(&server, &asked).status, 200);
}

#[test]
fn a_page_may_call_tools_by_any_name_of_the_server() {
    let folder = Folder::from("//- a.md\n# A\n");
    let config = "server:\n  allowed_hosts: [search.test]\n";
    folder.write(".dir2mcp.yaml", config);
    let server = super::program(&folder).flag("--trust-config").serve(&[]);
    server.wait_indexed();
    let port = server.address.rsplit(':').next().unwrap();
    let call = |origin: &str| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {
            "_meta": testkit::modern_meta(),
        }});
        let request = Request::post("/mcp", &message)
            .header("MCP-Protocol-Version", testkit::MODERN)
            .header("Mcp-Method", "tools/list")
            .header("Host", &format!("search.test:{port}"))
            .header("Origin", origin)
            .bearer(server.token.as_deref());
        server.connect().send(&request).unwrap().status
    };
    assert_eq!(call(&format!("http://search.test:{port}")), 200);
    assert_eq!(call("http://search.test:1"), 403);
    assert_eq!(call(&format!("https://search.test:{port}")), 403);
}

#[test]
fn strange_parameters_are_refused_by_name() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    for (target, status) in [
        ("/console/view?source=dir", 400),
        ("/console/view?path=a.md", 400),
        ("/console/view?source=dir&path=a.md&nope=1", 400),
        ("/console/view?source=dir&path=a.md&from=x", 400),
        ("/console/view?source=dir.9&path=a.md", 400),
        ("/console/view?source=dir.1&path=a.md", 400),
        ("/console/view?source=etc&path=passwd", 400),
        ("/console/view?source=dir&path=../../etc/passwd", 403),
        ("/console/view?source=dir&path=%2Fetc%2Fpasswd", 403),
        ("/console/view?source=dir&path=.dir2mcp/secret.token", 403),
        ("/console/raw?source=dir&path=.dir2mcp/secret.token", 403),
        ("/console/raw?source=dir&path=../outside", 403),
        ("/console/list?source=dir&path=.dir2mcp", 404),
        ("/console/list?source=dir&limit=99999999", 400),
        ("/console/files?status=odd", 400),
        ("/console/explain?q=", 400),
        ("/console/view?source=dir&path=none.md", 404),
        ("/console/view?source=store.p&path=none.md", 404),
    ] {
        let answer = get(&server, target);
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
        assert!(!answer.text().contains(server.token.as_deref().unwrap()), "{target}");
    }
}
