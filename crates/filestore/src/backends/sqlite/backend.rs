//! The port for files, on SQLite: reads go to the pool, changes to the one that writes.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use model::{Failure, TenantId};
use rusqlite::Connection;

use super::SqliteStore;
use super::fault::WorkResult;
use super::files::{self, ScopeColumns};
use super::mutate::{self, ProjectChange};
use super::versions;
use crate::backend::{BackendFuture, FileBackend};
use crate::entry::{
    FileListing, FileSlice, FileVersion, PathState, ProjectSummary, StoreTime, VersionContent,
};
use crate::mutation::{DeleteRequest, RenameRequest, RestoreRequest, WriteOutcome, WriteRequest};
use crate::path::StorePath;
use crate::project::ProjectScope;
use crate::rules;

impl SqliteStore {
    async fn read_path<T: Send + 'static>(
        &self,
        scope: &ProjectScope,
        path: &StorePath,
        work: impl FnOnce(&Connection, &ScopeColumns, &StorePath) -> WorkResult<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let (scope, path) = (ScopeColumns::of(scope), path.clone());
        self.read(move |conn| work(conn, &scope, &path)).await
    }

    async fn change<T: Send + 'static>(
        &self,
        scope: &ProjectScope,
        mut work: impl FnMut(ProjectChange) -> WorkResult<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let (columns, settings) = (ScopeColumns::of(scope), Arc::clone(&self.settings));
        let asked = Instant::now();
        let waited = Arc::new(OnceLock::new());
        let began = Arc::clone(&waited);
        let done = self
            .write(Some(scope.clone()), move |conn| {
                began.get_or_init(|| asked.elapsed());
                work(ProjectChange::begin(conn, &columns, &settings.limits, settings.now())?)
            })
            .await;
        if let Some(metrics) = self.settings.metrics.get() {
            metrics.lock_wait(*waited.get_or_init(|| asked.elapsed()));
        }
        done
    }
}

impl FileBackend for SqliteStore {
    fn stat<'a>(&'a self, scope: &'a ProjectScope, path: &'a StorePath) -> BackendFuture<'a, PathState> {
        Box::pin(self.read_path(scope, path, files::stat))
    }

    fn read<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        offset: u64,
        length: Option<u64>,
    ) -> BackendFuture<'a, FileSlice> {
        Box::pin(
            self.read_path(scope, path, move |conn, scope, path| {
                files::read(conn, scope, path, offset, length)
            }),
        )
    }

    fn write<'a>(
        &'a self,
        scope: &'a ProjectScope,
        request: WriteRequest,
    ) -> BackendFuture<'a, WriteOutcome> {
        Box::pin(async move {
            rules::check_write(self.limits(), &request)?;
            self.change(scope, move |change| change.write(&request)).await
        })
    }

    fn delete<'a>(&'a self, scope: &'a ProjectScope, request: DeleteRequest) -> BackendFuture<'a, u64> {
        Box::pin(async move {
            rules::check_delete(self.limits(), &request)?;
            self.change(scope, move |change| change.delete(&request)).await
        })
    }

    fn rename<'a>(&'a self, scope: &'a ProjectScope, request: RenameRequest) -> BackendFuture<'a, u64> {
        Box::pin(async move {
            if rules::check_rename(&request)? {
                return Ok(0);
            }
            self.change(scope, move |change| change.rename(&request)).await
        })
    }

    fn list<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        depth: usize,
        limit: usize,
    ) -> BackendFuture<'a, FileListing> {
        Box::pin(
            self.read_path(scope, path, move |conn, scope, path| {
                files::list(conn, scope, path, depth, limit)
            }),
        )
    }

    fn projects(&self, tenant: TenantId) -> BackendFuture<'_, Vec<ProjectSummary>> {
        Box::pin(self.read(move |conn| files::projects(conn, tenant)))
    }

    fn versions<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
    ) -> BackendFuture<'a, Vec<FileVersion>> {
        Box::pin(self.read_path(scope, path, versions::list))
    }

    fn version_content<'a>(
        &'a self,
        scope: &'a ProjectScope,
        path: &'a StorePath,
        version: i64,
    ) -> BackendFuture<'a, VersionContent> {
        Box::pin(
            self.read_path(scope, path, move |conn, scope, path| {
                versions::content(conn, scope, path, version)
            }),
        )
    }

    fn restore<'a>(
        &'a self,
        scope: &'a ProjectScope,
        request: RestoreRequest,
    ) -> BackendFuture<'a, WriteOutcome> {
        Box::pin(self.change(scope, move |change| change.restore(&request)))
    }

    fn purge(&self, now: StoreTime) -> BackendFuture<'_, u64> {
        let settings = Arc::clone(&self.settings);
        Box::pin(self.write(None, move |conn| mutate::purge(conn, &settings.limits, now)))
    }
}
