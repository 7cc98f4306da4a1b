//! Every file of the state directory with a flipped byte, cut short, or with a block of zeros: it starts, answers as before
//! or says what is damaged, mends itself, and `reindex` gives the same answers.
//!
//! The engine is used in this process, since a process for each of thousands of cases would take hours; a share of the cases
//! goes through the binary. `cargo xtask damage` runs the long version by setting `DIR2MCP_DAMAGE`.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Call, Engine, EngineConfig, EventSink, ListRequest};
use model::{EmbeddingProvider, Filter, IndexChoice, IndexMode, Providers, Query};
use providers::local::TableEmbedder;
use serde_json::json;
use testkit::scenario::Answers;
use testkit::{Client, Era, Folder, Program, Random, Tree};

use super::{BINARY, program};

/// How many cases of each kind, and from which seed.
struct Plan {
    flips: usize,
    cuts: usize,
    blocks: usize,
    seed: u64,
}

impl Plan {
    /// `flips=10000,cuts=2000,blocks=500,seed=1`, or a short version.
    fn asked_for() -> Plan {
        let mut plan = Plan { flips: 90, cuts: 30, blocks: 30, seed: 1 };
        let text = std::env::var("DIR2MCP_DAMAGE").unwrap_or_default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').expect("NAME=NUMBER");
            let value: usize = value.parse().expect("a number");
            match name {
                "flips" => plan.flips = value,
                "cuts" => plan.cuts = value,
                "blocks" => plan.blocks = value,
                "seed" => plan.seed = value as u64,
                _ => panic!("{name} is no part of a plan"),
            }
        }
        plan
    }

    fn is_short(&self) -> bool {
        self.flips < 1000
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Flip,
    Cut,
    Zeros,
}

fn engine(root: &Path, state: &Path) -> Engine {
    engine_with(root, state, TableEmbedder.into())
}

pub(super) fn engine_with(root: &Path, state: &Path, embedding: EmbeddingProvider) -> Engine {
    let config = EngineConfig::minimal(root, state);
    Engine::open(config, Providers::only(embedding)).unwrap_or_else(|error| panic!("does not start: {error}"))
}

pub(super) fn index(engine: &Engine, mode: IndexMode) {
    let quiet: EventSink = Arc::new(|_| {});
    engine.index_now(mode, quiet).unwrap_or_else(|error| panic!("{mode}: {error}"));
}

/// Every document and the answer to every query, or why there is none.
fn answers(engine: &Engine, queries: &[String]) -> Result<Vec<String>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let call = Call::cli("damage");
    let request = ListRequest { path_prefix: None, glob: None, limit: 10_000, offset: 0 };
    let list = runtime.block_on(engine.list_files(&call, request)).map_err(|failure| failure.to_string())?;
    let mut answers = vec![format!("{:?}", list.files)];
    for text in queries {
        let filter = Filter::default();
        let query = Query { text: text.clone(), k: 20, index: IndexChoice::Both, filter };
        let found =
            runtime.block_on(engine.search(&call, query.into())).map_err(|failure| failure.to_string())?;
        answers.push(format!("{:?}", found.hits));
    }
    Ok(answers)
}

fn all_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(all_files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Damages one file below `state` and says how.
fn damage(state: &Path, kind: Damage, random: &mut Random) -> String {
    let files: Vec<PathBuf> =
        all_files(state).into_iter().filter(|path| fs::metadata(path).unwrap().len() > 0).collect();
    let path = random.pick(&files);
    let length = fs::metadata(path).unwrap().len();
    let at = random.below(length as usize) as u64;
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    match kind {
        Damage::Flip => {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ (1 + random.below(255) as u8)], at).unwrap();
        }
        Damage::Cut => file.set_len(at).unwrap(),
        Damage::Zeros => {
            let start = at / 4096 * 4096;
            let zeros = vec![0; 4096.min((length - start) as usize)];
            file.write_all_at(&zeros, start).unwrap();
        }
    }
    format!("{kind:?} at {at} of {length} in {}", path.strip_prefix(state).unwrap().display())
}

/// A folder, its index as it was closed and as a kill would have left it, and its answers.
struct Pristine {
    folder: Folder,
    queries: Vec<String>,
    states: [PathBuf; 2],
    wanted: Vec<String>,
}

impl Pristine {
    fn new(seed: u64) -> Pristine {
        let folder = Folder::empty();
        let tree = Tree { files: 40, parts: 5, seed };
        tree.write(folder.path()).unwrap();
        folder.write("notes/über.md", "# Notes\n\nThe lighthouse keeper writes each night.\n");
        let states = ["closed", "killed"].map(|name| folder.outside().join(name));
        let first = engine(folder.path(), &states[0]);
        index(&first, IndexMode::Incremental);
        // A change, so that there are tombstones or a second segment, and something stands in the log.
        let (path, content) = tree.file(7, 1);
        folder.write(&path, content);
        index(&first, IndexMode::Incremental);
        copy(&states[0], &states[1]);
        let mut queries = tree.queries();
        queries.push("lighthouse keeper".into());
        let wanted = answers(&first, &queries).unwrap();
        drop(first);
        Pristine { folder, queries, states, wanted }
    }

    fn case(&self, kind: Damage, number: usize, random: &mut Random) {
        let state = self.folder.outside().join("case");
        let _ = fs::remove_dir_all(&state);
        copy(&self.states[number % 2], &state);
        let what = damage(&state, kind, random);
        let what = format!("case {number} ({}): {what}", ["closed", "killed"][number % 2]);
        if number.is_multiple_of(50) {
            return self.through_the_binary(&state, &what, number);
        }
        let opened = engine(self.folder.path(), &state);
        // Before anything is mended: as before, or the damage is known.
        let empty = opened.progress().chunks_total == 0;
        match answers(&opened, &self.queries) {
            Ok(found) if found == self.wanted => {}
            Ok(_) | Err(_) => assert!(opened.damage().is_some() || empty, "{what}: wrong and not noticed"),
        }
        index(&opened, IndexMode::Incremental);
        let mut found = answers(&opened, &self.queries);
        if opened.damage().is_some() {
            index(&opened, IndexMode::Incremental);
            found = answers(&opened, &self.queries);
        }
        assert_eq!(opened.damage(), None, "{what}: not mended");
        assert!(found.as_ref() == Ok(&self.wanted), "{what}: other answers: {}", self.difference(&found));
        if number.is_multiple_of(5) {
            index(&opened, IndexMode::Full);
            let found = answers(&opened, &self.queries);
            let difference = || self.difference(&found);
            assert!(found.as_ref() == Ok(&self.wanted), "{what}: after reindex: {}", difference());
        }
        drop(opened);
        let again = engine(self.folder.path(), &state);
        assert_eq!(again.damage(), None, "{what}: damaged again");
        assert!(answers(&again, &self.queries).as_ref() == Ok(&self.wanted), "{what}: other answers later");
    }

    fn difference(&self, found: &Result<Vec<String>, String>) -> String {
        match found {
            Err(error) => error.clone(),
            Ok(found) => {
                let pair = found.iter().zip(&self.wanted).find(|(found, wanted)| found != wanted);
                pair.map_or_else(String::new, |(found, wanted)| format!("\n{found}\nnot\n{wanted}"))
            }
        }
    }

    /// The same through the command line: a search, then `reindex`.
    fn through_the_binary(&self, state: &Path, what: &str, number: usize) {
        let fresh = Program::new(BINARY, &self.folder).state_dir(&self.folder.outside().join("fresh"));
        let damaged = Program::new(BINARY, &self.folder).state_dir(state);
        let query = &self.queries[number % self.queries.len()];
        let ask = |program: &Program| program.json(&["search", query, "--json"]);
        let wanted = ask(&fresh);
        assert_eq!(ask(&damaged), wanted, "{what}");
        damaged.run(&["reindex"]).expect(0);
        assert_eq!(ask(&damaged), wanted, "{what}: after reindex");
    }
}

#[test]
fn damage_anywhere_in_the_state_is_noticed_and_mended() {
    let plan = Plan::asked_for();
    let pristine = Pristine::new(plan.seed);
    let mut random = Random::new(plan.seed);
    let kinds = [(Damage::Flip, plan.flips), (Damage::Cut, plan.cuts), (Damage::Zeros, plan.blocks)];
    for (kind, cases) in kinds {
        for number in 0..cases {
            pristine.case(kind, number, &mut random);
            #[expect(clippy::print_stderr, reason = "the long version takes hours")]
            if !plan.is_short() && number % 500 == 499 {
                eprintln!("{} of {cases} {kind:?}", number + 1);
            }
        }
    }
}

/// A page of the catalog goes bad under a running server: the others are still found, and it mends itself.
#[test]
fn d103_damage_under_a_running_server_costs_no_search() {
    let folder = Folder::empty();
    let tree = Tree { files: 60, parts: 30, seed: 3 };
    tree.write(folder.path()).unwrap();
    program(&folder).index();
    let queries = tree.queries();
    let before = Answers::of(&program(&folder), &queries);
    let catalog = folder.state().join("meta.sqlite");
    let pages = fs::metadata(&catalog).unwrap().len() / 16384;
    assert!(pages > 12, "{pages}");
    let file = fs::OpenOptions::new().write(true).open(&catalog).unwrap();
    for page in (4..pages).step_by(3) {
        file.write_all_at(&[0x5a; 64], page * 16384 + 8000).unwrap();
    }
    let server = program(&folder).serve(&[]);
    let mut client = server.client(Era::Modern);
    for query in &queries {
        let answer = client.call("dir2mcp.search", json!({ "query": query }));
        assert!(answer.code() != Some("STORE_CORRUPT"), "{}", answer.text());
    }
    let after = server.poll("the index to be whole again", |client| {
        let after = Answers::try_ask(client, &queries)?;
        after.difference(&before).is_none().then_some(after)
    });
    assert_eq!(after.difference(&before), None);
    server.stop().expect(0);
    let verdict = Answers::of(&program(&folder), &queries);
    assert_eq!(verdict.difference(&before), None);
}
