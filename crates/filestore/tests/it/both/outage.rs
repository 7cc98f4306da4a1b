//! A database that goes away and comes back: nothing acknowledged is lost, and no restart is needed.

use std::time::Duration;

use filestore::backends::postgres::PostgresStore;
use filestore::{FileBackend, FileStore, MutationGuard, RawWriteArguments, StoreLimits};
use model::ErrorCode;
use std::sync::Arc;
use testkit::Postgres;
use tokio::time::Instant;

use super::{ALICE, options};

fn append(number: usize) -> RawWriteArguments<'static> {
    RawWriteArguments {
        project: "p",
        path: "/log",
        content: format!("{number};"),
        content_encoding: None,
        offset: 0,
        mode: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_comes_back_is_used_within_two_seconds() {
    let (server, database) = tokio::task::spawn_blocking(|| {
        let server = Postgres::private();
        let database = server.database();
        (server, database)
    })
    .await
    .unwrap();
    let limits = StoreLimits { lock_timeout: Duration::from_millis(300), ..StoreLimits::default() };
    let mut options = options(database.url());
    options.limits = limits.clone();
    let backend = Arc::new(PostgresStore::open(options).await.unwrap());
    let store = FileStore::new(backend.clone(), backend.clone(), limits);
    store.write(ALICE, append(1), MutationGuard::default()).await.unwrap();

    let server = Arc::new(server);
    let stopping = Arc::clone(&server);
    tokio::task::spawn_blocking(move || stopping.stop()).await.unwrap();
    let busy = store.write(ALICE, append(2), MutationGuard::default()).await.unwrap_err();
    assert_eq!((busy.code, busy.retryable()), (ErrorCode::ResourceBusy, true));
    let busy = store.read(ALICE, "p", "/log", 0, -1).await.unwrap_err();
    assert_eq!((busy.code, busy.retryable()), (ErrorCode::ResourceBusy, true));

    let starting = Arc::clone(&server);
    tokio::task::spawn_blocking(move || starting.start()).await.unwrap();
    let back = Instant::now();
    loop {
        match store.write(ALICE, append(3), MutationGuard::default()).await {
            Ok(_) => break,
            Err(failure) => assert_eq!(failure.code, ErrorCode::ResourceBusy),
        }
        assert!(back.elapsed() < Duration::from_secs(2), "it recovers without a restart");
    }
    assert!(back.elapsed() < Duration::from_secs(2));
    assert_eq!(store.read(ALICE, "p", "/log", 0, -1).await.unwrap().content, "1;3;");

    // A crash between two calls is not seen by reads.
    let crashing = Arc::clone(&server);
    tokio::task::spawn_blocking(move || crashing.crash()).await.unwrap();
    assert_eq!(store.read(ALICE, "p", "/log", 0, -1).await.unwrap().content, "1;3;");
    drop(backend as Arc<dyn FileBackend>);
}
