//! Searches inside this process: the engine as the server calls it, without a protocol around it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, Instant};

use engine::{Call, Engine, EngineConfig, ModelNames, Weights};
use model::{Filter, IndexChoice, IndexKind, Providers, Query};
use providers::local::TableEmbedder;

use crate::measure::{cpu_of_this, milliseconds, quantile};
use crate::queries;

/// Hidden: `dir2mcp-benches search-inside TREE STATE COUNT [WEIGHTS]` asks a finished index, for a profiler to look at.
pub(crate) const COMMAND: &str = "search-inside";

/// The first searches bring the index into memory; they are not counted.
const WARMING: usize = 200;

/// What each search took.
#[derive(Debug, Default)]
pub(crate) struct Took {
    pub wall: Vec<Duration>,
    pub cpu: Vec<Duration>,
    /// Of all hits and their scores: the same answers have the same number.
    pub answers: u64,
}

impl Took {
    pub(crate) fn median(&mut self) -> Duration {
        quantile(&mut self.wall, 0.5)
    }

    pub(crate) fn worst(&mut self) -> Duration {
        quantile(&mut self.wall, 0.99)
    }

    pub(crate) fn median_cpu(&mut self) -> Duration {
        quantile(&mut self.cpu, 0.5)
    }
}

pub(crate) fn profile(root: &Path, state: &Path, count: &str, changed: &str) -> Result<(), String> {
    let count: usize = count.parse().map_err(|_| format!("{count:?} is not a number"))?;
    let mut weights = Weights::default();
    for change in changed.split(',').filter(|change| !change.is_empty()) {
        let known = change.split_once('=').and_then(|(name, value)| Some((name, value.parse().ok()?)));
        if !known.is_some_and(|(name, value)| weights.set(name, value)) {
            return Err(format!("{change:?} is not NAME=VALUE of a weight"));
        }
    }
    let mut took = search_with(root, state, &queries::of_tree(root, count + WARMING)?, weights)?;
    println!(
        "p50 {:.2} ms, p99 {:.2} ms, CPU p50 {:.2} ms, answers {:016x}",
        milliseconds(took.median()),
        milliseconds(took.worst()),
        milliseconds(took.median_cpu()),
        took.answers
    );
    Ok(())
}

/// Asks the finished index of `root` every query once, with the settings that everybody has.
pub(crate) fn search(root: &Path, state: &Path, queries: &[String]) -> Result<Took, String> {
    search_with(root, state, queries, Weights::default())
}

fn search_with(root: &Path, state: &Path, queries: &[String], weights: Weights) -> Result<Took, String> {
    let runtime = tokio::runtime::Runtime::new().map_err(crate::text)?;
    let config = EngineConfig { weights, ..config(root, state) };
    let engine = Engine::open(config, Providers::only(TableEmbedder.into())).map_err(|e| e.to_string())?;
    let call = Call::cli("search");
    let mut took = Took::default();
    let mut answers = DefaultHasher::new();
    for (round, text) in queries.iter().enumerate() {
        let query = Query { text: text.clone(), k: 10, index: IndexChoice::Auto, filter: Filter::default() };
        let (started, cpu) = (Instant::now(), cpu_of_this());
        let answer =
            runtime.block_on(engine.search(&call, query.into())).map_err(|failure| failure.to_string())?;
        let (wall, cpu) = (started.elapsed(), cpu_of_this().saturating_sub(cpu));
        for hit in answer.hits.iter() {
            (&hit.rel_path, &hit.snippet, hit.score.to_bits()).hash(&mut answers);
        }
        if answer.hits.is_empty() {
            return Err(format!("nothing was found for {text:?}, whose words occur"));
        }
        if round >= WARMING.min(queries.len() / 2) {
            took.wall.push(wall);
            took.cpu.push(cpu);
        }
    }
    took.answers = answers.finish();
    Ok(took)
}

/// The defaults of the configuration; what concerns indexing is not used.
fn config(root: &Path, state: &Path) -> EngineConfig {
    let embedder = TableEmbedder;
    let model = |kind| model::LocalEmbedder::model(&embedder, kind).to_owned();
    EngineConfig {
        answers: engine::AnswerSettings { generate: false, ..engine::AnswerSettings::default() },
        models: ModelNames {
            embed_text: model(IndexKind::Text),
            embed_code: model(IndexKind::Code),
            ..ModelNames::default()
        },
        read_only: true,
        ..EngineConfig::minimal(root, state)
    }
}
