//! Brings a store's tables up to date, once, however many servers start together.

use std::time::Duration;

use model::{ErrorCode, Failure};
use tokio::time::{Instant, sleep};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::bucket::Bucket;
use super::failure::{Aborted, DatabaseError};
use super::schema::{CHANGE_DIMENSION, CREATE_VECTOR_INDEX, MAX_INDEXED_DIMENSION, MIGRATIONS, SHARED};

/// Any number that no project's lock is likely to have: "dir2mcp1".
const MIGRATION_LOCK: i64 = i64::from_be_bytes(*b"dir2mcp1");
/// How long a server waits for another one that is migrating.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(20);

/// Makes what is missing. Each step is a transaction under one lock and looks again at what is there, so that a crash or a
/// second server in between does no harm.
pub(crate) async fn migrate(client: &mut Client, buckets: &[Bucket], dimension: u32) -> Result<(), Failure> {
    if is_up_to_date(client, buckets, dimension).await? {
        return Ok(());
    }
    make_shared(client, buckets.len()).await?;
    for bucket in buckets {
        migrate_bucket(client, bucket, dimension).await?;
    }
    Ok(())
}

/// Without a lock, for the usual start.
async fn is_up_to_date(client: &Client, buckets: &[Bucket], dimension: u32) -> Result<bool, Failure> {
    let found = client.query_one("SELECT to_regclass('dir2mcp_files.bucket_versions') IS NOT NULL", &[]);
    if !found.await.map_err(DatabaseError::from)?.get::<_, bool>(0) {
        return Ok(false);
    }
    check_bucket_count(client, buckets.len()).await?;
    let (version, dimension) = (MIGRATIONS.len() as i32, dimension as i32);
    let parameters: [&(dyn ToSql + Sync); 2] = [&version, &dimension];
    let current = client.query_one(
        "SELECT count(*) FROM dir2mcp_files.bucket_versions WHERE version = $1 AND embedding_dimension = $2",
        &parameters,
    );
    Ok(current.await.map_err(DatabaseError::from)?.get::<_, i64>(0) == buckets.len() as i64)
}

async fn make_shared(client: &mut Client, buckets: usize) -> Result<(), Failure> {
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    wait_for_turn(transaction.client()).await?;
    if let Err(error) = transaction.batch_execute("CREATE EXTENSION IF NOT EXISTS vector").await {
        return Err(without_pgvector(error));
    }
    transaction.batch_execute(SHARED).await.map_err(DatabaseError::from)?;
    let record = "INSERT INTO dir2mcp_files.store_settings (name, value) VALUES ('buckets', $1) \
                  ON CONFLICT (name) DO NOTHING";
    transaction.execute(record, &[&buckets.to_string()]).await.map_err(DatabaseError::from)?;
    check_bucket_count(transaction.client(), buckets).await?;
    Ok(transaction.commit().await.map_err(DatabaseError::from)?)
}

/// The bucket of a tenant follows from their number: with another one, the rows would not be found.
async fn check_bucket_count(client: &Client, buckets: usize) -> Result<(), Failure> {
    let query = "SELECT value FROM dir2mcp_files.store_settings WHERE name = 'buckets'";
    let Some(row) = client.query_opt(query, &[]).await.map_err(DatabaseError::from)? else {
        return Ok(());
    };
    let recorded: String = row.get(0);
    if recorded == buckets.to_string() {
        return Ok(());
    }
    Err(Failure::new(
        ErrorCode::ConfigInvalid,
        format!("the store was made with {recorded} buckets, but files.postgres.buckets is {buckets}"),
    )
    .hint(format!(
        "Set files.postgres.buckets to {recorded}, or make a new store with {buckets} in another database and copy each tenant."
    )))
}

async fn migrate_bucket(client: &mut Client, bucket: &Bucket, dimension: u32) -> Result<(), Failure> {
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    wait_for_turn(transaction.client()).await?;
    let step = async {
        let number = bucket.number as i32;
        let recorded = transaction
            .query_opt(
                "SELECT version, embedding_dimension FROM dir2mcp_files.bucket_versions WHERE bucket = $1",
                &[&number],
            )
            .await?;
        let (version, recorded_dimension) =
            recorded.map_or((0, dimension as i32), |row| (row.get::<_, i32>(0), row.get::<_, i32>(1)));
        if version as usize > MIGRATIONS.len() {
            return Err(Aborted::Refused(newer(version)));
        }
        let fill = |template: &str| bucket.sql(template).replace("{dimension}", &dimension.to_string());
        if version == 0 {
            transaction.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {}", bucket.schema())).await?;
        }
        for migration in &MIGRATIONS[version as usize..] {
            transaction.batch_execute(&fill(migration)).await?;
        }
        let other_dimension = recorded_dimension != dimension as i32;
        if other_dimension {
            transaction.batch_execute(&fill(CHANGE_DIMENSION)).await?;
        }
        if (version == 0 || other_dimension) && dimension <= MAX_INDEXED_DIMENSION {
            transaction.batch_execute(&fill(CREATE_VECTOR_INDEX)).await?;
        }
        let record = "INSERT INTO dir2mcp_files.bucket_versions (bucket, version, embedding_dimension) \
                      VALUES ($1, $2, $3) ON CONFLICT (bucket) DO UPDATE SET version = EXCLUDED.version, \
                      embedding_dimension = EXCLUDED.embedding_dimension, applied_at = now()";
        transaction.execute(record, &[&number, &(MIGRATIONS.len() as i32), &(dimension as i32)]).await?;
        Ok(())
    };
    step.await?;
    Ok(transaction.commit().await.map_err(DatabaseError::from)?)
}

/// Takes the lock of migrations until the transaction ends. It is asked for again and again instead of waited for, because a
/// waiting statement would hold back others that create indices.
async fn wait_for_turn(client: &Client) -> Result<(), Failure> {
    client.batch_execute("SET LOCAL statement_timeout = 0").await.map_err(DatabaseError::from)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let tried = client.query_one("SELECT pg_try_advisory_xact_lock($1)", &[&MIGRATION_LOCK]);
        if tried.await.map_err(DatabaseError::from)?.get::<_, bool>(0) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(Failure::new(ErrorCode::ResourceBusy, "another server is changing the tables"));
        }
        sleep(POLL).await;
    }
}

fn newer(version: i32) -> Failure {
    let known = MIGRATIONS.len();
    Failure::new(
        ErrorCode::IndexVersionMismatch,
        format!("the store has tables of version {version}; this program knows {known}"),
    )
    .hint("Use the newer version of dir2mcp that made them.")
}

fn without_pgvector(error: tokio_postgres::Error) -> Failure {
    let refused = [
        Some(&SqlState::UNDEFINED_FILE),
        Some(&SqlState::FEATURE_NOT_SUPPORTED),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE),
    ];
    if !refused.contains(&error.code()) {
        return DatabaseError::from(error).into();
    }
    Failure::new(ErrorCode::ConfigInvalid, "the database has no extension \"vector\"")
        .hint("Install pgvector and run CREATE EXTENSION vector in the database as a superuser.")
        .because(error)
}
