//! Removes for good what the limits do not keep any longer, in bites that hold no lock for long.

use std::time::{Duration, SystemTime};

use model::Failure;

use super::PostgresStore;
use super::bucket::Bucket;
use super::failure::DatabaseError;
use super::mutation::OWN_KEY;
use super::time::to_system_time;
use crate::entry::StoreTime;

const BITE: i64 = 1000;
/// The outcome of a change without a key is only needed until it is known whether its commit happened.
const OWN_KEYS_KEPT: Duration = Duration::from_secs(60 * 60);

const FILES: &str = "DELETE FROM {s}.mcp_files WHERE id IN (SELECT id FROM {s}.mcp_files \
     WHERE deleted = TRUE AND deleted_at <= $1 LIMIT $2)";
const OUTCOMES: &str = "DELETE FROM {s}.mcp_file_mutations WHERE ctid = ANY(ARRAY(\
     SELECT ctid FROM {s}.mcp_file_mutations WHERE created_at <= $1 LIMIT $2))";
const OWN_OUTCOMES: &str = "DELETE FROM {s}.mcp_file_mutations WHERE ctid = ANY(ARRAY(\
     SELECT ctid FROM {s}.mcp_file_mutations WHERE created_at <= $1 AND starts_with(mutation_key, $3) LIMIT $2))";
const CALLS: &str = "DELETE FROM {s}.mcp_file_calls WHERE id IN (SELECT id FROM {s}.mcp_file_calls \
     WHERE at <= $1 LIMIT $2)";
/// Neither young nor among the newest of their path.
const VERSIONS: &str = "DELETE FROM {s}.mcp_file_versions WHERE id IN (SELECT v.id FROM {s}.mcp_file_versions v \
     WHERE v.created_at <= $1 AND (SELECT count(*) FROM (SELECT 1 FROM {s}.mcp_file_versions n \
     WHERE n.apikey_hash = v.apikey_hash AND n.project = v.project AND n.path = v.path AND n.id > v.id \
     LIMIT $3) newer) >= $3 LIMIT $2)";

impl PostgresStore {
    pub(super) async fn purge_old(&self, now: StoreTime) -> Result<u64, Failure> {
        let limits = &self.options.limits;
        let deleted = cutoff(now, limits.delete_retention);
        let replaced = cutoff(now, limits.version_retention);
        let kept = limits.versions_kept as i64;
        let mut count = 0;
        for bucket in self.buckets() {
            for statement in [FILES, OUTCOMES, CALLS] {
                count += self.remove(bucket, statement, &[&deleted, &BITE]).await?;
            }
            count += self.remove(bucket, VERSIONS, &[&replaced, &BITE, &kept]).await?;
            // Not counted: nobody asked for them to be kept.
            self.remove(bucket, OWN_OUTCOMES, &[&cutoff(now, OWN_KEYS_KEPT), &BITE, &OWN_KEY]).await?;
        }
        Ok(count)
    }

    async fn remove(
        &self,
        bucket: &Bucket,
        template: &'static str,
        parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<u64, Failure> {
        let mut count = 0;
        loop {
            let mut connection = self.connection(super::READ_PATIENCE).await?;
            let statement = connection.prepare(bucket, template).await.map_err(DatabaseError::from)?;
            let removed =
                connection.client.execute(&statement, parameters).await.map_err(DatabaseError::from)?;
            count += removed;
            if removed < BITE as u64 {
                return Ok(count);
            }
        }
    }
}

fn cutoff(now: StoreTime, age: Duration) -> SystemTime {
    let micros = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    // PostgreSQL knows no time before 4713 BC; the year 1 is early enough.
    to_system_time(StoreTime(now.0.saturating_sub(micros).max(-62_135_596_800_000_000)))
}
