//! Long stories about the binary, each in one function with a size: a short one in the tests, a long one in
//! `cargo xtask`.

mod births;
mod crash;
mod edits;
mod load;
mod model;
mod sessions;
mod torture;

pub use births::{Births, births};
pub use crash::{Crash, CrashReport, crash};
pub use edits::{Edits, EditsReport, edits};
pub use load::{Load, LoadReport, Waits, load};
pub use model::{ModelReport, ModelRun, compare_with_model};
pub use sessions::{Sessions, SessionsReport, sessions};
pub use torture::{Torture, TortureReport, torture};

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{Client, Era, Program};

/// What an index says: every document, and the answer to every query. Two indices of the same folder agree on
/// it to the byte, however they came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    pub documents: Vec<String>,
    pub searches: Vec<(String, String)>,
}

impl Answers {
    /// Asks a connected client.
    pub fn ask(client: &mut dyn Client, queries: &[String]) -> Answers {
        Answers::try_ask(client, queries).expect("every call is answered")
    }

    /// The same where a call may fail.
    pub fn try_ask(client: &mut dyn Client, queries: &[String]) -> Option<Answers> {
        let mut call = |tool: &str, arguments: Value| {
            let reply = client.call(tool, arguments);
            (!reply.is_error()).then(|| reply.structured().clone())
        };
        let mut documents = Vec::new();
        loop {
            let page = call("dir2mcp.list_files", json!({ "limit": 5000, "offset": documents.len() }))?;
            let files = page["files"].as_array().expect("list_files.files");
            documents.extend(files.iter().map(Value::to_string));
            if files.is_empty() || page["total"].as_u64() == Some(documents.len() as u64) {
                break;
            }
        }
        let mut searches = Vec::with_capacity(queries.len());
        for query in queries {
            let arguments = json!({ "query": query, "k": 20, "index": "both" });
            searches.push((query.clone(), call("dir2mcp.search", arguments)?.to_string()));
        }
        Some(Answers { documents, searches })
    }

    /// Asks the index of a program's state directory, once it is up to date.
    pub fn of(program: &Program, queries: &[String]) -> Answers {
        let mut client = program.stdio(&[]).connect(Era::Modern);
        client.wait_indexed();
        Answers::ask(&mut client, queries)
    }

    /// The first difference, in words.
    pub fn difference(&self, other: &Answers) -> Option<String> {
        let (ours, theirs): (BTreeSet<_>, BTreeSet<_>) =
            (self.documents.iter().collect(), other.documents.iter().collect());
        if let Some(document) = ours.symmetric_difference(&theirs).next() {
            let side =
                if ours.contains(*document) { "only the first index has" } else { "the first index lacks" };
            return Some(format!("{side} {document} ({} and {} documents)", ours.len(), theirs.len()));
        }
        if ours.len() != self.documents.len() {
            return Some("the first index lists a document twice".into());
        }
        self.searches
            .iter()
            .zip(&other.searches)
            .find(|(ours, theirs)| ours != theirs)
            .map(|(ours, theirs)| format!("{:?} is answered\n  {}\nand\n  {}", ours.0, ours.1, theirs.1))
    }
}
