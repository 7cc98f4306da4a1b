//! A state directory belongs to one root and to its owner, and nothing of the program's own is ever served.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;
use testkit::{Client, Era, Folder, Program};

use super::{BINARY, program};

fn two() -> (Folder, Folder) {
    let mine = Folder::from("//- mine.md\nThe lighthouse of folder one.\n");
    let other = Folder::from("//- other.md\nThe lighthouse of folder two.\n");
    (mine, other)
}

#[test]
fn d004_another_root_is_refused_by_every_command() {
    let (mine, other) = two();
    let state = mine.outside().join("state");
    let server = program(&mine).state_dir(&state).serve(&[]);
    server.wait_indexed();
    let by_flag = program(&other).state_dir(&state);
    let by_variable = program(&other).env("DIR2MCP_STATE_DIR", state.to_str().unwrap());
    for program in [by_flag, by_variable] {
        for arguments in [
            &["up", "--listen", "127.0.0.1:0"][..],
            &["stdio"],
            &["search", "lighthouse"],
            &["ask", "where is the lighthouse?"],
            &["status"],
            &["status", "--files"],
            &["index"],
            &["reindex"],
            &["connect", "generic"],
        ] {
            let done = program.run(arguments).expect(2);
            let root = mine.path().display().to_string();
            assert!(
                done.stderr.starts_with("ERROR: CONFIG_INVALID: the state directory "),
                "{}",
                done.output()
            );
            assert!(done.stderr.contains(&root) && done.stderr.contains("--state-dir"), "{}", done.output());
            assert!(!done.output().contains("folder one"), "{}", done.output());
        }
    }
    let hits = server.expect("dir2mcp.search", json!({ "query": "lighthouse" }));
    assert_eq!(hits["hits"][0]["rel_path"], "mine.md", "the first root keeps its index");
    server.stop();
    // The same once nobody runs, and for the state directory inside the other root.
    program(&other).state_dir(&state).run(&["search", "lighthouse"]).expect(2);
    program(&other).index();
    program(&mine).state_dir(&other.state()).run(&["search", "lighthouse"]).expect(2);
    assert!(program(&other).run(&["search", "lighthouse"]).expect(0).stdout.contains("other.md"));
}

#[test]
fn a_folder_that_moves_takes_its_state_along() {
    let (mine, _) = two();
    program(&mine).index();
    let moved = mine.outside().canonicalize().unwrap().join("moved");
    fs::rename(mine.path(), &moved).unwrap();
    let status = Program::at(BINARY, &moved).json(&["status", "--json", "--files"]);
    assert_eq!(status["files"][0]["rel_path"], "mine.md");
    let found = Program::at(BINARY, &moved).run(&["search", "lighthouse"]).expect(0);
    assert!(found.stdout.contains("mine.md"), "{}", found.output());
    // A copy, which has another inode, is searched too; whoever knew the old token does not know the new one.
    let copy = moved.parent().unwrap().join("copy");
    let copied = std::process::Command::new("cp").arg("-a").args([&moved, &copy]).status().unwrap();
    assert!(copied.success());
    let token = copy.join(".dir2mcp/secret.token");
    fs::write(&token, "known-to-the-author-of-this-folder\n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let connection = json!({
        "url": "http://evil.example/mcp",
        "token_source": "none",
        "server": { "pid": std::process::id() },
    });
    fs::write(copy.join(".dir2mcp/connection.json"), connection.to_string()).unwrap();
    let connect = Program::at(BINARY, &copy).run(&["connect", "generic"]).expect(1);
    assert!(!connect.output().contains("evil.example"), "{}", connect.output());
    let server = Program::at(BINARY, &copy).serve(&[]);
    assert!(!fs::read_to_string(&token).unwrap().contains("known-to"));
    let hits = server.wait_indexed().expect("dir2mcp.search", json!({ "query": "lighthouse" }));
    assert_eq!(hits["hits"][0]["rel_path"], "mine.md");
}

#[test]
fn a_linked_state_directory_is_refused() {
    let (mine, other) = two();
    symlink(other.path(), mine.state()).unwrap();
    for arguments in [&["index"][..], &["search", "x"], &["status"], &["stdio"], &["up"]] {
        let done = program(&mine).run(arguments).expect(2);
        assert!(done.stderr.contains(".dir2mcp is a symbolic link"), "{}", done.output());
    }
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1, "nothing was written to its target");
    // A link inside it could lead a write anywhere just as well.
    fs::remove_file(mine.state()).unwrap();
    let victim = other.path().join("other.md");
    fs::create_dir_all(mine.state().join("locks")).unwrap();
    symlink(&victim, mine.state().join("locks/index.lock")).unwrap();
    program(&mine).run(&["index"]).expect(2);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "The lighthouse of folder two.\n");
}

#[test]
fn d057_state_is_for_its_owner_alone() {
    let (mine, _) = two();
    let state = mine.outside().join("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    let server = program(&mine).state_dir(&state).serve(&[]);
    server.wait_indexed();
    server.client_at("/mcp/repo").call("repo.status", json!({}));
    assert_private(&state);
    server.stop();
    assert_private(&state);
}

fn assert_private(path: &Path) {
    let metadata = fs::symlink_metadata(path).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o077, 0, "{}", path.display());
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            assert_private(&entry.unwrap().path());
        }
    }
}

#[test]
fn what_is_the_program_s_own_is_never_served() {
    let folder = Folder::from(
        "
        //- .dir2mcp.yaml
        mistral: {api_key: canary-0123456789}
        //- .dir2mcp.yaml.bak
        mistral: {api_key: canary-0123456789}
        //- own/settings.yaml
        mistral: {api_key: seagull-0123456789}
        //- own/token
        seagull-0123456789-token
        //- .env
        MISTRAL_API_KEY=canary-0123456789
        //- .repo_mcp/audit.jsonl
        canary-0123456789
        //- notes.md
        The canary-free notes about a lighthouse.
        ",
    );
    let own = [".dir2mcp.yaml", ".dir2mcp.yaml.bak", ".env", ".repo_mcp/audit.jsonl", ".dir2mcp/corpus.json"];
    let named = [own.as_slice(), &["own/settings.yaml", "own/token"]].concat();
    let config = folder.path().join("own/settings.yaml");
    let token = format!("file:{}", folder.path().join("own/token").display());
    for (flags, paths, secret) in [
        (vec![], own.to_vec(), "canary-0"),
        (vec!["--config", config.to_str().unwrap(), "--auth", &token], named, "seagull-0"),
    ] {
        let server = program(&folder).serve(&flags);
        server.wait_indexed();
        let listed = server.expect("dir2mcp.list_files", json!({})).to_string();
        let found =
            server.expect("dir2mcp.search", json!({ "query": "canary seagull", "k": 50 })).to_string();
        let (mut repo, mut smart) = (server.client_at("/mcp/repo"), server.client_at("/mcp/smart"));
        let repo_listed = repo.call("repo.list_files", json!({})).result.to_string();
        let repo_found = repo.call("repo.search", json!({ "query": "canary seagull" })).result.to_string();
        let smart_found = smart.call("searchFiles", json!({ "query": "canary seagull" })).result.to_string();
        for path in &paths {
            assert!(!listed.contains(path) && !repo_listed.contains(path), "{path} is listed");
            for answer in [&found, &repo_found, &smart_found] {
                assert!(!answer.contains(path) && !answer.contains(secret), "{path}: {answer}");
            }
            let opened = server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": path }));
            assert_eq!(opened.code(), Some("FORBIDDEN"), "{path}");
            let opened = repo.call("repo.open_file", json!({ "path": path })).result.to_string();
            assert!(!opened.contains(secret), "{path}: {opened}");
            let absolute = folder.path().join(path);
            let opened = smart.call("openFile", json!({ "path": absolute })).result.to_string();
            assert!(opened.contains("FORBIDDEN") && !opened.contains(secret), "{path}: {opened}");
        }
    }
}

#[test]
fn d171_the_configured_number_of_passages_holds_for_every_way_in() {
    let folder = Folder::from("//- .dir2mcp.yaml\nrag: {k_default: 3}\n");
    for number in 0..8 {
        folder.write(&format!("{number}.md"), format!("The lighthouse number {number}.\n"));
    }
    let server = program(&folder).serve(&[]);
    server.wait_indexed();
    let hits = |answer: serde_json::Value| answer["hits"].as_array().unwrap().len();
    assert_eq!(hits(server.expect("dir2mcp.search", json!({ "query": "lighthouse" }))), 3);
    assert_eq!(hits(server.expect("dir2mcp.ask", json!({ "question": "lighthouse" }))), 3);
    assert_eq!(hits(server.expect("dir2mcp.search", json!({ "query": "lighthouse", "k": 5 }))), 5);
    let tools = server.client(Era::Modern).request("tools/list", json!({}));
    for name in ["dir2mcp.search", "dir2mcp.ask"] {
        let tool =
            tools.message["result"]["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name);
        assert_eq!(tool.unwrap()["inputSchema"]["properties"]["k"]["default"], 3, "{name}");
    }
}

#[test]
fn d076_the_settings_name_every_model() {
    let (mine, _) = two();
    program(&mine).index();
    let catalog = rusqlite::Connection::open(mine.state().join("meta.sqlite")).unwrap();
    for key in [
        "protocol_version",
        "corpus_id",
        "index_format_version",
        "embed_text_model",
        "embed_text_dim",
        "embed_code_model",
        "embed_code_dim",
        "ocr_model",
        "stt_provider",
        "stt_model",
        "chat_model",
    ] {
        let value: String =
            catalog.query_row("SELECT value FROM settings WHERE key = ?1", [key], |row| row.get(0)).unwrap();
        assert!(!value.is_empty(), "{key}");
    }
}
