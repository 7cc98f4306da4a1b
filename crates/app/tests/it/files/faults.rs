//! What the store depends on goes away and comes back: the specified code, nothing lost, no restart needed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Client, DEADLINE, Folder, Postgres, Program, Redis, Server};

use super::world::{Home, store_settings, tenant_hash, write_config};
use super::{BINARY, Backend, World};

fn call(server: &Server, tool: &str, arguments: Value) -> Value {
    server.client_at("/mcp/files").bearing(Some("key")).call(tool, arguments).result
}

fn write(server: &Server, path: &str, content: &str) -> Value {
    let arguments = json!({ "project": "p", "path": path, "content": content, "idempotency_key": path });
    call(server, "file_write", arguments)
}

fn read(server: &Server, path: &str) -> Value {
    call(server, "file_read", json!({ "project": "p", "path": path }))
}

/// A refusal that says to come back.
#[track_caller]
fn come_back(result: &Value, codes: &[&str]) {
    let said = &result["structuredContent"];
    assert_eq!(result["isError"], true, "{result}");
    assert!(codes.contains(&said["code"].as_str().unwrap_or("?")), "{said}");
    assert_eq!(said["retryable"], true, "{said}");
}

/// Asks until it succeeds, and says how long that took.
fn recovers(what: &str, mut attempt: impl FnMut() -> Value) -> Duration {
    let started = Instant::now();
    loop {
        let result = attempt();
        if result["isError"] != true {
            return started.elapsed();
        }
        assert!(started.elapsed() < DEADLINE, "{what} does not recover: {result}");
    }
}

/// Two seconds are promised on a machine that has nothing else to do.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn f114_postgres_gone_and_back() {
    let (postgres, redis) = (Postgres::private(), Redis::shared());
    let database = postgres.database();
    let folder = Folder::from("//- a.txt\nx");
    let config = folder.outside().join("config.yaml");
    write_config(&config, &store_settings(Some(database.url()), Some(redis.url())), "");
    let server = Program::new(BINARY, &folder).flag("--config").flag(&config).serve(&[]);
    assert_ne!(write(&server, "/before", "acknowledged bagpipes")["isError"], true);

    postgres.stop();
    come_back(&write(&server, "/during", "x"), &["RESOURCE_BUSY"]);
    come_back(&read(&server, "/before"), &["RESOURCE_BUSY"]);
    come_back(&call(&server, "file_stat", json!({ "project": "p", "path": "/before" })), &["RESOURCE_BUSY"]);
    come_back(&call(&server, "file_list", json!({ "project": "p" })), &["RESOURCE_BUSY"]);
    let search = call(&server, "file_search", json!({ "project": "p", "query": "bagpipes" }));
    come_back(&search, &["SEARCH_BACKEND_ERROR", "RESOURCE_BUSY"]);

    postgres.start();
    let took = recovers("writing", || write(&server, "/during", "x"));
    assert!(took < SOON, "{took:?}");
    assert_eq!(read(&server, "/before")["structuredContent"]["content"], "acknowledged bagpipes");
    assert_eq!(read(&server, "/during")["structuredContent"]["content"], "x", "written once under its key");
    let found = call(&server, "file_search", json!({ "project": "p", "query": "bagpipes" }));
    assert_eq!(found["structuredContent"]["chunks"][0]["file_path"], "/before", "{found}");

    postgres.crash();
    let took = recovers("writing after a crash", || write(&server, "/after", "y"));
    assert!(took < SOON, "{took:?}");
    assert_eq!(read(&server, "/before")["structuredContent"]["content"], "acknowledged bagpipes");
    let found = call(&server, "file_search", json!({ "project": "p", "query": "bagpipes" }));
    assert_eq!(found["structuredContent"]["chunks"][0]["file_path"], "/before", "{found}");
}

#[test]
fn a_server_starts_before_its_database() {
    let (postgres, redis) = (Postgres::private(), Redis::shared());
    let database = postgres.database();
    postgres.stop();
    let folder = Folder::from("//- a.txt\nx");
    let config = folder.outside().join("config.yaml");
    write_config(&config, &store_settings(Some(database.url()), Some(redis.url())), "");
    let server = Program::new(BINARY, &folder).flag("--config").flag(&config).serve(&[]);
    come_back(&write(&server, "/a", "x"), &["RESOURCE_BUSY"]);
    postgres.start();
    let took = recovers("writing", || write(&server, "/a", "x"));
    assert!(took < SOON, "{took:?}");
}

#[test]
fn redis_gone_and_back() {
    let redis = Redis::private();
    let database = Postgres::shared().database();
    let folder = Folder::from("//- a.txt\nx");
    let config = folder.outside().join("config.yaml");
    write_config(&config, &store_settings(Some(database.url()), Some(redis.url())), "");
    let server = Program::new(BINARY, &folder).flag("--config").flag(&config).serve(&[]);
    assert_ne!(write(&server, "/before", "a krummhorn")["isError"], true);
    redis.stop();
    // Words need no credential: nothing depends on Redis but vectors of services.
    assert_ne!(write(&server, "/during", "another krummhorn")["isError"], true);
    let found = call(&server, "file_search", json!({ "project": "p", "query": "krummhorn" }));
    assert_eq!(found["structuredContent"]["chunks"].as_array().map(Vec::len), Some(2), "{found}");
    redis.start();
    assert_ne!(write(&server, "/after", "x")["isError"], true);
}

/// A change of a project whose lock somebody else holds.
#[test]
fn f118_f119_a_lock_that_is_held_is_busy_on_sqlite() {
    let world = World::start(Backend::Sqlite, "lock_timeout_ms: 200\n");
    let mut t = world.tenant();
    t.put("/a", "before");
    let path = world.home.folder.state().join("files.sqlite");
    let other = rusqlite::Connection::open(path).expect("the database can be opened");
    other.execute_batch("BEGIN IMMEDIATE").expect("nobody writes");
    t.fails("file_write", json!({ "path": "/a", "content": "x" }), "RESOURCE_BUSY");
    t.fails("file_delete", json!({ "path": "/a" }), "RESOURCE_BUSY");
    t.fails("file_rename", json!({ "from_path": "/a", "to_path": "/b" }), "RESOURCE_BUSY");
    assert_eq!(t.read("/a"), "before", "readers do not wait");
    other.execute_batch("ROLLBACK").expect("the transaction ends");
    t.append("/a", " and after");
    assert_eq!(t.read("/a"), "before and after");
}

#[test]
fn f118_f119_f120_a_lock_that_is_held_is_busy_on_postgres() {
    let world = World::start(Backend::Postgres, "lock_timeout_ms: 300\n");
    let mut t = world.tenant();
    t.put("/a", "before");
    // As another server's change of the project would: the lock is that of `apikey_hash:project`.
    let digest = blake3::hash(format!("{}:p", tenant_hash(&t.key)).as_bytes());
    let key = i64::from_be_bytes(digest.as_bytes()[..8].try_into().expect("eight bytes"));
    let held = world.home.hold(&format!("SELECT pg_advisory_xact_lock({key})"));
    let started = Instant::now();
    let code = t.refused("file_write", json!({ "path": "/a", "content": "x" }));
    assert_eq!(code, "RESOURCE_BUSY");
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    assert_eq!(t.read("/a"), "before", "readers do not wait");
    world.tenant().put("/a", "other tenants do not wait");
    t.ok("file_write", json!({ "project": "q", "path": "/a", "content": "other projects do not wait" }));
    drop(held);
    t.until("the lock is free", |t| {
        !t.call("file_write", json!({ "path": "/a", "content": "!", "idempotency_key": "k" })).is_error()
    });
    assert_eq!(t.read("/a"), "before!");
}

#[test]
fn a_full_disk_loses_nothing_and_recovers() {
    let home = Home::new(Backend::Sqlite, "max_payload_bytes: 4000000\n");
    let state = home.folder.outside().join("small");
    let Some(mount) = SmallDisk::new(&state, "12m") else { return };
    let program = home.program.clone().state_dir(&state);
    let server = program.serve(&[]);
    assert_ne!(write(&server, "/kept", "acknowledged")["isError"], true);
    let mut random = testkit::Random::new(1);
    let mut written = Vec::new();
    let refused = loop {
        let content: String = (0..60_000).map(|_| format!("{:016x}", random.number())).collect();
        let path = format!("/{}", written.len());
        let result = write(&server, &path, &content);
        if result["isError"] == true {
            break result;
        }
        written.push((path, content));
        assert!(written.len() < 40, "the disk does not fill");
    };
    come_back(&refused, &["RESOURCE_BUSY"]);
    assert_eq!(read(&server, "/kept")["structuredContent"]["content"], "acknowledged");
    mount.grow("200m");
    let took = recovers("writing", || write(&server, "/more", "room again"));
    assert!(took < SOON, "{took:?}");
    for (path, content) in &written {
        assert!(read(&server, path)["structuredContent"]["content"] == content.as_str(), "{path}");
    }
    server.stop();
}

/// A file system of a given size, if this user may make one.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn new(path: &std::path::Path, size: &str) -> Option<SmallDisk> {
        std::fs::create_dir_all(path).expect("a folder");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(path)
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            #[expect(clippy::print_stderr, reason = "a test that did nothing must say so")]
            {
                eprintln!("SKIPPED: this user may not mount a file system");
            }
            return None;
        }
        Some(SmallDisk(path.to_owned()))
    }

    fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        let status = std::process::Command::new("mount").args(["-o", &options]).arg(&self.0).status();
        assert!(status.is_ok_and(|status| status.success()), "{options}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
