//! The book of calls: every call of every tool passes [`Calls::run`] once, which counts it and writes its audit line,
//! however it ends.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use model::{ErrorCode, Failure, PriceClass, TenantId, WallClock};
use serde_json::{Map, Value};

use crate::audit::{AuditLog, AuditRecord, AuditWait};
use crate::call::Call;
use crate::clock::{SystemClock, timestamp};
use crate::engine::Engine;
use crate::metrics::Metrics;

/// Counts and records the calls of one process.
#[derive(Debug)]
pub struct Calls {
    metrics: Metrics,
    clock: Arc<dyn WallClock>,
    watcher: CallWatcher,
}

/// A call that has ended, for whoever watches: nothing of what it asked.
#[derive(Debug, Clone)]
pub struct EndedCall {
    /// UTC, milliseconds, `Z`.
    pub at: String,
    pub tool: &'static str,
    /// `ok`, or the code of a failure.
    pub outcome: &'static str,
    pub took: Duration,
    pub caller: String,
    /// Whose files it was about.
    pub tenant: Option<TenantId>,
}

/// Told of every call that ends. It must not wait.
pub type CallSink = Arc<dyn Fn(EndedCall) + Send + Sync>;

#[derive(Default)]
struct CallWatcher(OnceLock<CallSink>);

impl fmt::Debug for CallWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "watched" } else { "unwatched" })
    }
}

/// Where and how a contract has its calls recorded.
#[derive(Clone)]
pub struct AuditTrail {
    pub log: Arc<AuditLog>,
    pub wait: AuditWait,
    /// The lines of this contract name the caller.
    pub names_caller: bool,
    /// The lines of this contract name the price class.
    pub names_price: bool,
}

/// What is known of a call before it runs.
#[derive(Debug, Clone)]
pub struct AuditNote {
    pub request_id: String,
    pub price_class: PriceClass,
    /// Harmless arguments.
    pub metadata: Map<String, Value>,
}

/// How a contract calls the end of a call.
#[derive(Debug, Clone, Default)]
pub struct AuditVerdict {
    /// The public code of a failure; `None` for success.
    pub error_code: Option<String>,
    pub is_blocked: bool,
    /// Counts of the answer.
    pub metadata: Map<String, Value>,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls::new(Arc::new(SystemClock))
    }
}

impl Calls {
    pub fn new(clock: Arc<dyn WallClock>) -> Calls {
        Calls { metrics: Metrics::default(), clock, watcher: CallWatcher::default() }
    }

    /// From now on `sink` is told of every call that ends; a second one is not.
    pub fn watch(&self, sink: CallSink) {
        let _ = self.watcher.0.set(sink);
    }

    /// Runs one call, and words its end. One that is dropped on the way, because its client is gone, is recorded as
    /// cancelled.
    pub async fn run<T, R>(
        &self,
        call: &Call,
        trail: &AuditTrail,
        note: AuditNote,
        work: impl Future<Output = Result<T, Failure>>,
        word: impl FnOnce(Result<T, Failure>) -> (R, AuditVerdict),
    ) -> R {
        let mut open = OpenCall { calls: self, call, trail, note: Some(note), started: Instant::now() };
        let outcome = work.await;
        let took = open.started.elapsed();
        let code = outcome.as_ref().err().map_or("ok", |failure| failure.code.as_str());
        self.count(call, code, took);
        let (answer, verdict) = word(outcome);
        if let Some(note) = open.note.take() {
            let record = self.record(call, trail, note, verdict, took);
            trail.log.append(record, trail.wait).await;
        }
        answer
    }

    /// The page that a Prometheus server reads.
    pub fn metrics_page(&self, engines: &[Arc<Engine>], version: &str) -> String {
        self.metrics.page(engines, version, self.clock.as_ref())
    }

    fn count(&self, call: &Call, outcome: &'static str, took: Duration) {
        self.metrics.record(call.tool, outcome, took);
        if let Some(sink) = self.watcher.0.get() {
            sink(EndedCall {
                at: timestamp(self.clock.as_ref()),
                tool: call.tool,
                outcome,
                took,
                caller: call.caller.to_string(),
                tenant: call.caller.tenant,
            });
        }
        tracing::debug!(
            target: "audit",
            tool = call.tool,
            caller = %call.caller,
            micros = took.as_micros() as u64,
            outcome,
        );
    }

    fn record(
        &self,
        call: &Call,
        trail: &AuditTrail,
        note: AuditNote,
        verdict: AuditVerdict,
        took: Duration,
    ) -> AuditRecord {
        let mut metadata = note.metadata;
        metadata.extend(verdict.metadata);
        AuditRecord {
            timestamp: timestamp(self.clock.as_ref()),
            request_id: note.request_id,
            tool: call.tool.to_owned(),
            ok: verdict.error_code.is_none(),
            blocked: verdict.is_blocked,
            error_code: verdict.error_code,
            duration_ms: took.as_millis() as u64,
            caller: trail.names_caller.then(|| call.caller.to_string()),
            tenant: None,
            price_class: trail.names_price.then_some(note.price_class),
            receipt: None,
            metadata,
        }
    }
}

/// A call that has not ended yet.
struct OpenCall<'a> {
    calls: &'a Calls,
    call: &'a Call,
    trail: &'a AuditTrail,
    /// Taken when the call ends by itself.
    note: Option<AuditNote>,
    started: Instant,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let Some(note) = self.note.take() else { return };
        let (code, took) = (ErrorCode::Cancelled.as_str(), self.started.elapsed());
        self.calls.count(self.call, code, took);
        let verdict = AuditVerdict { error_code: Some(code.to_owned()), ..AuditVerdict::default() };
        self.trail.log.append_now(self.calls.record(self.call, self.trail, note, verdict, took));
    }
}
