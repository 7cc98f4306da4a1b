//! What a model sees: which server it talks to, tools under names that its host accepts, arguments as it is likely to give
//! them, and all it needs in the structured result.

use serde_json::{Value, json};
use testkit::{Client, Era, Folder};

use super::{program, serve, ways_in};

fn library() -> Folder {
    Folder::from(
        "
        //- src/lease.rs
        //! Leases that run out.
        pub fn renew_lease() {}
        //- docs/guide.md
        # Guide

        The windmill was built in 1893.
        Its sails were renewed in 1950.
        Its door is green.
        ",
    )
}

/// The names that a list of tools shows.
fn names(listed: &Value) -> Vec<&str> {
    listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn c10_a_call_may_use_either_spelling_on_every_way_in() {
    let folder = library();
    let (_server, clients) = ways_in(&folder);
    for mut client in clients {
        for name in ["dir2mcp.search", "dir2mcp_search"] {
            let reply = client.call(name, json!({ "query": "windmill" }));
            assert!(!reply.is_error(), "{name}: {}", reply.result);
        }
    }
}

#[test]
fn c10_the_url_chooses_the_spelling_of_the_list() {
    let folder = library();
    let server = program(&folder).serve(&["--tools", "dir2mcp,repo,smart"]);
    let list = |path: &str| server.client_at(path).request("tools/list", json!({})).result().clone();
    let dotted = list("/mcp");
    assert!(names(&dotted).contains(&"dir2mcp.open_file"));
    assert_eq!(list("/mcp?names=dotted"), dotted);
    assert_eq!(list("/mcp?names=other"), dotted);
    for path in ["/mcp?names=underscore", "/mcp/repo?x=1&names=underscore", "/mcp/smart?names=underscore"] {
        let listed = list(path);
        for name in names(&listed) {
            let accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(name.len() <= 64 && name.chars().all(accepted), "{path}: {name}");
        }
    }
    let mut client = server.client_at("/mcp?names=underscore");
    assert!(!client.call("repo_search", json!({ "query": "lease" })).is_error());
}

#[test]
fn c10_a_session_keeps_the_spelling_of_its_url() {
    let folder = library();
    let server = serve(&folder);
    let mut client = server.legacy_client_at("/mcp?names=underscore");
    let listed = client.request("tools/list", json!({})).result().clone();
    assert!(names(&listed).contains(&"dir2mcp_search"));
    assert!(!client.call("dir2mcp_search", json!({ "query": "windmill" })).is_error());
}

#[test]
fn c10_a_flag_chooses_the_spelling_on_standard_input() {
    let folder = library();
    let mut client = program(&folder).stdio(&["--tool-names", "underscore"]).connect(Era::Legacy);
    let listed = client.request("tools/list", json!({})).result().clone();
    assert!(names(&listed).contains(&"dir2mcp_search"), "{listed}");
    program(&folder).run(&["stdio", "--tool-names", "camel"]).expect(2);
}

#[test]
fn d126_the_instructions_name_the_folder_and_what_is_in_it() {
    let folder = library();
    program(&folder).index();
    let server = serve(&folder);
    let reply = server.stranger(Era::Legacy).initialize(testkit::LEGACY);
    let text = reply.result()["instructions"].as_str().unwrap().to_owned();
    let root = folder.path().canonicalize().unwrap();
    assert!(text.starts_with("This server searches the folder "), "{text}");
    assert!(text.contains(&format!("({})", root.display())), "{text}");
    assert!(
        text.contains("2 files (1 Markdown, 1 code)") || text.contains("2 files (1 code, 1 Markdown)"),
        "{text}"
    );
    assert!(text.contains("dir2mcp.search") && text.contains("dir2mcp.open_file"), "{text}");
}

#[test]
fn d150_one_end_of_a_range_is_enough() {
    let folder = library();
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let mut content = |arguments: Value| {
        let reply = client.call("dir2mcp.open_file", arguments);
        assert!(!reply.is_error(), "{}", reply.result);
        reply.structured()["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(content(json!({ "rel_path": "docs/guide.md", "start_line": 5 })), "Its door is green.");
    assert_eq!(content(json!({ "rel_path": "docs/guide.md", "end_line": 1 })), "# Guide");
}

#[test]
fn c9_an_absolute_path_within_the_root_is_accepted_and_no_other() {
    let folder = library();
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let inside = folder.path().canonicalize().unwrap().join("docs/guide.md");
    let reply = client.call("dir2mcp.open_file", json!({ "rel_path": inside }));
    assert_eq!(reply.structured()["rel_path"], "docs/guide.md", "{}", reply.result);
    let beside = format!("{}-beside/x.md", folder.path().canonicalize().unwrap().display());
    let above = folder.path().canonicalize().unwrap().join("../x.md");
    for outside in ["/etc/passwd", &beside, above.to_str().unwrap()] {
        let reply = client.call("dir2mcp.open_file", json!({ "rel_path": outside }));
        assert_eq!(reply.code(), Some("PATH_OUTSIDE_ROOT"), "{outside}: {}", reply.result);
    }
}

#[test]
fn a_wrong_path_is_answered_with_the_ones_that_may_be_meant() {
    let folder = library();
    program(&folder).index();
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let mut message = |path: &str| {
        let reply = client.call("dir2mcp.open_file", json!({ "rel_path": path }));
        assert_eq!(reply.code(), Some("FILE_NOT_FOUND"), "{}", reply.result);
        reply.structured()["error"]["message"].as_str().unwrap().to_owned()
    };
    assert!(message("guide.md").contains("Did you mean \"docs/guide.md\"?"));
    assert!(message("src/laese.rs").contains("Did you mean \"src/lease.rs\"?"));
    assert!(message("nothing/like/it.toml").contains("List the files"));
}

#[test]
fn a_changed_file_is_marked_where_a_model_sees_it() {
    let folder = library();
    folder.write(".dir2mcp.yaml", "ingest:\n  watch: false\n");
    let server = serve(&folder);
    let mut client = server.client(Era::Modern);
    let mut content = || {
        let opened = client.call("dir2mcp.open_file", json!({ "rel_path": "docs/guide.md" }));
        opened.structured()["content"].as_str().unwrap().to_owned()
    };
    assert!(content().starts_with("# Guide\n"));
    folder.write("docs/guide.md", "# Guide\n\nThe windmill is gone.\n");
    let changed = content();
    assert!(changed.starts_with("[dir2mcp: this file has changed since it was indexed"), "{changed}");
    assert!(changed.ends_with("\n# Guide\n\nThe windmill is gone."), "{changed}");
}

#[test]
fn r043_ten_hits_unless_more_are_asked_for() {
    let folder = Folder::empty();
    for number in 0..30 {
        folder.write(
            &format!("src/part_{number}.py"),
            format!("def lighthouse_{number}():\n    return 'lighthouse'\n"),
        );
    }
    let server = program(&folder).serve(&["--tools", "dir2mcp,repo"]);
    let mut client = server.client(Era::Modern);
    client.call("repo.refresh_index", json!({}));
    let mut hits = |arguments: Value| {
        let reply = client.call("repo.search", arguments);
        reply.structured()["result"]["hits"].as_array().unwrap().len()
    };
    assert_eq!(hits(json!({ "query": "lighthouse" })), 10);
    assert_eq!(hits(json!({ "query": "lighthouse", "top_k": 25 })), 25);
}
