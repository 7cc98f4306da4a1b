//! A store on either backend as writers, workers and readers see it, and an embedder that a test directs.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use filestore::backends::postgres::{PostgresOptions, PostgresStore};
use filestore::backends::sqlite::SqliteStore;
use filestore::indexing::{ChunkEmbedder, EmbedTask, IndexBackend};
use filestore::search::SearchBackend;
use filestore::{
    DeleteRequest, FileBackend, MutationGuard, ProjectName, ProjectScope, StoreLimits, StorePath, WriteMode,
    WriteRequest,
};
use futures::future::BoxFuture;
use model::{ProviderError, ProviderErrorKind, TenantId, WallClock};
use testkit::Postgres;

pub(crate) const DIMENSIONS: usize = 4;

pub(crate) fn file(path: &str) -> StorePath {
    StorePath::parse_file(path).unwrap()
}

/// A project of a tenant that has this number.
pub(crate) fn project_of(number: u8) -> ProjectScope {
    ProjectScope::new(TenantId::from_digest([number; 32]), ProjectName::parse("p").unwrap())
}

#[derive(Debug)]
pub(crate) struct RealTime;

impl WallClock for RealTime {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A store as workers, writers and readers see it.
pub(crate) struct Sides {
    pub(crate) files: Arc<dyn FileBackend>,
    pub(crate) index: Arc<dyn IndexBackend>,
    pub(crate) search: Arc<dyn SearchBackend>,
    /// What has to live as long as the store.
    _held: Box<dyn Any + Send + Sync>,
}

impl Sides {
    fn of<S: FileBackend + IndexBackend + SearchBackend>(store: S, held: impl Any + Send + Sync) -> Sides {
        let store = Arc::new(store);
        Sides { files: store.clone(), index: store.clone(), search: store, _held: Box::new(held) }
    }

    /// A store in a temporary folder.
    pub(crate) fn sqlite() -> Sides {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("files.sqlite");
        let store = SqliteStore::open(&path, StoreLimits::default(), Arc::new(RealTime)).unwrap();
        Sides::of(store, folder)
    }

    /// A store in a database of its own.
    pub(crate) async fn postgres() -> Sides {
        let database = Postgres::shared().database();
        let options = PostgresOptions::new(database.url(), DIMENSIONS as u32);
        Sides::of(PostgresStore::open(options).await.unwrap(), database)
    }

    /// Makes the content the whole file.
    pub(crate) async fn write(&self, scope: &ProjectScope, path: &str, content: &str) {
        let request = WriteRequest {
            path: file(path),
            content: content.into(),
            mode: WriteMode::Truncate,
            offset: 0,
            guard: MutationGuard::default(),
        };
        self.files.write(scope, request).await.unwrap();
    }

    pub(crate) async fn delete(&self, scope: &ProjectScope, path: &str) {
        let request = DeleteRequest { path: file(path), recursive: false, guard: MutationGuard::default() };
        self.files.delete(scope, request).await.unwrap();
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
