//! The background work follows the files, and a job of it has the time of the injected clock.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use engine::{Engine, EngineConfig, EngineEvent, EventSink};
use model::{IndexMode, Progress};
use testkit::{Folder, NoMeaning};

use crate::world::{NOON, config, found};

/// Progress reports as they come.
fn reports() -> (EventSink, Receiver<Progress>) {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let sink: EventSink = Arc::new(move |event| {
        if let EngineEvent::Progress(progress) = event {
            let _ = tell.lock().unwrap().send(progress);
        }
    });
    (sink, told)
}

fn until(told: &Receiver<Progress>, is_done: impl Fn(&Progress) -> bool) -> Progress {
    told.iter().find(|progress| is_done(progress)).expect("the work goes on")
}

#[tokio::test]
async fn a_watched_folder_is_followed() {
    let folder = Folder::from("//- a.md\nThe lighthouse.\n");
    let watching = EngineConfig { watch: true, ..config(folder.path(), &folder.state()) };
    let engine = Engine::open(watching, model::Providers::only(NoMeaning.into())).unwrap();
    let (sink, told) = reports();
    engine.start(IndexMode::Incremental, sink);
    let first = until(&told, |progress| !progress.running);
    assert!(first.job_id.starts_with(&format!("job_{}", NOON * 1000)), "{}", first.job_id);
    assert_eq!(found(&engine, "windmill").await, Vec::<String>::new());
    folder.write("b.md", "The windmill.\n");
    until(&told, |progress| progress.indexed >= 2);
    while found(&engine, "windmill").await.is_empty() {
        tokio::task::yield_now().await;
    }
    engine.shutdown();
}
