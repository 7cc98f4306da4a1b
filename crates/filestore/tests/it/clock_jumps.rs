//! The clock of the machine is set back or forward: changes keep their order, and the index follows all the same.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use filestore::indexing::{IndexBackend, IndexSettings, StoreIndexWorker, mark_of};
use filestore::{FileBackend, PathState, ProjectName, ProjectScope, StorePath, StoreTime};

use super::sides::{Maker, TestEmbedder};
use super::sqlite_world::{ALICE, World};

const YEAR: u64 = 365 * 24 * 60 * 60;

#[tokio::test]
async fn changes_keep_their_order_and_are_indexed_whatever_the_clock_says() {
    let world = World::new();
    let scope = ProjectScope::new(ALICE, ProjectName::parse("p").unwrap());
    let path = StorePath::parse_file("/a").unwrap();
    let backend = Arc::new(world.sqlite.clone());
    let settings = IndexSettings { lease: Duration::from_secs(60), ..IndexSettings::default() };
    let worker = StoreIndexWorker::new(
        backend.clone(),
        Arc::new(TestEmbedder::new(Maker::Local)),
        world.clock.clone(),
        settings,
    );
    let mut last = StoreTime(i64::MIN);
    // Ten years ahead, six behind the start, an hour back, a second back, and on again.
    let start = 20 * YEAR;
    for (round, seconds) in
        [start, start + 10 * YEAR, start - 6 * YEAR, start - 6 * YEAR - 3600, start - 6 * YEAR - 3601, start]
            .into_iter()
            .enumerate()
    {
        world.clock.0.store(seconds, Ordering::Relaxed);
        let content = format!("state {round}");
        world.write("/a", &content).await.unwrap();
        let PathState::File { updated_at, .. } = backend.stat(&scope, &path).await.unwrap() else {
            panic!("the file is there");
        };
        assert!(updated_at > last, "round {round}: {updated_at:?} after {last:?}");
        last = updated_at;
        worker.drain().await.unwrap();
        let queue = backend.queue().await.unwrap();
        assert_eq!(queue.pending + queue.processing + queue.failed, 0, "round {round}: {queue:?}");
        let latest = backend.latest(&scope, &path).await.unwrap().expect("the file is there");
        assert_eq!(latest.indexed, Some(mark_of(content.as_bytes())), "round {round}");
    }
}
