//! The audit log of the tool contracts: one line of JSON per call, without prompts and contents unless the operator wants
//! them, bounded in size.

#![allow(clippy::disallowed_methods, reason = "the log is a file of our own")]

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::state::prepare_state_dir;

const FILE: &str = "audit.jsonl";
const OLDER: &str = "audit.1.jsonl";

/// At this size the log becomes the older one, and a new one is begun: two of them are kept.
const MAX_BYTES: u64 = 8 << 20;

/// What one call leaves behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// UTC, milliseconds, `Z`.
    pub timestamp: String,
    pub request_id: String,
    pub tool: String,
    pub ok: bool,
    pub blocked: bool,
    pub error_code: Option<String>,
    pub duration_ms: u64,
    /// Who called, where the contract has it recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Arguments that tell nothing: paths, numbers, switches; of texts only their length.
    pub metadata: Map<String, Value>,
}

/// The log of one data directory.
pub struct AuditLog {
    /// None where nothing is kept.
    dir: Option<PathBuf>,
    /// Lines of several calls do not mix.
    writing: Mutex<()>,
}

impl AuditLog {
    pub fn new(dir: &Path) -> AuditLog {
        AuditLog { dir: Some(dir.to_owned()), writing: Mutex::new(()) }
    }

    /// A log that keeps nothing.
    pub fn nowhere() -> AuditLog {
        AuditLog { dir: None, writing: Mutex::new(()) }
    }

    /// The time stamp of a record made now.
    pub fn now() -> String {
        format!("{:.3}", jiff::Timestamp::now())
    }

    /// Adds a line. A log that cannot be written is worth a warning, never the call.
    pub fn append(&self, record: &AuditRecord) {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.try_append(record) {
            tracing::warn!(%error, "the audit log cannot be written");
        }
    }

    fn try_append(&self, record: &AuditRecord) -> io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let mut line = serde_json::to_vec(record).map_err(io::Error::other)?;
        line.push(b'\n');
        let path = dir.join(FILE);
        if fs::metadata(&path).is_ok_and(|file| file.len() + line.len() as u64 > MAX_BYTES) {
            fs::rename(&path, dir.join(OLDER))?;
        }
        let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let mut file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                prepare_state_dir(dir)?;
                open()?
            }
            result => result?,
        };
        // One write: another process that appends to the same log cannot come between.
        file.write_all(&line)
    }

    /// The last `limit` records from `since` on, oldest first, of tools whose names begin so. A damaged line is passed
    /// over.
    pub fn last(&self, tools: &str, since: Option<&str>, limit: usize) -> Vec<AuditRecord> {
        let mut found = Vec::new();
        let Some(dir) = &self.dir else { return found };
        for file in [FILE, OLDER] {
            let mut records = read(&dir.join(file)).unwrap_or_default();
            records.retain(|record| {
                record.tool.starts_with(tools) && since.is_none_or(|since| record.timestamp.as_str() >= since)
            });
            let missing = limit - found.len();
            let from = records.len().saturating_sub(missing);
            records.drain(..from);
            records.append(&mut found);
            found = records;
            if found.len() >= limit {
                break;
            }
        }
        found
    }
}

fn read(path: &Path) -> io::Result<Vec<AuditRecord>> {
    let mut file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    // Never more than a log can have, whoever wrote it.
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(2 * MAX_BYTES)))?;
    file.take(2 * MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: usize) -> AuditRecord {
        AuditRecord {
            timestamp: format!("2026-01-01T00:00:{:02}.000Z", number % 60),
            request_id: number.to_string(),
            tool: "repo.status".into(),
            ok: true,
            blocked: false,
            error_code: None,
            duration_ms: 1,
            caller: None,
            metadata: Map::new(),
        }
    }

    #[test]
    fn r049_the_last_records_oldest_first() {
        let dir = tempfile::tempdir().unwrap();
        let log = AuditLog::new(&dir.path().join("data"));
        assert!(log.last("repo.", None, 5).is_empty());
        (0..10).for_each(|number| log.append(&record(number)));
        let ids = |records: Vec<AuditRecord>| records.into_iter().map(|r| r.request_id).collect::<Vec<_>>();
        assert_eq!(ids(log.last("repo.", None, 3)), ["7", "8", "9"]);
        assert_eq!(ids(log.last("", Some("2026-01-01T00:00:08.000Z"), 50)), ["8", "9"]);
    }

    #[test]
    fn a_damaged_line_costs_one_record() {
        let dir = tempfile::tempdir().unwrap();
        let log = AuditLog::new(dir.path());
        log.append(&record(1));
        let mut file = OpenOptions::new().append(true).open(dir.path().join(FILE)).unwrap();
        file.write_all(b"{\"half\n").unwrap();
        log.append(&record(2));
        assert_eq!(log.last("repo.", None, 50).len(), 2);
    }
}
