//! The audit log: one line of JSON for every call of every tool, without questions and contents unless the operator wants
//! them, bounded in size.
//!
//! Calls run on async threads, which must not wait for a disk. They queue their records, and one thread per log writes
//! them in the order in which they came; a full queue makes calls wait rather than lose a record. [`AuditLog::close`]
//! returns when everything that was queued is written.

#![allow(clippy::disallowed_methods, reason = "the log is a file of our own")]

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use model::{Failure, PriceClass};
use policy::{Redactor, visible};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::call::Call;
use crate::engine::{STOP_WAIT, leave};
use crate::state::prepare_state_dir;

const FILE: &str = "audit.jsonl";
const OLDER: &str = "audit.1.jsonl";

/// At this size the log becomes the older one, and a new one is begun: two of them are kept.
const MAX_BYTES: u64 = 8 << 20;

/// Records that wait to be written.
const QUEUE: usize = 1024;

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
    /// For whom, where several are served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What the call cost, where calls are paid for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_class: Option<PriceClass>,
    /// The proof that it was paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// Arguments that tell nothing: paths, numbers, switches; of texts only their length.
    pub metadata: Map<String, Value>,
}

/// When a call goes on that has queued its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditWait {
    /// At once: the line is written soon, and at the latest when the log is closed.
    Queued,
    /// When the line is in the file: a call that was answered has one, whatever happens next.
    Written,
}

/// The log of one data directory.
pub struct AuditLog {
    /// None where nothing is kept.
    file: Option<Arc<LogFile>>,
    writer: Mutex<AuditWriter>,
}

/// The thread that writes; started with the first record.
enum AuditWriter {
    Idle,
    Running { queue: mpsc::Sender<Queued>, thread: JoinHandle<()> },
}

struct Queued {
    record: Option<Box<AuditRecord>>,
    /// Told when everything up to here is in the file.
    done: Option<oneshot::Sender<()>>,
}

impl AuditLog {
    /// Without a folder nothing is kept.
    pub fn new(dir: Option<&Path>, redactor: Arc<Redactor>) -> AuditLog {
        let file =
            dir.map(|dir| Arc::new(LogFile { dir: dir.to_owned(), is_made_here: !dir.is_dir(), redactor }));
        AuditLog { file, writer: Mutex::new(AuditWriter::Idle) }
    }

    /// Queues a record, and waits until it is written where that is wanted. A log that cannot be written is worth a
    /// warning, never the call.
    pub async fn append(&self, record: AuditRecord, wait: AuditWait) {
        let Some(file) = &self.file else { return };
        let Some(queue) = self.queue(file) else {
            let file = Arc::clone(file);
            let _ = tokio::task::spawn_blocking(move || file.write(&[record])).await;
            return;
        };
        let (done, written) = oneshot::channel();
        let done = (wait == AuditWait::Written).then_some(done);
        if queue.send(Queued { record: Some(Box::new(record)), done }).await.is_ok()
            && wait == AuditWait::Written
        {
            let _ = written.await;
        }
    }

    /// The same for a call whose future was dropped, and which therefore cannot wait.
    pub(crate) fn append_now(&self, record: AuditRecord) {
        let Some(file) = &self.file else { return };
        let record = Box::new(record);
        let unqueued = match self.queue(file) {
            None => Some(record),
            Some(queue) => match queue.try_send(Queued { record: Some(record), done: None }) {
                Ok(()) => None,
                Err(TrySendError::Full(queued) | TrySendError::Closed(queued)) => queued.record,
            },
        };
        // Rare: a full queue and a client that left. A write from here does not lose it.
        if let Some(record) = unqueued {
            file.write(&[*record]);
        }
    }

    /// The last `limit` records from `since` on, oldest first, of tools whose names begin so, once those that are queued
    /// are written.
    pub async fn last(
        &self,
        call: &Call,
        tools: &'static str,
        since: Option<String>,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, Failure> {
        let Some(file) = self.file.clone() else { return Ok(Vec::new()) };
        self.written().await;
        call.blocking(move |_| Ok(file.last(tools, since.as_deref(), limit))).await
    }

    /// Writes what is queued and ends the thread. Records that come later are written by the calls themselves.
    pub fn close(&self) {
        let writer = std::mem::replace(&mut *self.writer(), AuditWriter::Idle);
        if let AuditWriter::Running { queue, thread } = writer {
            drop(queue);
            leave(thread, "the audit log", STOP_WAIT);
        }
    }

    /// Waits until what is queued is written.
    async fn written(&self) {
        let queue = match &*self.writer() {
            AuditWriter::Running { queue, .. } => queue.clone(),
            AuditWriter::Idle => return,
        };
        let (done, written) = oneshot::channel();
        if queue.send(Queued { record: None, done: Some(done) }).await.is_ok() {
            let _ = written.await;
        }
    }

    /// `None` where the system grants no thread.
    fn queue(&self, file: &Arc<LogFile>) -> Option<mpsc::Sender<Queued>> {
        let mut writer = self.writer();
        if let AuditWriter::Running { queue, .. } = &*writer {
            return Some(queue.clone());
        }
        let (queue, queued) = mpsc::channel(QUEUE);
        let file = Arc::clone(file);
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let thread = thread.spawn(move || write_all(&file, queued)).ok()?;
        *writer = AuditWriter::Running { queue: queue.clone(), thread };
        Some(queue)
    }

    fn writer(&self) -> MutexGuard<'_, AuditWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.close();
    }
}

/// Writes until the queue is closed and empty. What waits is written together.
fn write_all(file: &LogFile, mut queue: mpsc::Receiver<Queued>) {
    let mut waiting = Vec::new();
    while let Some(first) = queue.blocking_recv() {
        waiting.push(first);
        while waiting.len() < QUEUE
            && let Ok(next) = queue.try_recv()
        {
            waiting.push(next);
        }
        let mut told = Vec::new();
        let mut records = Vec::with_capacity(waiting.len());
        for Queued { record, done } in waiting.drain(..) {
            records.extend(record.map(|record| *record));
            told.extend(done);
        }
        file.write(&records);
        for done in told {
            let _ = done.send(());
        }
    }
}

/// The files of a log.
struct LogFile {
    dir: PathBuf,
    /// The folder was not there before: then it is made with the first record. One that was there and is gone is not
    /// made again, because others look whether it is there.
    is_made_here: bool,
    redactor: Arc<Redactor>,
}

impl LogFile {
    fn write(&self, records: &[AuditRecord]) {
        if let Err(error) = self.try_write(records) {
            tracing::warn!(%error, "the audit log cannot be written");
        }
    }

    fn try_write(&self, records: &[AuditRecord]) -> io::Result<()> {
        let mut lines = Vec::new();
        for record in records {
            serde_json::to_writer(&mut lines, &self.shown(record)).map_err(io::Error::other)?;
            lines.push(b'\n');
        }
        if lines.is_empty() {
            return Ok(());
        }
        let path = self.dir.join(FILE);
        if fs::metadata(&path).is_ok_and(|file| file.len() + lines.len() as u64 > MAX_BYTES) {
            fs::rename(&path, self.dir.join(OLDER))?;
        }
        let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let mut file = match open() {
            Err(error) if self.is_made_here && error.kind() == io::ErrorKind::NotFound => {
                prepare_state_dir(&self.dir)?;
                open()?
            }
            result => result?,
        };
        // One write: another process that appends to the same log cannot come between.
        file.write_all(&lines)
    }

    /// What callers and files bring along passes here: addresses, numbers and credentials are blanked, hidden characters
    /// spelled out, whatever contract the record is of.
    fn shown(&self, record: &AuditRecord) -> AuditRecord {
        AuditRecord {
            request_id: self.kept("", &record.request_id),
            caller: record.caller.as_deref().map(|caller| visible(caller).into_owned()),
            metadata: record
                .metadata
                .iter()
                .map(|(name, value)| (self.kept("", name), self.kept_value(name, value)))
                .collect(),
            ..record.clone()
        }
    }

    fn kept(&self, name: &str, text: &str) -> String {
        if is_plain(text) {
            return text.to_owned();
        }
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

    /// A damaged line is passed over.
    fn last(&self, tools: &str, since: Option<&str>, limit: usize) -> Vec<AuditRecord> {
        let mut found = Vec::new();
        for file in [FILE, OLDER] {
            let mut records = read(&self.dir.join(file)).unwrap_or_default();
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

/// Names of arguments and short ids, which hold nothing to blank: most of every record, and looking for secrets costs more
/// than all the rest of writing it.
fn is_plain(text: &str) -> bool {
    let is_short_id = text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_short_id || (text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
}

fn read(path: &Path) -> io::Result<Vec<AuditRecord>> {
    let mut file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    // Never more than a log can have, whatever program wrote it.
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
            tenant: None,
            price_class: None,
            receipt: None,
            metadata: Map::new(),
        }
    }

    async fn last(log: &AuditLog, since: Option<&str>, limit: usize) -> Vec<String> {
        let call = Call::cli("repo.audit_log");
        let records = log.last(&call, "repo.", since.map(str::to_owned), limit).await.unwrap();
        records.into_iter().map(|record| record.request_id).collect()
    }

    #[tokio::test]
    async fn r049_the_last_records_oldest_first() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir.path().join("data"));
        assert!(last(&log, None, 5).await.is_empty());
        for number in 0..10 {
            log.append(record(number), AuditWait::Queued).await;
        }
        assert_eq!(last(&log, None, 3).await, ["7", "8", "9"]);
        assert_eq!(last(&log, Some("2026-01-01T00:00:08.000Z"), 50).await, ["8", "9"]);
    }

    #[tokio::test]
    async fn a_damaged_line_costs_one_record() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        log.append(record(1), AuditWait::Written).await;
        let mut file = OpenOptions::new().append(true).open(dir.path().join(FILE)).unwrap();
        file.write_all(b"{\"half\n").unwrap();
        log.append(record(2), AuditWait::Queued).await;
        assert_eq!(last(&log, None, 50).await.len(), 2);
    }

    #[tokio::test]
    async fn more_records_than_the_queue_holds_are_all_there_when_the_log_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        for number in 0..2 * QUEUE {
            log.append(record(number), AuditWait::Queued).await;
        }
        for number in 0..2 * QUEUE {
            log.append_now(record(number));
        }
        log.close();
        let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert_eq!(text.lines().count(), 4 * QUEUE);
        log.append(record(1), AuditWait::Written).await;
        assert_eq!(fs::read_to_string(dir.path().join(FILE)).unwrap().lines().count(), 4 * QUEUE + 1);
    }

    #[test]
    fn a_line_has_no_keys_that_its_contract_does_not_know() {
        let line = serde_json::to_string(&record(7)).unwrap();
        assert_eq!(
            line,
            r#"{"timestamp":"2026-01-01T00:00:07.000Z","request_id":"7","tool":"repo.status","ok":true,"blocked":false,"error_code":null,"duration_ms":1,"metadata":{}}"#
        );
    }

    #[tokio::test]
    async fn s032_s034_a_line_holds_nothing_that_must_not_be_shown() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(dir.path());
        let mut told = record(1);
        told.request_id = "jane@example.com".into();
        let metadata = serde_json::json!({
            "path": "/r/jane@example.com/a\u{202e}.txt",
            "odd\u{1b}": ["Tel. 030 1234567", {"x": "DE89 3704 0044 0532 0130 00"}],
        });
        told.metadata = metadata.as_object().cloned().unwrap();
        log.append(told, AuditWait::Written).await;
        let line = fs::read_to_string(dir.path().join(FILE)).unwrap();
        for raw in ["jane", "1234567", "3704", "\u{202e}", "\u{1b}", "\\u001b"] {
            assert!(!line.contains(raw), "{raw:?} in {line}");
        }
        assert!(line.contains("/r/[EMAIL]/a\\\\u{202e}.txt"), "{line}");
    }
}
