//! Writes the log of calls behind the calls' backs: a call hands over its record and goes on; records are stored in batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::backend::RecordBackend;
use crate::record::CallRecord;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLogOptions {
    /// How many records may wait. One more is not written, and counted.
    pub capacity: usize,
    /// How many are stored at once.
    pub batch: usize,
    /// How often a batch is tried before it is given up.
    pub attempts: u32,
    /// Before the second attempt; twice as long before each further one.
    pub pause: Duration,
}

impl Default for CallLogOptions {
    fn default() -> CallLogOptions {
        CallLogOptions { capacity: 8192, batch: 256, attempts: 5, pause: Duration::from_millis(100) }
    }
}

/// The end that calls hold. When the last is dropped, what waits is written and the writer ends.
#[derive(Debug, Clone)]
pub struct CallLog {
    entries: mpsc::Sender<CallLogEntry>,
    lost: Arc<AtomicU64>,
}

#[derive(Debug)]
enum CallLogEntry {
    Call(CallRecord),
    /// Answered when all that came before is stored or given up.
    Flush(oneshot::Sender<()>),
}

impl CallLog {
    /// The log and its writer, to be run as a task.
    pub fn new(
        backend: Arc<dyn RecordBackend>,
        options: CallLogOptions,
    ) -> (CallLog, impl Future<Output = ()> + Send + 'static) {
        let (entries, waiting) = mpsc::channel(options.capacity.max(1));
        let lost = Arc::new(AtomicU64::new(0));
        let log = CallLog { entries, lost: Arc::clone(&lost) };
        (log, write(backend, options, waiting, lost))
    }

    /// Takes a record without waiting.
    pub fn record(&self, call: CallRecord) {
        if self.entries.try_send(CallLogEntry::Call(call)).is_err() {
            count_lost(&self.lost, 1, "the log of calls cannot keep up");
        }
    }

    /// Waits until all records that were taken before are stored or given up.
    pub async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        if self.entries.send(CallLogEntry::Flush(done)).await.is_ok() {
            // The writer may end in between; then there is nothing left to wait for.
            let _ = is_done.await;
        }
    }

    /// How many records were not written since the start.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

async fn write(
    backend: Arc<dyn RecordBackend>,
    options: CallLogOptions,
    mut waiting: mpsc::Receiver<CallLogEntry>,
    lost: Arc<AtomicU64>,
) {
    let batch = options.batch.max(1);
    let mut entries = Vec::with_capacity(batch);
    while waiting.recv_many(&mut entries, batch).await > 0 {
        let (mut calls, mut flushes) = (Vec::new(), Vec::new());
        for entry in entries.drain(..) {
            match entry {
                CallLogEntry::Call(call) => calls.push(call),
                CallLogEntry::Flush(done) => flushes.push(done),
            }
        }
        store(backend.as_ref(), &options, calls, &lost).await;
        for done in flushes {
            // Whoever asked may have given up.
            let _ = done.send(());
        }
    }
}

async fn store(
    backend: &dyn RecordBackend,
    options: &CallLogOptions,
    calls: Vec<CallRecord>,
    lost: &AtomicU64,
) {
    if calls.is_empty() {
        return;
    }
    let mut pause = options.pause;
    for attempt in 1.. {
        match backend.log_calls(calls.clone()).await {
            Ok(()) => return,
            Err(failure) if failure.retryable() && attempt < options.attempts => {
                tracing::debug!(%failure, attempt, "the log of calls could not be written yet");
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2);
            }
            Err(failure) => {
                tracing::warn!(%failure, "the log of calls could not be written");
                count_lost(lost, calls.len() as u64, "given up");
                return;
            }
        }
    }
}

/// The first loss is told at once, later ones at every power of two: a log that is flooded is not helped by more lines.
fn count_lost(lost: &AtomicU64, records: u64, why: &'static str) {
    let before = lost.fetch_add(records, Ordering::Relaxed);
    let after = before + records;
    if before.checked_ilog2() != after.checked_ilog2() {
        tracing::warn!(records = after, why, "records of calls were lost");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::future::BoxFuture;
    use model::{ErrorCode, Failure, TenantId};
    use serde_json::json;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::backend::BackendFuture;
    use crate::entry::StoreTime;
    use crate::record::{CallFilter, KeyRecord};

    /// Stores a batch whenever the test gives a permit, and fails as often as it was told to.
    struct HeldBackend {
        permits: Semaphore,
        failures: Mutex<Vec<ErrorCode>>,
        batches: Mutex<Vec<Vec<i64>>>,
    }

    impl HeldBackend {
        fn new(permits: usize, failures: &[ErrorCode]) -> Arc<HeldBackend> {
            Arc::new(HeldBackend {
                permits: Semaphore::new(permits),
                failures: Mutex::new(failures.to_vec()),
                batches: Mutex::default(),
            })
        }

        fn stored(&self) -> Vec<i64> {
            self.batches.lock().unwrap().concat()
        }
    }

    impl RecordBackend for HeldBackend {
        fn add_key(&self, _: KeyRecord) -> BackendFuture<'_, ()> {
            unreachable!("only calls are logged")
        }

        fn keys(&self) -> BackendFuture<'_, Vec<KeyRecord>> {
            unreachable!("only calls are logged")
        }

        fn revoke_key<'a>(&'a self, _: &'a str, _: StoreTime) -> BackendFuture<'a, bool> {
            unreachable!("only calls are logged")
        }

        fn find_key(&self, _: TenantId) -> BackendFuture<'_, Option<KeyRecord>> {
            unreachable!("only calls are logged")
        }

        fn log_calls(&self, calls: Vec<CallRecord>) -> BackendFuture<'_, ()> {
            Box::pin(async move {
                self.permits.acquire().await.unwrap().forget();
                if let Some(code) = self.failures.lock().unwrap().pop() {
                    return Err(Failure::new(code, "not now"));
                }
                self.batches.lock().unwrap().push(calls.iter().map(|call| call.at.0).collect());
                Ok(())
            })
        }

        fn calls<'a>(
            &'a self,
            _: TenantId,
            _: &'a CallFilter,
        ) -> BoxFuture<'a, Result<Vec<CallRecord>, Failure>> {
            unreachable!("only calls are logged")
        }
    }

    fn call(at: i64) -> CallRecord {
        CallRecord {
            tenant: TenantId::from_digest([1; 32]),
            at: StoreTime(at),
            tool: "file_stat".to_owned(),
            caller: "test".to_owned(),
            parameters: json!({}),
            error_code: None,
            duration_ms: 0,
            cost: 0,
        }
    }

    fn options() -> CallLogOptions {
        CallLogOptions { capacity: 10, batch: 4, attempts: 3, pause: Duration::from_millis(1) }
    }

    #[tokio::test]
    async fn f148_calls_are_stored_in_order_and_in_batches() {
        let backend = HeldBackend::new(100, &[]);
        let (log, writer) = CallLog::new(backend.clone(), options());
        for at in 0..10 {
            log.record(call(at));
        }
        let writer = tokio::spawn(writer);
        log.flush().await;
        assert_eq!(backend.stored(), (0..10).collect::<Vec<i64>>());
        assert!(backend.batches.lock().unwrap().iter().all(|batch| batch.len() <= 4));
        log.record(call(10));
        drop(log);
        // With the last holder gone, the rest is written and the writer ends.
        writer.await.unwrap();
        assert_eq!(backend.stored().len(), 11);
    }

    #[tokio::test]
    async fn a_slow_store_delays_no_call_and_losses_are_counted() {
        let backend = HeldBackend::new(0, &[]);
        let (log, writer) = CallLog::new(backend.clone(), options());
        // `record` cannot wait: it is no future. The writer does not run yet, so that ten find room.
        for at in 0..25 {
            log.record(call(at));
        }
        assert_eq!(log.lost(), 15);
        let writer = tokio::spawn(writer);
        backend.permits.add_permits(100);
        log.flush().await;
        assert_eq!(backend.stored(), (0..10).collect::<Vec<i64>>());
        drop(log);
        writer.await.unwrap();
    }

    #[tokio::test]
    async fn a_store_that_is_away_is_tried_again_and_a_refusal_is_not() {
        let busy = ErrorCode::ResourceBusy;
        let backend = HeldBackend::new(100, &[busy, busy]);
        let (log, writer) = CallLog::new(backend.clone(), options());
        tokio::spawn(writer);
        log.record(call(1));
        log.flush().await;
        assert_eq!((backend.stored(), log.lost()), (vec![1], 0));

        backend.failures.lock().unwrap().extend([busy, busy, busy]);
        log.record(call(2));
        log.flush().await;
        assert_eq!((backend.stored(), log.lost()), (vec![1], 1));

        backend.failures.lock().unwrap().push(ErrorCode::InternalError);
        log.record(call(3));
        log.flush().await;
        log.record(call(4));
        log.flush().await;
        assert_eq!((backend.stored(), log.lost()), (vec![1, 4], 2));
    }
}
