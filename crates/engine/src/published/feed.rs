//! The way from a thread that follows a project to the store, which is asked asynchronously.

use std::sync::Arc;

use filestore::publication::{PublicationCursor, PublicationHead, PublishedBody, PublishedRow};
use filestore::{ProjectName, ProjectScope};
use futures::future::BoxFuture;
use model::{Failure, TenantId};
use tokio::runtime::Runtime;

use crate::tenant_files::{OpenedStore, TenantFiles};

/// What a server follows: the records of one project. For threads that may block.
pub trait PublishedFeed: Send + Sync {
    /// How far the publication is; `None` where there is none.
    fn head(&self) -> Result<Option<PublicationHead>, Failure>;

    /// What changed after a place, oldest first.
    fn changes(&self, after: &PublicationCursor, limit: usize) -> Result<Vec<PublishedRow>, Failure>;

    fn bodies(&self, paths: Vec<String>) -> Result<Vec<PublishedBody>, Failure>;
}

/// A project of the store. It has a thread of its own to talk to the store with: those of the server answer calls.
pub struct StoreFeed {
    files: Arc<TenantFiles>,
    scope: ProjectScope,
    runtime: Option<Runtime>,
}

impl StoreFeed {
    /// `tenant` says whose project it is; an error of the system comes before its own.
    pub fn new<E>(
        files: Arc<TenantFiles>,
        project: ProjectName,
        tenant: impl Future<Output = Result<TenantId, E>>,
    ) -> std::io::Result<Result<StoreFeed, E>> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("published project")
            .enable_all()
            .build()?;
        // On the thread that the store is used from: connections belong to the runtime that opened them.
        let tenant = runtime.block_on(tenant);
        let feed =
            |tenant| StoreFeed { files, scope: ProjectScope::new(tenant, project), runtime: Some(runtime) };
        Ok(tenant.map(feed))
    }

    pub fn scope(&self) -> &ProjectScope {
        &self.scope
    }

    /// Runs longer work with the store, which this thread waits for.
    pub fn run_with<T>(
        &self,
        work: impl AsyncFnOnce(&OpenedStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.runtime().block_on(async {
            let store = self.files.store().await?;
            work(store).await
        })
    }

    fn runtime(&self) -> &Runtime {
        let Some(runtime) = &self.runtime else { unreachable!("it goes when the feed is dropped") };
        runtime
    }

    /// Does something with the store on the feed's own thread.
    pub fn run<T>(
        &self,
        work: impl for<'a> FnOnce(&'a OpenedStore, &'a ProjectScope) -> BoxFuture<'a, Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.runtime().block_on(async {
            let store = self.files.store().await?;
            work(store, &self.scope).await
        })
    }
}

impl Drop for StoreFeed {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped by a thread that must not wait.
            runtime.shutdown_background();
        }
    }
}

impl PublishedFeed for StoreFeed {
    fn head(&self) -> Result<Option<PublicationHead>, Failure> {
        self.run(|store, scope| store.publications.publication(scope))
    }

    fn changes(&self, after: &PublicationCursor, limit: usize) -> Result<Vec<PublishedRow>, Failure> {
        let after = after.clone();
        self.run(move |store, scope| {
            Box::pin(async move { store.publications.published_changes(scope, &after, limit).await })
        })
    }

    fn bodies(&self, paths: Vec<String>) -> Result<Vec<PublishedBody>, Failure> {
        self.run(|store, scope| store.publications.published_bodies(scope, paths))
    }
}
