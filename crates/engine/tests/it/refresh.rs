//! Bringing the index up to date on request: what is counted, and whose turn it is.

use std::sync::Arc;
use std::time::Duration;

use engine::{Call, Engine, FileView, FolderRequest, IndexedFolder, Priority, Refreshed, Workspace};
use model::{ErrorCode, IndexKind, LocalEmbedder, Providers};
use testkit::{Folder, NoMeaning};

use crate::world::{Gate, config, found, open};

fn view() -> Arc<FileView> {
    Arc::new(FileView::new(vec![".md".into()], vec![], (1 << 20, 4 << 20), true).unwrap())
}

async fn refresh(engine: &Engine, folder: &Folder, force: bool) -> Refreshed {
    engine.refresh_view(&Call::cli("test"), &view(), folder.state(), force).await.unwrap()
}

#[tokio::test]
async fn a_refresh_counts_what_came_since_the_last_one() {
    let folder = Folder::from("//- a.md\nThe lighthouse.\n//- b.txt\nNot in the view.\n");
    let engine = open(folder.path(), &folder.state());
    let first = refresh(&engine, &folder, false).await;
    assert_eq!((first.added, first.updated, first.removed), (1, 0, 0));
    assert_eq!(first.timestamp, "2026-03-01T12:00:00.000Z", "the time of the injected clock");
    folder.write("a.md", "The windmill.\n");
    folder.write("c.md", "The harbour.\n");
    let second = refresh(&engine, &folder, false).await;
    assert_eq!((second.added, second.updated, second.removed), (1, 1, 0));
    assert_eq!(found(&engine, "windmill").await, ["a.md"]);
    folder.remove("c.md");
    let third = refresh(&engine, &folder, true).await;
    assert_eq!((third.added, third.updated, third.removed), (0, 1, 1), "with force every file counts");
    let status = engine.status(&Call::cli("test"), &view(), folder.state()).await.unwrap();
    assert_eq!((status.files, status.last_refresh.as_deref()), (1, Some("2026-03-01T12:00:00.000Z")));
}

#[tokio::test]
async fn a_folder_is_indexed_on_request() {
    let folder = Folder::from("//- in/a.md\nThe lighthouse.\n//- out.md\nThe windmill.\n");
    let workspace = Workspace::new(Arc::new(open(folder.path(), &folder.state())), Vec::new());
    let request = |name: &str| FolderRequest {
        folder: folder.path().join(name).to_string_lossy().into_owned(),
        full: false,
        priority: Priority::Normal,
        report: None,
    };
    let call = Call::cli("indexFolder");
    let done = workspace.index_folder(&call, request("in")).await.unwrap();
    assert_eq!((done.indexed, done.skipped, done.is_running), (1, 0, false));
    let again = workspace.index_folder(&call, request("in")).await.unwrap();
    assert_eq!((again.indexed, again.skipped), (0, 1));
    let missing = workspace.index_folder(&call, request("nowhere")).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::FileNotFound);
}

/// Holds indexing where the first vector is made.
#[derive(Debug)]
struct HeldEmbedder(Arc<Gate>);

impl LocalEmbedder for HeldEmbedder {
    fn model(&self, kind: IndexKind) -> &str {
        NoMeaning.model(kind)
    }

    fn dimensions(&self, kind: IndexKind) -> usize {
        NoMeaning.dimensions(kind)
    }

    fn embed(&self, kind: IndexKind, texts: &[&str]) -> Vec<Vec<f32>> {
        self.0.pass();
        NoMeaning.embed(kind, texts)
    }
}

#[tokio::test]
async fn what_outlasts_a_call_is_counted_by_the_next_one() {
    let folder = Folder::from("//- a.md\nThe lighthouse.\n//- b.md\nThe windmill.\n");
    let keeper = Gate::closed();
    let embedder = HeldEmbedder(Arc::clone(&keeper.gate));
    let engine =
        Engine::open(config(folder.path(), &folder.state()), Providers::only(embedder.into())).unwrap();
    let workspace = Arc::new(Workspace::new(Arc::new(engine), Vec::new()));
    let root = folder.path().to_string_lossy().into_owned();
    let ask = || {
        let (workspace, folder) = (Arc::clone(&workspace), root.clone());
        async move {
            let request = FolderRequest { folder, full: false, priority: Priority::Normal, report: None };
            workspace.index_folder(&Call::cli("indexFolder"), request).await
        }
    };
    let first = tokio::spawn(ask());
    let keeper = tokio::task::spawn_blocking(move || {
        keeper.wait();
        keeper
    });
    let keeper = keeper.await.unwrap();
    // The call's patience ends; the work does not.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(60)).await;
    let first = first.await.unwrap().unwrap();
    tokio::time::resume();
    assert!(first.is_running, "{first:?}");
    assert_eq!(ask().await.unwrap_err().code, ErrorCode::Conflict, "it goes on");
    keeper.open();
    let next = loop {
        match ask().await {
            Err(failure) if failure.code == ErrorCode::Conflict => tokio::task::yield_now().await,
            Ok(IndexedFolder { is_running: true, .. }) => {}
            done => break done.unwrap(),
        }
    };
    assert_eq!((next.indexed, next.skipped), (2, 0), "told now, since it was not told before");
    let last = ask().await.unwrap();
    assert_eq!((last.indexed, last.skipped), (0, 2));
}
