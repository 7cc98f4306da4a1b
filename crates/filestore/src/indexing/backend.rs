//! The port behind which jobs are claimed and the rows of the index are kept.

use super::job::{
    ChunkVector, ChunkWithoutVector, IndexJob, IndexQueue, JobClaim, JobLease, LatestFile, LeasedWrite,
    NewChunks,
};
use crate::backend::BackendFuture;
use crate::entry::StoreTime;
use crate::path::StorePath;
use crate::project::ProjectScope;

/// Keeps jobs, leases, chunks, words and vectors. Every method is one transaction.
pub trait IndexBackend: Send + Sync + 'static {
    /// Queues that are claimed from independently of each other, numbered from 0.
    fn buckets(&self) -> u32;

    /// Makes the store ready for vectors of this model. Where it held those of another, they are forgotten, and every file
    /// gets a job. How many jobs were written.
    fn prepare_vectors<'a>(
        &'a self,
        model: &'a str,
        dimensions: usize,
        now: StoreTime,
    ) -> BackendFuture<'a, u64>;

    /// The oldest jobs of a bucket that nobody holds: those that are due, and those whose lease ran out.
    fn claim<'a>(&'a self, bucket: u32, claim: &'a JobClaim) -> BackendFuture<'a, Vec<IndexJob>>;

    /// Whether the lease is still held, and from `now` until `until`. A backend with a clock of its own takes the difference.
    fn extend(&self, lease: JobLease, now: StoreTime, until: StoreTime) -> BackendFuture<'_, bool>;

    fn latest<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
    ) -> BackendFuture<'a, Option<LatestFile>>;

    /// Replaces all rows of a file. Chunks that are the same stay as they are, with their vectors.
    fn replace_chunks<'a>(&'a self, job: &'a IndexJob, chunks: NewChunks) -> BackendFuture<'a, LeasedWrite>;

    /// Removes all rows of a file that is gone.
    fn remove_chunks<'a>(&'a self, job: &'a IndexJob) -> BackendFuture<'a, LeasedWrite>;

    fn without_vectors<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        model: &'a str,
    ) -> BackendFuture<'a, Vec<ChunkWithoutVector>>;

    fn store_vectors<'a>(
        &'a self,
        job: &'a IndexJob,
        model: &'a str,
        vectors: Vec<ChunkVector>,
        now: StoreTime,
    ) -> BackendFuture<'a, LeasedWrite>;

    /// The jobs are done. How many of them were still held.
    fn finish(&self, leases: Vec<JobLease>, now: StoreTime) -> BackendFuture<'_, u64>;

    /// The job is due again at `available_at`, and counts one attempt more.
    fn retry(&self, lease: JobLease, available_at: StoreTime, now: StoreTime) -> BackendFuture<'_, bool>;

    /// The job is given up.
    fn fail(&self, lease: JobLease, now: StoreTime) -> BackendFuture<'_, bool>;

    fn queue(&self) -> BackendFuture<'_, IndexQueue>;

    /// Forgets jobs that ended before a time. How many.
    fn remove_ended(&self, before: StoreTime) -> BackendFuture<'_, u64>;
}
