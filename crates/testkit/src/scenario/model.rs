//! Random calls by several tenants at once, each compared with a plain model of its own files: the answers are the same to the byte,
//! and nothing of one tenant shows in an answer to another.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::client::message;
use crate::store::{StoreCall, StoreModel};
use crate::{Connection, Era, MODERN, Random, Request};

pub struct ModelRun {
    /// Each with a key and models of its own; the names of projects and paths are the same for all.
    pub tenants: usize,
    /// Over all tenants.
    pub operations: usize,
    pub seed: u64,
}

#[derive(Debug, Default)]
pub struct ModelReport {
    pub operations: usize,
    pub refused: usize,
    /// Reads of single files at every offset, at the end.
    pub offsets: usize,
}

/// Project names that differ in little.
const PROJECTS: &[&str] = &["p", "p_", "P"];

/// Compares a server with the model; its store takes any key (`files.auth: passthrough`).
pub fn compare_with_model(address: &str, run: &ModelRun) -> Result<ModelReport, String> {
    let done = AtomicUsize::new(0);
    let reports = thread::scope(|scope| {
        let tenants: Vec<_> = (0..run.tenants)
            .map(|number| {
                let done = &done;
                scope.spawn(move || Tenant::new(address, run, number).work(run, done))
            })
            .collect();
        let joined =
            tenants.into_iter().map(|thread| thread.join().map_err(|_| "a client panicked".to_owned())?);
        joined.collect::<Result<Vec<ModelReport>, String>>()
    })?;
    Ok(reports.into_iter().fold(ModelReport::default(), |sum, one| ModelReport {
        operations: sum.operations + one.operations,
        refused: sum.refused + one.refused,
        offsets: sum.offsets + one.offsets,
    }))
}

struct Tenant {
    number: usize,
    key: String,
    /// What all others' files are full of.
    foreign: Vec<String>,
    models: Vec<StoreModel>,
    connection: Connection,
    random: Random,
    last_id: u64,
}

/// Stands in everything that a tenant writes, and in nothing else.
fn marker(number: usize) -> String {
    format!("tenant{number}mark")
}

impl Tenant {
    fn new(address: &str, run: &ModelRun, number: usize) -> Tenant {
        Tenant {
            number,
            key: format!("model-fixture-{}-{number}", run.seed),
            foreign: (0..run.tenants).filter(|other| *other != number).map(marker).collect(),
            models: PROJECTS.iter().map(|_| StoreModel::default()).collect(),
            connection: Connection::new(address),
            random: Random::new(run.seed.wrapping_mul(31).wrapping_add(number as u64)),
            last_id: 0,
        }
    }

    fn work(mut self, run: &ModelRun, done: &AtomicUsize) -> Result<ModelReport, String> {
        let mut report = ModelReport::default();
        loop {
            let number = done.fetch_add(1, Ordering::Relaxed);
            if number >= run.operations {
                break;
            }
            let project = self.random.below(PROJECTS.len());
            let call = StoreCall::random(&mut self.random, &marker(self.number), number as u64);
            let answer = self.call_store(PROJECTS[project], &call)?;
            let expected = call.expected(&mut self.models[project]);
            if call.known(&answer) != expected {
                return Err(format!(
                    "seed {}, tenant {}, call {number} on {}: {call:?}\n  answers {answer}\n  instead of {expected}",
                    run.seed, self.number, PROJECTS[project]
                ));
            }
            report.operations += 1;
            report.refused += usize::from(expected["code"].is_string());
        }
        report.offsets = self.read_all()?;
        self.search()?;
        Ok(report)
    }

    /// Every file that is left, from every offset on.
    fn read_all(&mut self) -> Result<usize, String> {
        let mut reads = 0;
        for (project, name) in PROJECTS.iter().enumerate() {
            for (path, content) in self.models[project].files.clone() {
                // Files grow with the run; of a long one a part stands for all.
                for offset in 0..=content.len().min(200) {
                    let call = StoreCall::Read { path: path.clone(), offset: offset as i64, length: 7 };
                    let answer = self.call_store(name, &call)?;
                    let expected = call.expected(&mut self.models[project]);
                    if call.known(&answer) != expected {
                        return Err(format!("{path} at {offset}: {answer} instead of {expected}"));
                    }
                    reads += 1;
                }
            }
        }
        Ok(reads)
    }

    /// Looking for what others wrote finds nothing of it; what was found is a slice of one's own file.
    fn search(&mut self) -> Result<(), String> {
        let words: Vec<String> =
            self.foreign.iter().cloned().chain([marker(self.number), "plain words".into()]).collect();
        for word in words {
            for project in PROJECTS.iter().chain(&["*"]) {
                let arguments = json!({ "project": project, "query": word, "limit": 20 });
                let answer = self.call("file_search", arguments)?;
                for hit in answer["chunks"].as_array().map(Vec::as_slice).unwrap_or_default() {
                    let (start, end) = (&hit["file_seek_start_bytes"], &hit["file_seek_end_bytes"]);
                    let own = hit["project"].as_str().unwrap_or(project);
                    let model = PROJECTS.iter().position(|name| *name == own).map(|at| &self.models[at]);
                    let content = model.and_then(|model| model.files.get(hit["file_path"].as_str()?));
                    let range = start.as_u64().unwrap_or(0) as usize..end.as_u64().unwrap_or(0) as usize;
                    let slice = content.and_then(|content| content.get(range));
                    let text = slice.map(|slice| String::from_utf8_lossy(slice).replace('\0', "\u{fffd}"));
                    if text.as_deref() != hit["chunk_content"].as_str() {
                        return Err(format!("tenant {} found {hit}, which is not in its files", self.number));
                    }
                }
            }
        }
        Ok(())
    }

    fn call_store(&mut self, project: &str, call: &StoreCall) -> Result<Value, String> {
        let (tool, arguments) = call.request(project);
        self.call(tool, arguments)
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, String> {
        self.last_id += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        let request = Request::post("/mcp/files", &message(Era::Modern, self.last_id, "tools/call", params))
            .bearer(Some(&self.key))
            .header("MCP-Protocol-Version", MODERN)
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", tool);
        let response = self.connection.send(&request).map_err(|error| format!("{tool}: {error}"))?;
        let text = response.text();
        // A question may name what it looks for; an answer must not.
        if let Some(foreign) = self.foreign.iter().find(|foreign| text.contains(foreign.as_str())) {
            return Err(format!("an answer to tenant {} holds {foreign}: {text}", self.number));
        }
        let reply =
            response.reply().ok_or_else(|| format!("{tool} {arguments}: {} {text}", response.status))?;
        match reply.pointer("/result/structuredContent") {
            Some(answer) => Ok(answer.clone()),
            None => Err(format!("{tool} {arguments}: {reply}")),
        }
    }
}
