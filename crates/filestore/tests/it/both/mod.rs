//! What both backends promise, tested on each: the same body runs on SQLite and on PostgreSQL.

mod credentials;
mod indexing;
mod outage;
mod searching;
mod starting;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use filestore::backends::postgres::{PostgresOptions, PostgresStore};
use filestore::backends::sqlite::SqliteStore;
use filestore::indexing::{ChunkEmbedder, IndexBackend, IndexSettings, LocalChunkEmbedder, StoreIndexWorker};
use filestore::search::{FileSearch, SearchBackend, SearchHit, SearchSettings, StoreSearchRequest};
use filestore::{FileStore, MutationGuard, ProjectName, RawWriteArguments, StoreLimits, WriteOutcome};
use model::{Failure, IndexKind, LocalEmbedder, TenantId, WallClock};
use testkit::{Database, Postgres};

pub(crate) const ALICE: TenantId = TenantId::from_digest([1; 32]);
pub(crate) const BOB: TenantId = TenantId::from_digest([2; 32]);

/// Words by their hashes: texts with the same words are near each other.
pub(crate) struct HashedWords;

const DIMENSIONS: usize = 64;

impl LocalEmbedder for HashedWords {
    fn model(&self, _: IndexKind) -> &str {
        "hashed-words"
    }

    fn dimensions(&self, _: IndexKind) -> usize {
        DIMENSIONS
    }

    fn embed(&self, _: IndexKind, texts: &[&str]) -> Vec<Vec<f32>> {
        let vector = |text: &&str| {
            let mut vector = vec![0.0_f32; DIMENSIONS];
            for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                let hash = blake3::hash(word.to_lowercase().as_bytes());
                vector[usize::from(hash.as_bytes()[0]) % DIMENSIONS] += 1.0;
            }
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            if length > 0.0 {
                vector.iter_mut().for_each(|x| *x /= length);
            }
            vector
        };
        texts.iter().map(vector).collect()
    }
}

#[derive(Debug)]
pub(crate) struct RealTime;

impl WallClock for RealTime {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

enum Kept {
    Sqlite(#[allow(dead_code, reason = "removed when it is dropped")] tempfile::TempDir),
    Postgres(Database),
}

/// A store of one test.
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) store: FileStore,
    pub(crate) index: Arc<dyn IndexBackend>,
    pub(crate) search: Arc<dyn SearchBackend>,
    kept: Kept,
}

impl Bench {
    pub(crate) fn sqlite(limits: StoreLimits) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("files.sqlite");
        let backend = Arc::new(SqliteStore::open(&path, limits.clone(), Arc::new(RealTime)).unwrap());
        Bench {
            name: "SQLite",
            store: FileStore::new(backend.clone(), backend.clone(), limits),
            index: backend.clone(),
            search: backend,
            kept: Kept::Sqlite(folder),
        }
    }

    pub(crate) async fn postgres(limits: StoreLimits) -> Bench {
        let database = tokio::task::spawn_blocking(|| Postgres::shared().database()).await.unwrap();
        let options = PostgresOptions { limits: limits.clone(), buckets: 2, ..options(database.url()) };
        let backend = Arc::new(PostgresStore::open(options).await.unwrap());
        Bench {
            name: "PostgreSQL",
            store: FileStore::new(backend.clone(), backend.clone(), limits),
            index: backend.clone(),
            search: backend,
            kept: Kept::Postgres(database),
        }
    }

    pub(crate) async fn each() -> [Bench; 2] {
        Bench::each_with(StoreLimits::default()).await
    }

    pub(crate) async fn each_with(limits: StoreLimits) -> [Bench; 2] {
        [Bench::sqlite(limits.clone()), Bench::postgres(limits).await]
    }

    pub(crate) fn worker(&self, lease: Duration) -> StoreIndexWorker {
        let settings =
            IndexSettings { lease, retry_backoff: Duration::from_millis(1), ..IndexSettings::default() };
        let embedder = Arc::new(LocalChunkEmbedder::new(Arc::new(HashedWords)));
        StoreIndexWorker::new(Arc::clone(&self.index), embedder, Arc::new(RealTime), settings)
    }

    /// Works off all jobs.
    pub(crate) async fn settle(&self) {
        let embedder = LocalChunkEmbedder::new(Arc::new(HashedWords));
        let prepared = self.index.prepare_vectors(embedder.model(), embedder.dimensions(), now());
        prepared.await.unwrap();
        self.worker(Duration::from_secs(60)).drain().await.unwrap();
    }

    pub(crate) fn searching(&self) -> FileSearch {
        FileSearch {
            backend: Arc::clone(&self.search),
            embedder: Arc::new(LocalChunkEmbedder::new(Arc::new(HashedWords))),
            clock: Arc::new(RealTime),
            settings: SearchSettings::default(),
        }
    }

    pub(crate) async fn write(&self, tenant: TenantId, path: &str, content: &str) -> WriteOutcome {
        self.try_write(tenant, "p", path, content).await.unwrap_or_else(|failure| {
            panic!("{}: {failure}", self.name);
        })
    }

    pub(crate) async fn try_write(
        &self,
        tenant: TenantId,
        project: &str,
        path: &str,
        content: &str,
    ) -> Result<WriteOutcome, Failure> {
        let arguments = RawWriteArguments {
            project,
            path,
            content: content.to_owned(),
            content_encoding: None,
            offset: 0,
            mode: Some("TRUNCATE"),
        };
        self.store.write(tenant, arguments, MutationGuard::default()).await
    }

    pub(crate) async fn find(&self, tenant: TenantId, query: &str) -> Vec<SearchHit> {
        self.find_with(question(tenant, query)).await
    }

    pub(crate) async fn find_with(&self, request: StoreSearchRequest) -> Vec<SearchHit> {
        let found = self.searching().search(&request).await;
        found.unwrap_or_else(|failure| panic!("{}: {failure}", self.name)).hits
    }

    /// Values of one column by a statement that both databases understand; `{s}` is the schema of the tenant's tables.
    pub(crate) fn column(&self, tenant: TenantId, sql: &str) -> Vec<String> {
        match &self.kept {
            Kept::Sqlite(folder) => {
                let conn = rusqlite::Connection::open(folder.path().join("files.sqlite")).unwrap();
                let mut statement = conn.prepare(&sql.replace("{s}.", "")).unwrap();
                let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
                rows.collect::<Result<_, _>>().unwrap()
            }
            Kept::Postgres(database) => {
                let schema = if tenant.digest()[7].is_multiple_of(2) {
                    "dir2mcp_files_0000"
                } else {
                    "dir2mcp_files_0001"
                };
                let rows = database.rows(&sql.replace("{s}", schema));
                rows.into_iter().map(|mut row| row.remove(0)).collect()
            }
        }
    }
}

pub(crate) fn options(url: &str) -> PostgresOptions {
    PostgresOptions::new(url, DIMENSIONS as u32)
}

pub(crate) fn question(tenant: TenantId, query: &str) -> StoreSearchRequest {
    StoreSearchRequest {
        tenant,
        project: Some(ProjectName::parse("p").unwrap()),
        query: query.to_owned(),
        path_prefix: String::new(),
        limit: None,
        secret: None,
        reranker: None,
    }
}

pub(crate) fn now() -> filestore::StoreTime {
    filestore::StoreTime(RealTime.since_1970().as_micros() as i64)
}

impl Bench {
    /// Moves the times of a tenant's jobs into the future.
    fn shift(&self, tenant: TenantId, seconds: i64) {
        match &self.kept {
            Kept::Sqlite(folder) => {
                let conn = rusqlite::Connection::open(folder.path().join("files.sqlite")).unwrap();
                let micros = seconds * 1_000_000;
                let sql = format!("UPDATE mcp_file_index_jobs SET available_at = available_at + {micros}");
                conn.execute_batch(&sql).unwrap();
            }
            Kept::Postgres(database) => {
                let schema = if tenant.digest()[7].is_multiple_of(2) {
                    "dir2mcp_files_0000"
                } else {
                    "dir2mcp_files_0001"
                };
                database.run(&format!(
                    "UPDATE {schema}.mcp_file_index_jobs SET available_at = available_at + INTERVAL '{seconds} s'"
                ));
            }
        }
    }
}
