//! The ports of the store: what a backend does for files and for records. The one for the index is in `indexing`.

use futures::future::BoxFuture;
use model::{Failure, TenantId};

use crate::entry::{
    FileListing, FileSlice, FileVersion, PathState, ProjectSummary, StoreTime, VersionContent,
};
use crate::mutation::{DeleteRequest, RenameRequest, RestoreRequest, WriteOutcome, WriteRequest};
use crate::path::StorePath;
use crate::project::ProjectScope;
use crate::record::{CallFilter, CallRecord, KeyRecord};

pub type BackendFuture<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// Keeps the files of tenants.
///
/// Changes of one project happen one after another, across all processes on the store; a change that waits longer than
/// `StoreLimits::lock_timeout` fails with RESOURCE_BUSY. Each is one transaction: the rules' decision, the rows, the former
/// contents (versions), the index jobs, and the outcome under its [`MutationKey`](crate::MutationKey).
pub trait FileBackend: Send + Sync + 'static {
    fn stat<'a>(&'a self, scope: &'a ProjectScope, path: &'a StorePath) -> BackendFuture<'a, PathState>;

    /// From `offset` on, `length` bytes or all; beyond the end nothing.
    fn read<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        offset: u64,
        length: Option<u64>,
    ) -> BackendFuture<'a, FileSlice>;

    fn write<'a>(&'a self, scope: &'a ProjectScope, request: WriteRequest)
    -> BackendFuture<'a, WriteOutcome>;

    /// How many files were deleted.
    fn delete<'a>(&'a self, scope: &'a ProjectScope, request: DeleteRequest) -> BackendFuture<'a, u64>;

    /// How many files were moved.
    fn rename<'a>(&'a self, scope: &'a ProjectScope, request: RenameRequest) -> BackendFuture<'a, u64>;

    /// Entries below `path` down to `depth` levels, or the one at it for depth 0.
    fn list<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        depth: usize,
        limit: usize,
    ) -> BackendFuture<'a, FileListing>;

    fn projects(&self, tenant: TenantId) -> BackendFuture<'_, Vec<ProjectSummary>>;

    /// Newest first.
    fn versions<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
    ) -> BackendFuture<'a, Vec<FileVersion>>;

    fn version_content<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        version: i64,
    ) -> BackendFuture<'a, VersionContent>;

    fn restore<'a>(
        &'a self,
        scope: &'a ProjectScope,
        request: RestoreRequest,
    ) -> BackendFuture<'a, WriteOutcome>;

    /// Removes for good what was deleted, replaced or remembered longer ago than the limits keep. How many rows went.
    fn purge(&self, now: StoreTime) -> BackendFuture<'_, u64>;
}

/// Keeps keys and the log of calls.
pub trait RecordBackend: Send + Sync + 'static {
    fn add_key(&self, key: KeyRecord) -> BackendFuture<'_, ()>;

    fn keys(&self) -> BackendFuture<'_, Vec<KeyRecord>>;

    /// Whether there was such a key.
    fn revoke_key<'a>(&'a self, name: &'a str, at: StoreTime) -> BackendFuture<'a, bool>;

    /// The key whose digest this is, unless it was revoked.
    fn find_key(&self, digest: TenantId) -> BackendFuture<'_, Option<KeyRecord>>;

    fn log_calls(&self, calls: Vec<CallRecord>) -> BackendFuture<'_, ()>;

    fn calls<'a>(&'a self, tenant: TenantId, filter: &'a CallFilter) -> BackendFuture<'a, Vec<CallRecord>>;
}
