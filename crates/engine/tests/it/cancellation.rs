//! A call that nobody waits for any more stops its work between two phases.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use engine::{Call, Deadline, DocumentReader, Engine, EngineConfig, Workspace};
use extract::archive::{Entry, Walked};
use extract::{Extraction, Format};
use ingest::Archive;
use model::{Caller, EmbedError, Embedder, ErrorCode, IndexKind};
use testkit::Folder;
use tokio::runtime::Runtime;

use crate::world::{Gate, GateKeeper, NoMeaning, config, index, open, query};

/// Embeds what is indexed, and holds the first question at the gate.
#[derive(Debug)]
struct GatedEmbedder(Arc<Gate>);

impl Embedder for GatedEmbedder {
    fn model(&self, kind: IndexKind) -> &str {
        NoMeaning.model(kind)
    }

    fn dimensions(&self, kind: IndexKind) -> usize {
        NoMeaning.dimensions(kind)
    }

    fn embed(&self, kind: IndexKind, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.iter().any(|text| text.contains("lighthouse keeper")) {
            self.0.pass();
        }
        NoMeaning.embed(kind, texts)
    }

    fn is_costly(&self) -> bool {
        false
    }
}

fn folder() -> Folder {
    Folder::from("//- a.md\nThe lighthouse has a keeper.\n//- a.rs\nfn lighthouse() {}\n")
}

/// Asks, does something meanwhile, and says how often the gate was passed once no thread works any more.
fn asked(call: Call, meanwhile: impl FnOnce(&GateKeeper, &Call)) -> (ErrorCode, usize) {
    let folder = folder();
    index(&open(folder.path(), &folder.state()));
    let keeper = Gate::closed();
    let embedder = Arc::new(GatedEmbedder(Arc::clone(&keeper.gate)));
    let engine = Arc::new(Engine::open(config(folder.path(), &folder.state()), embedder).unwrap());
    let runtime = Runtime::new().unwrap();
    let waiting = {
        let (engine, call) = (Arc::clone(&engine), call.clone());
        runtime.spawn(async move { engine.search(&call, query("lighthouse keeper").into()).await })
    };
    meanwhile(&keeper, &call);
    let failure = runtime.block_on(waiting).unwrap().unwrap_err();
    keeper.open();
    // A runtime that ends waits for the work of its blocking threads.
    drop(runtime);
    (failure.code, keeper.passed())
}

#[test]
fn a_cancelled_search_asks_no_second_index() {
    let (code, passed) = asked(Call::cli("test"), |keeper, call| {
        keeper.wait();
        call.cancel.cancel();
    });
    assert_eq!(code, ErrorCode::Cancelled);
    assert_eq!(passed, 1, "the other index was not asked any more");
}

#[test]
fn a_search_whose_time_is_over_asks_no_second_index() {
    // Deadlines are of the runtime's clock, which any runtime can tell.
    let call = Runtime::new().unwrap().block_on(async {
        Call { deadline: Some(Deadline::after(Duration::from_millis(1))), ..Call::cli("test") }
    });
    let (code, passed) = asked(call, |_, _| {});
    assert_eq!(code, ErrorCode::Timeout);
    assert!(passed <= 1);
}

/// Holds the first document at the gate.
#[derive(Debug)]
struct GatedReader(Arc<Gate>);

impl DocumentReader for GatedReader {
    fn read(&self, format: Format, _: &str, _: &[u8]) -> Result<Extraction, String> {
        self.0.pass();
        Ok(Extraction { format, title: None, units: vec![], parts: 0, skip: None, diagnostics: vec![] })
    }

    fn members(
        &self,
        _: &Archive<'_>,
        _: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Walked, String> {
        Ok(Walked { entries: 0, refused: None, stopped: None })
    }

    fn member(&self, _: &Archive<'_>, _: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }
}

#[test]
fn a_cancelled_refresh_that_the_call_itself_makes_reads_no_further_file() {
    let folder = Folder::empty();
    for number in 0..100 {
        folder.write(&format!("{number:03}.pdf"), format!("%PDF-1.4 {number}"));
    }
    let keeper = Gate::closed();
    let config = EngineConfig {
        reader: Arc::new(GatedReader(Arc::clone(&keeper.gate))),
        ..config(folder.path(), &folder.state())
    };
    let engine = Arc::new(Engine::open(config, Arc::new(NoMeaning)).unwrap());
    let workspace = Workspace::new(Arc::clone(&engine), Vec::new());
    let view =
        Arc::new(engine::FileView::new(vec![".pdf".into()], vec![], (1 << 20, 1 << 20), true).unwrap());
    let call = Call { caller: Caller::Stdio, ..Call::cli("test") };
    let runtime = Runtime::new().unwrap();
    let waiting = {
        let (engine, call, state) = (Arc::clone(&engine), call.clone(), folder.state());
        runtime.spawn(async move { engine.refresh_view(&call, &view, state, false).await })
    };
    keeper.wait();
    call.cancel.cancel();
    assert_eq!(runtime.block_on(waiting).unwrap().unwrap_err().code, ErrorCode::Cancelled);
    keeper.open();
    drop(runtime);
    assert!(keeper.passed() < 100, "{} of 100 files were read", keeper.passed());
    workspace.shutdown();
}
