//! `dir2mcp store` and `dir2mcp calls`, beside a server that is running.

use serde_json::{Value, json};

use super::world::Home;
use super::{Backend, World};

/// A store with a file, a version and a deleted file, all indexed.
fn used(backend: Backend) -> World {
    let world = World::start(backend, "");
    let mut alice = world.tenant_with("alice");
    alice.put("/a.md", "first words");
    alice.put("/a.md", "second words");
    alice.put("/gone.md", "gone");
    alice.ok("file_delete", json!({ "path": "/gone.md" }));
    alice.put("/docs/b.md", "other words");
    sound(&world.home);
    world
}

/// Waits until nothing is left to index, and the store is sound.
fn sound(home: &Home) -> Value {
    let deadline = std::time::Instant::now() + testkit::DEADLINE;
    loop {
        let report = home.program.json(&["store", "check", "--json"]);
        assert_eq!(report["sound"], true, "{report}");
        if report["open_jobs"] == 0 {
            return report;
        }
        assert!(std::time::Instant::now() < deadline, "{report}");
    }
}

#[test]
fn a_store_is_checked_and_what_follows_from_its_files_is_mended() {
    for backend in Backend::BOTH {
        let world = used(backend);
        let home = &world.home;
        let report = sound(home);
        let counted =
            ["files", "deleted_files", "projects", "chunks", "vectors", "versions"].map(|name| &report[name]);
        assert_eq!(
            counted,
            [&json!(2), &json!(1), &json!(1), &json!(2), &json!(2), &json!(2)],
            "{backend:?}: {report}"
        );

        home.change("UPDATE mcp_files SET size = 99 WHERE path = '/a.md'");
        home.change("UPDATE mcp_file_projects SET files = 7");
        home.change("UPDATE mcp_file_chunks SET chunk_content = 'other' WHERE file_path = '/docs/b.md'");
        home.change("DELETE FROM mcp_file_hashes");
        let found = home.program.run(&["store", "check", "--json"]);
        assert_eq!(found.code, Some(1), "{}", found.output());
        let report: Value = serde_json::from_str(&found.stdout).unwrap();
        let problems: Vec<&str> = report["problems"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|each| each["problem"].as_str())
            .collect();
        assert_eq!(
            problems,
            [
                "file whose size is not that of its content",
                "file without a digest",
                "project whose sums are not those of its files",
                "chunk whose text is not what its file has there",
            ],
            "{backend:?}"
        );
        let mended = home.program.json(&["store", "check", "--repair", "--json"]);
        assert_eq!(mended["sound"], true, "{backend:?}: {mended}");
        assert!(mended["repaired_rows"].as_u64().unwrap() >= 4, "{mended}");
        sound(home);
        let mut alice = world.tenant_with("alice");
        assert_eq!(alice.ok("file_stat", json!({ "path": "/a.md" }))["size"], 12);
        let hits = alice.ok("file_search", json!({ "query": "other words" }));
        assert_eq!(hits["chunks"][0]["chunk_content"], "other words", "{backend:?}");
    }
}

#[test]
fn a_backup_of_either_backend_fills_an_empty_store_of_the_other() {
    for (from, to) in [(Backend::Sqlite, Backend::Postgres), (Backend::Postgres, Backend::Sqlite)] {
        let world = used(from);
        world.home.program.run(&["keys", "add", "ci"]).expect(0);
        let file = world.home.folder.outside().join("store.jsonl");
        let file = file.to_str().unwrap();
        let counts = world.home.program.json(&["store", "backup", file, "--json"]);
        assert_eq!(counts, json!({ "files": 2, "versions": 2, "keys": 1 }), "{from:?}");
        let again = world.home.program.run(&["store", "backup", file]);
        assert_eq!(again.code, Some(1), "a backup is never overwritten");

        let other = Home::new(to, "");
        assert_eq!(other.program.json(&["store", "restore", file, "--json"]), counts, "{to:?}");
        let refused = other.program.run(&["store", "restore", file]).output();
        assert!(refused.contains("only restored into an empty one"), "{refused}");
        let server = other.serve();
        let restored = World::of(other, server);
        let mut alice = restored.tenant_with("alice");
        assert_eq!(alice.ok("file_read", json!({ "path": "/a.md" }))["content"], "second words");
        let versions = alice.ok("file_versions", json!({ "path": "/a.md" }));
        assert_eq!(versions["versions"].as_array().unwrap().len(), 1, "{versions}");
        assert_eq!(alice.refused("file_read", json!({ "path": "/gone.md" })), "NOT_FOUND");
        let hits = alice.ok("file_search", json!({ "query": "other words" }));
        assert_eq!(hits["chunks"][0]["file_path"], "/docs/b.md", "{to:?}");
        assert!(restored.home.program.run(&["keys", "list"]).expect(0).stdout.contains("ci  active"));
        sound(&restored.home);

        // Cut or changed, it is refused before anything is written.
        let text = std::fs::read_to_string(file).unwrap();
        let cut = restored.home.folder.outside().join("cut.jsonl");
        for damaged in [&text[..text.len() - 30], &text.replacen("/docs/b.md", "/docs/c.md", 1)] {
            std::fs::write(&cut, damaged).unwrap();
            let empty = Home::new(to, "");
            let refused = empty.program.run(&["store", "restore", cut.to_str().unwrap()]);
            assert_eq!(refused.code, Some(1));
            assert!(refused.output().contains("the backup is damaged"), "{}", refused.output());
        }
    }
}

#[test]
fn f148_f149_calls_are_listed_with_filters() {
    for backend in Backend::BOTH {
        let world = World::start(backend, "auth: keys");
        let key = world.home.program.run(&["keys", "add", "ci"]).expect(0).stdout;
        let mut ci = world.tenant_with(key.trim());
        ci.put("/a.md", "a secret text");
        ci.refused("file_read", json!({ "path": "/none" }));
        // The server writes its log behind the calls' backs; asking it for the log waits for that.
        let request = testkit::Request::new("GET", "/api/files/calls").bearer(Some(key.trim()));
        assert!(world.server.send(request).text().contains("file_read"));
        let listed = |more: &[&str]| -> Vec<String> {
            let args = [&["calls", "--json", "--key", "ci"], more].concat();
            let calls = world.home.program.json(&args);
            assert!(!calls.to_string().contains("a secret text"), "{calls}");
            calls["calls"].as_array().unwrap().iter().map(|call| call["tool"].to_string()).collect()
        };
        assert_eq!(listed(&[]), ["\"file_read\"", "\"file_write\""], "{backend:?}: newest first");
        assert_eq!(listed(&["--tool", "file_write"]), ["\"file_write\""]);
        assert_eq!(listed(&["--failed"]), ["\"file_read\""]);
        assert_eq!(listed(&["--offset", "1", "--limit", "5"]), ["\"file_write\""]);
        assert_eq!(listed(&["--to", "2020-01-01T00:00:00Z"]), [""; 0]);
        assert_eq!(listed(&["--from", "2020-01-01T00:00:00Z"]).len(), 2);
        let text = world.home.program.run(&["calls", "--key", "ci"]).expect(0).stdout;
        assert!(text.contains("file_read  NOT_FOUND"), "{text}");
    }
}
