//! What people meet on a terminal and in a pipe: colours, places to click, questions before harm, and the small commands.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::pty::Terminal;
use crate::sandbox::Sandbox;

fn notes() -> Sandbox {
    Sandbox::new()
        .file("guide.md", "# Guide\n\nThe windmill was built in 1893.\n")
        .file("src/lease.rs", "/// Extends a lease.\npub fn renew_lease() {\n    let n = 1;\n}\n")
        .bytes("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
}

#[test]
fn hits_name_the_place_as_editors_read_it() {
    let sandbox = notes();
    let found = sandbox.ok(&["search", "renew_lease"]).stdout;
    assert!(found.starts_with("src/lease.rs:1: lines 1-"), "{found}");
    assert!(!found.contains('\x1b'), "a pipe gets plain text: {found:?}");
    let none = sandbox.ok(&["search", "zzzzqqqq"]).stdout;
    assert!(none.starts_with("No hits for \"zzzzqqqq\"."), "{none}");
}

#[test]
fn colours_follow_the_flag_and_the_variables() {
    let sandbox = notes();
    sandbox.ok(&["index"]);
    let coloured = |sandbox: &Sandbox, arguments: &[&str]| sandbox.ok(arguments).stdout.contains("\x1b[");
    for command in [
        &["search", "windmill"][..],
        &["status"],
        &["status", "--files"],
        &["open", "src/lease.rs"],
        &["doctor"],
    ] {
        assert!(!coloured(&sandbox, command), "{command:?}");
        assert!(coloured(&sandbox, &[command, &["--color", "always"]].concat()), "{command:?}");
        assert!(coloured(&sandbox, &[command, &["--color=always"]].concat()), "{command:?}");
    }
    assert!(coloured(&sandbox, &["--color", "always", "--help"]));
    let forced = notes().env("CLICOLOR_FORCE", "1");
    assert!(coloured(&forced, &["search", "windmill"]));
    assert!(!coloured(&forced, &["search", "windmill", "--color", "never"]));
    assert!(!coloured(&forced.env("NO_COLOR", "1"), &["search", "windmill"]));
}

#[test]
fn a_terminal_gets_colours_and_links_where_it_takes_them() {
    let sandbox = notes().env("TERM_PROGRAM", "WezTerm").env("TERM", "xterm-256color");
    let screen = Terminal::start(&sandbox, &["search", "windmill"]).finish();
    let link = format!("\x1b]8;;file://{}/guide.md#L1\x1b\\", sandbox.root().display());
    assert!(screen.contains(&link), "{screen:?}");
    let plain = notes().env("TERM", "xterm-256color");
    let screen = Terminal::start(&plain, &["search", "windmill"]).finish();
    assert!(screen.contains("\x1b[35mguide.md") && !screen.contains("\x1b]8"), "{screen:?}");
}

#[test]
fn open_shows_what_a_citation_means() {
    let sandbox = notes();
    let whole = sandbox.read("src/lease.rs");
    assert_eq!(sandbox.ok(&["open", "src/lease.rs"]).stdout, whole);
    for place in ["src/lease.rs:2-3", "src/lease.rs:L2-L3", "[src/lease.rs:L2-L3]"] {
        assert_eq!(
            sandbox.ok(&["open", place]).stdout,
            "pub fn renew_lease() {\n    let n = 1;\n",
            "{place}"
        );
    }
    assert_eq!(sandbox.ok(&["open", "src/lease.rs:2"]).stdout, "pub fn renew_lease() {\n");
    let json = sandbox.ok(&["open", "src/lease.rs:2", "--json"]).json();
    assert_eq!(json["span"], json!({ "kind": "lines", "start_line": 2, "end_line": 2 }));
    let coloured = sandbox.ok(&["open", "src/lease.rs:2", "--color", "always"]).stdout;
    assert_eq!(coloured, "\x1b[2m2\x1b[0m  \x1b[34mpub\x1b[0m \x1b[34mfn\x1b[0m renew_lease() {\n");
    let missing = sandbox.fails(1, &["open", "nowhere.md"]);
    assert!(missing.stderr.starts_with("ERROR: FILE_NOT_FOUND: "), "{missing:?}");
}

#[test]
fn d016_errors_about_arguments_are_json_too() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["--json", "frobnicate"][..],
        &["search", "--json"],
        &["up", "--json", "--listen"],
        &["connect", "emacs", "--json"],
    ] {
        let run = sandbox.fails(2, arguments);
        let event: Value =
            serde_json::from_str(run.stdout.trim()).unwrap_or_else(|error| panic!("{error}: {run:?}"));
        assert_eq!((&event["event"], &event["level"]), (&json!("fatal"), &json!("error")));
        assert_eq!(
            (&event["data"]["code"], &event["data"]["exit_code"]),
            (&json!("CONFIG_INVALID"), &json!(2))
        );
        assert!(!event["data"]["message"].as_str().unwrap().is_empty(), "{event}");
    }
    // Help is no error, and what stands after `--` is no option.
    assert!(sandbox.ok(&["--json", "--help"]).stdout.starts_with("Turns a directory"));
    assert!(sandbox.fails(2, &["search", "--", "--json", "x"]).stdout.is_empty());
    let reference = sandbox.ok(&["config", "print", "--reference", "--json"]).json();
    assert!(
        reference["keys"].as_array().unwrap().iter().any(|key| key["key"] == "server.listen"),
        "{reference}"
    );
}

#[test]
fn the_whole_disk_and_the_home_folder_are_asked_about() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    fs::write(home.join("diary.md"), "The windmill.\n").unwrap();
    let home = home.to_string_lossy().into_owned();
    for command in [&["index"][..], &["search", "windmill"], &["up"], &["stdio"], &["reindex"]] {
        for folder in ["/", home.as_str()] {
            let run = sandbox.fails(2, &[command, &["--dir", folder]].concat());
            assert!(
                run.stderr.contains("--yes") && run.stderr.contains("--dir"),
                "{command:?} {folder}: {run:?}"
            );
        }
    }
    assert!(!sandbox.home().join(".dir2mcp").exists());
    let mut terminal = Terminal::start(&sandbox, &["index", "--dir", &home]);
    terminal.answer("Index all of it and let clients read it? [y/N] ", "y");
    assert!(terminal.finish().contains("Searchable: 1 file"));
    // Once agreed, it is not asked again.
    assert!(sandbox.ok(&["search", "windmill", "--dir", &home]).stdout.starts_with("diary.md:1:"));
    let other = Sandbox::new();
    other.ok(&["index", "--yes", "--dir", &other.home().to_string_lossy()]);
}

#[test]
fn a_second_run_says_that_all_is_well() {
    let sandbox = notes();
    let first = sandbox.ok(&["index"]).stdout;
    assert!(first.contains("Searchable: 2 files (2 read now, 0 unchanged). Not searchable: 1;"), "{first}");
    let second = sandbox.ok(&["index"]).stdout;
    assert!(second.contains("Searchable: 2 files (0 read now, 2 unchanged). Not searchable: 1;"), "{second}");
    assert!(
        second.contains("Progress: scanned=3 indexed=0 skipped=3 "),
        "the contract's counters stay: {second}"
    );
    assert!(sandbox.ok(&["status"]).stdout.contains("Searchable: 2 files"));
}

#[test]
fn a_terminal_sees_a_bar_with_a_true_total() {
    let sandbox = notes().env("TERM", "xterm-256color");
    let screen = Terminal::start(&sandbox, &["index"]).finish();
    assert!(!screen.contains("0/0"), "{screen:?}");
    assert!(screen.contains("looking for changes") || screen.contains("/3 files"), "{screen:?}");
    assert!(screen.contains("Searchable: 2 files"), "{screen:?}");
}

#[test]
fn doctor_finds_what_is_wrong_and_says_what_to_do() {
    let sandbox = notes();
    let report = sandbox.ok(&["doctor", "--json"]).json();
    assert_eq!(report["ok"], true, "{report}");
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    for name in [
        "folder",
        "configuration",
        "state",
        "disk",
        "index",
        "lock",
        "server",
        "confinement",
        "documents",
        "open files",
        "watching",
        "clock",
        "clients",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let check = |report: &Value, name: &str| {
        report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap().clone()
    };
    assert_eq!(check(&report, "index")["status"], "warning");
    assert!(!sandbox.has(".dir2mcp"), "looking changes nothing");

    sandbox.ok(&["index"]);
    assert_eq!(check(&sandbox.ok(&["doctor", "--json"]).json(), "index")["status"], "ok");
    let shared = sandbox.mode(".dir2mcp", 0o755);
    let state = check(&shared.ok(&["doctor", "--json"]).json(), "state");
    assert!(
        state["status"] == "warning" && state["remedy"].as_str().unwrap().starts_with("chmod 700 "),
        "{state}"
    );

    fs::write(shared.root().join(".dir2mcp/meta.sqlite"), "not a catalog").unwrap();
    let broken = shared.fails(1, &["doctor", "--json"]);
    let first: Value =
        serde_json::Deserializer::from_str(&broken.stdout).into_iter().next().unwrap().unwrap();
    let index = check(&first, "index");
    assert!(index["status"] == "error" && index["remedy"].as_str().is_some(), "{index}");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!("server: {{listen: '{}'}}\n", taken.local_addr().unwrap());
    let busy = Sandbox::new().file(".dir2mcp.yaml", &config).trusting();
    let text = busy.fails(1, &["doctor"]).stdout;
    assert!(text.contains("cannot be used") && text.contains("→ Stop what uses it"), "{text}");
    let wrong = Sandbox::new().file(".dir2mcp.yaml", "serverr: 1\n").fails(1, &["doctor"]);
    assert!(wrong.stdout.contains("configuration") && wrong.stdout.contains("serverr"), "{wrong:?}");
}

#[test]
fn clean_asks_and_deletes_only_its_own() {
    let sandbox = notes();
    assert_eq!(sandbox.ok(&["clean"]).stdout, "There is nothing to delete.\n");
    sandbox.ok(&["index"]);
    let refused = sandbox.fails(2, &["clean"]);
    assert!(refused.stderr.contains("--yes") && sandbox.has(".dir2mcp/meta.sqlite"), "{refused:?}");
    let mut terminal = Terminal::start(&sandbox, &["clean"]);
    terminal.answer("The folder's own files stay. [y/N] ", "n");
    terminal.finish();
    assert!(sandbox.has(".dir2mcp/meta.sqlite"));
    sandbox.ok(&["clean", "--yes"]);
    assert!(!sandbox.has(".dir2mcp") && sandbox.has("guide.md"));

    // Keys that were typed stay, and so does what lies in a folder that is not only ours.
    let sandbox = sandbox.file(".dir2mcp/secret.env", "X=1\n");
    sandbox.ok(&["index"]);
    let kept = sandbox.ok(&["clean", "--yes"]).stdout;
    assert!(
        kept.contains("secret.env (add --keys to delete it)") && sandbox.has(".dir2mcp/secret.env"),
        "{kept}"
    );
    let other = notes().file("mixed/thesis.md", "years of work\n");
    other.ok(&["index", "--state-dir", "mixed"]);
    other.ok(&["clean", "--yes", "--state-dir", "mixed"]);
    assert!(other.has("mixed/thesis.md") && !other.has("mixed/meta.sqlite"));
}

#[test]
fn clean_leaves_what_a_linked_state_directory_leads_to() {
    let sandbox = Sandbox::new().file("elsewhere/note.md", "kept\n");
    std::os::unix::fs::symlink("elsewhere", sandbox.root().join(".dir2mcp")).unwrap();
    let refused = sandbox.fails(2, &["clean", "--yes"]);
    assert!(
        refused.stderr.contains("CONFIG_INVALID") && refused.stderr.contains("Remove the link"),
        "{refused:?}"
    );
    assert!(sandbox.root().join("elsewhere/note.md").exists());
}

#[test]
fn clean_refuses_while_a_server_runs() {
    let folder = testkit::Folder::from("//- a.md\nlighthouse\n");
    let program = testkit::Program::new(env!("CARGO_BIN_EXE_dir2mcp"), &folder);
    let server = program.serve(&[]);
    server.wait_indexed();
    let refused = program.run(&["clean", "--yes"]);
    assert!(
        refused.code == Some(1) && refused.stderr.starts_with("ERROR: CONFLICT: "),
        "{}",
        refused.output()
    );
    server.stop().expect(0);
    program.run(&["clean", "--yes"]).expect(0);
    assert!(!folder.path().join(".dir2mcp").exists());
}

#[test]
fn completions_and_manual_pages_are_sound() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.ok(&["completions", shell]).stdout;
        assert!(script.contains("connect") && script.contains("doctor"), "{shell}");
        if shell == "bash" {
            let path = sandbox.root().join("complete.bash");
            fs::write(&path, &script).unwrap();
            let checked = Command::new("bash").arg("-n").arg(&path).output().unwrap();
            assert!(checked.status.success(), "{checked:?}");
        }
    }
    let page = sandbox.ok(&["man"]).stdout;
    assert!(page.contains(".TH dir2mcp 1") && page.contains("connect"), "{page}");
    sandbox.ok(&["man", "--out", "pages"]);
    for name in ["dir2mcp.1", "dir2mcp-connect.1", "dir2mcp-config-init.1"] {
        assert!(sandbox.read(&format!("pages/{name}")).starts_with(".ie"), "{name}");
    }
}

#[test]
fn up_names_the_next_step() {
    let sandbox = notes();
    let mut child = sandbox
        .command(&["up"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut reader = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("dir2mcp connect") {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut reader, &mut line).unwrap() > 0, "{seen}");
        seen.push_str(&line);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_client_that_leaves_early_causes_no_warning() {
    let sandbox = notes();
    sandbox.ok(&["index"]);
    let run = sandbox.ok(&["stdio"]);
    assert_eq!(run.stderr, "", "the client closed the pipe before it said anything");
    // Nor in the middle of the first walk.
    let large = Sandbox::new();
    for folder in 0..60 {
        let path = large.root().join(format!("f{folder}"));
        fs::create_dir(&path).unwrap();
        (0..60).for_each(|file| fs::write(path.join(format!("{file}.md")), "lighthouse\n").unwrap());
    }
    assert_eq!(large.ok(&["stdio"]).stderr, "");
}

#[test]
fn problems_in_the_config_file_are_told_in_plain_words() {
    for (text, line) in [
        ("server:\n\tlisten: x\n", 2),
        ("server: [1, 2\n", 1),
        ("server:\n  listen: 'x\n", 2),
        ("a: b: c\n", 1),
        ("version: 1\nversion: 1\n", 2),
        ("server: *nowhere\n", 1),
        ("}\n", 1),
    ] {
        let run = Sandbox::new().file(".dir2mcp.yaml", text).fails(2, &["config", "print"]);
        for word in [
            "serde",
            "saphyr",
            "Scan",
            "scanner",
            "token",
            "deserializ",
            "invalid type",
            "struct",
            "enum",
            "Option",
            "mapping",
        ] {
            assert!(!run.stderr.contains(word), "{text:?} says {word}: {}", run.stderr);
        }
        assert!(run.stderr.contains(".dir2mcp.yaml:"), "{text:?} has a place (line {line}): {}", run.stderr);
    }
}
