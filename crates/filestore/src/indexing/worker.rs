//! The worker that brings the index up to the latest state of each file.
//!
//! A job says only that a path changed. The worker looks at what is there now, so that several jobs of one path are one
//! piece of work, a job that was overtaken is none, and doing one twice does no harm. Words are stored at once; vectors of a
//! service follow and are tried again. Whatever a worker held when it vanished is due again when its lease ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use model::{Failure, IndexKind, ProviderError, WallClock};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::backend::IndexBackend;
use super::chunker::{ChunkBounds, kind_of_path};
use super::embedding::{ChunkEmbedder, EmbedTask, JobCredentials, ProviderSecret};
use super::faults::{FaultPoint, IndexFaults, no_faults};
use super::job::{
    ChunkVector, ChunkWithoutVector, IndexJob, JobClaim, JobLease, JobOperation, LeasedWrite, NewChunk,
    NewChunks,
};
use super::prepare::{chunks_of, mark_of};
use crate::entry::StoreTime;

/// The keys `files.index.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSettings {
    pub workers: usize,
    pub batch_size: usize,
    pub retry_max: u32,
    pub retry_backoff: Duration,
    /// For how long a worker holds a job without saying so again.
    pub lease: Duration,
    /// How often a worker looks for jobs that other processes wrote.
    pub poll: Duration,
    /// How long jobs that ended are kept.
    pub job_retention: Duration,
    pub bounds: ChunkBounds,
}

impl Default for IndexSettings {
    fn default() -> IndexSettings {
        IndexSettings {
            workers: 2,
            batch_size: 20,
            retry_max: 5,
            retry_backoff: Duration::from_millis(1000),
            lease: Duration::from_secs(60),
            poll: Duration::from_millis(500),
            job_retention: Duration::from_secs(24 * 60 * 60),
            bounds: ChunkBounds::default(),
        }
    }
}

/// How the work on a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobEnd {
    Done,
    /// The file changed meanwhile, or another worker has the job: somebody else does it.
    Overtaken,
    Retried,
    Failed,
}

/// Told how each job ended, and when: what metrics are made of.
pub trait IndexObserver: Send + Sync + 'static {
    /// `waited` is the time since the job was written, `took` that since a worker began with its file.
    fn job_ended(&self, end: JobEnd, waited: Duration, took: Duration);
}

/// All that a worker works with.
#[derive(Clone)]
pub struct StoreIndexWorker {
    pub backend: Arc<dyn IndexBackend>,
    pub embedder: Arc<dyn ChunkEmbedder>,
    pub credentials: Option<Arc<dyn JobCredentials>>,
    pub clock: Arc<dyn WallClock>,
    pub settings: IndexSettings,
    pub observer: Option<Arc<dyn IndexObserver>>,
    pub faults: Arc<dyn IndexFaults>,
    /// Tells this process from others in leases.
    pub name: String,
}

impl StoreIndexWorker {
    pub fn new(
        backend: Arc<dyn IndexBackend>,
        embedder: Arc<dyn ChunkEmbedder>,
        clock: Arc<dyn WallClock>,
        settings: IndexSettings,
    ) -> StoreIndexWorker {
        let name = format!("worker-{}", std::process::id());
        StoreIndexWorker {
            backend,
            embedder,
            credentials: None,
            clock,
            settings,
            observer: None,
            faults: no_faults(),
            name,
        }
    }

    /// Works until `stop`. `written` changes whenever this process wrote a job.
    pub async fn run(self, written: watch::Receiver<u64>, stop: CancellationToken) {
        let workers = (0..self.settings.workers.max(1)).map(|number| {
            let (worker, mut written, stop) = (self.clone(), written.clone(), stop.clone());
            tokio::spawn(async move {
                let mut turns = number as u64;
                let (mut has_writers, mut is_away) = (true, false);
                while !stop.is_cancelled() {
                    turns += 1;
                    written.mark_unchanged();
                    let worked = match worker.run_once().await {
                        Ok(jobs) => {
                            is_away = false;
                            jobs > 0
                        }
                        Err(failure) => {
                            // Once per outage, not twice a second.
                            if !std::mem::replace(&mut is_away, true) {
                                tracing::warn!(%failure, "index jobs could not be claimed; trying again");
                            }
                            false
                        }
                    };
                    if worked {
                        continue;
                    }
                    tokio::select! {
                        () = stop.cancelled() => break,
                        changed = written.changed(), if has_writers => has_writers = changed.is_ok(),
                        () = tokio::time::sleep(worker.pause(turns)) => {}
                    }
                }
            })
        });
        for worker in workers.collect::<Vec<_>>() {
            // A worker that panicked left its jobs to their leases.
            let _ = worker.await;
        }
    }

    /// Between half and all of `poll`, so that many processes do not ask at the same moment.
    fn pause(&self, turn: u64) -> Duration {
        let mixed = turn.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(std::process::id());
        let share = 0.5 + (mixed % 1024) as f64 / 2048.0;
        self.settings.poll.mul_f64(share)
    }

    /// Neither a lease nor the pause before another attempt is longer.
    fn longest_wait(&self) -> Duration {
        self.settings.lease.max(self.settings.retry_backoff.saturating_mul(self.settings.retry_max.max(1)))
    }

    /// One batch of each bucket. How many jobs that were.
    pub async fn run_once(&self) -> Result<usize, Failure> {
        let mut count = 0;
        for bucket in 0..self.backend.buckets() {
            self.faults.at(FaultPoint::BeforeClaim);
            let now = self.now();
            let claim = JobClaim {
                worker: self.name.clone(),
                now,
                lease_until: later(now, self.settings.lease),
                horizon: later(now, self.longest_wait().saturating_mul(2)),
                batch: self.settings.batch_size.max(1),
                retry_max: self.settings.retry_max,
            };
            let jobs = self.backend.claim(bucket, &claim).await?;
            self.faults.at(FaultPoint::AfterClaim);
            count += jobs.len();
            for group in by_path(jobs) {
                self.faults.at(FaultPoint::AfterGrouping);
                self.work(group).await;
            }
        }
        Ok(count)
    }

    /// Works until nothing is due. How many jobs that were.
    pub async fn drain(&self) -> Result<usize, Failure> {
        let mut count = 0;
        loop {
            let jobs = self.run_once().await?;
            count += jobs;
            if jobs == 0 {
                return Ok(count);
            }
        }
    }

    /// Forgets jobs that ended long ago. How many.
    pub async fn clean_up(&self) -> Result<u64, Failure> {
        let before = StoreTime(self.now().0 - micros(self.settings.job_retention));
        self.backend.remove_ended(before).await
    }

    /// The jobs of one path, the newest last.
    async fn work(&self, jobs: Vec<IndexJob>) {
        let Some(newest) = jobs.last() else { return };
        let begun = tokio::time::Instant::now();
        let end = match self.bring_up_to_date(newest).await {
            Ok(true) => JobEnd::Done,
            Ok(false) => JobEnd::Overtaken,
            Err(trouble) => {
                tracing::warn!(job = newest.lease.job, tenant = %newest.scope.tenant, %trouble, "indexing failed");
                self.put_back(newest).await
            }
        };
        let now = self.now();
        // What was written before the newest is done with it, whatever became of that one's vectors.
        let done = if matches!(end, JobEnd::Done | JobEnd::Overtaken) { jobs.len() } else { jobs.len() - 1 };
        self.faults.at(FaultPoint::BeforeFinish);
        let leases: Vec<JobLease> = jobs[..done].iter().map(|job| job.lease).collect();
        if !leases.is_empty()
            && let Err(failure) = self.backend.finish(leases, now).await
        {
            // Their leases end, and somebody does them again.
            tracing::warn!(%failure, "finished jobs could not be recorded");
            return;
        }
        self.faults.at(FaultPoint::AfterFinish);
        for (at, job) in jobs.iter().enumerate() {
            if at < done {
                self.forget(job).await;
            }
            if let Some(observer) = &self.observer {
                let waited = Duration::from_micros((now.0 - job.created_at.0).max(0) as u64);
                observer.job_ended(
                    if at < done && end != JobEnd::Overtaken { JobEnd::Done } else { end },
                    waited,
                    begun.elapsed(),
                );
            }
        }
    }

    async fn put_back(&self, job: &IndexJob) -> JobEnd {
        self.faults.at(FaultPoint::BeforeRetry);
        let now = self.now();
        let attempt = job.retry_count + 1;
        let gives_up = attempt >= self.settings.retry_max.max(1);
        let recorded = if gives_up {
            self.backend.fail(job.lease, now).await
        } else {
            let pause = self.settings.retry_backoff.saturating_mul(attempt);
            self.backend.retry(job.lease, later(now, pause), now).await
        };
        self.faults.at(FaultPoint::AfterRetry);
        match recorded {
            Ok(true) if gives_up => {
                self.forget(job).await;
                JobEnd::Failed
            }
            Ok(_) => JobEnd::Retried,
            Err(failure) => {
                tracing::warn!(%failure, "a job could not be put back; it is due again when its lease ends");
                JobEnd::Retried
            }
        }
    }

    /// Whether the index now holds what the job was about; `false` if somebody else sees to it.
    async fn bring_up_to_date(&self, job: &IndexJob) -> Result<bool, IndexTrouble> {
        self.faults.at(FaultPoint::BeforeLoad);
        let latest = self.backend.latest(&job.scope, &job.path).await?;
        self.faults.at(FaultPoint::AfterLoad);
        let Some(file) = latest else {
            self.faults.at(FaultPoint::BeforeRemove);
            let removed = self.backend.remove_chunks(job).await?;
            self.faults.at(FaultPoint::AfterRemove);
            return Ok(removed == LeasedWrite::Written);
        };
        // Every change left a job: the one of the present state does the work.
        let is_stale = job.operation == JobOperation::Delete
            || job.file_updated_at.is_some_and(|at| at != file.updated_at);
        self.faults.at(FaultPoint::AfterStaleCheck);
        if is_stale {
            return Ok(false);
        }
        let kind = kind_of_path(&job.path);
        let mark = mark_of(&file.content);
        if file.indexed.as_ref() != Some(&mark) {
            self.faults.at(FaultPoint::BeforeCutting);
            let (path, bounds, content) = (job.path.clone(), self.settings.bounds, file.content);
            let cut = tokio::task::spawn_blocking(move || chunks_of(&path, kind, &content, bounds));
            let mut chunks = cut.await.map_err(|_| IndexTrouble::Abnormal)?;
            self.faults.at(FaultPoint::AfterCutting);
            self.add_immediate_vectors(job, kind, &mut chunks).await?;
            self.faults.at(FaultPoint::BeforeReplace);
            let model = self.embedder.model().to_owned();
            let chunks = NewChunks { file_updated_at: file.updated_at, mark, model, chunks, now: self.now() };
            let written = self.backend.replace_chunks(job, chunks).await?;
            self.faults.at(FaultPoint::AfterReplace);
            if written != LeasedWrite::Written {
                return Ok(false);
            }
        }
        self.add_missing_vectors(job, kind).await
    }

    /// Vectors that are made in this process go into the same transaction as the words.
    async fn add_immediate_vectors(
        &self,
        job: &IndexJob,
        kind: IndexKind,
        chunks: &mut [NewChunk],
    ) -> Result<(), IndexTrouble> {
        if self.embedder.needs_secret() || self.embedder.dimensions() == 0 {
            return Ok(());
        }
        self.faults.at(FaultPoint::BeforeImmediateVectors);
        for batch in chunks.chunks_mut(self.embedder.batch().max(1)) {
            let texts: Vec<&str> = batch.iter().map(|chunk| chunk.text.as_str()).collect();
            let task = EmbedTask { scope: &job.scope, kind, secret: None, texts: &texts };
            // Words do not wait: what failed here is tried again below.
            let Ok(vectors) = self.embedder.embed(task).await else { break };
            if vectors.len() != batch.len() {
                break;
            }
            for (chunk, vector) in batch.iter_mut().zip(vectors) {
                chunk.vector = usable(&vector, self.embedder.dimensions()).then_some(vector);
            }
        }
        self.faults.at(FaultPoint::AfterImmediateVectors);
        Ok(())
    }

    async fn add_missing_vectors(&self, job: &IndexJob, kind: IndexKind) -> Result<bool, IndexTrouble> {
        if self.embedder.dimensions() == 0 {
            return Ok(true);
        }
        self.faults.at(FaultPoint::BeforeMissingVectors);
        let model = self.embedder.model();
        let missing = self.backend.without_vectors(&job.scope, &job.path, model).await?;
        self.faults.at(FaultPoint::AfterMissingVectors);
        if missing.is_empty() {
            return Ok(true);
        }
        let secret = match (self.embedder.needs_secret(), &self.credentials) {
            (false, _) => None,
            (true, None) => return Err(IndexTrouble::NoCredential),
            (true, Some(credentials)) => {
                self.faults.at(FaultPoint::BeforeCredential);
                let secret = credentials.fetch(job).await.ok_or(IndexTrouble::NoCredential)?;
                self.faults.at(FaultPoint::AfterCredential);
                Some(secret)
            }
        };
        for batch in missing.chunks(self.embedder.batch().max(1)) {
            self.faults.at(FaultPoint::BeforeExtend);
            let now = self.now();
            if !self.backend.extend(job.lease, now, later(now, self.settings.lease)).await? {
                return Ok(false);
            }
            self.faults.at(FaultPoint::AfterExtend);
            let vectors = self.vectors(job, kind, secret.as_ref(), batch).await?;
            self.faults.at(FaultPoint::BeforeStoreVectors);
            let written = self.backend.store_vectors(job, model, vectors, self.now()).await?;
            self.faults.at(FaultPoint::AfterStoreVectors);
            if written != LeasedWrite::Written {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn vectors(
        &self,
        job: &IndexJob,
        kind: IndexKind,
        secret: Option<&ProviderSecret>,
        batch: &[ChunkWithoutVector],
    ) -> Result<Vec<ChunkVector>, IndexTrouble> {
        self.faults.at(FaultPoint::BeforeEmbedding);
        let texts: Vec<&str> = batch.iter().map(|chunk| chunk.text.as_str()).collect();
        let vectors =
            self.embedder.embed(EmbedTask { scope: &job.scope, kind, secret, texts: &texts }).await?;
        self.faults.at(FaultPoint::AfterEmbedding);
        if vectors.len() != batch.len() {
            return Err(IndexTrouble::WrongVectors);
        }
        let mut made = Vec::with_capacity(batch.len());
        for (chunk, vector) in batch.iter().zip(vectors) {
            if vector.len() != self.embedder.dimensions() || vector.iter().any(|x| !x.is_finite()) {
                return Err(IndexTrouble::WrongVectors);
            }
            made.push(ChunkVector { id: chunk.id, content_hash: chunk.content_hash, vector });
        }
        Ok(made)
    }

    async fn forget(&self, job: &IndexJob) {
        if let Some(credentials) = &self.credentials {
            self.faults.at(FaultPoint::BeforeForget);
            credentials.forget(job).await;
            self.faults.at(FaultPoint::AfterForget);
        }
    }

    fn now(&self) -> StoreTime {
        StoreTime(micros(self.clock.since_1970()))
    }
}

/// Why a job could not be done now.
#[derive(Debug, thiserror::Error)]
enum IndexTrouble {
    #[error("{0}")]
    Store(#[from] Failure),
    #[error("{0}")]
    Provider(#[from] ProviderError),
    #[error("the caller's key is missing or expired")]
    NoCredential,
    #[error("the vectors are not what was asked for")]
    WrongVectors,
    #[error("cutting the file ended abnormally")]
    Abnormal,
}

/// The jobs of each path together, in the order of their ids.
fn by_path(jobs: Vec<IndexJob>) -> Vec<Vec<IndexJob>> {
    let mut groups: Vec<Vec<IndexJob>> = Vec::new();
    let mut places = HashMap::new();
    for job in jobs {
        let place = *places.entry((job.scope.clone(), job.path.clone())).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(job);
    }
    groups.iter_mut().for_each(|group| group.sort_by_key(|job| job.lease.job));
    groups
}

fn usable(vector: &[f32], dimensions: usize) -> bool {
    vector.len() == dimensions && vector.iter().all(|x| x.is_finite())
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 4)
}

fn later(time: StoreTime, duration: Duration) -> StoreTime {
    StoreTime(time.0.saturating_add(micros(duration)))
}
