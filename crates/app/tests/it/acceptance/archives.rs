//! Archives: their members are documents, and nothing in them gets out.

use serde_json::{Value, json};
use testkit::build::{File, file, gzip, tar, text_pages, zip};
use testkit::{Client, Era, Folder, Server};

use super::{program, serve};

/// The rows of `list_files`, as `path status` and the reason where there is one.
fn listed(server: &Server) -> Vec<(String, String)> {
    let list = server.expect("dir2mcp.list_files", json!({ "limit": 5000 }));
    list["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            (file["rel_path"].as_str().unwrap().to_owned(), file["status"].as_str().unwrap().to_owned())
        })
        .collect()
}

fn paths(server: &Server) -> Vec<String> {
    listed(server).into_iter().map(|(path, _)| path).filter(|path| path != ".dir2mcp.yaml").collect()
}

/// Opens what a hit cites.
fn open(server: &Server, hit: &Value) -> Value {
    let mut arguments = json!({ "rel_path": hit["rel_path"] });
    for key in ["page", "start_line", "end_line", "start_ms", "end_ms"] {
        if let Some(value) = hit["span"].get(key) {
            arguments[key] = value.clone();
        }
    }
    server.expect("dir2mcp.open_file", arguments)
}

fn finds(server: &Server, word: &str) -> Vec<String> {
    let found = server.expect("dir2mcp.search", json!({ "query": word, "k": 50 }));
    let hits = found["hits"].as_array().unwrap();
    let with = hits.iter().filter(|hit| hit["snippet"].as_str().unwrap().contains(word));
    with.map(|hit| hit["rel_path"].as_str().unwrap().to_owned()).collect()
}

/// What `status --skipped` says of a path.
fn reason(folder: &Folder, path: &str) -> String {
    let status = program(folder).json(&["--json", "status", "--skipped"]);
    let files = status["files"].as_array().unwrap();
    let row = files.iter().find(|row| row["rel_path"] == path);
    row.unwrap_or_else(|| panic!("{path} is not among {files:?}"))["reason"].as_str().unwrap().to_owned()
}

#[test]
fn d092_members_are_found_cited_and_opened() {
    let folder = Folder::empty();
    let report = text_pages(&["The lighthouse was built in 1893.", "The windmill belongs to the miller."]);
    let inner = gzip(&tar(&[("deep/note.txt", b'0', b"The zeppelin arrives on Tuesday.\n")]));
    let members = || -> Vec<(&str, Vec<u8>)> {
        vec![
            ("docs/readme.md", b"# Otters\n\nThe otter swims.\n".to_vec()),
            ("report.pdf", report.clone()),
            ("inner.tar.gz", inner.clone()),
        ]
    };
    let zipped: Vec<File> = members().into_iter().map(|(name, body)| file(name, body)).collect();
    let held = members();
    let tarred = tar(&held.iter().map(|(name, body)| (*name, b'0', body.as_slice())).collect::<Vec<_>>());
    folder.write("a.zip", zip(&zipped));
    folder.write("sub/b.tar", &tarred);
    folder.write("c.tar.gz", gzip(&tarred));
    folder.write("d.tar.zst", zstd::encode_all(tarred.as_slice(), 3).unwrap());
    folder.write("e.csv.gz", gzip(b"name,size\npelican,3\n"));
    let server = serve(&folder);
    let archives = ["a.zip", "c.tar.gz", "d.tar.zst", "sub/b.tar"];
    for (word, inner) in
        [("otter", "docs/readme.md"), ("windmill", "report.pdf"), ("zeppelin", "inner.tar.gz/deep/note.txt")]
    {
        let mut found = finds(&server, word);
        found.sort();
        assert_eq!(found, archives.map(|archive| format!("{archive}/{inner}")), "{word}");
        let hits = server.expect("dir2mcp.search", json!({ "query": word }))["hits"].clone();
        for hit in hits.as_array().unwrap() {
            let opened = open(&server, hit);
            assert_eq!(opened["span"], hit["span"]);
            assert!(
                opened["content"].as_str().unwrap().contains(testkit::passage(&hit["snippet"])),
                "{opened}"
            );
        }
    }
    assert_eq!(finds(&server, "pelican"), ["e.csv.gz/e.csv"]);
    let second = server.expect("dir2mcp.open_file", json!({ "rel_path": "c.tar.gz/report.pdf", "page": 2 }));
    assert!(second["content"].as_str().unwrap().contains("windmill"));
    let mut client = server.client(Era::Modern);
    for (path, code) in [
        ("a.zip/none.md", "FILE_NOT_FOUND"),
        ("a.zip/docs/readme.md/x", "FILE_NOT_FOUND"),
        ("a.zip", "DOC_TYPE_UNSUPPORTED"),
        ("a.zip/inner.tar.gz", "DOC_TYPE_UNSUPPORTED"),
        ("a.zip/../a.zip/docs/readme.md", "PATH_OUTSIDE_ROOT"),
    ] {
        let refused = client.call("dir2mcp.open_file", json!({ "rel_path": path }));
        assert_eq!(refused.code(), Some(code), "{path}");
    }
    assert!(listed(&server).iter().all(|(_, status)| status == "ok"), "{:?}", listed(&server));
}

#[test]
fn d183_names_links_secrets_and_forbidden_paths() {
    let folder = Folder::empty();
    // A fixture, not a key.
    let fixture = ["AKIA", "FAKEFAKEFAKE", "FAKE"].concat();
    let mut link = file("link", "/etc/passwd");
    link.mode = 0o120_777;
    let mut locked = file("locked.txt", "x");
    locked.flags = 1;
    let names =
        ["../../escape.txt", "/etc/cron.d/x", "C:\\windows\\x", "ok.txt", ".env", "id_rsa", "private/x.md"];
    let mut files: Vec<File> = names.iter().map(|name| file(name, "The pelican flies.")).collect();
    files.extend([link, locked, file("keys.md", format!("key: {fixture}"))]);
    folder.write("a.zip", zip(&files));
    folder.write(".dir2mcp.yaml", "security: {path_excludes: ['**/private/**']}\n");
    folder.write(".gitignore", "*.log\nignored/\n");
    folder.write(
        "b.zip",
        zip(&[file("x.log", "The pelican flies."), file("ignored/a/x.md", "The pelican flies.")]),
    );
    let server = serve(&folder);
    assert_eq!(finds(&server, "pelican"), ["a.zip/ok.txt"]);
    let rows = listed(&server);
    let status = |path: &str| rows.iter().find(|(known, _)| known == path).map(|(_, status)| status.as_str());
    for path in ["a.zip/.env", "a.zip/id_rsa", "a.zip/private/x.md"] {
        assert_eq!(status(path), None, "{path} is forbidden, so it is not listed");
        let refused = server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": path }));
        assert_eq!(refused.code(), Some("FORBIDDEN"), "{path}");
    }
    for (path, why) in
        [("a.zip/link", "never followed"), ("a.zip/locked.txt", "password"), ("a.zip/keys.md", "secret rule")]
    {
        assert_eq!(status(path), Some("skipped"), "{path} {rows:?}");
        assert!(reason(&folder, path).contains(why), "{path}: {}", reason(&folder, path));
    }
    let unsafe_names = ["escape", "cron", "windows", ".."];
    assert!(rows.iter().all(|(path, _)| unsafe_names.iter().all(|name| !path.contains(name))), "{rows:?}");
    let withheld =
        server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": "a.zip/keys.md" }));
    assert_eq!(withheld.code(), Some("FORBIDDEN"));
    assert!(!folder.outside().join("escape.txt").exists());
}

#[test]
fn an_edited_archive_keeps_gains_and_loses_members() {
    let folder = Folder::empty();
    let two = |one: &str, other: &str| {
        zip(&[file("stays.md", "The heron waits."), file(one, "The otter swims."), file(other, "An owl.")])
    };
    folder.write("a.zip", two("old.md", "b.md"));
    folder.write("a.zip-notes.md", "The badger digs.\n");
    folder.write("c.tar", tar(&[("x.md", b'0', b"The gannet dives.\n")]));
    let server = serve(&folder);
    assert_eq!(finds(&server, "otter"), ["a.zip/old.md"]);
    let wait = |what: &str, wanted: &[&str]| {
        server.poll(what, |_| (paths(&server) == wanted).then_some(()));
    };
    folder.write("a.zip", two("new.md", "b.md"));
    let after =
        ["a.zip", "a.zip-notes.md", "a.zip/b.md", "a.zip/new.md", "a.zip/stays.md", "c.tar", "c.tar/x.md"];
    wait("the edited archive", &after);
    server.poll("the new member", |_| (finds(&server, "otter") == ["a.zip/new.md"]).then_some(()));
    assert_eq!(finds(&server, "heron"), ["a.zip/stays.md"]);
    // A file where an archive was, an archive that is gone, and one that appears.
    folder.write("a.zip", "not an archive any more");
    folder.remove("c.tar");
    folder.write("e.zip", two("p.md", "q.md"));
    let after = ["a.zip", "a.zip-notes.md", "e.zip", "e.zip/p.md", "e.zip/q.md", "e.zip/stays.md"];
    wait("the changes", &after);
    server.poll("what is found", |_| (finds(&server, "otter") == ["e.zip/p.md"]).then_some(()));
    assert!(finds(&server, "gannet").is_empty());
    drop(server);
    // A scan of what has not changed keeps everything, and an index made anew holds the same.
    program(&folder).index().expect(0);
    let server = serve(&folder);
    assert_eq!(paths(&server), after);
    assert_eq!(finds(&server, "heron"), ["e.zip/stays.md"]);
}

#[test]
fn d172_how_far_archives_are_looked_into() {
    let folder = Folder::empty();
    let inner = zip(&[file("x.md", "The zeppelin arrives.")]);
    folder.write("a.zip", zip(&[file("inner.zip", inner), file("y.md", "The otter swims.")]));
    folder.write(".dir2mcp.yaml", "ingest: {archives: {mode: shallow}}\n");
    let server = serve(&folder);
    assert_eq!(
        (finds(&server, "zeppelin"), finds(&server, "otter")),
        (vec![], vec!["a.zip/y.md".to_owned()])
    );
    assert!(reason(&folder, "a.zip/inner.zip").contains("ingest.archives.mode"));
    drop(server);
    folder.write(".dir2mcp.yaml", "ingest: {archives: {mode: 'off'}}\n");
    let server = serve(&folder);
    assert_eq!(paths(&server), ["a.zip"]);
    assert!(reason(&folder, "a.zip").contains("ingest.archives.mode"));
    let refused = server.client(Era::Modern).call("dir2mcp.open_file", json!({ "rel_path": "a.zip/y.md" }));
    assert_eq!(refused.code(), Some("FILE_NOT_FOUND"));
    drop(server);
    folder.write(".dir2mcp.yaml", "ingest: {archives: {mode: deep}}\n");
    let server = serve(&folder);
    assert_eq!(finds(&server, "zeppelin"), ["a.zip/inner.zip/x.md"]);
}

#[test]
fn a_broken_archive_keeps_what_was_read_and_a_bomb_nothing() {
    let folder = Folder::empty();
    let noise: Vec<u8> = (0..200_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let whole = gzip(&tar(&[("first.md", b'0', b"The otter swims.\n"), ("noise.bin", b'0', &noise)]));
    folder.write("cut.tar.gz", &whole[..whole.len() / 2]);
    let zeros = vec![0u8; 100 << 20];
    folder.write(
        "bomb.zip",
        zip(&[file("before.md", "The pelican flies."), file("zeros.txt", zeros.as_slice())]),
    );
    folder.write("bomb.gz", gzip(&zeros));
    let server = serve(&folder);
    assert_eq!(finds(&server, "otter"), ["cut.tar.gz/first.md"]);
    assert!(
        reason(&folder, "cut.tar.gz").contains("read up to a point"),
        "{}",
        reason(&folder, "cut.tar.gz")
    );
    for bomb in ["bomb.zip", "bomb.gz"] {
        assert!(reason(&folder, bomb).contains("refused"), "{}", reason(&folder, bomb));
    }
    assert!(finds(&server, "pelican").is_empty(), "nothing of a bomb is shown");
    assert!(
        paths(&server).iter().all(|path| !path.starts_with("bomb.zip/") && !path.starts_with("bomb.gz/"))
    );
}
