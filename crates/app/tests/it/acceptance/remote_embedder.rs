//! The engine with an embedder that costs money and can fail: indexing and searching do not depend on it.

use std::sync::Arc;

use engine::{Call, Engine};
use model::{EmbeddingProvider, Filter, IndexChoice, IndexMode, ProviderErrorKind, Query};
use testkit::{Folder, ScriptedEmbedder, Step};

use super::damage::{engine_with, index};

const FILES: &str =
    "//- retry.md\nHow retries are done: with a pause that doubles.\n//- src/retry.rs\nfn retry() {}\n";

fn open(folder: &Folder, embedder: &Arc<ScriptedEmbedder>) -> Engine {
    let state = folder.path().join(".dir2mcp");
    engine_with(folder.path(), &state, EmbeddingProvider::Remote(Arc::clone(embedder) as _))
}

fn hits(engine: &Engine) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let query = Query { text: "retry".into(), k: 5, index: IndexChoice::Both, filter: Filter::default() };
    let answer = runtime.block_on(engine.search(&Call::cli("test"), query.into())).unwrap();
    let mut paths: Vec<String> = answer.hits.iter().map(|hit| hit.rel_path.clone()).collect();
    paths.sort();
    paths
}

#[test]
fn a_wrong_key_is_told_and_blocks_neither_indexing_nor_searching() {
    let folder = Folder::from(FILES);
    let embedder = ScriptedEmbedder::new("m").shared();
    embedder.always(Step::Fail(ProviderErrorKind::Auth));
    let engine = open(&folder, &embedder);
    index(&engine, IndexMode::Incremental);
    let progress = engine.progress();
    assert_eq!((progress.searchable, progress.embedded_ok), (2, 0));
    assert!(progress.notes.iter().any(|note| note.contains("the key was not accepted")), "{progress:?}");
    let corpus = engine::read_corpus(engine.state_dir()).unwrap();
    assert_eq!(corpus.indexing.notes, progress.notes, "and in corpus.json");
    assert_eq!(hits(&engine), ["retry.md", "src/retry.rs"]);
}

#[test]
fn vectors_are_bought_once_also_when_the_index_is_built_again() {
    let folder = Folder::from(FILES);
    let embedder = ScriptedEmbedder::new("m").shared();
    let engine = open(&folder, &embedder);
    index(&engine, IndexMode::Incremental);
    let progress = engine.progress();
    assert!(progress.chunks_total >= 2);
    assert_eq!(progress.embedded_ok, progress.chunks_total);
    let bought = embedder.texts();
    index(&engine, IndexMode::Full);
    assert_eq!(engine.progress().embedded_ok, progress.chunks_total);
    assert_eq!(embedder.texts(), bought, "nothing was paid for twice");
    assert_eq!(hits(&engine), ["retry.md", "src/retry.rs"]);
    let questions = embedder.requests().iter().filter(|request| request.is_question).count();
    assert_eq!(questions, 1);
}
