//! Files whose reads never come back: they are named with a reason, and nothing else waits for them.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Client, Era, Folder, HangingFiles};

use super::program;

/// A folder with a mounted directory in which one file hangs. `None` where that cannot be mounted.
#[allow(clippy::print_stderr, reason = "the tests' output says that these did nothing")]
fn folder(read_timeout: &str) -> Option<(Folder, HangingFiles)> {
    let folder = Folder::from("//- notes.md\nThe lighthouse stands on local ground.\n");
    folder.write(".dir2mcp.yaml", format!("version: 1\ningest:\n  read_timeout: \"{read_timeout}\"\n"));
    let cloud = folder.path().join("cloud");
    std::fs::create_dir(&cloud).unwrap();
    let Some(mounted) = HangingFiles::mount(&cloud) else {
        eprintln!("left out: a FUSE file system cannot be mounted here");
        return None;
    };
    Some((folder, mounted))
}

#[test]
fn d099_a_file_that_hangs_is_named_and_the_others_are_indexed() {
    let Some((folder, _mounted)) = folder("1s") else { return };
    let server = program(&folder).serve(&[]);
    server.wait_indexed();
    let files = server.expect("dir2mcp.list_files", json!({ "path_prefix": "cloud" }));
    let row = |name: &str| {
        let path = format!("cloud/{name}");
        let files = files["files"].as_array().unwrap();
        files
            .iter()
            .find(|row| row["rel_path"] == path.as_str())
            .unwrap_or_else(|| panic!("{path}: {files:?}"))
            .clone()
    };
    let bad = row(HangingFiles::PLACEHOLDER);
    assert_eq!(bad["status"], "error", "{bad}");
    let told = server.wait_for_event("file_error")["data"].to_string();
    assert!(told.contains("cloud/placeholder.md") && told.contains("no answer within 1 second"), "{told}");
    assert_eq!(row(HangingFiles::AT_HAND)["status"], "ok");
    // An edit made while a read hangs is seen like any other.
    folder.write("later.md", "A saddle was written later.\n");
    server.poll("the later file", |client| {
        let answer = client.expect("dir2mcp.search", json!({ "query": "saddle" }));
        (answer["hits"][0]["rel_path"] == "later.md").then_some(())
    });
    let reply =
        server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": "cloud/placeholder.md" }));
    assert_eq!(reply.code(), Some("TIMEOUT"), "{}", reply.result);
    server.stop().expect(0);
}

#[test]
fn r045_r039_while_a_file_hangs_questions_are_answered_from_what_is_there_and_the_server_ends_when_told() {
    let Some((folder, _mounted)) = folder("10m") else { return };
    let server = program(&folder).serve(&["--tools", "dir2mcp,repo"]);
    let asked = Instant::now();
    let answer = server.expect("repo.search", json!({ "query": "lighthouse" }));
    assert!(asked.elapsed() < Duration::from_secs(30), "a question waited for the whole index");
    assert!(answer["warnings"][0].as_str().unwrap().contains("indexing is still running"), "{answer}");
    server.poll("the files that can be read", |client| {
        let answer = client.expect("repo.search", json!({ "query": "lighthouse windmill" }));
        (answer["result"]["hits"].as_array().unwrap().len() == 2).then_some(())
    });
    assert_eq!(server.expect("repo.status", json!({}))["result"]["index_status"], "not_indexed");
    let told = Instant::now();
    server.stop().expect(0);
    assert!(told.elapsed() < Duration::from_secs(30), "the server waited for the file");
}

#[test]
fn r039_a_restart_on_a_finished_index_is_ready_at_once() {
    let Some((folder, mounted)) = folder("1s") else { return };
    let server = program(&folder).serve(&["--tools", "dir2mcp,repo"]);
    server.wait_indexed();
    server.stop().expect(0);
    // A file system of its own: the kernel still waits for the read that hung in the first one.
    drop(mounted);
    let _mounted = HangingFiles::mount(&folder.path().join("cloud")).expect("it could be mounted before");
    // Other rules have everything looked at once more, and now a file hangs for as long as this test runs.
    folder.write(
        ".dir2mcp.yaml",
        "version: 1\ningest:\n  read_timeout: \"10m\"\nchunking:\n  max_chars: 2000\n",
    );
    let server = program(&folder).serve(&["--tools", "dir2mcp,repo"]);
    let status = server.expect("repo.status", json!({}));
    assert_eq!(status["result"]["index_status"], "ready", "{status}");
    assert!(status["warnings"][0].as_str().unwrap().contains("indexing is still running"), "{status}");
    let answer = server.expect("repo.search", json!({ "query": "lighthouse" }));
    assert_eq!(answer["result"]["hits"][0]["path"], "notes.md", "{answer}");
    server.stop().expect(0);
}
