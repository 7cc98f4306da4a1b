//! The audit log of the tool contracts: one line of JSON per call, without prompts and contents unless the operator wants
//! them, bounded in size.

#![allow(clippy::disallowed_methods, reason = "the log is a file of our own")]

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use policy::{Redactor, visible};
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
    redactor: Arc<Redactor>,
    /// Lines of several calls do not mix.
    writing: Mutex<()>,
}

impl AuditLog {
    /// Without a folder nothing is kept.
    pub fn new(dir: Option<&Path>, redactor: Arc<Redactor>) -> AuditLog {
        AuditLog { dir: dir.map(Path::to_owned), redactor, writing: Mutex::new(()) }
    }

    /// The time stamp of a record made now.
    pub fn now() -> String {
        format!("{:.3}", jiff::Timestamp::now())
    }

    /// Adds a line. A log that cannot be written is worth a warning, never the call.
    ///
    /// What callers and files bring along passes here: addresses, numbers and credentials are blanked, hidden characters
    /// spelled out, whatever contract the record is of.
    pub fn append(&self, record: &AuditRecord) {
        let record = &AuditRecord {
            request_id: self.kept("", &record.request_id),
            caller: record.caller.as_deref().map(|caller| visible(caller).into_owned()),
            metadata: record
                .metadata
                .iter()
                .map(|(name, value)| (self.kept("", name), self.kept_value(name, value)))
                .collect(),
            ..record.clone()
        };
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.try_append(record) {
            tracing::warn!(%error, "the audit log cannot be written");
        }
    }

    fn kept(&self, name: &str, text: &str) -> String {
        let is_path = ["path", "glob", "folder"].iter().any(|path| name.contains(path));
        let blanked =
            if is_path { self.redactor.redact_path(text) } else { self.redactor.redact(text).into_owned() };
        visible(&blanked).into_owned()
    }

    fn kept_value(&self, name: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.kept(name, text)),
            Value::Array(items) => items.iter().map(|item| self.kept_value(name, item)).collect(),
            Value::Object(map) => {
                let entry =
                    |(key, value): (&String, &Value)| (self.kept("", key), self.kept_value(key, value));
                Value::Object(map.iter().map(entry).collect())
            }
            other => other.clone(),
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
    use policy::SecretPatterns;

    use super::*;

    fn log(dir: &Path) -> AuditLog {
        AuditLog::new(Some(dir), Arc::new(Redactor::new(&SecretPatterns::Default).unwrap()))
    }

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
        let log = log(&dir.path().join("data"));
        assert!(log.last("repo.", None, 5).is_empty());
        (0..10).for_each(|number| log.append(&record(number)));
        let ids = |records: Vec<AuditRecord>| records.into_iter().map(|r| r.request_id).collect::<Vec<_>>();
        assert_eq!(ids(log.last("repo.", None, 3)), ["7", "8", "9"]);
        assert_eq!(ids(log.last("", Some("2026-01-01T00:00:08.000Z"), 50)), ["8", "9"]);
    }

    #[test]
    fn a_damaged_line_costs_one_record() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        log.append(&record(1));
        let mut file = OpenOptions::new().append(true).open(dir.path().join(FILE)).unwrap();
        file.write_all(b"{\"half\n").unwrap();
        log.append(&record(2));
        assert_eq!(log.last("repo.", None, 50).len(), 2);
    }

    #[test]
    fn s032_s034_a_line_holds_nothing_that_must_not_be_shown() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        let mut told = record(1);
        told.request_id = "jane@example.com".into();
        let metadata = serde_json::json!({
            "path": "/r/jane@example.com/a\u{202e}.txt",
            "odd\u{1b}": ["Tel. 030 1234567", {"x": "DE89 3704 0044 0532 0130 00"}],
        });
        told.metadata = metadata.as_object().cloned().unwrap();
        log.append(&told);
        let line = fs::read_to_string(dir.path().join(FILE)).unwrap();
        for raw in ["jane", "1234567", "3704", "\u{202e}", "\u{1b}", "\\u001b"] {
            assert!(!line.contains(raw), "{raw:?} in {line}");
        }
        assert!(line.contains("/r/[EMAIL]/a\\\\u{202e}.txt"), "{line}");
    }
}
