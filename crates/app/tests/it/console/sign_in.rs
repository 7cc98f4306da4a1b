//! Signing in: a link works once, and the token is in no address, no output and no log.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{DEADLINE, Folder, Process, Request, Server};

use super::{json_of, post, program, refusal, serve};

fn exchange(server: &Server, code: &str) -> testkit::Response {
    let body = json!({ "code": code }).to_string();
    let request =
        Request::new("POST", "/console/sign-in").header("Content-Type", "application/json").body(body);
    server.connect().send(&request).expect("an answer")
}

#[test]
fn a_fresh_code_works_once() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    let fresh = json_of(&post(&server, "/console/code", &json!({})));
    let code = fresh["code"].as_str().unwrap();
    assert_eq!(json_of(&exchange(&server, code))["token"], server.token.clone().unwrap());
    assert_eq!(refusal(&exchange(&server, code)), (401, "UNAUTHORIZED".into()));
    assert_eq!(refusal(&exchange(&server, "guess")), (401, "UNAUTHORIZED".into()));
    // Not by what a form of another page can send.
    let form =
        Request::new("POST", "/console/sign-in").header("Content-Type", "text/plain").body(r#"{"code":"x"}"#);
    assert_eq!(server.connect().send(&form).unwrap().status, 400);
}

/// Waits for a line that starts like this.
fn line(process: &Process, start: &str) -> String {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = process.next_line(left).unwrap_or_else(|| panic!("no {start:?}: {:?}", process.printed()));
        if let Some(rest) = line.trim().strip_prefix(start) {
            return rest.trim().to_owned();
        }
    }
}

#[test]
fn up_prints_the_page_and_a_link() {
    let folder = Folder::from("//- a.md\n# A\n");
    let process = program(&folder).start(&["up"]);
    let address = loop {
        let url = line(&process, "URL:");
        if url.ends_with('/') {
            break url;
        }
    };
    let link = line(&process, "Sign in:");
    let (page, rest) = link.split_once("#code=").expect("a code in the fragment");
    assert_eq!(page, address);
    let code = rest.split_whitespace().next().unwrap();
    let host = address.strip_prefix("http://").unwrap().trim_end_matches('/');
    let body = json!({ "code": code }).to_string();
    let request =
        Request::new("POST", "/console/sign-in").header("Content-Type", "application/json").body(body);
    let answer = testkit::Connection::new(host).send(&request).unwrap();
    let token = std::fs::read_to_string(folder.state().join("secret.token")).unwrap();
    assert_eq!(json_of(&answer)["token"], token.trim());
    let (out, err) = process.printed();
    assert!(!out.contains(token.trim()) && !err.contains(token.trim()));
    process.terminate();
}

#[test]
fn the_console_command_gives_a_link_to_a_place() {
    let folder = Folder::from("//- src/a b.rs\nfn a() {}\n");
    let server = serve(&folder);
    let shown = program(&folder).run(&["console", "src/a b.rs:1-2", "--print"]).expect(0);
    let link = shown.stdout.trim().to_owned();
    let (page, fragment) = link.split_once('#').expect("a fragment");
    assert_eq!(page, format!("http://{}/file/dir/src/a%20b.rs", server.address));
    let code = fragment.strip_prefix("L1-L2&code=").expect("lines and a code");
    let token = server.token.clone().unwrap();
    assert!(!link.contains(&token));
    assert_eq!(json_of(&exchange(&server, code))["token"], token);
    assert_eq!(exchange(&server, code).status, 401);
    let json = program(&folder).json(&["console", "--json"]);
    assert_eq!(json["url"], format!("http://{}/", server.address));
}

#[test]
fn without_a_server_the_command_says_how_to_start_one() {
    let folder = Folder::from("//- a.md\n# A\n");
    let ended = program(&folder).run(&["console"]).expect(1);
    assert!(ended.stderr.contains("dir2mcp up"), "{}", ended.stderr);
    let server = program(&folder).serve(&["--console", "off"]);
    let ended = program(&folder).run(&["console"]).expect(2);
    assert!(ended.stderr.contains("--console on"), "{}", ended.stderr);
    drop(server);
}

#[test]
fn without_a_token_nobody_signs_in() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = program(&folder).serve(&["--auth", "none"]);
    assert_eq!(json_of(&exchange(&server, "any"))["token"], serde_json::Value::Null);
    let me = json_of(&super::get(&server, "/console/me"));
    assert_eq!(me["auth"], "none");
    let link = program(&folder).run(&["console", "--print"]).expect(0);
    assert!(!link.stdout.contains("code="), "{}", link.stdout);
}

#[test]
fn the_token_is_in_no_event_and_no_log() {
    let folder = Folder::from("//- a.md\n# A\n");
    let log = folder.outside().join("log");
    let server = program(&folder).serve(&["-vvv", "--log-file", log.to_str().unwrap()]);
    server.wait_indexed();
    let fresh = json_of(&post(&server, "/console/code", &json!({})));
    let code = fresh["code"].as_str().unwrap().to_owned();
    let token = json_of(&exchange(&server, &code))["token"].as_str().unwrap().to_owned();
    for path in ["/console/me", "/console/status", "/console/connect", "/console/view?source=dir&path=a.md"] {
        assert!(!super::get(&server, path).text().contains(&token), "{path}");
    }
    let printed = format!("{:?}", server.events());
    assert!(!printed.contains(&token) && !printed.contains("code="), "{printed}");
    let deadline = Instant::now() + Duration::from_secs(5);
    while std::fs::read_to_string(&log).unwrap_or_default().is_empty() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(!log.is_empty() && !log.contains(&token) && !log.contains(&code), "{log}");
}
