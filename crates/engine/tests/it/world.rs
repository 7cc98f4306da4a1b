//! What every test here starts from: an engine over a folder, with parts that a test can stop and look into.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::{Call, Engine, EngineConfig, EventSink, SearchResults};
use model::{Failure, Filter, IndexChoice, IndexMode, Providers, Query, WallClock};
use testkit::NoMeaning;

/// Noon of the first of March 2026.
pub(crate) const NOON: u64 = 1_772_366_400;

/// A clock that stands still.
#[derive(Debug)]
pub(crate) struct StillClock;

impl WallClock for StillClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(NOON)
    }
}

pub(crate) fn config(root: &Path, state: &Path) -> EngineConfig {
    EngineConfig { clock: Arc::new(StillClock), ..EngineConfig::minimal(root, state) }
}

pub(crate) fn open(root: &Path, state: &Path) -> Engine {
    Engine::open(config(root, state), Providers::only(NoMeaning.into()))
        .unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn quiet() -> EventSink {
    Arc::new(|_| {})
}

pub(crate) fn index(engine: &Engine) {
    engine.index_now(IndexMode::Incremental, quiet()).unwrap_or_else(|error| panic!("{error}"));
}

pub(crate) fn query(text: &str) -> Query {
    Query { text: text.to_owned(), k: 10, index: IndexChoice::Both, filter: Filter::default() }
}

pub(crate) async fn search(engine: &Engine, text: &str) -> Result<SearchResults, Failure> {
    engine.search(&Call::cli("test"), query(text).into()).await
}

/// The paths of the hits, sorted.
pub(crate) async fn found(engine: &Engine, text: &str) -> Vec<String> {
    let answer = search(engine, text).await.unwrap();
    let mut paths: Vec<String> = answer.hits.iter().map(|hit| hit.rel_path.clone()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// A place in the work where a test can hold it: the first to arrive says so and waits, all are counted.
#[derive(Debug)]
pub(crate) struct Gate {
    passed: AtomicUsize,
    arrived: Sender<()>,
    opened: Mutex<Receiver<()>>,
}

/// The test's side of a gate.
pub(crate) struct GateKeeper {
    pub(crate) gate: Arc<Gate>,
    arrived: Receiver<()>,
    open: Sender<()>,
}

impl Gate {
    pub(crate) fn closed() -> GateKeeper {
        let ((arrived, arrivals), (open, opened)) = (channel(), channel());
        let gate = Gate { passed: AtomicUsize::new(0), arrived, opened: Mutex::new(opened) };
        GateKeeper { gate: Arc::new(gate), arrived: arrivals, open }
    }

    pub(crate) fn pass(&self) {
        if self.passed.fetch_add(1, SeqCst) == 0 {
            let _ = self.arrived.send(());
            let _ = self.opened.lock().unwrap().recv();
        }
    }
}

impl GateKeeper {
    /// Waits until the work is held.
    pub(crate) fn wait(&self) {
        self.arrived.recv().unwrap();
    }

    pub(crate) fn open(&self) {
        self.open.send(()).unwrap();
    }

    pub(crate) fn passed(&self) -> usize {
        self.gate.passed.load(SeqCst)
    }
}
