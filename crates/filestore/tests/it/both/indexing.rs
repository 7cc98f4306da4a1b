//! Jobs and leases: whatever happens to a worker, the index becomes what the latest files make of it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use filestore::indexing::{FaultPoint, IndexFaults, IndexJob, JobClaim, JobCredentials, ProviderSecret};
use filestore::{MutationGuard, StoreLimits, StoreTime};
use futures::future::BoxFuture;
use model::ErrorCode;

use super::credentials::KeyedService;
use super::{ALICE, BOB, Bench, now};

/// What the index holds of the tenant, and what is left to do.
fn indexed(bench: &Bench) -> (Vec<String>, Vec<String>) {
    let chunks = "SELECT file_path || ' ' || chunk_content FROM {s}.mcp_file_chunks c \
                  WHERE EXISTS (SELECT 1 FROM {s}.mcp_file_chunk_embeddings e WHERE e.chunk_id = c.id) \
                  AND EXISTS (SELECT 1 FROM {s}.mcp_file_chunk_bm25 b WHERE b.chunk_id = c.id) ORDER BY 1";
    let open = "SELECT file_path FROM {s}.mcp_file_index_jobs WHERE status <> 'done' ORDER BY id";
    (bench.column(ALICE, chunks), bench.column(ALICE, open))
}

async fn change(bench: &Bench) {
    bench.write(ALICE, "/kept", "kept one").await;
    bench.write(ALICE, "/gone", "gone soon").await;
    bench.write(ALICE, "/moved", "moved text").await;
    bench.write(ALICE, "/kept", "kept two").await;
    bench.store.delete(ALICE, "p", "/gone", false, MutationGuard::default()).await.unwrap();
    bench.store.rename(ALICE, "p", "/moved", "/there/moved", false, MutationGuard::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn f124_f126_f127_jobs_bring_the_index_to_the_latest_state() {
    for bench in Bench::each().await {
        change(&bench).await;
        let jobs = bench
            .column(ALICE, "SELECT operation || ' ' || file_path FROM {s}.mcp_file_index_jobs ORDER BY id");
        let expected = [
            "UPSERT /kept",
            "UPSERT /gone",
            "UPSERT /moved",
            "UPSERT /kept",
            "DELETE /gone",
            "DELETE /moved",
            "UPSERT /there/moved",
        ];
        assert_eq!(jobs, expected, "{}", bench.name);
        bench.settle().await;
        let (chunks, open) = indexed(&bench);
        assert_eq!(chunks, ["/kept kept two", "/there/moved moved text"], "{}", bench.name);
        assert_eq!(open, [""; 0], "{}", bench.name);
        assert_eq!(bench.index.queue().await.unwrap().pending, 0);
        // A job that was done goes when it is old enough, and not before.
        assert_eq!(bench.index.remove_ended(StoreTime(0)).await.unwrap(), 0);
        let later = StoreTime(now().0 + 60_000_000);
        assert_eq!(bench.index.remove_ended(later).await.unwrap(), 7, "{}", bench.name);
    }
}

/// Panics once at one point, as a worker that is killed there.
struct KilledAt {
    point: FaultPoint,
    was: Mutex<bool>,
    seen: Arc<Mutex<HashSet<FaultPoint>>>,
}

impl IndexFaults for KilledAt {
    fn at(&self, point: FaultPoint) {
        self.seen.lock().unwrap().insert(point);
        let mut was = self.was.lock().unwrap();
        if point == self.point && !*was {
            *was = true;
            drop(was);
            panic!("killed at {point:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_anywhere_leaves_nothing_undone() {
    let lease = Duration::from_millis(200);
    let seen = Arc::new(Mutex::new(HashSet::new()));
    for bench in Bench::each().await {
        for point in FaultPoint::ALL {
            let mut worker = bench.worker(lease);
            // A service passes more points; only vectors that are made at once do not come from one.
            if !matches!(point, FaultPoint::BeforeImmediateVectors | FaultPoint::AfterImmediateVectors) {
                worker.embedder = Arc::new(KeyedService::default());
                worker.credentials = Some(Arc::new(AlwaysAKey));
            }
            worker.faults =
                Arc::new(KilledAt { point: *point, was: Mutex::new(false), seen: Arc::clone(&seen) });
            change(&bench).await;
            let killed = worker.clone();
            // Where the point is not on the way, nothing is killed.
            let _ = tokio::spawn(async move { killed.drain().await }).await;
            let deadline = tokio::time::Instant::now() + lease + Duration::from_secs(1);
            loop {
                worker.drain().await.unwrap();
                let (chunks, open) = indexed(&bench);
                if open.is_empty() {
                    assert_eq!(
                        chunks,
                        ["/kept kept two", "/there/moved moved text"],
                        "{} {point:?}",
                        bench.name
                    );
                    break;
                }
                let is_late = tokio::time::Instant::now() > deadline;
                assert!(!is_late, "{} {point:?}: {open:?} is not done in its lease and a second", bench.name);
            }
            bench.store.delete(ALICE, "p", "/there", true, MutationGuard::default()).await.unwrap();
            bench.store.delete(ALICE, "p", "/kept", false, MutationGuard::default()).await.unwrap();
        }
    }
    let seen = seen.lock().unwrap().len();
    assert!(seen >= 20, "{seen} points of a job were passed");
}

struct AlwaysAKey;

impl JobCredentials for AlwaysAKey {
    fn fetch<'a>(&'a self, _: &'a IndexJob) -> BoxFuture<'a, Option<ProviderSecret>> {
        Box::pin(std::future::ready(Some(ProviderSecret("key".to_owned()))))
    }

    fn forget<'a>(&'a self, _: &'a IndexJob) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn claim(now: StoreTime, worker: &str) -> JobClaim {
    let later = |seconds: i64| StoreTime(now.0 + seconds * 1_000_000);
    JobClaim {
        worker: worker.to_owned(),
        now,
        lease_until: later(60),
        horizon: later(600),
        batch: 10,
        retry_max: 5,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f125_no_job_is_claimed_twice() {
    for bench in Bench::each().await {
        let paths: Vec<String> = (0..40).map(|number| format!("/f{number:02}")).collect();
        for path in &paths {
            bench.write(ALICE, path, "text").await;
        }
        let bucket = bench.column(ALICE, "SELECT 'x' FROM {s}.mcp_file_index_jobs").len();
        assert_eq!(bucket, 40, "{}", bench.name);
        let bench = Arc::new(bench);
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let bench = Arc::clone(&bench);
                tokio::spawn(async move {
                    let mut taken = Vec::new();
                    for bucket in (0..bench.index.buckets()).cycle().take(8) {
                        let name = format!("w{worker}");
                        let jobs = bench.index.claim(bucket, &claim(now(), &name)).await.unwrap();
                        taken.extend(jobs.into_iter().map(|job| job.path.to_string()));
                    }
                    taken
                })
            })
            .collect();
        let mut taken = Vec::new();
        for worker in workers {
            taken.extend(worker.await.unwrap());
        }
        taken.sort();
        assert_eq!(taken, paths, "{}", bench.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_keeps_no_job_waiting() {
    for bench in Bench::each().await {
        bench.write(ALICE, "/a", "text").await;
        bench.write(BOB, "/b", "text").await;
        // As if they had been written, and one of them claimed, when the clock was a day ahead.
        let day = 24 * 60 * 60;
        for tenant in [ALICE, BOB] {
            bench.shift(tenant, day);
        }
        bench.settle().await;
        for tenant in [ALICE, BOB] {
            let open =
                bench.column(tenant, "SELECT status FROM {s}.mcp_file_index_jobs WHERE status <> 'done'");
            assert_eq!(open, [""; 0], "{}", bench.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f012_f031_the_limit_of_a_tenant_holds_over_its_projects() {
    let limits = StoreLimits { max_tenant_bytes: Some(10), ..StoreLimits::default() };
    for bench in Bench::each_with(limits).await {
        bench.try_write(ALICE, "one", "/a", "123456").await.unwrap();
        let refused = bench.try_write(ALICE, "two", "/b", "12345").await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::QuotaExceeded, "{}", bench.name);
        bench.try_write(ALICE, "two", "/b", "1234").await.unwrap();
        bench.try_write(ALICE, "one", "/a", "12").await.unwrap();
        // Another tenant has a limit of its own.
        bench.try_write(BOB, "one", "/a", "1234567890").await.unwrap();
    }
}
