//! How a store in PostgreSQL begins: its tables are made once, and what does not fit is said.

use std::sync::Arc;

use filestore::backends::postgres::{PostgresOptions, PostgresStore};
use model::ErrorCode;
use testkit::Postgres;

use super::options;

async fn database() -> testkit::Database {
    tokio::task::spawn_blocking(|| Postgres::shared().database()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn f160_migrations_run_once_however_many_servers_start_together() {
    let database = Arc::new(database().await);
    let opening: Vec<_> = (0..8)
        .map(|_| {
            let database = Arc::clone(&database);
            tokio::spawn(async move {
                PostgresStore::open(PostgresOptions { buckets: 3, ..options(database.url()) })
                    .await
                    .map(|_| ())
            })
        })
        .collect();
    for opened in opening {
        opened.await.unwrap().unwrap();
    }
    let versions = database.rows("SELECT bucket, version FROM dir2mcp_files.bucket_versions ORDER BY bucket");
    assert_eq!(versions, [["0", "3"], ["1", "3"], ["2", "3"]]);
    let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'dir2mcp_files_0002' \
                  AND table_name IN ('mcp_files', 'mcp_file_chunks', 'mcp_file_chunk_embeddings', \
                  'mcp_file_chunk_bm25', 'mcp_file_index_jobs')";
    assert_eq!(database.value(tables), "5");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_number_of_buckets_is_refused() {
    let database = database().await;
    PostgresStore::open(options(database.url())).await.unwrap();
    let other = PostgresOptions { buckets: 2, ..options(database.url()) };
    let refused = PostgresStore::open(other).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::ConfigInvalid);
    assert!(refused.hint.unwrap().contains("Set files.postgres.buckets to 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_a_newer_version_are_left_alone() {
    let database = database().await;
    PostgresStore::open(options(database.url())).await.unwrap();
    database.run("UPDATE dir2mcp_files.bucket_versions SET version = 99");
    let refused = PostgresStore::open(options(database.url())).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::IndexVersionMismatch);
}

#[tokio::test]
async fn a_database_that_is_not_there_is_worth_another_try_and_no_secret_is_told() {
    let mut unreachable = options("postgres://someone:secret-word@127.0.0.1:1/none");
    unreachable.connect_timeout = std::time::Duration::from_millis(300);
    let failure = PostgresStore::open(unreachable).await.map(|_| ()).unwrap_err();
    assert_eq!(failure.code, ErrorCode::ResourceBusy);
    assert!(failure.retryable());
    assert!(!format!("{failure} {failure:?}").contains("secret-word"));
}
