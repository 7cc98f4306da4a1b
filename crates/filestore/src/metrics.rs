//! The numbers of the file store for a Prometheus server: how changes end, how long they wait, how far the index is behind.
//! No label names a tenant, a project or a path.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::Failure;

use crate::indexing::{IndexObserver, JobEnd};

/// Upper ends of the ranges of waits and searches, in milliseconds: from a lock that is free to one that times out.
const SHORT: &[u64] = &[1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

/// Of what happens in the background: from at once to an hour late. 2, 5 and 30 s are what is promised.
const LONG: &[u64] = &[
    50, 100, 250, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 900_000, 3_600_000,
];

/// How many of the latest changes the freshness is told from.
const WINDOW: usize = 1024;

/// What one process has counted since it started.
#[derive(Debug)]
pub struct StoreMetrics {
    slo: Duration,
    counted: Mutex<Counted>,
}

/// How soon changes could be found lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freshness {
    /// 95 of 100 of the latest changes were searchable within this; `None` before the first.
    pub p95: Option<Duration>,
    /// What is promised (`files.index.slo_p95_seconds`).
    pub slo: Duration,
    /// How many changes this is told from.
    pub changes: usize,
}

impl Freshness {
    pub fn is_kept(&self) -> bool {
        self.p95.is_none_or(|p95| p95 <= self.slo)
    }
}

#[derive(Debug)]
struct Counted {
    mutations: BTreeMap<(&'static str, &'static str), u64>,
    lock_wait: DurationHistogram,
    queue_depth: u64,
    job_latency: DurationHistogram,
    search_latency: DurationHistogram,
    rerank_failures: u64,
    visibility_lag: DurationHistogram,
    latest_lags: VecDeque<Duration>,
}

impl StoreMetrics {
    pub fn new(slo: Duration) -> StoreMetrics {
        StoreMetrics {
            slo,
            counted: Mutex::new(Counted {
                mutations: BTreeMap::new(),
                lock_wait: DurationHistogram::new(SHORT),
                queue_depth: 0,
                job_latency: DurationHistogram::new(LONG),
                search_latency: DurationHistogram::new(SHORT),
                rerank_failures: 0,
                visibility_lag: DurationHistogram::new(LONG),
                latest_lags: VecDeque::new(),
            }),
        }
    }

    /// A change ended, well or with a failure.
    pub fn mutation<T>(&self, tool: &'static str, result: &Result<T, Failure>) {
        let status = result.as_ref().map_or_else(|failure| failure.code.as_str(), |_| "ok");
        *self.counted().mutations.entry((tool, status)).or_default() += 1;
    }

    /// A change waited so long for its project, whether it got it or not.
    pub fn lock_wait(&self, wait: Duration) {
        self.counted().lock_wait.observe(wait);
    }

    /// So many index jobs wait or run.
    pub fn queue_depth(&self, jobs: u64) {
        self.counted().queue_depth = jobs;
    }

    /// An index job took so long once a worker had it.
    pub fn job_latency(&self, took: Duration) {
        self.counted().job_latency.observe(took);
    }

    pub fn search_latency(&self, took: Duration) {
        self.counted().search_latency.observe(took);
    }

    /// The reranker failed or was too slow, and the search did without.
    pub fn rerank_failed(&self) {
        self.counted().rerank_failures += 1;
    }

    /// A change became searchable so long after its commit.
    pub fn visibility_lag(&self, lag: Duration) {
        let mut counted = self.counted();
        counted.visibility_lag.observe(lag);
        if counted.latest_lags.len() == WINDOW {
            counted.latest_lags.pop_front();
        }
        counted.latest_lags.push_back(lag);
    }

    pub fn freshness(&self) -> Freshness {
        let mut lags: Vec<Duration> = self.counted().latest_lags.iter().copied().collect();
        lags.sort_unstable();
        // The nearest rank: of 20 values the 19th.
        let rank = (lags.len() * 95).div_ceil(100);
        let p95 = rank.checked_sub(1).and_then(|at| lags.get(at).copied());
        Freshness { p95, slo: self.slo, changes: lags.len() }
    }

    /// In the text format 0.0.4, to be appended to the server's page. The log of calls counts itself what it lost.
    pub fn page(&self, call_records_lost: u64) -> String {
        let freshness = self.freshness();
        let counted = self.counted();
        let mut page = StorePage::default();

        page.family(
            "mcp_files_mutation_total",
            "counter",
            "Changes of files by tool and end (ok, or an error code).",
        );
        for ((tool, status), count) in &counted.mutations {
            let _ =
                writeln!(page.0, "mcp_files_mutation_total{{tool=\"{tool}\",status=\"{status}\"}} {count}");
        }
        page.histogram(
            "mcp_files_lock_wait_ms",
            "How long changes waited for their project.",
            &counted.lock_wait,
        );
        page.number(
            "mcp_files_index_queue_depth",
            "gauge",
            "Index jobs that wait or run.",
            counted.queue_depth,
        );
        page.histogram(
            "mcp_files_index_job_latency_ms",
            "How long index jobs took once a worker had them.",
            &counted.job_latency,
        );
        page.histogram("mcp_files_search_latency_ms", "How long searches took.", &counted.search_latency);
        page.number(
            "mcp_files_search_rerank_fail_total",
            "counter",
            "Searches whose reranker failed, so that they did without.",
            counted.rerank_failures,
        );
        page.histogram(
            "mcp_files_index_visibility_lag_ms",
            "From the commit of a change to the moment it can be searched.",
            &counted.visibility_lag,
        );
        page.number(
            "mcp_files_index_slo_p95_seconds",
            "gauge",
            "What is promised: 95 of 100 changes can be searched within this.",
            self.slo.as_secs(),
        );
        if let Some(p95) = freshness.p95 {
            page.number(
                "mcp_files_index_visibility_lag_p95_ms",
                "gauge",
                "Within what 95 of 100 of the latest changes could be searched.",
                p95.as_millis() as u64,
            );
        }
        page.number(
            "mcp_files_call_records_lost_total",
            "counter",
            "Records of calls that were not written to the call log.",
            call_records_lost,
        );
        page.0
    }

    fn counted(&self) -> std::sync::MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexObserver for StoreMetrics {
    fn job_ended(&self, end: JobEnd, waited: Duration, took: Duration) {
        self.job_latency(took);
        // What was overtaken or put back becomes searchable with another job.
        if end == JobEnd::Done {
            self.visibility_lag(waited);
        }
    }
}

/// Durations counted by range.
#[derive(Debug)]
struct DurationHistogram {
    ranges: &'static [u64],
    within: Vec<u64>,
    count: u64,
    sum: Duration,
}

impl DurationHistogram {
    fn new(ranges: &'static [u64]) -> DurationHistogram {
        DurationHistogram { ranges, within: vec![0; ranges.len()], count: 0, sum: Duration::ZERO }
    }

    fn observe(&mut self, value: Duration) {
        for (within, range) in self.within.iter_mut().zip(self.ranges) {
            *within += u64::from(value <= Duration::from_millis(*range));
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
    }
}

#[derive(Default)]
struct StorePage(String);

impl StorePage {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn number(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.family(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &DurationHistogram) {
        self.family(name, "histogram", help);
        for (within, range) in histogram.within.iter().zip(histogram.ranges) {
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{range}\"}} {within}");
        }
        let _ = writeln!(self.0, "{name}_bucket{{le=\"+Inf\"}} {}", histogram.count);
        let _ = writeln!(self.0, "{name}_sum {}", histogram.sum.as_secs_f64() * 1000.0);
        let _ = writeln!(self.0, "{name}_count {}", histogram.count);
    }
}

#[cfg(test)]
mod tests {
    use model::ErrorCode;

    use super::*;

    #[test]
    fn f157_the_seven_metrics_are_on_the_page() {
        let metrics = StoreMetrics::new(Duration::from_secs(30));
        metrics.mutation("file_write", &Ok(()));
        metrics.mutation("file_write", &Ok(()));
        metrics.mutation::<()>("file_delete", &Err(Failure::new(ErrorCode::ResourceBusy, "/secret/path")));
        metrics.lock_wait(Duration::from_millis(3));
        metrics.queue_depth(7);
        metrics.job_latency(Duration::from_millis(60));
        metrics.search_latency(Duration::from_millis(600));
        metrics.rerank_failed();
        metrics.visibility_lag(Duration::from_millis(1500));
        let page = metrics.page(4);
        for line in [
            "# TYPE mcp_files_mutation_total counter",
            "mcp_files_mutation_total{tool=\"file_write\",status=\"ok\"} 2",
            "mcp_files_mutation_total{tool=\"file_delete\",status=\"RESOURCE_BUSY\"} 1",
            "mcp_files_lock_wait_ms_bucket{le=\"2\"} 0",
            "mcp_files_lock_wait_ms_bucket{le=\"5\"} 1",
            "mcp_files_lock_wait_ms_bucket{le=\"+Inf\"} 1",
            "mcp_files_index_queue_depth 7",
            "mcp_files_index_job_latency_ms_count 1",
            "mcp_files_search_latency_ms_sum 600",
            "mcp_files_search_rerank_fail_total 1",
            "mcp_files_index_visibility_lag_ms_bucket{le=\"1000\"} 0",
            "mcp_files_index_visibility_lag_ms_bucket{le=\"2000\"} 1",
            "mcp_files_index_slo_p95_seconds 30",
            "mcp_files_index_visibility_lag_p95_ms 1500",
            "mcp_files_call_records_lost_total 4",
        ] {
            assert!(page.lines().any(|known| known == line), "{line} in {page}");
        }
        assert!(!page.contains("secret"));
    }

    #[test]
    fn f161_freshness_is_measured_against_its_promise() {
        let metrics = StoreMetrics::new(Duration::from_secs(2));
        assert_eq!((metrics.freshness().p95, metrics.freshness().is_kept()), (None, true));
        for at in 1..=100 {
            metrics.visibility_lag(Duration::from_millis(at * 20));
        }
        let freshness = metrics.freshness();
        assert_eq!((freshness.p95, freshness.changes), (Some(Duration::from_millis(1900)), 100));
        assert!(freshness.is_kept());
        for _ in 0..10 {
            metrics.visibility_lag(Duration::from_secs(60));
        }
        assert!(!metrics.freshness().is_kept());
        // What is long past does not count any more.
        for _ in 0..WINDOW {
            metrics.visibility_lag(Duration::from_millis(1));
        }
        assert_eq!(metrics.freshness().p95, Some(Duration::from_millis(1)));
        assert_eq!(metrics.freshness().changes, WINDOW);
    }
}
