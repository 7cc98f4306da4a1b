//! The file store beside the programs everybody measures databases with, in one run on one machine: `pgbench` for PostgreSQL, plain
//! `fsync` for the embedded store; and how soon what was written can be found.

use std::fs::File;
use std::io::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Client, Database, Folder, HttpClient, Postgres, Program, Redis, Server};

use crate::Setting;
use crate::figures::Report;
use crate::load;
use crate::measure::{milliseconds, quantile};

/// As many as pgbench is given.
const CLIENTS: usize = 8;
/// Who writes to the embedded store at once.
const WRITERS: usize = 16;
const SPAN: Duration = Duration::from_secs(5);
/// Writes per second while freshness is measured, and for how long.
const STEADY: (u32, Duration) = (50, Duration::from_secs(20));

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Result<(), String> {
    let mut rows = Vec::new();
    embedded(setting, report, &mut rows)?;
    on_postgres(setting, report, &mut rows)?;
    report.section(format!(
        "## The file store\n\nMeasured by `cargo xtask bench --only store`: {CLIENTS} clients over HTTP beside \
         `pgbench` with {CLIENTS} clients on the same PostgreSQL, {WRITERS} writers beside plain `fdatasync`, each for {} s.\n\n\
         | figure | measured |\n|---|---|\n{}",
        SPAN.as_secs(),
        rows.concat()
    ));
    Ok(())
}

/// Searches of the store as it grows; `sizes` are files of one chunk each.
pub(crate) fn growth(setting: &Setting, report: &mut Report, sizes: &[usize]) -> Result<(), String> {
    let mut table = String::from(
        "## Growth of the file store\n\n| backend | chunks | written per s | search p50 ms | p99 ms | stat p50 ms |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for is_postgres in [false, true] {
        let home = StoreHome::new(is_postgres);
        let server = home.serve(setting);
        let mut written = 0;
        for size in sizes {
            let started = Instant::now();
            fill(&server, written, *size);
            let rate = (size - written) as f64 / started.elapsed().as_secs_f64();
            written = *size;
            wait_indexed(&server);
            let mut client = tenant(&server, "growth");
            let mut searches = Vec::new();
            let mut stats = Vec::new();
            for round in 0..200 {
                let started = Instant::now();
                client.expect("file_search", json!({ "project": "p", "query": words(round * 7919) }));
                searches.push(started.elapsed());
                let started = Instant::now();
                client.expect(
                    "file_stat",
                    json!({ "project": "p", "path": format!("/{}.md", round * 13 % size) }),
                );
                stats.push(started.elapsed());
            }
            let name = if is_postgres { "PostgreSQL" } else { "SQLite" };
            table.push_str(&format!(
                "| {name} | {size} | {rate:.0} | {:.2} | {:.2} | {:.2} |\n",
                milliseconds(quantile(&mut searches, 0.5)),
                milliseconds(quantile(&mut searches, 0.99)),
                milliseconds(quantile(&mut stats, 0.5)),
            ));
        }
    }
    report.section(table);
    Ok(())
}

fn embedded(setting: &Setting, report: &mut Report, rows: &mut Vec<String>) -> Result<(), String> {
    let home = StoreHome::new(false);
    let server = home.serve(setting);
    // By turns, so that what else the machine does falls on both.
    let (mut raw, mut ours) = (0.0, 0.0);
    for _ in 0..3 {
        raw += fsyncs_per_second(home.folder.outside())? / 3.0;
        ours += writes_per_second(&server, WRITERS) / 3.0;
    }
    let detail = format!("{ours:.0} writes and {raw:.0} syncs per second");
    report.at_least(
        "Writes to the embedded file store by 16 writers against `fdatasync` by one",
        ours / raw,
        5.0,
        " times",
        &detail,
    );
    rows.push(format!(
        "| writes to SQLite by {WRITERS} writers | {ours:.0} per s, {:.1} times `fdatasync` |\n",
        ours / raw
    ));
    let lag = freshness(&server)?;
    report.at_most("From commit to searchable, embedded, 95th percentile at 50 writes/s", lag, 2.0, " s", "");
    rows.push(format!("| from commit to searchable, SQLite, p95 | {lag:.2} s |\n"));
    Ok(())
}

fn on_postgres(setting: &Setting, report: &mut Report, rows: &mut Vec<String>) -> Result<(), String> {
    let home = StoreHome::new(true);
    let (postgres, database) =
        home.databases.as_ref().map(|(postgres, database, _)| (postgres, database)).ok_or("no database")?;
    let bench = postgres.database();
    run_pgbench(&bench, &["-i", "-q", "-s", "5"])?;
    let server = home.serve(setting);
    let mut client = tenant(&server, "stat");
    client.expect("file_write", json!({ "project": "p", "path": "/a.txt", "content": "x" }));
    let message = client.message(
        "tools/call",
        json!({ "name": "file_stat", "arguments": { "project": "p", "path": "/a.txt" } }),
    );
    let request = client.envelope(&message);
    let (mut reads, mut stats, mut updates, mut writes) = (0.0, 0.0, 0.0, 0.0);
    for _ in 0..3 {
        reads += pgbench(&bench, "-S")? / 3.0;
        stats += load::run(&server.address, &request, server.id(), CLIENTS, SPAN)?.per_second() / 3.0;
        updates += pgbench(&bench, "-N")? / 3.0;
        writes += writes_per_second(&server, CLIENTS) / 3.0;
    }
    let detail = format!("{stats:.0} and {reads:.0} per second");
    report.at_least(
        "`file_stat` over HTTP against `pgbench -S -M prepared`",
        stats / reads,
        0.5,
        "",
        &detail,
    );
    rows.push(format!("| `file_stat` on PostgreSQL against `pgbench -S -M prepared` | {stats:.0} of {reads:.0} per s, {:.2} |\n", stats / reads));
    let detail =
        format!("{writes:.0} and {updates:.0} per second; of 1 kB, each with a version and an index job");
    report.at_least(
        "`file_write` on PostgreSQL against `pgbench -N -M prepared`",
        writes / updates,
        0.2,
        "",
        &detail,
    );
    rows.push(format!("| `file_write` on PostgreSQL against `pgbench -N -M prepared` | {writes:.0} of {updates:.0} per s, {:.2} |\n", writes / updates));
    wait_indexed(&server);
    let lag = freshness(&server)?;
    report.at_most(
        "From commit to searchable, PostgreSQL, 95th percentile at 50 writes/s",
        lag,
        5.0,
        " s",
        "",
    );
    rows.push(format!("| from commit to searchable, PostgreSQL, p95 | {lag:.2} s |\n"));
    let size = database.value("SELECT pg_size_pretty(pg_database_size(current_database()))");
    report.note(format!("The PostgreSQL database of the file store had {size} after that."));
    Ok(())
}

/// A folder, and the databases where there are some.
struct StoreHome {
    folder: Folder,
    databases: Option<(Postgres, Database, Redis)>,
}

impl StoreHome {
    fn new(is_postgres: bool) -> StoreHome {
        let databases = is_postgres.then(|| {
            let postgres = Postgres::durable();
            let database = postgres.database();
            (postgres, database, Redis::private())
        });
        StoreHome { folder: Folder::from("//- note.txt\nnothing to see"), databases }
    }

    fn serve(&self, setting: &Setting) -> Server {
        let store = match &self.databases {
            None => String::new(),
            Some((_, database, redis)) => format!(
                "  backend: postgres\n  postgres:\n    url: {}\n  redis:\n    url: {}\n",
                database.url(),
                redis.url()
            ),
        };
        let config = self.folder.outside().join("config.yaml");
        let text =
            format!("version: 1\nfiles:\n  auth: passthrough\n  max_project_bytes: 100000000000\n{store}");
        std::fs::write(&config, text).expect("a temporary file can be written");
        Program::new(&setting.binary, &self.folder).flag("--config").flag(config).serve(&[])
    }
}

fn tenant(server: &Server, key: &str) -> HttpClient {
    server.client_at("/mcp/files").bearing(Some(key))
}

/// Clients that write files of 1 kB to projects of their own.
fn writes_per_second(server: &Server, clients: usize) -> f64 {
    let written = AtomicUsize::new(0);
    let started = Instant::now();
    thread::scope(|scope| {
        for number in 0..clients {
            let (written, mut client) = (&written, tenant(server, "writer"));
            scope.spawn(move || {
                let mut round = 0;
                while started.elapsed() < SPAN {
                    let content = format!("{round} {}", "words of a file that is written ".repeat(32));
                    let arguments = json!({ "project": format!("p{number}"), "path": format!("/{}.md", round % 50), "content": content, "mode": "TRUNCATE" });
                    client.expect("file_write", arguments);
                    written.fetch_add(1, Ordering::Relaxed);
                    round += 1;
                }
            });
        }
    });
    written.into_inner() as f64 / started.elapsed().as_secs_f64()
}

/// Pages of 4 kB, each safely on the disk.
fn fsyncs_per_second(folder: &std::path::Path) -> Result<f64, String> {
    let mut file = File::create(folder.join("fsync")).map_err(crate::text)?;
    let started = Instant::now();
    let mut count = 0;
    while started.elapsed() < Duration::from_secs(2) {
        file.write_all(&[1; 4096]).and_then(|()| file.sync_data()).map_err(crate::text)?;
        count += 1;
    }
    Ok(f64::from(count) / started.elapsed().as_secs_f64())
}

/// The 95th percentile in seconds, as the server tells it after a steady load.
fn freshness(server: &Server) -> Result<f64, String> {
    let (rate, span) = STEADY;
    let total = rate * span.as_secs() as u32;
    let clients = 5;
    let started = Instant::now();
    thread::scope(|scope| {
        for number in 0..clients {
            let mut client = tenant(server, "steady");
            scope.spawn(move || {
                for round in (number..total).step_by(clients as usize) {
                    let due = started + Duration::from_secs(1) * round / rate;
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    let arguments = json!({ "project": "steady", "path": format!("/{}.md", round % 200), "content": words(round as usize).repeat(20), "mode": "TRUNCATE" });
                    client.expect("file_write", arguments);
                }
            });
        }
    });
    wait_indexed(server);
    let page = metrics(server);
    let line = page.lines().find_map(|line| line.strip_prefix("mcp_files_index_visibility_lag_p95_ms "));
    let lag: f64 = line.and_then(|text| text.trim().parse().ok()).ok_or("no freshness among the metrics")?;
    Ok(lag / 1000.0)
}

fn metrics(server: &Server) -> String {
    server.send(testkit::Request::new("GET", "/metrics")).text()
}

fn wait_indexed(server: &Server) {
    let deadline = Instant::now() + Duration::from_secs(3600);
    // The depth is measured every few seconds: two zeros apart are the end.
    let mut zeros = 0;
    while zeros < 3 && Instant::now() < deadline {
        let page = metrics(server);
        let depth = page.lines().find_map(|line| line.strip_prefix("mcp_files_index_queue_depth "));
        zeros = if depth.is_some_and(|depth| depth.trim() == "0") { zeros + 1 } else { 0 };
        thread::sleep(Duration::from_secs(2));
    }
}

/// Writes files `from..to`, one chunk each.
fn fill(server: &Server, from: usize, to: usize) {
    let next = AtomicUsize::new(from);
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            let (next, mut client) = (&next, tenant(server, "growth"));
            scope.spawn(move || loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= to {
                    return;
                }
                let content = (0..8).map(|part| words(number * 8 + part)).collect::<Vec<_>>().join(".\n");
                let arguments: Value = json!({ "project": "p", "path": format!("/{number}.md"), "content": content, "mode": "TRUNCATE" });
                client.expect("file_write", arguments);
            });
        }
    });
}

/// Some words, others for other numbers.
fn words(number: usize) -> String {
    const STEMS: [&str; 16] = [
        "harbour",
        "ledger",
        "violin",
        "granite",
        "compiler",
        "meadow",
        "satellite",
        "contract",
        "kitchen",
        "protocol",
        "glacier",
        "archive",
        "magnet",
        "parcel",
        "chorus",
        "engine",
    ];
    let mut mixed = number as u64;
    let mut next = || {
        mixed = mixed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (mixed >> 33) as usize
    };
    (0..6).map(|_| format!("{}{}", STEMS[next() % 16], next() % 50)).collect::<Vec<_>>().join(" ")
}

fn pgbench(database: &Database, script: &str) -> Result<f64, String> {
    let (clients, span) = (CLIENTS.to_string(), SPAN.as_secs().to_string());
    let said =
        run_pgbench(database, &[script, "-M", "prepared", "-n", "-c", &clients, "-j", "2", "-T", &span])?;
    let line = said.lines().find_map(|line| line.strip_prefix("tps = ")).ok_or("pgbench says no tps")?;
    line.split_whitespace().next().and_then(|text| text.parse().ok()).ok_or_else(|| line.to_owned())
}

fn run_pgbench(database: &Database, arguments: &[&str]) -> Result<String, String> {
    let done =
        Command::new(Postgres::program("pgbench")).args(arguments).arg("-d").arg(database.url()).output();
    let done = done.map_err(|error| format!("pgbench: {error}"))?;
    if !done.status.success() {
        return Err(format!("pgbench: {}", String::from_utf8_lossy(&done.stderr)));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
