//! What happens behind the tools, on both backends: claims, retries, credentials, purging, reranking.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use filestore::indexing::{
    IndexJob, IndexSettings, JobClaim, JobCredentials, ProviderSecret, StoreIndexWorker,
};
use filestore::search::{FileSearch, SearchHits, SearchSettings, StoreSearchRequest};
use filestore::{ProjectScope, StoreTime};
use futures::future::BoxFuture;
use model::{ProviderFuture, Reranker};
use testkit::ScriptedReranker;

use super::sides::{DIMENSIONS, Maker, RealTime, Sides, TestEmbedder, file, project_of};

const DAY: i64 = 24 * 60 * 60 * 1_000_000;

fn now() -> StoreTime {
    StoreTime(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

fn later(micros: i64) -> StoreTime {
    StoreTime(now().0 + micros)
}

async fn both() -> [Sides; 2] {
    let both = [Sides::sqlite(), Sides::postgres().await];
    for sides in &both {
        sides.index.prepare_vectors("test", DIMENSIONS, now()).await.unwrap();
    }
    both
}

fn worker(sides: &Sides, maker: Maker, credentials: Option<Arc<dyn JobCredentials>>) -> StoreIndexWorker {
    let settings = IndexSettings { retry_backoff: Duration::ZERO, retry_max: 3, ..IndexSettings::default() };
    let embedder = Arc::new(TestEmbedder::new(maker));
    let mut worker = StoreIndexWorker::new(sides.index.clone(), embedder, Arc::new(RealTime), settings);
    worker.credentials = credentials;
    worker
}

async fn search(
    sides: &Sides,
    scope: &ProjectScope,
    query: &str,
    prefix: &str,
    reranker: Option<Arc<dyn Reranker>>,
) -> SearchHits {
    let settings = SearchSettings { rerank_timeout: Duration::from_millis(200), ..SearchSettings::default() };
    let embedder = Arc::new(TestEmbedder::new(Maker::Local));
    let search = FileSearch { backend: sides.search.clone(), embedder, clock: Arc::new(RealTime), settings };
    let request = StoreSearchRequest {
        tenant: scope.tenant,
        project: Some(scope.project.clone()),
        query: query.to_owned(),
        path_prefix: prefix.to_owned(),
        limit: None,
        secret: None,
        reranker,
    };
    search.search(&request).await.unwrap()
}

fn paths(hits: &SearchHits) -> Vec<&str> {
    hits.hits.iter().map(|hit| hit.file_path.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn f073_f158_what_was_deleted_long_ago_is_purged() {
    for sides in both().await {
        let scope = project_of(1);
        sides.write(&scope, "/gone", "x").await;
        sides.write(&scope, "/kept", "x").await;
        sides.delete(&scope, "/gone").await;
        assert_eq!(sides.files.purge(now()).await.unwrap(), 0, "nothing is old yet");
        assert!(sides.files.purge(later(31 * DAY)).await.unwrap() > 0);
        let read = sides.files.read(&scope, &file("/kept"), 0, None).await.unwrap();
        assert_eq!(read.bytes, b"x");
        // Its history went with it, but for what is always kept.
        assert!(sides.files.versions(&scope, &file("/gone")).await.unwrap().len() <= 1);
        assert_eq!(sides.files.purge(later(31 * DAY)).await.unwrap(), 0, "all of it is gone");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f158_jobs_that_ended_are_forgotten() {
    for sides in both().await {
        let scope = project_of(2);
        sides.write(&scope, "/a", "words").await;
        worker(&sides, Maker::Local, None).drain().await.unwrap();
        assert_eq!(sides.index.remove_ended(later(-DAY)).await.unwrap(), 0);
        assert_eq!(sides.index.remove_ended(later(DAY)).await.unwrap(), 1);
        sides.write(&scope, "/a", "other words").await;
        assert_eq!(sides.index.remove_ended(later(DAY)).await.unwrap(), 0, "an open job stays");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f125_no_job_is_claimed_twice() {
    for sides in both().await {
        let scope = project_of(3);
        for number in 0..60 {
            sides.write(&scope, &format!("/{number}"), "words").await;
        }
        let claim = |worker: usize| JobClaim {
            worker: format!("worker {worker}"),
            now: now(),
            lease_until: later(60_000_000),
            horizon: later(DAY),
            batch: 5,
            retry_max: 5,
        };
        let claims = (0..16).map(|number| {
            let (index, claim) = (sides.index.clone(), claim(number));
            tokio::spawn(async move { index.claim(0, &claim).await.unwrap() })
        });
        let mut seen = HashSet::new();
        let mut count = 0;
        for claimed in claims.collect::<Vec<_>>() {
            for job in claimed.await.unwrap() {
                count += 1;
                assert!(seen.insert(job.lease.job), "{job:?} was claimed twice");
            }
        }
        // Whoever meets a locked row passes over it; what is left is for the next.
        count += sides.index.claim(0, &JobClaim { batch: 100, ..claim(99) }).await.unwrap().len();
        assert_eq!(count, 60);
    }
}

/// Has no key for any job.
struct NoKeys;

impl JobCredentials for NoKeys {
    fn fetch<'a>(&'a self, _: &'a IndexJob) -> BoxFuture<'a, Option<ProviderSecret>> {
        Box::pin(async { None })
    }

    fn forget<'a>(&'a self, _: &'a IndexJob) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f128_f131_f132_without_the_callers_key_words_are_found_and_no_other_key_is_used() {
    for sides in both().await {
        let scope = project_of(4);
        sides.write(&scope, "/a", "a solitary glockenspiel").await;
        // The embedder panics if it is called with any key but the caller's.
        let worker = worker(&sides, Maker::Service, Some(Arc::new(NoKeys)));
        worker.run_once().await.unwrap();
        let queue = sides.index.queue().await.unwrap();
        assert_eq!((queue.pending, queue.failed), (1, 0), "it is tried again");
        assert_eq!(paths(&search(&sides, &scope, "glockenspiel", "", None).await), ["/a"]);
        assert_eq!(sides.index.without_vectors(&scope, &file("/a"), "test").await.unwrap().len(), 1);
        worker.drain().await.unwrap();
        let queue = sides.index.queue().await.unwrap();
        assert_eq!((queue.pending, queue.failed), (0, 1), "it is given up at the limit");
        assert_eq!(paths(&search(&sides, &scope, "glockenspiel", "", None).await), ["/a"]);
    }
}

/// Answers with as many scores as it likes, or never.
struct OddReranker {
    scores: Option<Vec<f32>>,
}

impl Reranker for OddReranker {
    fn provider(&self) -> &str {
        "odd"
    }

    fn model(&self) -> &str {
        "odd"
    }

    fn scores<'a>(&'a self, _: &'a str, _: &'a [&'a str]) -> ProviderFuture<'a, Vec<f32>> {
        match &self.scores {
            Some(scores) => Box::pin(std::future::ready(Ok(scores.clone()))),
            None => Box::pin(std::future::pending()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f109_f110_f111_f112_a_reranker_orders_and_its_failure_changes_nothing() {
    for sides in both().await {
        let scope = project_of(5);
        sides.write(&scope, "/in/1", "euphonium euphonium euphonium, nothing else").await;
        sides.write(&scope, "/in/2", "the golden euphonium among many other instruments of the band").await;
        sides.write(&scope, "/out/3", "euphonium euphonium").await;
        sides.write(&scope, "/in/gone", "euphonium euphonium euphonium").await;
        worker(&sides, Maker::Local, None).drain().await.unwrap();
        sides.delete(&scope, "/in/gone").await;

        let fused = search(&sides, &scope, "euphonium", "/in", None).await;
        assert_eq!(paths(&fused), ["/in/1", "/in/2"]);
        assert!(fused.hits.iter().all(|hit| hit.lexical > 0.0 && hit.score.is_finite()), "{:?}", fused.hits);

        let liking = Arc::new(ScriptedReranker::liking("golden"));
        let ordered = search(&sides, &scope, "euphonium", "/in", Some(liking.clone())).await;
        assert_eq!(paths(&ordered), ["/in/2", "/in/1"]);
        let (asked, passages) = liking.requests().remove(0);
        assert_eq!(
            (asked.as_str(), passages.len()),
            ("euphonium", 2),
            "deleted and foreign files are not sent"
        );

        let broken: [Arc<dyn Reranker>; 4] = [
            Arc::new(ScriptedReranker::failing()),
            Arc::new(OddReranker { scores: Some(vec![1.0]) }),
            Arc::new(OddReranker { scores: Some(vec![f32::NAN, 1.0]) }),
            Arc::new(OddReranker { scores: None }),
        ];
        for reranker in broken {
            let fallen_back = search(&sides, &scope, "euphonium", "/in", Some(reranker)).await;
            assert_eq!(fallen_back.hits, fused.hits);
            assert!(fallen_back.rerank_error.is_some());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f012_f125_a_lease_that_was_lost_writes_nothing() {
    for sides in both().await {
        let scope = project_of(6);
        sides.write(&scope, "/a", "words").await;
        let claim = |name: &str, until: i64| JobClaim {
            worker: name.into(),
            now: now(),
            lease_until: later(until),
            horizon: later(DAY),
            batch: 5,
            retry_max: 5,
        };
        let first = sides.index.claim(0, &claim("first", 1)).await.unwrap().remove(0);
        let second = loop {
            // The lease of the first ends after a microsecond.
            if let Some(job) = sides.index.claim(0, &claim("second", 60_000_000)).await.unwrap().pop() {
                break job;
            }
        };
        assert_eq!(first.lease.job, second.lease.job);
        assert_eq!(sides.index.finish(vec![first.lease], now()).await.unwrap(), 0);
        assert!(!sides.index.extend(first.lease, now(), later(60_000_000)).await.unwrap());
        assert!(!sides.index.retry(first.lease, now(), now()).await.unwrap());
        assert!(!sides.index.fail(first.lease, now()).await.unwrap());
        assert_eq!(sides.index.finish(vec![second.lease], now()).await.unwrap(), 1);
    }
}
