//! Nothing disappears without a word: every entry of the tree is indexed, unchanged, skipped or failed with its reason, or
//! counted under the rule that leaves it out; and the counters say the same as the rows.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};
use testkit::build::{File, file, gzip, tar, text_pages, zip};
use testkit::{Client, Era, Folder};

use super::{program, serve};

/// A tree with one of everything that can go wrong.
fn hostile() -> Folder {
    let folder = Folder::from(
        "
        //- fine.md
        # Fine
        //- src/main.rs
        fn main() {}
        //- empty.txt
        //- .gitignore
        *.log
        /out/
        //- a.log
        left out
        //- out/x.txt
        left out
        //- out/y/z.txt
        left out
        //- node_modules/a/index.js
        left out
        //- dist/bundle.js
        left out
        //- tls.pem
        x
        //- web/server.key
        x
        //- .env
        A=1
        ",
    );
    folder.write("binary.bin", [0u8, 1, 2, 3].repeat(64));
    folder.write("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    folder.write("damaged.pdf", b"%PDF-1.7\n%\xE2\xE3\xCF\xD3 and no more");
    folder.write("damaged.zip", b"PK\x03\x04 and no more");
    folder.write("damaged.docx", b"PK\x03\x04 and no more");
    let whole = gzip(&tar(&[("in.txt", b'0', &b"The otter swims. ".repeat(600))]));
    folder.write("damaged.tar.gz", &whole[..whole.len() / 2]);
    folder.write("report.pdf", text_pages(&["The lighthouse was built in 1893."]));
    folder.write("other.tar.bz2", b"BZh91AY&SY\0\x01\x02\xFF\xFE\0");
    folder.write("other.tar.xz", b"\xFD7zXZ\0\0\x04\xE6\xD6\xB4F");
    folder.write("print.ps", "%!PS-Adobe-3.0\n%%Pages: 1\n(The otter swims) show\nshowpage\n");
    folder.write("secret.md", format!("key: {}\n", ["AKIA", "FAKEFAKEFAKE", "FAKE"].concat()));
    let mut link = file("link", "/etc/passwd");
    link.mode = 0o120_777;
    let inner = zip(&[file("deep.txt", "The zeppelin arrives.")]);
    let names = ["../../escape.txt", "/etc/cron.d/x", "ok.txt", ".env", "a.log", "sub/ok.md"];
    let mut members: Vec<File> = names.iter().map(|name| file(name, "The pelican flies.")).collect();
    members.extend([link, file("inner.zip", inner), file("broken.zip", b"PK\x03\x04 no".to_vec())]);
    folder.write("archive.zip", zip(&members));
    let bomb = tar(&[("first.txt", b'0', b"The first member."), ("zeros", b'0', &vec![0u8; 40 << 20])]);
    folder.write("bomb.tar.gz", gzip(&bomb));
    folder.write("large.txt", "large\n".repeat((21 << 20) / 6));
    symlink("nowhere", folder.path().join("dangling")).unwrap();
    symlink("/etc/hostname", folder.path().join("outside")).unwrap();
    fs::write(folder.path().join(OsStr::from_bytes(b"bad\xFFname.txt")), "x").unwrap();
    fs::write(folder.path().join("unreadable.md"), "x").unwrap();
    fs::set_permissions(folder.path().join("unreadable.md"), fs::Permissions::from_mode(0o000)).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap();
    assert!(fifo.success());
    drop(UnixListener::bind(folder.path().join("socket")).unwrap());
    folder
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("no {name} in {of}"))
}

/// The counters of the last job and the rows of the index say the same. Returns the counters.
#[track_caller]
fn balanced(folder: &Folder, after: &str) -> Value {
    let status = program(folder).json(&["--json", "status", "--files", "**"]);
    let counted = &status["snapshot"]["indexing"];
    let mut rows = BTreeMap::<&str, u64>::new();
    for row in status["files"].as_array().unwrap() {
        let state = row["status"].as_str().unwrap();
        *rows.entry(state).or_default() += 1;
        assert!(state == "ok" || row["reason"].is_string(), "{after}: {row} has no reason");
    }
    let row = |state: &str| rows.get(state).copied().unwrap_or(0);
    let count = |name: &str| number(counted, name);
    assert_eq!(count("scanned"), count("indexed") + count("skipped") + count("errors"), "{after}: {counted}");
    assert_eq!(count("indexed") + count("unchanged"), row("ok"), "{after}: {counted}");
    assert_eq!(count("skipped") - count("unchanged"), row("skipped"), "{after}: {counted} {status}");
    assert_eq!(count("errors"), row("error"), "{after}: {counted}");
    counted.clone()
}

/// Files and folders by the rule that left them out.
fn ignored(counted: &Value) -> BTreeMap<String, (u64, u64)> {
    let rules = counted["ignored"].as_array().unwrap();
    let one = |ignored: &Value| {
        let rule = &ignored["rule"];
        let name = rule["pattern"].as_str().unwrap_or(rule["source"].as_str().unwrap());
        (name.to_owned(), (number(ignored, "files"), number(ignored, "folders")))
    };
    rules.iter().map(one).collect()
}

#[test]
fn d046_every_entry_of_a_hostile_tree_is_accounted_for() {
    let folder = hostile();
    program(&folder).run(&["index"]).expect(0);
    let first = balanced(&folder, "the first run");
    assert_eq!((number(&first, "unchanged"), number(&first, "deleted")), (0, 0), "{first}");
    let by_rule = ignored(&first);
    for (rule, count) in [
        ("*.log", (2, 0)),
        ("/out/", (0, 1)),
        ("**/node_modules/**", (0, 1)),
        ("**/dist/**", (0, 1)),
        ("*.pem", (1, 0)),
        ("*.key", (1, 0)),
        (".env", (2, 0)),
        ("unsafe_member", (2, 0)),
    ] {
        assert_eq!(by_rule.get(rule), Some(&count), "{rule}: {by_rule:?}");
    }

    program(&folder).run(&["index"]).expect(0);
    let second = balanced(&folder, "a second run");
    assert_eq!(number(&second, "indexed"), 0, "{second}");
    assert_eq!(number(&second, "scanned"), number(&first, "scanned"));
    assert_eq!(ignored(&second).get("*.pem"), Some(&(1, 0)));
    assert_ne!(second["job_id"], first["job_id"]);

    // The archive is touched, not changed.
    let archive = fs::File::options().append(true).open(folder.path().join("archive.zip")).unwrap();
    archive.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    folder.write("fine.md", "# Fine, and changed\n");
    folder.remove("src/main.rs");
    program(&folder).run(&["index"]).expect(0);
    let third = balanced(&folder, "changes");
    assert_eq!((number(&third, "indexed"), number(&third, "deleted")), (1, 1), "{third}");

    program(&folder).run(&["reindex"]).expect(0);
    let rebuilt = balanced(&folder, "a rebuild");
    assert_eq!(number(&rebuilt, "unchanged"), 0, "{rebuilt}");
}

#[test]
fn d102_d050_damaged_documents_are_errors_with_an_event() {
    let folder = hostile();
    let run = program(&folder).run(&["index", "--json"]).expect(0);
    let events: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let failed: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "file_error")
        .map(|event| event["data"]["rel_path"].as_str().unwrap())
        .collect();
    let status = program(&folder).json(&["--json", "status", "--skipped"]);
    let row = |path: &str| {
        let rows = status["files"].as_array().unwrap();
        rows.iter().find(|row| row["rel_path"] == path).unwrap_or_else(|| panic!("{path}: {rows:?}")).clone()
    };
    for path in ["damaged.pdf", "damaged.zip", "damaged.docx", "damaged.tar.gz", "archive.zip/broken.zip"] {
        assert!(failed.contains(&path), "{path}: {failed:?}");
        assert_eq!(row(path)["status"], "error", "{path}");
        assert!(row(path)["reason"].as_str().unwrap().starts_with("EXTRACT_FAILED: "), "{}", row(path));
    }
    for (path, reason) in [
        ("other.tar.bz2", "DOC_TYPE_UNSUPPORTED: .bz2 files are not read; unpack it"),
        ("other.tar.xz", "DOC_TYPE_UNSUPPORTED: .xz files are not read; unpack it"),
        ("print.ps", "DOC_TYPE_UNSUPPORTED: ps files are not read; convert it to PDF"),
        ("pipe", "SPECIAL_FILE"),
        ("socket", "SPECIAL_FILE"),
        ("dangling", "SYMLINK_SKIPPED"),
        ("large.txt", "FILE_TOO_LARGE"),
        ("bomb.tar.gz", "CONTENT_REFUSED"),
        (r"bad\xFFname.txt", "NAME_NOT_UTF8"),
    ] {
        let row = row(path);
        assert_eq!(row["status"], "skipped", "{path}");
        assert!(row["reason"].as_str().unwrap().starts_with(reason), "{row}");
    }
    let unsafe_names = ["escape", "cron", "(..)"];
    let listed = status.to_string();
    assert!(unsafe_names.iter().all(|name| !listed.contains(name)), "{listed}");
}

#[test]
fn d002_a_running_server_accounts_for_what_it_hears_of() {
    let folder = hostile();
    let server = serve(&folder);
    let counted =
        |client: &mut testkit::HttpClient| client.expect("dir2mcp.stats", json!({}))["indexing"].clone();
    let balances = |of: &Value| {
        number(of, "scanned") == number(of, "indexed") + number(of, "skipped") + number(of, "errors")
    };
    let before = counted(&mut server.client(Era::Modern));
    assert!(balances(&before), "{before}");
    folder.write("later.md", "# Later\n");
    folder.write("later.zip", zip(&[file("one.txt", "one otter"), file("two.txt", "two otters")]));
    folder.write("later.pem", "x");
    folder.write("later.pdf", b"%PDF-1.7 and no more");
    let after = server.poll("the new files", |client| {
        let now = counted(client);
        (number(&now, "indexed") >= number(&before, "indexed") + 4
            && number(&now, "errors") > number(&before, "errors")
            && now["running"] == false)
            .then_some(now)
    });
    assert!(balances(&after), "{after}");
    folder.remove("later.zip");
    let gone = server.poll("the removal", |client| {
        let now = counted(client);
        (number(&now, "deleted") >= number(&after, "deleted") + 3).then_some(now)
    });
    assert!(balances(&gone), "{gone}");
}

/// What `index --json` warns of.
fn warnings(folder: &Folder) -> Vec<String> {
    let run = program(folder).run(&["index", "--json"]).expect(0);
    run.stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["event"] == "warning")
        .map(|event| event["data"]["message"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn d084_a_line_that_leaves_out_nearly_everything_is_named() {
    let folder = Folder::empty();
    for number in 0..40 {
        folder.write(&format!("drivers/net/{number}.c"), "int x;\n");
        folder.write(&format!("{number}.c"), "int x;\n");
    }
    folder.write(".gitignore", "*.o\n\n# everything but the packaging\n/*\n!/debian/\n");
    let said = warnings(&folder);
    let note = said.iter().find(|text| text.contains("left out")).unwrap_or_else(|| panic!("{said:?}"));
    // 80 sources and the ignore file itself.
    assert!(note.starts_with("81 of 81 files are left out by .gitignore line 4 (/*)."), "{note}");
    assert!(note.contains("ingest.gitignore") && note.contains(".ignore"), "{note}");
    let status = program(&folder).json(&["--json", "status"]);
    assert_eq!(status["snapshot"]["indexing"]["notes"][0], note.as_str());

    // What it says to do helps.
    folder.write(".ignore", "!/*\n");
    assert_eq!(warnings(&folder), [] as [&str; 0]);
    let counted = balanced(&folder, "with .ignore");
    assert_eq!(number(&counted, "indexed"), 82);

    // A folder of built files is nothing to speak of, however many they are.
    let ordinary = Folder::from("//- .gitignore\n/target/\n//- a.rs\n//- b.rs\n");
    for number in 0..100 {
        ordinary.write(&format!("target/{number}.o"), "x");
    }
    assert_eq!(warnings(&ordinary), [] as [&str; 0]);
}

#[test]
fn d085_a_link_with_an_absolute_target_below_the_root_is_followed_when_asked() {
    let folder =
        Folder::from("//- docs/real.md\nThe pelican flies.\n//- docs/sub/deep.md\nThe otter swims.\n");
    folder.link("absolute.md", folder.path().join("docs/real.md"));
    folder.link("folder", folder.path().join("docs/sub"));
    folder.link("out.md", "/etc/hostname");
    folder.link("sly.md", folder.path().join("../outside.md"));
    fs::write(folder.outside().join("outside.md"), "The walrus waits.").unwrap();
    let server = program(&folder).env("DIR2MCP_INGEST_FOLLOW_SYMLINKS", "true").serve(&[]);
    server.wait_indexed();
    for (path, text) in [("absolute.md", "pelican"), ("folder/deep.md", "otter")] {
        let opened = server.expect("dir2mcp.open_file", json!({ "rel_path": path }));
        assert!(opened["content"].as_str().unwrap().contains(text), "{path}");
        let found = server.expect("dir2mcp.search", json!({ "query": text }));
        assert!(found["hits"].as_array().unwrap().iter().any(|hit| hit["rel_path"] == path), "{found}");
    }
    let mut client = server.client(Era::Modern);
    for path in ["out.md", "sly.md"] {
        let reply = client.call("dir2mcp.open_file", json!({ "rel_path": path }));
        assert_eq!(reply.code(), Some("PATH_OUTSIDE_ROOT"), "{path}");
    }
}

#[test]
fn a_server_whose_terminal_goes_away_cleans_up() {
    let folder = Folder::from("//- a.md\none\n");
    let server = serve(&folder);
    let connection = folder.state().join("connection.json");
    assert!(connection.exists());
    let hung_up =
        std::process::Command::new("kill").args(["-HUP", &server.id().to_string()]).status().unwrap();
    assert!(hung_up.success());
    let done = server.ends();
    assert_eq!(done.code, Some(0), "{}", done.output());
    let status = program(&folder).json(&["--json", "status"]);
    assert_eq!(status["server"], Value::Null);
    assert_eq!(status["snapshot"]["indexing"]["running"], false);
}
