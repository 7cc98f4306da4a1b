//! The envelope and the audit log.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::Client;

use super::{envelope, repo, result, service, strings};

#[test]
fn r038_r039_r050_the_envelope_and_the_status() {
    let folder = service();
    let mut server = repo(&folder);
    result(&mut server, "refresh_index", json!({}));
    let reply = server.call("repo.status", json!({}));
    let answer = reply.structured().clone();
    let keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["request_id", "ok", "result", "warnings", "blocked"]);
    assert_eq!(serde_json::from_str::<Value>(&reply.text()).unwrap(), answer, "the text is the same JSON");
    assert_eq!(answer["request_id"], "3", "the id of the request");
    let status = &answer["result"];
    assert_eq!(status["repo_root"], folder.path().to_str().unwrap());
    assert_eq!(status["index_status"], "ready");
    assert_eq!(status["indexed_file_count"], 4);
    assert!(status["last_refresh_timestamp"].as_str().unwrap().ends_with('Z'));
    assert!(status["enabled_adapters"].as_array().unwrap().contains(&json!("python")));
    assert_eq!(status["limits_summary"]["max_open_lines"], 500);
    assert_eq!(status["chunking_summary"]["lines"], 200);
    assert_eq!(status["chunking_summary"]["overlap_lines"], 30);
    assert_eq!(status["semantic_available"], false);
}

#[test]
fn r049_r050_the_audit_log() {
    let folder = service();
    let mut server = repo(&folder);
    result(&mut server, "search", json!({ "query": "where is the lighthouse" }));
    envelope(&mut server, "open_file", json!({ "path": ".env" }));
    envelope(&mut server, "search", json!({ "query": "x", "top_k": 500 }));
    let records = result(&mut server, "audit_log", json!({}))["records"].clone();
    assert_eq!(
        strings(&records, "tool"),
        ["repo.search", "repo.open_file", "repo.search"],
        "without the call itself"
    );
    assert_eq!(records[0]["metadata"], json!({ "query_present": true, "query_length": 23 }));
    assert_eq!((&records[1]["blocked"], &records[1]["error_code"]), (&json!(true), &json!("PATH_BLOCKED")));
    assert_eq!(records[1]["metadata"]["path"], ".env");
    assert_eq!(records[2]["error_code"], "POLICY_BLOCKED");
    let since = records[2]["timestamp"].as_str().unwrap();
    let later = result(&mut server, "audit_log", json!({ "since": since }))["records"].clone();
    assert!(strings(&later, "tool").contains(&"repo.audit_log".to_owned()));
    assert_eq!(
        strings(&result(&mut server, "audit_log", json!({ "limit": 1 }))["records"], "tool"),
        ["repo.audit_log"]
    );
    let mode = fs::metadata(folder.path().join(".repo_mcp/audit.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
