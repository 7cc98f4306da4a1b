//! Several servers on one file store, several writers, servers killed in between: is the history of each project one that could
//! have happened one operation after another, with no acknowledged change lost and none doubled?

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::message;
use crate::store::{StoreAnswer, StoreEvent, StoreOperation, check_history, random_operation};
use crate::{Connection, DEADLINE, Era, Folder, MODERN, Program, Random, Request, Server};

pub struct Torture<'a> {
    pub servers: usize,
    pub writers: usize,
    /// One after another; each has a history of its own.
    pub projects: usize,
    /// Of each project, over all writers.
    pub operations: usize,
    /// Servers killed in each project.
    pub kills: usize,
    pub seed: u64,
    /// The lines of the configuration below `files:` that name the store all servers share.
    pub store: String,
    /// Crashes what the servers share, such as a database server, and brings it back; called once for each project.
    pub crash: Option<&'a (dyn Fn() + Sync)>,
}

#[derive(Debug, Default)]
pub struct TortureReport {
    pub operations: usize,
    pub changes: usize,
    pub refused: usize,
    pub kills: usize,
    pub crashes: usize,
    /// Attempts that had no answer, or were told to come back, and were sent again.
    pub repeated: usize,
    /// From the last operation until every file was found by searching.
    pub converged: Duration,
}

/// Whose files they are: in this mode of the store any key is its own tenant.
const KEY: &str = "torture-fixture-key";

pub fn torture(binary: &Path, plan: &Torture, tell: &dyn Fn(&str)) -> Result<TortureReport, String> {
    let cluster = Cluster::start(binary, plan);
    let mut report = TortureReport::default();
    for project in 0..plan.projects {
        let name = format!("torture-{project}");
        let history = cluster.run_project(plan, &name, plan.seed.wrapping_add(project as u64), &mut report);
        check_history(&history)
            .map_err(|violation| format!("{name} (seed {}): {violation}", plan.seed + project as u64))?;
        report.operations += history.len();
        report.changes += history.iter().filter(|event| event.operation.is_change()).count();
        report.refused += history.iter().filter(|event| was_refused(event)).count();
        cluster.wait_until_found(&name, &mut report)?;
        tell(&format!("{name}: {} operations explained, {} kills so far", history.len(), report.kills));
    }
    report.repeated = cluster.repeated.load(Ordering::Relaxed);
    Ok(report)
}

fn was_refused(event: &StoreEvent) -> bool {
    matches!(event.answered, Some((_, StoreAnswer::Refused(_))))
}

/// Servers on one store, some of which may be away.
struct Cluster {
    binary: PathBuf,
    /// Each server has a folder of its own; only the store is shared.
    folders: Vec<Folder>,
    servers: Vec<Mutex<Option<Server>>>,
    /// Where each server listens at present.
    addresses: Mutex<Vec<String>>,
    /// The one clock of all histories.
    moments: AtomicU64,
    repeated: AtomicUsize,
}

impl Cluster {
    fn start(binary: &Path, plan: &Torture) -> Cluster {
        let indented: String = plan.store.lines().map(|line| format!("  {line}\n")).collect();
        let folders: Vec<Folder> = (0..plan.servers)
            .map(|_| {
                let folder = Folder::from("//- note.txt\nnothing to see");
                let config = format!("version: 1\nfiles:\n  auth: passthrough\n{indented}");
                std::fs::write(folder.outside().join("config.yaml"), config)
                    .expect("a temporary file can be written");
                folder
            })
            .collect();
        let cluster = Cluster {
            binary: binary.to_owned(),
            servers: folders.iter().map(|_| Mutex::new(None)).collect(),
            addresses: Mutex::new(vec![String::new(); folders.len()]),
            folders,
            moments: AtomicU64::new(0),
            repeated: AtomicUsize::new(0),
        };
        for at in 0..cluster.folders.len() {
            cluster.bring_up(at);
        }
        cluster
    }

    fn bring_up(&self, at: usize) {
        let folder = &self.folders[at];
        let program =
            Program::new(&self.binary, folder).flag("--config").flag(folder.outside().join("config.yaml"));
        // The store may be away at the moment; then the server refuses to start, and is started again.
        let deadline = Instant::now() + DEADLINE;
        let server = loop {
            match program.try_serve(&[]) {
                Ok(server) => break server,
                Err(_) if Instant::now() < deadline => {}
                Err(done) => panic!("a server of the cluster does not start: {}", done.output()),
            }
        };
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)[at] = server.address.clone();
        *self.servers[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
    }

    fn kill(&self, at: usize) {
        if let Some(server) = self.servers[at].lock().unwrap_or_else(PoisonError::into_inner).take() {
            server.kill();
        }
    }

    fn moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::SeqCst)
    }

    fn run_project(
        &self,
        plan: &Torture,
        project: &str,
        seed: u64,
        report: &mut TortureReport,
    ) -> Vec<StoreEvent> {
        let number = AtomicUsize::new(0);
        let done = AtomicBool::new(false);
        let (mut history, kills, crashes) = thread::scope(|scope| {
            let writers: Vec<_> = (0..plan.writers)
                .map(|writer| {
                    let (number, seed) = (&number, seed.wrapping_mul(1000).wrapping_add(writer as u64));
                    scope.spawn(move || self.write(project, plan.operations, number, seed))
                })
                .collect();
            let saboteur = scope.spawn(|| self.sabotage(plan, seed, &number, &done));
            let history: Vec<StoreEvent> =
                writers.into_iter().flat_map(|writer| writer.join().expect("no writer panics")).collect();
            done.store(true, Ordering::SeqCst);
            let (kills, crashes) = saboteur.join().expect("the saboteur does not panic");
            (history, kills, crashes)
        });
        report.kills += kills;
        report.crashes += crashes;
        // What is left in the end has to be explained as well.
        let mut client = StoreClient::new(self, project, seed);
        let files = client.perform(StoreOperation::List, "");
        if let Some((_, StoreAnswer::Files(files))) = &files.answered {
            let reads = files.iter().map(|(path, _)| StoreOperation::Read { path: path.clone() });
            history.extend(reads.map(|read| client.perform(read, "")));
        }
        history.push(files);
        history
    }

    /// One writer: one operation after another, until all writers together have done their number.
    fn write(&self, project: &str, operations: usize, number: &AtomicUsize, seed: u64) -> Vec<StoreEvent> {
        let mut random = Random::new(seed);
        let mut client = StoreClient::new(self, project, seed);
        let mut events = Vec::new();
        loop {
            let mine = number.fetch_add(1, Ordering::SeqCst);
            if mine >= operations {
                return events;
            }
            let operation = random_operation(&mut random, mine as u64);
            events.push(client.perform(operation, &format!("{project}-{seed}-{mine}")));
        }
    }

    /// Kills servers, and crashes what they share, at even distances of the work, so that nothing depends on time.
    fn sabotage(&self, plan: &Torture, seed: u64, number: &AtomicUsize, done: &AtomicBool) -> (usize, usize) {
        let mut random = Random::new(seed ^ 0xdead);
        let (mut kills, mut crashes) = (0, 0);
        let steps = plan.kills + usize::from(plan.crash.is_some());
        for step in 1..=steps {
            let at = plan.operations * step / (steps + 1);
            while number.load(Ordering::SeqCst) < at && !done.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            if done.load(Ordering::SeqCst) {
                break;
            }
            match plan.crash.filter(|_| step == steps.div_ceil(2)) {
                Some(crash) => {
                    crash();
                    crashes += 1;
                }
                None => {
                    let victim = random.below(self.servers.len());
                    self.kill(victim);
                    self.bring_up(victim);
                    kills += 1;
                }
            }
        }
        (kills, crashes)
    }

    /// Every file is found by a word of its own in the end.
    fn wait_until_found(&self, project: &str, report: &mut TortureReport) -> Result<(), String> {
        let started = Instant::now();
        let mut client = StoreClient::new(self, project, 1);
        let Some((_, StoreAnswer::Files(files))) = client.perform(StoreOperation::List, "").answered else {
            return Err(format!("{project} cannot be listed"));
        };
        for (path, _) in files {
            let Some((_, StoreAnswer::Content(content))) =
                client.perform(StoreOperation::Read { path: path.clone() }, "").answered
            else {
                return Err(format!("{path} of {project} cannot be read"));
            };
            let word = content.split(|c: char| !c.is_ascii_digit()).rfind(|word| !word.is_empty());
            let Some(word) = word else { continue };
            loop {
                let arguments = json!({ "project": project, "query": word, "limit": 20 });
                let chunks = client.call("file_search", arguments);
                let hits = chunks["structuredContent"]["chunks"].as_array().cloned().unwrap_or_default();
                if hits.iter().any(|hit| hit["file_path"] == path.as_str()) {
                    break;
                }
                if started.elapsed() > DEADLINE {
                    return Err(format!("{path} of {project} is not found by {word:?}: {chunks}"));
                }
            }
        }
        report.converged = report.converged.max(started.elapsed());
        Ok(())
    }
}

/// A client that goes to another server when one is away, and repeats a change under the same key until it is answered.
struct StoreClient<'a> {
    cluster: &'a Cluster,
    project: &'a str,
    random: Random,
    connection: Option<(String, Connection)>,
    last_id: u64,
}

impl<'a> StoreClient<'a> {
    fn new(cluster: &'a Cluster, project: &'a str, seed: u64) -> StoreClient<'a> {
        StoreClient { cluster, project, random: Random::new(seed), connection: None, last_id: 0 }
    }

    fn perform(&mut self, operation: StoreOperation, key: &str) -> StoreEvent {
        let (tool, arguments) = self.request_of(&operation, key);
        let called = self.cluster.moment();
        let result = self.call(tool, arguments);
        let answer = answer_of(&operation, &result);
        StoreEvent { operation, called, answered: Some((self.cluster.moment(), answer)) }
    }

    fn request_of(&self, operation: &StoreOperation, key: &str) -> (&'static str, Value) {
        let project = self.project;
        match operation {
            StoreOperation::Write { path, content, mode, offset } => (
                "file_write",
                json!({ "project": project, "path": path, "content": content, "mode": mode.as_str(), "offset": offset,
                    "idempotency_key": key }),
            ),
            StoreOperation::Delete { path, recursive } => (
                "file_delete",
                json!({ "project": project, "path": path, "recursive": recursive, "idempotency_key": key }),
            ),
            StoreOperation::Rename { from, to, overwrite } => (
                "file_rename",
                json!({ "project": project, "from_path": from, "to_path": to, "overwrite": overwrite,
                    "idempotency_key": key }),
            ),
            StoreOperation::Read { path } => ("file_read", json!({ "project": project, "path": path })),
            StoreOperation::Stat { path } => ("file_stat", json!({ "project": project, "path": path })),
            StoreOperation::List => {
                ("file_list", json!({ "project": project, "path": "", "depth": 64, "limit": 1024 }))
            }
        }
    }

    /// Calls until there is an answer that is not "come back later".
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let deadline = Instant::now() + DEADLINE * 2;
        loop {
            match self.attempt(tool, &arguments) {
                Some(result) if result["structuredContent"]["retryable"] != true => return result,
                _ => {
                    self.cluster.repeated.fetch_add(1, Ordering::Relaxed);
                    self.connection = None;
                }
            }
            assert!(Instant::now() < deadline, "{tool} {arguments} was not answered");
        }
    }

    fn attempt(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let (_, connection) = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let addresses = self.cluster.addresses.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let address = addresses[self.random.below(addresses.len())].clone();
                let connection = Connection::new(&address);
                self.connection.insert((address, connection))
            }
        };
        self.last_id += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        let request = Request::post("/mcp/files", &message(Era::Modern, self.last_id, "tools/call", params))
            .bearer(Some(KEY))
            .header("MCP-Protocol-Version", MODERN)
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", tool);
        let response = connection.send(&request).ok()?;
        response.reply()?.get("result").cloned()
    }
}

/// What a tool's result says in the terms of the model.
fn answer_of(operation: &StoreOperation, result: &Value) -> StoreAnswer {
    let said = &result["structuredContent"];
    if result["isError"] == true {
        let code = said["code"].as_str().or(said["error"]["code"].as_str()).unwrap_or("?");
        return StoreAnswer::Refused(code.to_owned());
    }
    let count = |value: &Value| value.as_u64().unwrap_or(u64::MAX) as usize;
    match operation {
        StoreOperation::Write { .. } => StoreAnswer::Written(count(&said["bytes_written"])),
        StoreOperation::Delete { .. } => StoreAnswer::Deleted(count(&said["deleted_count"])),
        StoreOperation::Rename { .. } => StoreAnswer::Moved(count(&said["moved_count"])),
        StoreOperation::Read { .. } => {
            StoreAnswer::Content(said["content"].as_str().unwrap_or_default().to_owned())
        }
        StoreOperation::Stat { .. } => match (said["exists"].as_bool(), said["type"].as_str()) {
            (Some(true), Some("FILE")) => StoreAnswer::File(count(&said["size"])),
            (Some(true), _) => StoreAnswer::Directory,
            _ => StoreAnswer::Nothing,
        },
        StoreOperation::List => {
            let entries = said["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
            let files = entries.iter().filter(|entry| entry["type"] == "FILE");
            StoreAnswer::Files(
                files
                    .map(|entry| {
                        (entry["path"].as_str().unwrap_or_default().to_owned(), count(&entry["size"]))
                    })
                    .collect(),
            )
        }
    }
}
