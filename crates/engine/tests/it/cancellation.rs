//! A call that was given up stops its work between two phases.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use engine::{Call, Deadline, DocumentReader, Engine, EngineConfig, Workspace};
use extract::archive::{Entry, Walked};
use extract::audio::RecordingInfo;
use extract::picture::PagePicture;
use extract::{Extraction, Format};
use ingest::Archive;
use model::{Caller, EmbeddingProvider, ErrorCode, IndexKind, LocalEmbedder, Providers, SkipReason};
use testkit::{Folder, NoMeaning};
use tokio::runtime::Runtime;

use crate::world::{Gate, GateKeeper, config, index, open, query};

/// Holds a question at the gate, and counts what is embedded later: a search compares the names of files with the question
/// when its candidates are known.
#[derive(Debug)]
struct GatedEmbedder {
    gate: Arc<Gate>,
    later: AtomicUsize,
}

impl LocalEmbedder for GatedEmbedder {
    fn model(&self, kind: IndexKind) -> &str {
        NoMeaning.model(kind)
    }

    fn dimensions(&self, kind: IndexKind) -> usize {
        NoMeaning.dimensions(kind)
    }

    fn embed(&self, _: IndexKind, texts: &[&str]) -> Vec<Vec<f32>> {
        self.later.fetch_add(1, SeqCst);
        vec![one_direction(); texts.len()]
    }

    fn embed_query(&self, _: IndexKind, _: &str) -> Vec<f32> {
        self.gate.pass();
        one_direction()
    }
}

fn one_direction() -> Vec<f32> {
    vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
}

fn folder() -> Folder {
    Folder::from("//- tower.md\nThe lighthouse has a keeper.\n//- tower.rs\nfn lighthouse() {}\n")
}

/// Asks, does something meanwhile, and says how the call ended and how often something was embedded after the question, once
/// no thread works any more.
fn asked(call: Call, meanwhile: impl FnOnce(&GateKeeper, &Call)) -> (Option<ErrorCode>, usize) {
    let folder = folder();
    index(&open(folder.path(), &folder.state()));
    let keeper = Gate::closed();
    let embedder = Arc::new(GatedEmbedder { gate: Arc::clone(&keeper.gate), later: AtomicUsize::new(0) });
    let embedding = EmbeddingProvider::Local(Arc::clone(&embedder) as _);
    let engine =
        Arc::new(Engine::open(config(folder.path(), &folder.state()), Providers::only(embedding)).unwrap());
    embedder.later.store(0, SeqCst);
    let runtime = Runtime::new().unwrap();
    let waiting = {
        let (engine, call) = (Arc::clone(&engine), call.clone());
        runtime.spawn(async move { engine.search(&call, query("lighthouse keeper").into()).await })
    };
    meanwhile(&keeper, &call);
    let is_abandoned = call.cancel.is_cancelled() || call.deadline.is_some();
    if !is_abandoned {
        keeper.open();
    }
    let outcome = runtime.block_on(waiting).unwrap();
    if is_abandoned {
        keeper.open();
    }
    // A runtime that ends waits for the work of its blocking threads.
    drop(runtime);
    (outcome.err().map(|failure| failure.code), embedder.later.load(SeqCst))
}

#[test]
fn a_search_that_is_waited_for_looks_into_the_indices() {
    let (code, later) = asked(Call::cli("test"), |keeper, _| keeper.wait());
    assert_eq!(code, None);
    assert!(later > 0, "no name of a file was compared");
}

#[test]
fn a_cancelled_search_looks_into_no_index() {
    let (code, later) = asked(Call::cli("test"), |keeper, call| {
        keeper.wait();
        call.cancel.cancel();
    });
    assert_eq!(code, Some(ErrorCode::Cancelled));
    assert_eq!(later, 0, "the indices were asked although the call was cancelled");
}

#[test]
fn a_search_whose_time_is_over_looks_into_no_index() {
    // Deadlines are of the runtime's clock, which any runtime can tell.
    let call = Runtime::new().unwrap().block_on(async {
        Call { deadline: Some(Deadline::after(Duration::from_millis(1))), ..Call::cli("test") }
    });
    let (code, later) = asked(call, |_, _| {});
    assert_eq!(code, Some(ErrorCode::Timeout));
    assert_eq!(later, 0);
}

/// Holds the first document at the gate.
#[derive(Debug)]
struct GatedReader(Arc<Gate>);

impl DocumentReader for GatedReader {
    fn read(&self, format: Format, _: &str, _: &[u8]) -> Result<Extraction, String> {
        self.0.pass();
        Ok(Extraction {
            format,
            title: None,
            units: vec![],
            parts: 0,
            skip: None,
            diagnostics: vec![],
            unread_pages: vec![],
        })
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

    fn page_pictures(
        &self,
        _: Format,
        _: &[u8],
        _: &[u32],
        _: &mut dyn FnMut(u32, Result<PagePicture, SkipReason>) -> ControlFlow<()>,
    ) {
    }

    fn recording(&self, _: Format, _: &str, _: &[u8]) -> Result<RecordingInfo, SkipReason> {
        Err(SkipReason::Binary)
    }

    fn samples(
        &self,
        _: Format,
        _: &str,
        _: &[u8],
        _: &mut dyn FnMut(&[f32]) -> ControlFlow<()>,
    ) -> Result<Option<RecordingInfo>, SkipReason> {
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
    let engine = Arc::new(Engine::open(config, Providers::only(NoMeaning.into())).unwrap());
    let workspace = Workspace::new(Arc::clone(&engine), Vec::new());
    let view =
        Arc::new(engine::FileView::new(vec![".pdf".into()], vec![], (1 << 20, 1 << 20), true).unwrap());
    let call = Call { caller: Caller::stdio(), ..Call::cli("test") };
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
