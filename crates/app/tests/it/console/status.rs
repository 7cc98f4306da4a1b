//! The status: what is searchable and what is not, with the reason, and how each client is connected.

use serde_json::{Value, json};
use testkit::Folder;

use super::{ask, serve};

#[test]
fn status_counts_what_is_there_and_why_the_rest_is_not() {
    let folder = Folder::from("//- a.md\n# A\n//- src/b.rs\nfn b() {}\n");
    folder.write("noise.bin", [0u8, 159, 146, 150].repeat(100));
    folder.write("logo.png", testkit::picture("logo"));
    let server = serve(&folder);
    server.expect("dir2mcp.list_files", json!({}));
    let status = ask(&server, "/console/status");
    let root = &status["roots"][0];
    assert_eq!(
        (&root["source"], &root["built"], &root["writer"]["here"]),
        (&json!("dir"), &json!(true), &json!(true))
    );
    assert_eq!(
        (&root["progress"]["searchable"], &root["progress"]["not_searchable"]),
        (&json!(2), &json!(2))
    );
    let documents = root["documents"].as_array().unwrap();
    assert!(documents.contains(&json!({ "doc_type": "code", "status": "ok", "count": 1 })), "{documents:?}");
    assert_eq!(root["reasons"].as_array().unwrap().len(), 2, "{root}");
    let tool =
        status["tools"].as_array().unwrap().iter().find(|tool| tool["tool"] == "dir2mcp.list_files").unwrap();
    assert_eq!((&tool["calls"], &tool["errors"]), (&json!(1), &json!(0)));
    let counted: u64 =
        tool["buckets"].as_array().unwrap().iter().filter_map(|bucket| bucket["count"].as_u64()).sum();
    assert_eq!(counted, 1);
    assert_eq!(status["recent_calls"][0]["tool"], "dir2mcp.list_files");
    assert_eq!(status["indexing_rate"]["files"].as_array().unwrap().len(), 120);
    let embed =
        status["models"].as_array().unwrap().iter().find(|model| model["capability"] == "embed").unwrap();
    assert_eq!((&embed["provider"], &embed["state"]), (&json!("builtin"), &json!("ready")));
    assert_eq!((&status["sessions"]["open"], &status["pid"]), (&json!(0), &json!(server.id())));
    let legacy = server.client(testkit::Era::Legacy);
    let sessions = &ask(&server, "/console/status")["sessions"];
    assert_eq!((&sessions["open"], &sessions["list"][0]["caller"]), (&json!(1), &json!("bearer")));
    drop(legacy);
}

#[test]
fn files_by_status_and_reason() {
    let folder = Folder::from("//- a.md\n# A\n");
    folder.write("noise.bin", [0u8, 159, 146, 150].repeat(100));
    folder.write("sub/logo.png", testkit::picture("logo"));
    let server = serve(&folder);
    let paths = |query: &str| -> Vec<String> {
        let listed = ask(&server, &format!("/console/files?{query}"));
        let paths =
            listed["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned());
        paths.collect()
    };
    assert_eq!(paths("status=not_searchable"), ["noise.bin", "sub/logo.png"]);
    assert_eq!(paths("status=ok"), ["a.md"]);
    assert_eq!(paths("type=image"), ["sub/logo.png"]);
    assert_eq!(paths("filter=LOGO"), ["sub/logo.png"]);
    assert_eq!(paths("status=not_searchable&limit=1&offset=1"), ["sub/logo.png"]);
    let listed = ask(&server, "/console/files?type=image");
    let file = &listed["files"][0];
    assert!(file["code"].is_string() && file["reason"].is_string(), "{file}");
    assert!(
        file["remedy"].as_str().is_some_and(|remedy| remedy.contains("dir2mcp extras add ocr")),
        "{file}"
    );
    let code = file["code"].as_str().unwrap();
    assert!(paths(&format!("code={code}&status=not_searchable")).contains(&"sub/logo.png".to_owned()));
}

#[test]
fn clients_are_connected_without_the_token() {
    let folder = Folder::from("//- a.md\n# A\n");
    let server = serve(&folder);
    let connect = ask(&server, "/console/connect");
    let clients = connect["clients"].as_array().unwrap();
    assert!(clients.len() >= 10, "{}", clients.len());
    let claude = clients.iter().find(|client| client["id"] == "claude").unwrap();
    let texts: String =
        claude["steps"].as_array().unwrap().iter().filter_map(|step| step["text"].as_str()).collect();
    assert!(texts.contains(&server.url()), "{texts}");
    let all = connect.to_string();
    assert!(!all.contains(server.token.as_deref().unwrap()));
    assert!(connect["curl"].as_str().is_some_and(|text| text.starts_with("curl ")), "{}", connect["curl"]);
}

#[test]
fn scores_are_explained() {
    let folder =
        Folder::from("//- lease.md\nTo renew a lease, ask the registry.\n//- b.md\nNothing of the kind.\n");
    let server = serve(&folder);
    let found = server.expect("dir2mcp.search", json!({ "query": "renew lease" }));
    let explained = ask(&server, "/console/explain?q=renew+lease");
    let (hit, told) = (&found["hits"][0], &explained["hits"][0]);
    assert_eq!(hit["chunk_id"], told["chunk_id"]);
    let parts: Vec<&Value> = told["parts"].as_array().unwrap().iter().collect();
    assert!(parts.iter().any(|part| part["name"] == "lexical"), "{parts:?}");
}
