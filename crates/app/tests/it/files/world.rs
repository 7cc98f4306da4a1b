//! A server with a file store on one of the backends, and tenants who use it.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::{
    Client, Database, Folder, HeldTransaction, HttpClient, Postgres, Program, Redis, Reply, Request,
    Response, Server, ToolReply,
};

use super::BINARY;

/// Where the store keeps its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    Sqlite,
    Postgres,
}

impl Backend {
    pub(super) const BOTH: [Backend; 2] = [Backend::Sqlite, Backend::Postgres];
}

/// A folder, its configuration and the databases of the store; servers come and go.
pub(super) struct Home {
    pub(super) folder: Folder,
    pub(super) program: Program,
    database: Option<Database>,
    /// Its database is this test's as long as this lives.
    redis: Option<Redis>,
}

impl Home {
    /// `settings` are lines of the configuration below `files:`.
    pub(super) fn new(backend: Backend, settings: &str) -> Home {
        let folder = Folder::from("//- note.txt\nThe store lies beside this file.");
        let (database, redis) = match backend {
            Backend::Sqlite => (None, None),
            Backend::Postgres => (Some(Postgres::shared().database()), Some(Redis::shared())),
        };
        let config = folder.outside().join("config.yaml");
        let store = store_settings(database.as_ref().map(Database::url), redis.as_ref().map(Redis::url));
        write_config(&config, &store, settings);
        let program = Program::new(BINARY, &folder).flag("--config").flag(config);
        Home { folder, program, database, redis }
    }

    pub(super) fn serve(&self) -> Server {
        self.program.serve(&[])
    }

    /// The rows of a query on the store's own tables, each value as text. The servers may be running.
    pub(super) fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        match &self.database {
            Some(database) => database.rows(&format!("SET search_path TO dir2mcp_files_0000, public; {sql}")),
            None => sqlite_rows(&self.folder.state().join("files.sqlite"), sql),
        }
    }

    pub(super) fn redis(&self) -> Option<&Redis> {
        self.redis.as_ref()
    }

    /// Keeps a transaction open that has run this statement, on PostgreSQL, until the value is dropped.
    pub(super) fn hold(&self, sql: &str) -> HeldTransaction {
        let database = self.database.as_ref().expect("only PostgreSQL can be held up so");
        HeldTransaction::begin(database, &format!("SET search_path TO dir2mcp_files_0000, public; {sql}"))
    }
}

/// The lines below `files:` that name the backend.
pub(super) fn store_settings(postgres: Option<&str>, redis: Option<String>) -> String {
    match (postgres, redis) {
        (Some(url), Some(redis)) => {
            format!("backend: postgres\npostgres:\n  url: {url}\nredis:\n  url: {redis}\n")
        }
        _ => String::new(),
    }
}

pub(super) fn write_config(path: &std::path::Path, store: &str, settings: &str) {
    let auth = if settings.contains("auth:") { "" } else { "auth: passthrough\n" };
    let lines = [auth, store, settings].concat();
    let indented: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    fs::write(path, format!("version: 1\nfiles:\n{indented}")).expect("a temporary file can be written");
}

fn sqlite_rows(path: &std::path::Path, sql: &str) -> Vec<Vec<String>> {
    let connection = rusqlite::Connection::open(path).expect("the database can be opened");
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let columns = statement.column_count();
    let text = |value: rusqlite::types::Value| match value {
        rusqlite::types::Value::Null => String::new(),
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Real(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text,
        rusqlite::types::Value::Blob(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    };
    let rows = statement.query_map([], |row| (0..columns).map(|at| Ok(text(row.get(at)?))).collect());
    rows.and_then(Iterator::collect).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// One server, and as many tenants as cases need.
pub(super) struct World {
    pub(super) home: Home,
    pub(super) server: Server,
    tenants: AtomicUsize,
}

impl World {
    pub(super) fn start(backend: Backend, settings: &str) -> World {
        let home = Home::new(backend, settings);
        let server = home.serve();
        World { home, server, tenants: AtomicUsize::new(0) }
    }

    /// A tenant that nobody was before.
    pub(super) fn tenant(&self) -> Tenant<'_> {
        let number = self.tenants.fetch_add(1, Ordering::Relaxed);
        self.tenant_with(&format!("case-key-{number}"))
    }

    pub(super) fn tenant_with<'a>(&'a self, key: &str) -> Tenant<'a> {
        Tenant {
            world: self,
            key: key.to_owned(),
            project: "p".to_owned(),
            client: self.server.client_at("/mcp/files").bearing(Some(key)),
        }
    }
}

/// A caller with a key of its own.
pub(super) struct Tenant<'a> {
    pub(super) world: &'a World,
    pub(super) key: String,
    /// Given to every tool that is not told another.
    pub(super) project: String,
    pub(super) client: HttpClient,
}

impl<'a> Tenant<'a> {
    /// Somebody else on the same server.
    pub(super) fn stranger(&self) -> Tenant<'a> {
        self.world.tenant()
    }

    /// The same tenant on another connection.
    pub(super) fn again(&self) -> Tenant<'a> {
        self.world.tenant_with(&self.key)
    }

    fn arguments(&self, mut arguments: Value) -> Value {
        if let Some(map) = arguments.as_object_mut()
            && !map.contains_key("project")
        {
            map.insert("project".into(), json!(self.project));
        }
        arguments
    }

    pub(super) fn request(&mut self, tool: &str, arguments: Value) -> Reply {
        let params = json!({ "name": tool, "arguments": self.arguments(arguments) });
        self.client.request("tools/call", params)
    }

    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> ToolReply {
        let arguments = self.arguments(arguments);
        self.client.call(tool, arguments)
    }

    /// A call of a tool that takes no project.
    pub(super) fn client_call(&mut self, tool: &str, arguments: Value) -> Value {
        self.client.expect(tool, arguments)
    }

    /// The same where the call itself may be wrong.
    pub(super) fn raw_call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.client.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// A request to the plain HTTP API.
    pub(super) fn api(
        &mut self,
        method: &'static str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let mut request = Request::new(method, &format!("/api/files{target}")).bearer(Some(&self.key));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        self.client.connection.send(&request.body(body)).expect("the server answers")
    }

    /// Waits until something is so.
    pub(super) fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Tenant<'a>) -> bool) {
        let world = self.world;
        world.server.poll(what, |_| is_so(self).then_some(()));
    }

    /// Waits until no job of the tenant is open.
    pub(super) fn wait_indexed(&mut self) {
        let tenant = tenant_hash(&self.key);
        let sql = format!(
            "SELECT count(*) FROM mcp_file_index_jobs \
             WHERE apikey_hash = '{tenant}' AND status IN ('pending', 'processing')"
        );
        self.until("the jobs of the tenant", |t| t.world.home.rows(&sql)[0][0] == "0");
    }

    /// A call that succeeds.
    pub(super) fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments.clone());
        assert!(!reply.is_error(), "{tool} {arguments}: {}", reply.result);
        reply.structured().clone()
    }

    /// The code of a call that is refused; the shape of the refusal is that of every refusal (lines 140 to 142).
    #[track_caller]
    pub(super) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let reply = self.call(tool, arguments.clone());
        assert!(reply.is_error(), "{tool} {arguments} was not refused: {}", reply.result);
        let error = reply.structured();
        let code = error["code"].as_str().unwrap_or_else(|| panic!("{tool} {arguments}: no code: {error}"));
        assert!(
            error["message"].as_str().is_some_and(|text| !text.is_empty()),
            "{tool} {arguments}: {error}"
        );
        let is_retryable = matches!(code, "RESOURCE_BUSY" | "RATE_LIMITED");
        if code != "SEARCH_BACKEND_ERROR" {
            assert_eq!(error["retryable"], is_retryable, "{tool} {arguments}: {error}");
        }
        let text: Value = serde_json::from_str(&reply.text()).unwrap_or_default();
        assert_eq!(&text, error, "the text is the same JSON");
        code.to_owned()
    }

    #[track_caller]
    pub(super) fn fails(&mut self, tool: &str, arguments: Value, code: &str) {
        let found = self.refused(tool, arguments.clone());
        assert_eq!(found, code, "{tool} {arguments}");
    }

    /// Makes the content the whole file.
    pub(super) fn put(&mut self, path: &str, content: &str) -> Value {
        self.ok("file_write", json!({ "path": path, "content": content, "mode": "TRUNCATE" }))
    }

    pub(super) fn append(&mut self, path: &str, content: &str) -> Value {
        self.ok("file_write", json!({ "path": path, "content": content }))
    }

    pub(super) fn read(&mut self, path: &str) -> String {
        self.ok("file_read", json!({ "path": path }))["content"].as_str().unwrap_or_default().to_owned()
    }

    /// `length` −1 is all to the end.
    pub(super) fn range(&mut self, path: &str, offset: i64, length: i64) -> String {
        let read = self.ok("file_read", json!({ "path": path, "offset": offset, "length": length }));
        read["content"].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn stat(&mut self, path: &str) -> Value {
        self.ok("file_stat", json!({ "path": path }))
    }

    pub(super) fn exists(&mut self, path: &str) -> bool {
        self.stat(path)["exists"] == true
    }

    pub(super) fn delete(&mut self, path: &str) -> u64 {
        count(&self.ok("file_delete", json!({ "path": path }))["deleted_count"])
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> u64 {
        count(&self.ok("file_rename", json!({ "from_path": from, "to_path": to }))["moved_count"])
    }

    /// The paths of a listing.
    pub(super) fn paths(&mut self, path: &str, depth: u32) -> Vec<String> {
        let listed = self.ok("file_list", json!({ "path": path, "depth": depth }));
        paths_of(&listed)
    }

    /// The passages that answer a query.
    pub(super) fn search(&mut self, query: &str) -> Vec<Value> {
        self.search_with(json!({ "query": query }))
    }

    pub(super) fn search_with(&mut self, arguments: Value) -> Vec<Value> {
        self.ok("file_search", arguments)["chunks"].as_array().cloned().expect("file_search.chunks")
    }

    /// The files that answer a query.
    pub(super) fn found(&mut self, query: &str) -> Vec<String> {
        self.search(query)
            .iter()
            .map(|hit| hit["file_path"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

pub(super) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

pub(super) fn paths_of(listed: &Value) -> Vec<String> {
    let entries = listed["entries"].as_array().expect("file_list.entries");
    entries.iter().map(|entry| entry["path"].as_str().expect("a path").to_owned()).collect()
}

/// The tenant of a key, as the store names it.
pub(super) fn tenant_hash(key: &str) -> String {
    Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Home {
    /// Changes the store's own tables behind its back.
    pub(super) fn change(&self, sql: &str) {
        match &self.database {
            Some(database) => database.run(&format!("SET search_path TO dir2mcp_files_0000, public; {sql}")),
            None => {
                let connection = rusqlite::Connection::open(self.folder.state().join("files.sqlite"))
                    .expect("the database can be opened");
                connection.busy_timeout(testkit::DEADLINE).expect("a connection takes settings");
                connection.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
        }
    }
}

impl World {
    /// A store that is there already.
    pub(super) fn of(home: Home, server: Server) -> World {
        World { home, server, tenants: AtomicUsize::new(0) }
    }

    /// Waits for what happens in the background.
    pub(super) fn wait(&self, is_so: impl Fn() -> bool) {
        let deadline = std::time::Instant::now() + testkit::DEADLINE;
        while !is_so() {
            assert!(std::time::Instant::now() < deadline, "it does not happen");
            std::thread::yield_now();
        }
    }
}
