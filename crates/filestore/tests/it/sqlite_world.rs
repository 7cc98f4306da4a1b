//! A store in a temporary folder, with a clock that the test sets.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use filestore::backends::sqlite::SqliteStore;
use filestore::{FileStore, MutationGuard, RawWriteArguments, StoreLimits, WriteOutcome};
use model::{ErrorCode, Failure, TenantId, WallClock};

pub(crate) const ALICE: TenantId = TenantId::from_digest([1; 32]);
pub(crate) const BOB: TenantId = TenantId::from_digest([2; 32]);

/// Stands still until it is set.
#[derive(Debug)]
pub(crate) struct SetTime(pub(crate) AtomicU64);

impl WallClock for SetTime {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) clock: Arc<SetTime>,
    pub(crate) sqlite: SqliteStore,
    pub(crate) store: FileStore,
}

impl World {
    pub(crate) fn new() -> World {
        World::with(StoreLimits::default())
    }

    pub(crate) fn with(limits: StoreLimits) -> World {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(SetTime(AtomicU64::new(1_000_000)));
        let sqlite =
            SqliteStore::open(&folder.path().join("files.sqlite"), limits.clone(), clock.clone()).unwrap();
        let store = FileStore::new(Arc::new(sqlite.clone()), Arc::new(sqlite.clone()), limits);
        World { folder, clock, sqlite, store }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("files.sqlite")
    }

    /// A connection of another program.
    pub(crate) fn other_connection(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.database()).unwrap()
    }

    pub(crate) async fn write(&self, path: &str, content: &str) -> Result<WriteOutcome, Failure> {
        self.write_at(path, content, "TRUNCATE", 0).await
    }

    pub(crate) async fn write_at(
        &self,
        path: &str,
        content: &str,
        mode: &str,
        offset: i64,
    ) -> Result<WriteOutcome, Failure> {
        self.store.write(ALICE, write_arguments(path, content, mode, offset), MutationGuard::default()).await
    }

    pub(crate) async fn read(&self, path: &str) -> Result<String, Failure> {
        Ok(self.store.read(ALICE, "p", path, 0, -1).await?.content)
    }

    pub(crate) async fn delete(&self, path: &str, recursive: bool) -> Result<u64, Failure> {
        self.store.delete(ALICE, "p", path, recursive, MutationGuard::default()).await
    }

    pub(crate) async fn rename(&self, from: &str, to: &str, overwrite: bool) -> Result<u64, Failure> {
        self.store.rename(ALICE, "p", from, to, overwrite, MutationGuard::default()).await
    }

    /// Paths of a listing, directories with a slash behind, and whether there is more.
    pub(crate) async fn list(
        &self,
        path: &str,
        depth: i64,
        limit: Option<i64>,
    ) -> Result<(Vec<String>, bool), Failure> {
        let listing = self.store.list(ALICE, "p", path, depth, limit).await?;
        let names = listing.entries.iter().map(|entry| {
            let slash = if entry.is_directory { "/" } else { "" };
            format!("{}{slash}", entry.path)
        });
        Ok((names.collect(), listing.has_more))
    }

    /// Operation and path of each index job, in order.
    pub(crate) fn jobs(&self) -> Vec<String> {
        let conn = self.other_connection();
        let mut statement = conn
            .prepare("SELECT operation || ' ' || file_path FROM mcp_file_index_jobs ORDER BY id")
            .unwrap();
        let jobs = statement.query_map([], |row| row.get(0)).unwrap();
        jobs.collect::<Result<_, _>>().unwrap()
    }
}

pub(crate) fn write_arguments<'a>(
    path: &'a str,
    content: &str,
    mode: &'a str,
    offset: i64,
) -> RawWriteArguments<'a> {
    RawWriteArguments {
        project: "p",
        path,
        content: content.to_owned(),
        content_encoding: None,
        offset,
        mode: Some(mode),
    }
}

#[track_caller]
pub(crate) fn assert_code<T: std::fmt::Debug>(result: Result<T, Failure>, code: ErrorCode) {
    assert_eq!(result.expect_err("it is refused").code, code);
}
