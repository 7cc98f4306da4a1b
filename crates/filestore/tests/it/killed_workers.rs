//! A worker is killed at each point of a job: another one does the job once the lease has ended, and the index holds the latest
//! state of every file.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use filestore::backends::postgres::{PostgresOptions, PostgresStore};
use filestore::backends::sqlite::SqliteStore;
use filestore::indexing::{
    ChunkEmbedder, EmbedTask, FaultPoint, IndexBackend, IndexFaults, IndexJob, IndexSettings, JobCredentials,
    ProviderSecret, StoreIndexWorker, chunks_of, kind_of_path, mark_of,
};
use filestore::search::{FileSearch, SearchBackend, SearchSettings, StoreSearchRequest};
use filestore::{
    DeleteRequest, FileBackend, MutationGuard, ProjectName, ProjectScope, StoreLimits, StorePath, WriteMode,
    WriteRequest,
};
use futures::future::BoxFuture;
use model::{ProviderError, ProviderErrorKind, TenantId, WallClock};
use testkit::{DEADLINE, Postgres};

/// Short, so that the tests need not wait long for a lease to end.
const LEASE: Duration = Duration::from_millis(150);
const DIMENSIONS: usize = 4;

#[derive(Debug)]
struct RealTime;

impl WallClock for RealTime {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A store as workers, writers and readers see it.
struct Sides {
    files: Arc<dyn FileBackend>,
    index: Arc<dyn IndexBackend>,
    search: Arc<dyn SearchBackend>,
}

impl Sides {
    fn of<S: FileBackend + IndexBackend + SearchBackend>(store: S) -> Sides {
        let store = Arc::new(store);
        Sides { files: store.clone(), index: store.clone(), search: store }
    }
}

/// Who makes the vectors; between them they lead past every point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    /// In this process, with the words.
    Local,
    /// A service with the caller's key, after the words.
    Service,
    /// A service that fails the first time.
    FailingService,
}

pub(crate) struct TestEmbedder {
    maker: Maker,
    has_failed: AtomicBool,
}

impl TestEmbedder {
    pub(crate) fn new(maker: Maker) -> TestEmbedder {
        TestEmbedder { maker, has_failed: AtomicBool::new(false) }
    }
}

impl ChunkEmbedder for TestEmbedder {
    fn model(&self) -> &str {
        "test"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn batch(&self) -> usize {
        2
    }

    fn needs_secret(&self) -> bool {
        self.maker != Maker::Local
    }

    fn embed<'a>(&'a self, task: EmbedTask<'a>) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ProviderError>> {
        assert_eq!(
            task.secret.map(|secret| secret.0.as_str()),
            self.needs_secret().then_some("the caller's key")
        );
        let fails = self.maker == Maker::FailingService && !self.has_failed.swap(true, Ordering::SeqCst);
        let vectors = task.texts.iter().map(|text| vec![text.len() as f32, 1.0, 2.0, 3.0]).collect();
        let reason = || ProviderErrorKind::Unreachable { reason: "not yet".into() };
        Box::pin(async move { if fails { Err(ProviderError::new("test", reason())) } else { Ok(vectors) } })
    }

    fn embed_question<'a>(
        &'a self,
        _: EmbedTask<'a>,
    ) -> BoxFuture<'a, Result<Option<Vec<f32>>, ProviderError>> {
        Box::pin(async { Ok(None) })
    }
}

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

async fn write(sides: &Sides, scope: &ProjectScope, path: &str, content: &str) {
    let request = WriteRequest {
        path: StorePath::parse_file(path).unwrap(),
        content: content.into(),
        mode: WriteMode::Truncate,
        offset: 0,
        guard: MutationGuard::default(),
    };
    sides.files.write(scope, request).await.unwrap();
}

/// One kill. The time until all jobs were done, or `None` where the point was not met.
async fn kill_and_recover(sides: &Sides, maker: Maker, point: FaultPoint, number: u8) -> Option<Duration> {
    let scope = ProjectScope::new(TenantId::from_digest([number; 32]), ProjectName::parse("p").unwrap());
    let embedder = Arc::new(TestEmbedder::new(maker));
    let text = "A paragraph about accordions and their keys.\n\n".repeat(150);
    write(sides, &scope, "/gone.md", "soon deleted").await;
    write(sides, &scope, "/kept.md", "an earlier state").await;
    let gone = StorePath::parse_file("/gone.md").unwrap();
    let request = DeleteRequest { path: gone.clone(), recursive: false, guard: MutationGuard::default() };
    sides.files.delete(&scope, request).await.unwrap();
    write(sides, &scope, "/kept.md", &text).await;

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

    let kept = StorePath::parse_file("/kept.md").unwrap();
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
    let path = StorePath::parse_file("/kept.md").unwrap();
    let wanted = chunks_of(&path, kind_of_path(&path), text.as_bytes(), bounds);
    let wanted: Vec<(u64, u64)> = wanted.iter().map(|chunk| (chunk.range.start, chunk.range.end)).collect();
    assert_eq!(ranges, wanted);
    assert!(search.search(&ask("earlier")).await.unwrap().hits.is_empty());
    assert!(search.search(&ask("deleted")).await.unwrap().hits.is_empty());
}

async fn kill_everywhere(sides: Sides) {
    sides.index.prepare_vectors("test", DIMENSIONS, filestore::StoreTime(0)).await.unwrap();
    let met = Mutex::new(Vec::new());
    let longest = Mutex::new(Duration::ZERO);
    let number = AtomicUsize::new(0);
    for point in FaultPoint::ALL {
        for maker in [Maker::Local, Maker::Service, Maker::FailingService] {
            let number = number.fetch_add(1, Ordering::Relaxed) as u8;
            if let Some(took) = kill_and_recover(&sides, maker, *point, number).await {
                let mut longest = longest.lock().unwrap_or_else(PoisonError::into_inner);
                *longest = took.max(*longest);
                met.lock().unwrap_or_else(PoisonError::into_inner).push(*point);
                break;
            }
        }
    }
    let met = met.into_inner().unwrap_or_else(PoisonError::into_inner);
    let missed: Vec<_> = FaultPoint::ALL.iter().filter(|point| !met.contains(point)).collect();
    assert!(missed.is_empty(), "no job came past {missed:?}");
    assert!(met.len() >= 20);
    let longest = longest.into_inner().unwrap_or_else(PoisonError::into_inner);
    // On an idle machine it is the lease and a few milliseconds. A machine that is busy is no failure.
    assert!(longest < LEASE + Duration::from_secs(20), "a job took {longest:?} after its worker was killed");
}

#[tokio::test(flavor = "multi_thread")]
async fn f125_a_worker_killed_anywhere_loses_nothing_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("files.sqlite");
    let store = SqliteStore::open(&path, StoreLimits::default(), Arc::new(RealTime)).unwrap();
    kill_everywhere(Sides::of(store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f125_a_worker_killed_anywhere_loses_nothing_on_postgres() {
    let database = Postgres::shared().database();
    let store = PostgresStore::open(PostgresOptions::new(database.url(), DIMENSIONS as u32)).await.unwrap();
    kill_everywhere(Sides::of(store)).await;
}
