//! A worker is killed at each point of a job: another one does the job once the lease has ended, and the index holds the latest
//! state of every file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use filestore::ProjectScope;
use filestore::indexing::{
    FaultPoint, IndexFaults, IndexJob, IndexSettings, JobCredentials, ProviderSecret, StoreIndexWorker,
    chunks_of, kind_of_path, mark_of,
};
use filestore::search::{FileSearch, SearchSettings, StoreSearchRequest};
use futures::future::BoxFuture;
use testkit::DEADLINE;

use super::sides::{DIMENSIONS, Maker, RealTime, Sides, TestEmbedder, file, project_of};

/// Short, so that the tests need not wait long for a lease to end.
const LEASE: Duration = Duration::from_millis(150);

struct OneKey;

impl JobCredentials for OneKey {
    fn fetch<'a>(&'a self, _: &'a IndexJob) -> BoxFuture<'a, Option<ProviderSecret>> {
        Box::pin(async { Some(ProviderSecret("the caller's key".into())) })
    }

    fn forget<'a>(&'a self, _: &'a IndexJob) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// Ends the worker at a point, once. A panic is as sudden as a kill: nothing behind it is run.
struct KillAt {
    point: FaultPoint,
    was_there: AtomicBool,
}

impl IndexFaults for KillAt {
    fn at(&self, point: FaultPoint) {
        if point == self.point && !self.was_there.swap(true, Ordering::SeqCst) {
            panic!("killed at {point:?}");
        }
    }
}

fn worker(sides: &Sides, embedder: &Arc<TestEmbedder>, name: &str) -> StoreIndexWorker {
    let settings = IndexSettings {
        lease: LEASE,
        retry_backoff: Duration::from_millis(1),
        retry_max: 10,
        ..IndexSettings::default()
    };
    let mut worker =
        StoreIndexWorker::new(sides.index.clone(), embedder.clone(), Arc::new(RealTime), settings);
    worker.credentials = Some(Arc::new(OneKey));
    worker.name = name.to_owned();
    worker
}

/// One kill. The time until all jobs were done, or `None` where the point was not met.
async fn kill_and_recover(sides: &Sides, maker: Maker, point: FaultPoint, number: u8) -> Option<Duration> {
    let scope = project_of(number);
    let embedder = Arc::new(TestEmbedder::new(maker));
    let text = "A paragraph about accordions and their keys.\n\n".repeat(150);
    sides.write(&scope, "/gone.md", "soon deleted").await;
    sides.write(&scope, "/kept.md", "an earlier state").await;
    let gone = file("/gone.md");
    sides.delete(&scope, "/gone.md").await;
    sides.write(&scope, "/kept.md", &text).await;

    let mut victim = worker(sides, &embedder, "victim");
    let kill = Arc::new(KillAt { point, was_there: AtomicBool::new(false) });
    victim.faults = kill.clone();
    // A retry is due a moment later, and a point may only be met then.
    let deadline = Instant::now() + Duration::from_millis(60);
    while !kill.was_there.load(Ordering::SeqCst) && Instant::now() < deadline {
        let victim = victim.clone();
        let _ = tokio::spawn(async move { victim.run_once().await }).await;
    }

    let started = Instant::now();
    let heir = worker(sides, &embedder, "heir");
    loop {
        let queue = sides.index.queue().await.unwrap();
        assert_eq!(queue.failed, 0, "{point:?}");
        if queue.pending + queue.processing == 0 {
            break;
        }
        assert!(started.elapsed() < DEADLINE, "{point:?} with {maker:?}: {queue:?}");
        heir.run_once().await.unwrap();
    }
    let took = started.elapsed();

    let kept = file("/kept.md");
    let latest = sides.index.latest(&scope, &kept).await.unwrap().expect("the file is there");
    assert_eq!(latest.indexed, Some(mark_of(text.as_bytes())), "{point:?} with {maker:?}");
    assert!(sides.index.without_vectors(&scope, &kept, "test").await.unwrap().is_empty(), "{point:?}");
    assert!(sides.index.latest(&scope, &gone).await.unwrap().is_none());
    check_found(sides, embedder, &scope, &text).await;
    kill.was_there.load(Ordering::SeqCst).then_some(took)
}

/// Searching finds exactly the chunks of the latest state, and nothing of what was there before.
async fn check_found(sides: &Sides, embedder: Arc<TestEmbedder>, scope: &ProjectScope, text: &str) {
    let settings = SearchSettings { limit_max: 1000, bm25_candidates: 1000, ..SearchSettings::default() };
    let bounds = settings.bounds;
    let search = FileSearch { backend: sides.search.clone(), embedder, clock: Arc::new(RealTime), settings };
    let ask = |query: &str| StoreSearchRequest {
        tenant: scope.tenant,
        project: Some(scope.project.clone()),
        query: query.to_owned(),
        path_prefix: String::new(),
        limit: Some(1000),
        secret: None,
        reranker: None,
    };
    let found = search.search(&ask("accordions")).await.unwrap();
    let mut ranges: Vec<(u64, u64)> = found.hits.iter().map(|hit| (hit.start, hit.end)).collect();
    ranges.sort_unstable();
    let path = file("/kept.md");
    let wanted = chunks_of(&path, kind_of_path(&path), text.as_bytes(), bounds);
    let wanted: Vec<(u64, u64)> = wanted.iter().map(|chunk| (chunk.range.start, chunk.range.end)).collect();
    assert_eq!(ranges, wanted);
    assert!(search.search(&ask("earlier")).await.unwrap().hits.is_empty());
    assert!(search.search(&ask("deleted")).await.unwrap().hits.is_empty());
}

async fn kill_everywhere(sides: Sides) {
    sides.index.prepare_vectors("test", DIMENSIONS, filestore::StoreTime(0)).await.unwrap();
    let (mut met, mut longest, mut number) = (Vec::new(), Duration::ZERO, 0);
    for point in FaultPoint::ALL {
        for maker in [Maker::Local, Maker::Service, Maker::FailingService] {
            number += 1;
            if let Some(took) = kill_and_recover(&sides, maker, *point, number).await {
                longest = took.max(longest);
                met.push(*point);
                break;
            }
        }
    }
    let missed: Vec<_> = FaultPoint::ALL.iter().filter(|point| !met.contains(point)).collect();
    assert!(missed.is_empty(), "no job came past {missed:?}");
    assert!(met.len() >= 20);
    // On an idle machine it is the lease and a few milliseconds. A machine that is busy is no failure.
    assert!(longest < LEASE + Duration::from_secs(20), "a job took {longest:?} after its worker was killed");
}

#[tokio::test(flavor = "multi_thread")]
async fn f125_a_worker_killed_anywhere_loses_nothing_on_sqlite() {
    kill_everywhere(Sides::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f125_a_worker_killed_anywhere_loses_nothing_on_postgres() {
    kill_everywhere(Sides::postgres().await).await;
}
