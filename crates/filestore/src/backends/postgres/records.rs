//! Keys that were given out, and the log of calls.

use std::time::SystemTime;

use model::{ErrorCode, Failure, TenantId};
use serde_json::Value;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::batch::StatementBatch;
use super::failure::{Aborted, DatabaseError};
use super::files::damaged;
use super::time::{to_store_time, to_system_time};
use super::{PostgresStore, READ_PATIENCE};
use crate::backend::{BackendFuture, RecordBackend};
use crate::entry::StoreTime;
use crate::record::{CallFilter, CallRecord, KeyRecord};

const ADD_KEY: &str = "INSERT INTO {s}.mcp_file_keys (name, apikey_hash, created_at, revoked_at) \
     VALUES ($1, $2, $3, $4)";
const KEYS: &str = "SELECT name, apikey_hash, created_at, revoked_at FROM {s}.mcp_file_keys \
     ORDER BY created_at, name";
const REVOKE_KEY: &str =
    "UPDATE {s}.mcp_file_keys SET revoked_at = $2 WHERE name = $1 AND revoked_at IS NULL";
const FIND_KEY: &str = "SELECT name, apikey_hash, created_at, revoked_at FROM {s}.mcp_file_keys \
     WHERE apikey_hash = $1 AND revoked_at IS NULL";
const LOG_CALL: &str = "INSERT INTO {s}.mcp_file_calls \
     (apikey_hash, at, tool, caller, parameters, error_code, duration_ms, cost) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const CALLS: &str = "SELECT at, tool, caller, parameters, error_code, duration_ms, cost FROM {s}.mcp_file_calls \
     WHERE apikey_hash = $1 AND ($2::text IS NULL OR tool = $2) AND ($3::text IS NULL OR caller = $3) \
     AND (NOT $4::bool OR error_code IS NOT NULL) AND ($5::timestamptz IS NULL OR at >= $5) \
     AND ($6::timestamptz IS NULL OR at < $6) ORDER BY at DESC, id DESC OFFSET $7 LIMIT $8";

/// What is sent in one transaction.
const CALLS_AT_ONCE: usize = 20;

impl RecordBackend for PostgresStore {
    fn add_key(&self, key: KeyRecord) -> BackendFuture<'_, ()> {
        Box::pin(async move {
            let (created, revoked) = (to_system_time(key.created_at), key.revoked_at.map(to_system_time));
            let parameters: [&(dyn ToSql + Sync); 4] = [&key.name, &key.tenant.to_hex(), &created, &revoked];
            match self.shared_execute(ADD_KEY, &parameters).await {
                Ok(_) => Ok(()),
                Err(DatabaseError::Wrong(error)) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Err(
                    Failure::new(ErrorCode::AlreadyExists, format!("there is a key {:?} already", key.name)),
                ),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn keys(&self) -> BackendFuture<'_, Vec<KeyRecord>> {
        Box::pin(async move { self.shared_rows(KEYS, &[]).await?.iter().map(key_record).collect() })
    }

    fn revoke_key<'a>(&'a self, name: &'a str, at: StoreTime) -> BackendFuture<'a, bool> {
        Box::pin(async move { Ok(self.shared_execute(REVOKE_KEY, &[&name, &to_system_time(at)]).await? > 0) })
    }

    fn find_key(&self, digest: TenantId) -> BackendFuture<'_, Option<KeyRecord>> {
        Box::pin(async move {
            let rows = self.shared_rows(FIND_KEY, &[&digest.to_hex()]).await?;
            rows.first().map(key_record).transpose()
        })
    }

    fn log_calls(&self, calls: Vec<CallRecord>) -> BackendFuture<'_, ()> {
        Box::pin(async move {
            for some in calls.chunks(CALLS_AT_ONCE) {
                self.log_some(some).await?;
            }
            Ok(())
        })
    }

    fn calls<'a>(&'a self, tenant: TenantId, filter: &'a CallFilter) -> BackendFuture<'a, Vec<CallRecord>> {
        Box::pin(async move {
            let (from, to) = (filter.from.map(to_system_time), filter.to.map(to_system_time));
            let offset = i64::try_from(filter.offset).unwrap_or(i64::MAX);
            let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
            let tenant_text = tenant.to_hex();
            let parameters: [&(dyn ToSql + Sync); 8] = [
                &tenant_text,
                &filter.tool,
                &filter.caller,
                &filter.failed_only,
                &from,
                &to,
                &offset,
                &limit,
            ];
            let connection = self.connection(READ_PATIENCE).await?;
            let rows = self.rows_on(connection, self.bucket(tenant), CALLS, &parameters).await?;
            Ok(rows.iter().map(|row| call_record(tenant, row)).collect())
        })
    }
}

impl PostgresStore {
    async fn log_some(&self, calls: &[CallRecord]) -> Result<(), Failure> {
        let mut connection = self.connection(READ_PATIENCE).await?;
        let mut statements = Vec::new();
        for call in calls {
            let bucket = self.bucket(call.tenant);
            statements.push(connection.prepare(bucket, LOG_CALL).await.map_err(DatabaseError::from)?);
        }
        let tenants: Vec<String> = calls.iter().map(|call| call.tenant.to_hex()).collect();
        let times: Vec<SystemTime> = calls.iter().map(|call| to_system_time(call.at)).collect();
        // JSONB holds no NUL, whatever a caller sent.
        let parameters: Vec<Value> = calls.iter().map(|call| without_nul(&call.parameters)).collect();
        let numbers: Vec<(i64, i64)> =
            calls.iter().map(|call| (call.duration_ms as i64, call.cost as i64)).collect();
        let mut batch = StatementBatch::default();
        for (at, call) in calls.iter().enumerate() {
            batch.add(
                &statements[at],
                &[
                    &tenants[at],
                    &times[at],
                    &call.tool,
                    &call.caller,
                    &parameters[at],
                    &call.error_code,
                    &numbers[at].0,
                    &numbers[at].1,
                ],
            );
        }
        connection.in_transaction = true;
        connection.client.batch_execute("BEGIN").await.map_err(DatabaseError::from)?;
        batch.commit(&connection.client).await.map_err(|aborted: Aborted| Failure::from(aborted))?;
        connection.in_transaction = false;
        Ok(())
    }

    async fn shared_rows(
        &self,
        template: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, DatabaseError> {
        let mut connection = self.connection(READ_PATIENCE).await?;
        let statement = connection.prepare_shared(template).await?;
        Ok(connection.client.query(&statement, parameters).await?)
    }

    async fn shared_execute(
        &self,
        template: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, DatabaseError> {
        let mut connection = self.connection(READ_PATIENCE).await?;
        let statement = connection.prepare_shared(template).await?;
        Ok(connection.client.execute(&statement, parameters).await?)
    }
}

fn without_nul(value: &Value) -> Value {
    let text = |text: &str| text.replace('\0', "\u{FFFD}");
    match value {
        Value::String(given) => Value::String(text(given)),
        Value::Array(given) => Value::Array(given.iter().map(without_nul).collect()),
        Value::Object(given) => {
            Value::Object(given.iter().map(|(name, value)| (text(name), without_nul(value))).collect())
        }
        other => other.clone(),
    }
}

fn key_record(row: &Row) -> Result<KeyRecord, Failure> {
    Ok(KeyRecord {
        name: row.get(0),
        tenant: TenantId::from_hex(row.get(1)).ok_or_else(damaged)?,
        created_at: to_store_time(row.get(2)),
        revoked_at: row.get::<_, Option<SystemTime>>(3).map(to_store_time),
    })
}

fn call_record(tenant: TenantId, row: &Row) -> CallRecord {
    CallRecord {
        tenant,
        at: to_store_time(row.get(0)),
        tool: row.get(1),
        caller: row.get(2),
        parameters: row.get(3),
        error_code: row.get(4),
        duration_ms: row.get::<_, i64>(5) as u64,
        cost: row.get::<_, i64>(6) as u64,
    }
}
