//! Keys that were given out, and the log of calls.

use model::{ErrorCode, Failure, TenantId};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::SqliteStore;
use super::fault::WorkResult;
use super::files::unsigned;
use crate::backend::{BackendFuture, RecordBackend};
use crate::entry::StoreTime;
use crate::record::{CallFilter, CallRecord, KeyRecord};

impl RecordBackend for SqliteStore {
    fn add_key(&self, key: KeyRecord) -> BackendFuture<'_, ()> {
        Box::pin(self.write(None, move |conn| add_key(conn, &key)))
    }

    fn keys(&self) -> BackendFuture<'_, Vec<KeyRecord>> {
        Box::pin(self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT name, apikey_hash, created_at, revoked_at FROM mcp_file_keys ORDER BY name, id",
            )?;
            let rows = statement.query_map([], key_columns)?.collect::<rusqlite::Result<Vec<_>>>()?;
            rows.into_iter().map(key_record).collect()
        }))
    }

    fn revoke_key<'a>(&'a self, name: &'a str, at: StoreTime) -> BackendFuture<'a, bool> {
        let name = name.to_owned();
        Box::pin(self.write(None, move |conn| {
            let sql = "UPDATE mcp_file_keys SET revoked_at = ?2 WHERE name = ?1 AND revoked_at IS NULL";
            Ok(conn.prepare_cached(sql)?.execute(params![name, at.0])? > 0)
        }))
    }

    fn find_key(&self, digest: TenantId) -> BackendFuture<'_, Option<KeyRecord>> {
        Box::pin(self.read(move |conn| {
            let found = conn
                .prepare_cached(
                    "SELECT name, apikey_hash, created_at, revoked_at FROM mcp_file_keys
                     WHERE apikey_hash = ?1 AND revoked_at IS NULL",
                )?
                .query_row([digest.to_hex()], key_columns)
                .optional()?;
            found.map(key_record).transpose()
        }))
    }

    fn log_calls(&self, calls: Vec<CallRecord>) -> BackendFuture<'_, ()> {
        Box::pin(self.write(None, move |conn| calls.iter().try_for_each(|call| log_call(conn, call))))
    }

    fn calls<'a>(&'a self, tenant: TenantId, filter: &'a CallFilter) -> BackendFuture<'a, Vec<CallRecord>> {
        let filter = filter.clone();
        Box::pin(self.read(move |conn| calls(conn, tenant, &filter)))
    }
}

fn add_key(conn: &Connection, key: &KeyRecord) -> WorkResult<()> {
    let is_taken = conn
        .prepare_cached(
            "SELECT 1 FROM mcp_file_keys WHERE (name = ?1 AND revoked_at IS NULL) OR apikey_hash = ?2",
        )?
        .exists(params![key.name, key.tenant.to_hex()])?;
    if is_taken {
        return Err(Failure::new(ErrorCode::AlreadyExists, format!("there is a key {:?} already", key.name))
            .hint("Revoke it first, or choose another name.")
            .into());
    }
    conn.prepare_cached(
        "INSERT INTO mcp_file_keys (name, apikey_hash, created_at, revoked_at) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![
        key.name,
        key.tenant.to_hex(),
        key.created_at.0,
        key.revoked_at.map(|time| time.0)
    ])?;
    Ok(())
}

fn log_call(conn: &Connection, call: &CallRecord) -> WorkResult<()> {
    conn.prepare_cached(
        "INSERT INTO mcp_file_calls (apikey_hash, at, tool, caller, parameters, error_code, duration_ms, cost)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        call.tenant.to_hex(),
        call.at.0,
        call.tool,
        call.caller,
        call.parameters.to_string(),
        call.error_code,
        i64::try_from(call.duration_ms).unwrap_or(i64::MAX),
        i64::try_from(call.cost).unwrap_or(i64::MAX),
    ])?;
    Ok(())
}

fn calls(conn: &Connection, tenant: TenantId, filter: &CallFilter) -> WorkResult<Vec<CallRecord>> {
    let mut statement = conn.prepare_cached(
        "SELECT at, tool, caller, parameters, error_code, duration_ms, cost FROM mcp_file_calls
         WHERE apikey_hash = :tenant AND at >= :from AND at < :to
           AND (:tool IS NULL OR tool = :tool) AND (:caller IS NULL OR caller = :caller)
           AND (NOT :failed_only OR error_code IS NOT NULL)
         ORDER BY at DESC, id DESC LIMIT :limit OFFSET :offset",
    )?;
    let parameters = named_params! {
        ":tenant": tenant.to_hex(),
        ":from": filter.from.map_or(i64::MIN, |time| time.0),
        ":to": filter.to.map_or(i64::MAX, |time| time.0),
        ":tool": filter.tool,
        ":caller": filter.caller,
        ":failed_only": filter.failed_only,
        ":limit": i64::try_from(filter.limit).unwrap_or(i64::MAX),
        ":offset": i64::try_from(filter.offset).unwrap_or(i64::MAX),
    };
    let rows = statement.query_map(parameters, |row| {
        let parameters: String = row.get(3)?;
        Ok(CallRecord {
            tenant,
            at: StoreTime(row.get(0)?),
            tool: row.get(1)?,
            caller: row.get(2)?,
            parameters: serde_json::from_str(&parameters).unwrap_or_default(),
            error_code: row.get(4)?,
            duration_ms: unsigned(row, 5)?,
            cost: unsigned(row, 6)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn key_columns(row: &Row) -> rusqlite::Result<(String, String, i64, Option<i64>)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

fn key_record(
    (name, digest, created_at, revoked_at): (String, String, i64, Option<i64>),
) -> WorkResult<KeyRecord> {
    let tenant = TenantId::from_hex(&digest).ok_or_else(|| {
        Failure::new(ErrorCode::StoreCorrupt, format!("the key {name:?} has no valid digest"))
    })?;
    Ok(KeyRecord { name, tenant, created_at: StoreTime(created_at), revoked_at: revoked_at.map(StoreTime) })
}
