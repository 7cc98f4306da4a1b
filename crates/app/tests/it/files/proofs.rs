//! Long stories told short: a plain model, two tenants with the same names, several servers that are killed, restarts.

use serde_json::json;
use testkit::scenario::{ModelRun, Torture, compare_with_model, torture};
use testkit::{Client, Folder, Postgres, Redis, Request};

use super::world::{Home, store_settings};
use super::{BINARY, Backend, World};

/// The long version is `cargo xtask model`.
fn model(backend: Backend) {
    let world = World::start(backend, "");
    let run = ModelRun { tenants: 8, operations: 10_000, seed: 7 };
    let report = compare_with_model(&world.server.address, &run).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.operations, run.operations);
    assert!(report.refused > 500 && report.refused < 7_000 && report.offsets > 100, "{report:?}");
}

#[test]
fn the_store_is_its_model_on_sqlite() {
    model(Backend::Sqlite);
}

#[test]
fn the_store_is_its_model_on_postgres() {
    model(Backend::Postgres);
}

/// Two tenants with the same projects and paths at once: each sees its own model to the byte, no answer holds anything of the
/// other, and neither search, log of calls, list of projects nor metrics tell of it.
fn isolation(backend: Backend) {
    let world = World::start(backend, "");
    for seed in 0..6 {
        let run = ModelRun { tenants: 2, operations: 400, seed: 1000 + seed };
        compare_with_model(&world.server.address, &run).unwrap_or_else(|error| panic!("{error}"));
        let ask = |tenant: usize, target: &str| {
            let key = format!("model-fixture-{}-{tenant}", run.seed);
            let request = Request::new("GET", &format!("/api/files{target}")).bearer(Some(&key));
            world.server.connect().send(&request).expect("an answer").text()
        };
        for (own, other) in [(0, "tenant1mark"), (1, "tenant0mark")] {
            for target in
                ["/calls?limit=1000", "/projects", "/list?project=p&depth=9", "/search?project=*&query=plain"]
            {
                let said = ask(own, target);
                // A tenant may have asked for the other's mark; only then does its own log name it, as a query.
                let said = said.replace(&format!("\"query\":\"{other}\""), "");
                assert!(!said.contains(other), "{target} of tenant {own}: {said}");
            }
        }
    }
    let metrics = world.server.send(Request::new("GET", "/metrics")).text();
    assert!(!metrics.contains("tenant0mark") && !metrics.contains("model-fixture"));
}

#[test]
fn f012_f014_two_tenants_never_meet_on_sqlite() {
    isolation(Backend::Sqlite);
}

#[test]
fn f012_f014_two_tenants_never_meet_on_postgres() {
    isolation(Backend::Postgres);
}

/// The long version is `cargo xtask torture`.
#[test]
fn f117_f118_histories_through_killed_servers_are_possible_one_after_another_on_sqlite() {
    let folder = Folder::from("//- note.txt\nThe store lies beside this folder.");
    let plan = Torture {
        servers: 2,
        writers: 6,
        projects: 2,
        operations: 200,
        kills: 1,
        seed: 3,
        store: format!("path: {}", folder.outside().join("shared.sqlite").display()),
        crash: None,
    };
    let report = torture(BINARY.as_ref(), &plan, &|_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.operations >= 400 && report.kills == 2, "{report:?}");
}

#[test]
fn f117_f118_histories_through_killed_servers_and_a_crashed_database_are_possible_on_postgres() {
    let (postgres, redis) = (Postgres::private(), Redis::shared());
    let database = postgres.database();
    let crash = || postgres.crash();
    let plan = Torture {
        servers: 3,
        writers: 8,
        projects: 2,
        operations: 200,
        kills: 1,
        seed: 4,
        store: store_settings(Some(database.url()), Some(redis.url())),
        crash: Some(&crash),
    };
    let report = torture(BINARY.as_ref(), &plan, &|_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.operations >= 400 && report.kills == 2 && report.crashes == 2, "{report:?}");
}

/// What was acknowledged is there after a restart and after a kill; tables are made once.
fn restarts(backend: Backend) {
    let home = Home::new(backend, "");
    let call = |server: &testkit::Server, tool: &str, arguments| {
        server.client_at("/mcp/files").bearing(Some("key")).expect(tool, arguments)
    };
    for (round, ends_by_kill) in [(1, false), (2, true), (3, true)] {
        let server = home.serve();
        for earlier in 1..round {
            let read = call(&server, "file_read", json!({ "project": "p", "path": format!("/{earlier}") }));
            assert_eq!(read["content"], format!("bassoon of round {earlier}"));
        }
        let arguments = json!({ "project": "p", "path": format!("/{round}"), "content": format!("bassoon of round {round}") });
        call(&server, "file_write", arguments);
        let found = call(&server, "file_search", json!({ "project": "p", "query": "bassoon" }));
        assert_eq!(found["chunks"].as_array().map(Vec::len), Some(round), "{found}");
        if ends_by_kill {
            server.kill()
        } else {
            server.stop()
        };
    }
}

#[test]
fn f001_f160_files_survive_restarts_on_sqlite() {
    restarts(Backend::Sqlite);
}

#[test]
fn f001_f160_files_survive_restarts_on_postgres() {
    restarts(Backend::Postgres);
}

#[test]
fn f160_servers_that_start_together_make_the_tables_once() {
    let home = Home::new(Backend::Postgres, "");
    let folders: Vec<Folder> = (0..4).map(|_| Folder::from("//- a.txt\nx")).collect();
    std::thread::scope(|scope| {
        for folder in &folders {
            let config = home.folder.outside().join("config.yaml");
            scope.spawn(move || {
                let server = testkit::Program::new(BINARY, folder).flag("--config").flag(config).serve(&[]);
                let arguments = json!({ "project": "p", "path": "/log", "content": "x" });
                server.client_at("/mcp/files").bearing(Some("key")).expect("file_write", arguments);
            });
        }
    });
    let rows = home.rows("SELECT size FROM mcp_files WHERE path = '/log' AND deleted = FALSE");
    assert_eq!(rows, [["4"]]);
}
