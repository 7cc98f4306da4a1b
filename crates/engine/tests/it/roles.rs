//! One process writes an index, others read it, and one of them takes over.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use engine::{Engine, EngineEvent, IndexingOutcome};
use model::IndexMode;
use testkit::{Folder, NoMeaning};

use crate::world::{config, found, index, open, quiet};

#[tokio::test]
async fn the_second_engine_reads_what_the_first_one_writes() {
    let folder = Folder::from("//- a.md\nThe lighthouse.\n");
    let writer = open(folder.path(), &folder.state());
    index(&writer);
    assert!(writer.held_by().is_none() && writer.is_built());
    let reader = open(folder.path(), &folder.state());
    assert!(reader.held_by().is_some_and(|holder| holder.contains("pid")));
    assert!(matches!(reader.index_now(IndexMode::Incremental, quiet()).unwrap(), IndexingOutcome::HeldBy(_)));
    assert_eq!(found(&reader, "lighthouse").await, ["a.md"]);
}

#[tokio::test]
async fn a_reader_takes_over_when_the_writer_ends() {
    let folder = Folder::from("//- a.md\nThe lighthouse.\n");
    let writer = open(folder.path(), &folder.state());
    index(&writer);
    let reader = open(folder.path(), &folder.state());
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    reader.start(
        IndexMode::Incremental,
        Arc::new(move |event| {
            if let EngineEvent::BecameWriter = event {
                let _ = tell.lock().unwrap().send(());
            }
        }),
    );
    drop(writer);
    told.recv().unwrap();
    assert!(reader.held_by().is_none());
    reader.shutdown();
}

#[test]
fn a_look_at_what_is_there_never_writes() {
    let folder = Folder::from("//- a.md\nThe lighthouse.\n");
    index(&open(folder.path(), &folder.state()));
    let config = engine::EngineConfig { read_only: true, ..config(folder.path(), &folder.state()) };
    let looking = Engine::open(config, model::Providers::only(NoMeaning.into())).unwrap();
    assert!(looking.held_by().is_some(), "it is not the writer");
    assert!(open(folder.path(), &folder.state()).held_by().is_none(), "and keeps nobody from becoming it");
}
