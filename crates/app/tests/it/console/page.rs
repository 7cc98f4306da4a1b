//! The page and its files: what a browser gets, what programs do not get, and the headers of every answer.

use testkit::{Folder, Request};

use super::{get, json_of, program, serve};

const DOCUMENT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// The headers of the design, on whatever the console answers.
fn is_hardened(response: &testkit::Response) {
    let header = |name: &str| response.header(name).unwrap_or_default().to_owned();
    let policy = header("content-security-policy");
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ] {
        assert!(policy.contains(rule), "{rule} in {policy:?}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(header("cross-origin-opener-policy"), "same-origin");
    assert_eq!(header("cross-origin-resource-policy"), "same-origin");
    assert_eq!(header("referrer-policy"), "no-referrer");
    assert_eq!(header("x-content-type-options"), "nosniff");
}

/// A folder with a page of its own, as somebody has who works on it.
fn with_page(folder: &Folder) -> testkit::Program {
    let web = folder.outside().join("web");
    std::fs::create_dir_all(web.join("lib")).unwrap();
    std::fs::write(web.join("index.html"), "<!doctype html><title>dir2mcp</title>").unwrap();
    std::fs::write(web.join("lib/dom.js"), "export const h = 1;\n").unwrap();
    std::fs::write(web.join("secret.token"), "canary").unwrap();
    program(folder).env("DIR2MCP_CONSOLE_DIR", web.to_str().unwrap())
}

#[test]
fn browsers_get_the_page_and_programs_do_not() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = with_page(&folder).serve(&[]);
    let page = |path: &str| {
        server.connect().send(&Request::new("GET", path).header("Accept", DOCUMENT)).expect("an answer")
    };
    for path in
        ["/", "/?q=x", "/ask?q=y", "/file/dir/a.md", "/files", "/files/p/a", "/status", "/tools/dir2mcp/x"]
    {
        let answer = page(path);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{path}"
        );
        assert!(answer.text().contains("<title>dir2mcp"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        is_hardened(&answer);
    }
    for path in ["/", "/status", "/file/dir/a.md"] {
        let answer = server.connect().send(&Request::new("GET", path).header("Accept", "*/*")).unwrap();
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json")));
    }
    assert_eq!(page("/nothing").status, 404);
    assert_eq!(page("/healthz").text(), r#"{"status":"ok"}"#);
    assert_ne!(page("/mcp").status, 200, "the endpoint is no page");
    let posted = server.connect().send(&Request::new("POST", "/").header("Accept", DOCUMENT)).unwrap();
    assert_eq!(posted.status, 404);
}

#[test]
fn assets_have_tags_and_nothing_else_is_given_out() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = with_page(&folder).serve(&[]);
    let plain = |request: Request| server.connect().send(&request).expect("an answer");
    let answer = plain(Request::new("GET", "/console/lib/dom.js"));
    assert_eq!(
        (answer.status, answer.header("content-type"), answer.text().as_str()),
        (200, Some("text/javascript; charset=utf-8"), "export const h = 1;\n")
    );
    is_hardened(&answer);
    let tag = answer.header("etag").expect("a tag").to_owned();
    let again = plain(Request::new("GET", "/console/lib/dom.js").header("If-None-Match", &tag));
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag.as_str())));
    for path in [
        "/console/",
        "/console",
        "/console/secret.token",
        "/console/../.dir2mcp/secret.token",
        "/console/%2e%2e/secret.token",
        "/console/lib/../../root/a.md",
        "/console/none.js",
        "/favicon.ico",
    ] {
        let answer = plain(Request::new("GET", path));
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        assert!(!answer.text().contains("canary"));
    }
    assert_eq!(plain(Request::new("POST", "/console/lib/dom.js")).status, 405);
}

#[test]
fn every_answer_of_the_console_is_hardened_and_kept_nowhere() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    for path in [
        "/console/me",
        "/console/view?source=dir&path=a.md",
        "/console/view?source=dir&path=none.md",
        "/console/raw?source=dir&path=a.md",
        "/console/status",
        "/console/none",
    ] {
        let answer = get(&server, path);
        is_hardened(&answer);
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
}

#[test]
fn the_console_can_be_switched_off() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = with_page(&folder).serve(&["--console", "off"]);
    for path in ["/", "/console/me", "/console/lib/dom.js"] {
        let answer = server.send(Request::new("GET", path).header("Accept", DOCUMENT));
        assert_eq!(answer.status, 404, "{path}");
    }
    assert!(!server.events().iter().any(|event| event["event"] == "console"));
}

#[test]
fn a_public_server_has_no_page_unless_it_is_asked_for() {
    let folder = Folder::from("//- a.md\n# A\n");
    let hidden = with_page(&folder).serve(&["--public"]);
    assert_eq!(get(&hidden, "/console/me").status, 404);
    drop(hidden);
    let shown = with_page(&folder).serve(&["--public", "--console", "on"]);
    let me = get(&shown, "/console/me");
    assert_eq!(me.status, 200, "{}", me.text());
}

#[test]
fn paths_of_the_page_give_way_to_the_endpoint() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = with_page(&folder).serve(&["--mcp-path", "/tools"]);
    server.wait_indexed();
    assert!(server.expect("dir2mcp.stats", serde_json::json!({})).is_object());
    let page = server.connect().send(&Request::new("GET", "/status").header("Accept", DOCUMENT)).unwrap();
    assert_eq!(page.status, 200);
}

#[test]
fn who_am_i() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    let me = json_of(&get(&server, "/console/me"));
    assert_eq!(
        (&me["auth"], &me["guest"], &me["caller"]),
        (&"bearer".into(), &false.into(), &"bearer".into())
    );
    assert_eq!(me["roots"][0]["source"], "dir");
    assert_eq!(me["roots"][0]["path"], folder.path().to_str().unwrap());
    assert_eq!(me["chat"], serde_json::Value::Null);
    assert!(me["store"]["upload_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{me}");
    let contracts: Vec<(&str, &str)> = me["mcp"]["contracts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|contract| Some((contract["name"].as_str()?, contract["path"].as_str()?)))
        .collect();
    assert!(
        contracts.contains(&("dir2mcp", "/mcp")) && contracts.contains(&("files", "/mcp/files")),
        "{contracts:?}"
    );
    for (_, path) in contracts {
        let mut client = server.client_at(path);
        let listed = testkit::Client::request(&mut client, "tools/list", serde_json::json!({}));
        assert!(listed.result()["tools"].is_array(), "{path}");
    }
}
