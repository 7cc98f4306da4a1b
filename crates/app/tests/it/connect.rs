//! `connect` through the binary: what is shown, what is written into a client's file, and what stays in it.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dir2mcp");

/// Every client with a file of its own, and where that is below the home folder on Linux.
const FILES: &[(&str, &str)] = &[
    ("claude", ".claude.json"),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
    ("codex", ".codex/config.toml"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("vscode-insiders", ".config/Code - Insiders/User/mcp.json"),
    ("copilot", ".copilot/mcp-config.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ("zed", ".config/zed/settings.json"),
    ("cline", ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
    ("roo", ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
    ("kilo", ".config/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json"),
    ("continue", ".continue/mcpServers/dir2mcp-root.yaml"),
    ("gemini", ".gemini/settings.json"),
    ("qwen", ".qwen/settings.json"),
    ("opencode", ".config/opencode/opencode.json"),
    ("crush", ".config/crush/crush.json"),
    ("goose", ".config/goose/config.yaml"),
    ("lmstudio", ".lmstudio/mcp.json"),
    ("junie", ".junie/mcp/mcp.json"),
    ("amp", ".config/amp/settings.json"),
    ("warp", ".warp/.mcp.json"),
    ("kiro", ".kiro/settings/mcp.json"),
    ("amazonq", ".aws/amazonq/mcp.json"),
    ("antigravity", ".gemini/antigravity/mcp_config.json"),
    ("mcporter", ".mcporter/mcporter.json"),
];

#[test]
fn every_client_gets_its_entry_and_gives_it_back() {
    let sandbox = Sandbox::new();
    let root = sandbox.root().to_string_lossy().into_owned();
    for (client, file) in FILES {
        let path = sandbox.home().join(file);
        let shown = sandbox.ok(&["connect", client, "--stdio"]);
        assert!(!path.exists(), "{client}: showing writes nothing");
        assert!(shown.stderr.contains("Nothing was changed"), "{shown:?}");

        let written = sandbox.ok(&["connect", client, "--stdio", "--write"]);
        assert!(written.stdout.starts_with("Wrote dir2mcp-root to ~/"), "{client}: {written:?}");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for part in ["dir2mcp-root", PROGRAM, "stdio", "--dir", &root, "--tool-names", "underscore"] {
            assert!(text.contains(part), "{client} lacks {part}: {text}");
        }
        let again = sandbox.ok(&["connect", client, "--stdio", "--write"]);
        assert!(again.stdout.contains("is already as it should be"), "{client}: {again:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);

        let removed = sandbox.ok(&["connect", client, "--remove"]);
        assert!(removed.stdout.starts_with("Removed dir2mcp-root from ~/"), "{client}: {removed:?}");
        let left = fs::read_to_string(&path).unwrap_or_default();
        assert!(!left.contains("dir2mcp-root"), "{client}: {left}");
        let nothing = sandbox.ok(&["connect", client, "--remove"]);
        assert!(nothing.stdout.contains("has no entry for this folder"), "{client}: {nothing:?}");
    }
}

#[test]
fn other_entries_comments_links_and_modes_survive() {
    use std::os::unix::fs::PermissionsExt;
    let before = "// mine\n{\n  \"theme\": \"dark\", // yes\n  \"context_servers\": {\n    \"web\": { \"url\": \"http://localhost:1/mcp\" } // keep\n  }\n}\n";
    let sandbox = Sandbox::new().file("dotfiles/zed.json", before).mode("dotfiles/zed.json", 0o640);
    let (real, link) =
        (sandbox.root().join("dotfiles/zed.json"), sandbox.home().join(".config/zed/settings.json"));
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();

    let shown = sandbox.ok(&["connect", "zed", "--stdio"]);
    assert!(shown.stdout.contains("@@") && shown.stdout.contains("+    \"dir2mcp-root\""), "{shown:?}");
    assert_eq!(fs::read_to_string(&real).unwrap(), before);

    let written = sandbox.ok(&["connect", "zed", "--stdio", "--write", "--json"]).json();
    let text = fs::read_to_string(&real).unwrap();
    for kept in ["// mine", "// yes", "// keep", "\"web\""] {
        assert!(text.contains(kept), "{text}");
    }
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "the link stays a link");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    let backup = written["backup"].as_str().unwrap();
    assert_eq!(fs::read_to_string(backup).unwrap(), before);
    sandbox.ok(&["connect", "zed", "--remove"]);
    assert_eq!(fs::read_to_string(&real).unwrap(), before);
}

#[test]
fn two_folders_of_one_name_stand_side_by_side() {
    let sandbox =
        Sandbox::new().file("a/notes/x.md", "x").file("b/notes/x.md", "x").file("b/other/x.md", "x");
    for folder in ["a/notes", "b/notes", "b/other"] {
        sandbox.ok(&["connect", "cursor", "--stdio", "--write", "--dir", folder]);
    }
    let file = sandbox.home().join(".cursor/mcp.json");
    let servers =
        || serde_json::from_str::<Value>(&fs::read_to_string(&file).unwrap()).unwrap()["mcpServers"].clone();
    let names: Vec<String> = servers().as_object().unwrap().keys().cloned().collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.contains(&"dir2mcp-notes".to_owned()) && names.contains(&"dir2mcp-other".to_owned()));
    sandbox.ok(&["connect", "cursor", "--remove", "--dir", "b/notes"]);
    let left = servers();
    assert_eq!(left.as_object().unwrap().len(), 2);
    assert_eq!(left["dir2mcp-notes"]["args"][2], json!(sandbox.root().join("a/notes")));
    // A name that was typed does not push out a stranger.
    let taken = sandbox.fails(1, &["connect", "cursor", "--stdio", "--write", "--name", "dir2mcp-notes"]);
    assert!(taken.stderr.starts_with("ERROR: CONFLICT: "), "{taken:?}");
}

#[test]
fn one_entry_for_whatever_project_is_open() {
    let sandbox = Sandbox::new();
    let entry = |client: &str| {
        let shown = sandbox.ok(&["connect", client, "--current-project", "--json"]).json();
        assert_eq!(shown["name"], "dir2mcp");
        shown["steps"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap().to_owned()
    };
    assert!(entry("vscode").contains("${workspaceFolder}"));
    assert!(entry("cursor").contains("${workspaceFolder}"));
    let claude = entry("claude");
    assert!(!claude.contains("--dir") && !claude.contains("workspaceFolder"), "{claude}");
    let refused = sandbox.fails(2, &["connect", "claude-desktop", "--current-project"]);
    assert!(refused.stderr.contains("which project is open"), "{refused:?}");
    sandbox.ok(&["connect", "codex", "--current-project", "--write"]);
    let removed = sandbox.ok(&["connect", "codex", "--current-project", "--remove"]);
    assert!(removed.stdout.starts_with("Removed dir2mcp from "), "{removed:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone() {
    let sandbox = Sandbox::new().file("mcp.json", "{ \"mcpServers\": ");
    let refused = sandbox.fails(2, &["connect", "cursor", "--stdio", "--write", "--file", "mcp.json"]);
    assert!(
        refused.stderr.contains("is left as it is") && refused.stderr.contains("Add this to it yourself"),
        "{refused:?}"
    );
    assert_eq!(sandbox.read("mcp.json"), "{ \"mcpServers\": ");
    let nowhere = sandbox.fails(2, &["connect", "generic", "--stdio", "--write"]);
    assert!(nowhere.stderr.contains("--file"), "{nowhere:?}");
    sandbox.ok(&["connect", "generic", "--stdio", "--write", "--project"]);
    assert!(sandbox.read(".mcp.json").contains("\"mcpServers\""));
}

#[test]
fn links_and_the_list_of_clients() {
    let sandbox = Sandbox::new();
    let link = sandbox.ok(&["connect", "vscode", "--stdio", "--link"]).stdout;
    assert!(link.starts_with("vscode:mcp/install?%7B%22name%22%3A%22dir2mcp-root%22"), "{link}");
    let link = sandbox.ok(&["connect", "cursor", "--stdio", "--link"]).stdout;
    assert!(
        link.starts_with("cursor://anysphere.cursor-deeplink/mcp/install?name=dir2mcp-root&config="),
        "{link}"
    );
    sandbox.fails(2, &["connect", "zed", "--stdio", "--link"]);

    fs::create_dir_all(sandbox.home().join(".cursor")).unwrap();
    let clients = sandbox.ok(&["connect", "--json"]).json();
    let found = |name: &str| {
        let all = clients["clients"].as_array().unwrap();
        all.iter().find(|client| client["client"] == name).unwrap()["found"].clone()
    };
    assert_eq!((found("cursor"), found("zed")), (json!(true), json!(false)));
    let listed = sandbox.ok(&["connect"]).stdout;
    assert!(listed.starts_with("Found on this machine\n  cursor"), "{listed}");
    assert!(FILES.iter().all(|(client, _)| listed.contains(client)), "{listed}");
}

#[test]
fn names_for_tools_are_those_the_client_takes() {
    let sandbox = Sandbox::claimed();
    let file = connection(std::process::id(), json!({}));
    let sandbox = sandbox.file(".dir2mcp/connection.json", &file.to_string());
    assert!(
        sandbox.ok(&["connect", "cursor"]).stdout.contains("http://127.0.0.1:52143/mcp?names=underscore")
    );
    let generic = sandbox.ok(&["connect", "generic"]).stdout;
    assert!(generic.contains("http://127.0.0.1:52143/mcp") && !generic.contains("underscore"), "{generic}");
}

#[test]
fn connect_needs_a_server_that_runs() {
    let sandbox = Sandbox::new();
    let run = sandbox.fails(1, &["connect", "cursor"]);
    assert!(run.stderr.starts_with("ERROR: NOT_RUNNING: no server runs for "), "{run:?}");
    assert!(run.stderr.contains("dir2mcp up") && run.stderr.contains("--stdio"));
    // A server that was killed leaves its file behind.
    let stale = Sandbox::claimed()
        .file(".dir2mcp/connection.json", &connection(i32::MAX as u32, json!({})).to_string());
    stale.fails(1, &["connect", "cursor"]);
    let damaged = Sandbox::claimed().file(".dir2mcp/connection.json", "{");
    assert!(damaged.fails(1, &["connect", "cursor"]).stderr.starts_with("ERROR: NOT_RUNNING: "));
    let desktop = sandbox.fails(2, &["connect", "claude-desktop"]);
    assert!(desktop.stderr.contains("Add --stdio"), "{desktop:?}");
}

#[test]
fn connect_refers_to_the_token_and_shows_it_on_demand() {
    let sandbox = Sandbox::claimed()
        .file(".dir2mcp/secret.token", "canary0123456789\n")
        .mode(".dir2mcp/secret.token", 0o600);
    let token = sandbox.root().join(".dir2mcp/secret.token");
    let more = json!({ "token_source": "secret.token", "token_file": token });
    let free = connection(std::process::id(), more.clone());
    let sandbox = sandbox.file(".dir2mcp/connection.json", &free.to_string());
    for client in ["claude", "codex", "cursor", "vscode", "generic", "zed", "goose"] {
        let run = sandbox.ok(&["connect", client]);
        assert!(
            run.stdout.contains("http://127.0.0.1:52143/mcp") && !run.all().contains("canary"),
            "{run:?}"
        );
        assert!(run.stderr.contains("a free port, which changes with every start"), "{run:?}");
    }
    for client in ["claude", "cursor", "vscode", "generic", "zed"] {
        let run = sandbox.ok(&["connect", client, "--show-token"]);
        assert!(run.stdout.contains("Bearer canary0123456789"), "{run:?}");
    }
    // A client whose file takes no variable is not given half an entry.
    assert!(sandbox.fails(2, &["connect", "zed", "--write"]).stderr.contains("--show-token"));
    sandbox.ok(&["connect", "zed", "--write", "--show-token"]);
    let file = sandbox.home().join(".config/zed/settings.json");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o077, 0);

    let mut fixed = connection(std::process::id(), more);
    fixed["server"]["port_is_fixed"] = json!(true);
    let fixed = sandbox.file(".dir2mcp/connection.json", &fixed.to_string());
    assert!(!fixed.ok(&["connect", "claude"]).stderr.contains("port"));
}

fn connection(pid: u32, more: Value) -> Value {
    let mut file = json!({
        "transport": "mcp_streamable_http",
        "url": "http://127.0.0.1:52143/mcp",
        "token_source": "none",
        "server": { "pid": pid, "started": "2026-02-25T12:34:56.789Z" },
    });
    for (name, value) in more.as_object().unwrap() {
        file[name] = value.clone();
    }
    file
}
