//! Starting and stopping: what is printed, what is written, and the exit codes.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{Client, DEADLINE, Era, Folder, LEGACY, Program, Request};

use super::{BINARY, program, serve};

#[test]
fn d001_d056_d057_d065_d066_a_first_start_writes_how_to_connect() {
    let folder = Folder::empty();
    let server = program(&folder).serve(&[]);

    let token = fs::read_to_string(folder.state().join("secret.token")).unwrap();
    assert_eq!(token.lines().count(), 1);
    assert!(
        token.trim().len() == 64 && token.trim().bytes().all(|b| b.is_ascii_hexdigit()),
        "{} bytes",
        token.len()
    );
    let mode = fs::metadata(folder.state().join("secret.token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let written = fs::read_to_string(folder.state().join("connection.json")).unwrap();
    assert!(!written.contains(token.trim()), "connection.json holds the token");
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written["transport"], "mcp_streamable_http");
    assert_eq!(written["url"], server.connection["url"]);
    assert!(
        server.url().starts_with("http://127.0.0.1:") && server.url().ends_with("/mcp"),
        "{}",
        server.url()
    );
    assert_eq!(written["headers"]["MCP-Protocol-Version"], LEGACY);
    assert!(written["headers"]["Authorization"].as_str().unwrap().starts_with("Bearer <"));
    let session = json!({ "uses_mcp_session_id": true, "header_name": "MCP-Session-Id", "assigned_on_initialize": true });
    assert_eq!(written["session"], session);

    let reply = server.stranger(Era::Legacy).initialize(LEGACY);
    assert_eq!(reply.status, 200);
}

#[test]
fn d047_d048_d049_d052_events_are_json_lines() {
    let folder = Folder::from("//- a.txt\nhello\n");
    let server = serve(&folder);
    for name in ["index_loaded", "server_started", "connection", "scan_progress", "embed_progress"] {
        let event = server.wait_for_event(name);
        let time = event["ts"].as_str().unwrap();
        assert!(time.len() >= 24 && time.ends_with('Z') && time.contains('.'), "{time}");
        assert!(["info", "warn", "error"].contains(&event["level"].as_str().unwrap()), "{event}");
        assert!(event["data"].is_object(), "{event}");
    }
    assert_eq!(server.connection["transport"], "mcp_streamable_http");
    assert_eq!(server.connection["token_source"], "secret.token");
    assert_eq!(server.connection["headers"]["MCP-Protocol-Version"], LEGACY);
    assert!(server.connection["headers"]["Authorization"].as_str().unwrap().starts_with("Bearer <"));
    let names: Vec<Value> = server.events().iter().map(|event| event["event"].clone()).collect();
    let position = |name: &str| names.iter().position(|found| found == name).unwrap();
    assert!(position("server_started") < position("scan_progress"), "the server comes first: {names:?}");
}

#[test]
fn d043_d044_d045_d046_people_read_where_to_connect() {
    let folder = Folder::from("//- a.txt\nhello\n");
    let process = program(&folder).start(&["up", "--listen", "127.0.0.1:0"]);
    let mut printed = String::new();
    while !printed.contains("Progress:") {
        let line = process.next_line(DEADLINE).unwrap_or_else(|| panic!("no progress line: {printed}"));
        printed.push_str(&line);
        printed.push('\n');
    }
    let state = folder.state();
    for expected in [
        state.to_str().unwrap(),
        "meta.sqlite",
        "Mode: incremental",
        "MCP endpoint:",
        "http://127.0.0.1:",
        "Bearer",
        "MCP-Protocol-Version: 2025-11-25",
        "Authorization: Bearer <token>",
        "MCP-Session-Id: (assigned after initialize response)",
    ] {
        assert!(printed.contains(expected), "{expected:?} is missing in\n{printed}");
    }
    for key in ["scanned=", "indexed=", "skipped=", "deleted=", "reps=", "chunks=", "embedded=", "errors="] {
        assert!(printed.contains(key), "{key} is missing in\n{printed}");
    }
    let done = process.terminate().expect(0);
    let token = fs::read_to_string(state.join("secret.token")).unwrap();
    assert!(!done.output().contains(token.trim()), "the token was printed");
}

#[test]
fn d060_d067_d068_d069_the_corpus_is_summed_up() {
    let folder = Folder::from("//- a.rs\nfn a() {}\n//- b.md\n# B\n//- c.bin\n\u{0}\u{1}\n");
    let server = serve(&folder);
    server.stop().expect(0);
    let corpus: Value =
        serde_json::from_str(&fs::read_to_string(folder.state().join("corpus.json")).unwrap()).unwrap();
    assert_eq!(corpus["root"], folder.path().to_str().unwrap());
    assert_eq!(corpus["profile"]["doc_counts"]["code"], 1);
    assert_eq!(corpus["profile"]["doc_counts"]["md"], 1);
    assert!(corpus["profile"]["code_ratio"].is_number());
    for key in ["embed_text", "embed_code", "ocr", "stt_provider", "stt_model", "chat"] {
        assert!(corpus["models"][key].is_string(), "models.{key}: {corpus}");
    }
    assert_eq!(corpus["indexing"]["running"], false);
    for key in [
        "scanned",
        "indexed",
        "skipped",
        "deleted",
        "representations",
        "chunks_total",
        "embedded_ok",
        "errors",
    ] {
        assert!(corpus["indexing"][key].is_u64(), "indexing.{key}: {corpus}");
    }
}

#[test]
fn d055_d064_the_state_has_its_files() {
    let folder = Folder::from("//- a.rs\nfn a() {}\n//- b.md\n# B\n");
    serve(&folder).stop().expect(0);
    for name in [
        ".dir2mcp.yaml.snapshot",
        "connection.json",
        "secret.token",
        "meta.sqlite",
        "vectors_text.hnsw",
        "vectors_code.hnsw",
        "corpus.json",
        "locks/index.lock",
    ] {
        assert!(folder.state().join(name).exists(), "{name} is missing");
    }
}

#[test]
fn d031_a_taken_port_is_exit_4() {
    let folder = Folder::empty();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let done = program(&folder).run(&["up", "--listen", &address]).expect(4);
    assert!(done.stderr.contains("BIND_FAILED") && done.stderr.contains(&address), "{}", done.output());
}

#[test]
fn d030_a_missing_root_is_exit_3() {
    let folder = Folder::from("//- file.txt\nnot a directory\n");
    for path in ["missing", "file.txt"] {
        let done = Program::at(BINARY, &folder.path().join(path)).run(&["up", "--listen", "127.0.0.1:0"]);
        let done = done.expect(3);
        assert!(done.stderr.contains(path), "{}", done.output());
        assert!(!folder.path().join("missing").exists(), "the root was made");
    }
}

#[test]
fn d029_a_wrong_config_is_exit_2() {
    let folder = Folder::from("//- .dir2mcp.yaml\nversion: 1\nserver:\n  lisen: \"127.0.0.1:0\"\n");
    let done = program(&folder).run(&["up"]).expect(2);
    assert!(done.stderr.contains("CONFIG_INVALID") && done.stderr.contains("listen"), "{}", done.output());
    assert!(
        !folder.state().join("meta.sqlite").exists(),
        "something was written before the config was understood"
    );
}

#[test]
fn d022_d053_a_token_file_is_named_and_never_printed() {
    let folder = Folder::empty();
    let file = folder.outside().join("token");
    let token = "k".repeat(40);
    fs::write(&file, format!("{token}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let server = program(&folder).serve(&["--auth", &format!("file:{}", file.display())]);
    assert_eq!(server.connection["token_source"], "file");
    assert_eq!(server.connection["token_file"], file.to_str().unwrap());
    assert_eq!(server.token.as_deref(), Some(token.as_str()));
    server.expect("dir2mcp.stats", json!({}));
    let done = server.stop().expect(0);
    assert!(!done.output().contains(&token), "the token was printed");
}

#[test]
fn d184_the_environment_is_a_token_source() {
    let folder = Folder::empty();
    let token = "e".repeat(40);
    let server = program(&folder).env("DIR2MCP_AUTH_TOKEN", &token).serve(&[]);
    assert_eq!(server.connection["token_source"], "env");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": testkit::initialize_params(LEGACY) });
    let with = |token: &str| {
        server.connect().send(&Request::post("/mcp", &ping).bearer(Some(token))).unwrap().status
    };
    assert_eq!(with(&token), 200);
    assert_eq!(with("wrong"), 401);
    let done = server.stop().expect(0);
    assert!(!done.output().contains(&token), "the token was printed");
}

#[test]
fn d021_m22_a_public_server_demands_a_token() {
    let folder = Folder::empty();
    for auth in ["none", " none "] {
        let done = program(&folder).run(&["up", "--public", "--auth", auth]).expect(2);
        assert!(done.stderr.contains("--force-insecure"), "{}", done.output());
    }
    let server =
        program(&folder).try_serve(&["--public", "--listen", "0.0.0.0:0"]).expect("public with a token");
    assert!(server.token.is_some());
    server.expect("dir2mcp.stats", json!({}));
    drop(server);
    let server = program(&folder)
        .try_serve(&["--public", "--auth", "none", "--force-insecure", "--listen", "0.0.0.0:0"])
        .expect("public without a token, by force");
    server.expect("dir2mcp.stats", json!({}));
}

#[test]
fn d025_x402_is_not_there_yet() {
    let folder = Folder::empty();
    for mode in ["on", "required"] {
        let done = program(&folder).run(&["up", "--x402", mode]).expect(2);
        assert!(done.stderr.contains("x402"), "{}", done.output());
    }
}

#[test]
fn stdio_ends_with_its_input() {
    let folder = Folder::from("//- a.txt\nhello\n");
    let mut client = program(&folder).stdio(&[]).connect(Era::Legacy);
    client.expect("dir2mcp.stats", json!({}));
    client.close().expect(0);
    program(&folder).stdio(&[]).close().expect(0);
}

#[test]
fn a_second_process_reads_what_the_first_one_writes() {
    let folder = Folder::from("//- a.txt\nthe lighthouse\n");
    let server = serve(&folder);
    let mut second = program(&folder).stdio(&[]).connect(Era::Modern);
    let find = json!({ "query": "lighthouse", "k": 1 });
    assert_eq!(second.expect("dir2mcp.search", find.clone())["hits"][0]["rel_path"], "a.txt");
    folder.write("b.txt", "the windmill\n");
    let find_new = json!({ "query": "windmill", "k": 1 });
    server.poll("the writer to see the new file", |client| {
        (client.expect("dir2mcp.search", find_new.clone())["hits"][0]["rel_path"] == "b.txt").then_some(())
    });
    server.poll("the reader to see it too", |_| {
        (second.expect("dir2mcp.search", find_new.clone())["hits"][0]["rel_path"] == "b.txt").then_some(())
    });
    // The writer dies; the reader goes on, and a new writer starts without help.
    server.kill();
    assert_eq!(second.expect("dir2mcp.search", find)["hits"][0]["rel_path"], "a.txt");
    program(&folder).serve(&[]).expect("dir2mcp.stats", json!({}));
}
