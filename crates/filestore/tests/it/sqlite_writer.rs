//! How changes reach the disk: together, in turn with other processes, and not at all when it is full.

use std::sync::Arc;
use std::time::Duration;

use filestore::backends::sqlite::{SqliteStore, SqliteStoreError};
use filestore::{MutationGuard, StoreLimits};
use model::ErrorCode;

use crate::sqlite_world::{ALICE, BOB, World, write_arguments};

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_writers_that_wait_together_share_one_commit() {
    let world = Arc::new(World::new());
    let commits = world.sqlite.commits();
    let held = world.other_connection();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writers: Vec<_> = (0..16)
        .map(|number| {
            let world = Arc::clone(&world);
            tokio::spawn(async move { world.write(&format!("/f{number}"), "x").await })
        })
        .collect();
    while world.sqlite.waiting_changes() < 16 {
        tokio::task::yield_now().await;
    }
    held.execute_batch("COMMIT").unwrap();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    assert_eq!(*commits.borrow(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn f122_concurrent_appends_lose_nothing() {
    let world = Arc::new(World::new());
    let writers: Vec<_> = (0..24)
        .map(|number| {
            let world = Arc::clone(&world);
            tokio::spawn(async move { world.write_at("/log", &format!("{number:03};"), "APPEND", 0).await })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    let content = world.read("/log").await.unwrap();
    assert_eq!(content.len(), 96);
    let mut tokens: Vec<&str> = content.split_terminator(';').collect();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 24);
}

#[tokio::test]
async fn f119_a_lock_that_is_held_too_long_is_told_and_passes() {
    let world =
        World::with(StoreLimits { lock_timeout: Duration::from_millis(500), ..StoreLimits::default() });
    world.write("/a", "before").await.unwrap();
    let held = world.other_connection();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let failure = world.write("/a", "refused").await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::ResourceBusy);
    assert!(failure.retryable());
    assert_eq!(world.read("/a").await.unwrap(), "before");
    held.execute_batch("ROLLBACK").unwrap();
    world.write("/a", "after").await.unwrap();
    assert_eq!(world.read("/a").await.unwrap(), "after");
}

#[tokio::test(flavor = "multi_thread")]
async fn f117_two_stores_on_one_database_see_each_other() {
    let world = Arc::new(World::new());
    let limits = StoreLimits::default();
    let other = SqliteStore::open(&world.database(), limits.clone(), world.clock.clone()).unwrap();
    let other = filestore::FileStore::new(Arc::new(other.clone()), Arc::new(other), limits);
    let appending = {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            for _ in 0..100 {
                world.write_at("/log", "a", "APPEND", 0).await.unwrap();
            }
        })
    };
    for _ in 0..100 {
        let arguments = write_arguments("/log", "b", "APPEND", 0);
        other.write(ALICE, arguments, MutationGuard::default()).await.unwrap();
    }
    appending.await.unwrap();
    let content = other.read(ALICE, "p", "/log", 0, -1).await.unwrap().content;
    assert_eq!((content.matches('a').count(), content.matches('b').count()), (100, 100));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_spares_others_and_passes() {
    let world = Arc::new(World::new());
    world.write("/small", "kept").await.unwrap();
    let pages: u32 =
        world.other_connection().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    world.sqlite.limit_pages(Some(pages + 20));
    let large = "x".repeat(1_000_000);
    let failure = world.write("/large", &large).await.unwrap_err();
    assert_eq!(failure.code, ErrorCode::ResourceBusy);
    assert!(failure.retryable() && failure.message.contains("full"), "{failure}");
    assert_eq!(world.read("/small").await.unwrap(), "kept");

    // In one transaction with one that has no room, a small change is still made.
    let held = world.other_connection();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let spawn = |path: &'static str, content: String| {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.write(path, &content).await })
    };
    let (refused, made) = (spawn("/large", large.clone()), spawn("/tiny", "t".to_owned()));
    while world.sqlite.waiting_changes() < 2 {
        tokio::task::yield_now().await;
    }
    held.execute_batch("COMMIT").unwrap();
    assert_eq!(refused.await.unwrap().unwrap_err().code, ErrorCode::ResourceBusy);
    made.await.unwrap().unwrap();

    world.sqlite.limit_pages(None);
    world.write("/large", &large).await.unwrap();
    assert_eq!(world.read("/large").await.unwrap(), large);
}

#[tokio::test]
async fn f121_what_was_acknowledged_is_there_after_opening_again() {
    let world = World::new();
    world.write("/a", "kept").await.unwrap();
    let World { folder, clock, sqlite, store } = world;
    drop((sqlite, store));
    let path = folder.path().join("files.sqlite");
    let limits = StoreLimits::default();
    let again = SqliteStore::open(&path, limits.clone(), clock.clone()).unwrap();
    let store = filestore::FileStore::new(Arc::new(again.clone()), Arc::new(again), limits.clone());
    assert_eq!(store.read(ALICE, "p", "/a", 0, -1).await.unwrap().content, "kept");
    assert_eq!(store.read(BOB, "p", "/a", 0, -1).await.unwrap_err().code, ErrorCode::NotFound);
    drop(store);

    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.pragma_update(None, "user_version", 1000).unwrap();
    drop(conn);
    let refused = SqliteStore::open(&path, limits.clone(), clock.clone()).err().unwrap();
    assert!(matches!(refused, SqliteStoreError::NewerFormat { found: 1000, .. }), "{refused}");

    let foreign = folder.path().join("foreign.sqlite");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let refused = SqliteStore::open(&foreign, limits, clock).err().unwrap();
    assert!(matches!(refused, SqliteStoreError::Foreign { .. }), "{refused}");
}
