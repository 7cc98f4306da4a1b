//! The one writer: gathers changes into durable batches and makes them visible at a measured pace.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use index::{Batch, DocChange, Index, IndexError};

use crate::budget::BytesBudget;
use crate::counters::Counters;
use crate::outcome::FileOutcome;
use crate::scan::IngestEvent;

/// A batch is committed when it holds this many changes…
const BATCH_CHANGES: usize = 1024;
/// …or this much text…
const BATCH_BYTES: u64 = 16 << 20;
/// …or when its first change has waited this long.
const BATCH_AGE: Duration = Duration::from_millis(300);

/// Changes become searchable first after half a second, then at intervals that grow with the job: each
/// publication costs a segment, and a long job needs no more of them than a short one.
const FIRST_PUBLICATION: Duration = Duration::from_millis(500);
const RAREST_PUBLICATION: Duration = Duration::from_secs(15);

/// A change on its way to the catalog, with what it holds of the [`BytesBudget`].
pub(crate) struct Weighed {
    pub(crate) change: DocChange,
    /// What is counted once the change is durable.
    pub(crate) outcome: FileOutcome,
    pub(crate) bytes: u64,
}

pub(crate) struct Committer<'a> {
    pub(crate) index: &'a Index,
    pub(crate) counters: &'a Counters,
    pub(crate) budget: &'a BytesBudget,
    pub(crate) on_event: &'a (dyn Fn(IngestEvent) + Send + Sync),
}

impl Committer<'_> {
    /// Runs until the senders are gone; everything received is then committed and visible.
    pub(crate) fn run(&self, changes: &Receiver<Weighed>) -> Result<(), IndexError> {
        let result = self.receive(changes);
        if result.is_err() {
            // Those who still wait for room would wait for ever.
            self.budget.close();
        }
        result
    }

    fn receive(&self, changes: &Receiver<Weighed>) -> Result<(), IndexError> {
        let started = Instant::now();
        let mut published = started;
        let mut pending = Pending::default();
        let mut is_published = true;
        loop {
            let interval = (started.elapsed() / 2).clamp(FIRST_PUBLICATION, RAREST_PUBLICATION);
            // What is committed becomes visible in time even if nothing follows it: the next file may hang for long.
            let wait = match pending.since {
                Some(since) => BATCH_AGE.saturating_sub(since.elapsed()),
                None if is_published => Duration::from_secs(3600),
                None => interval.saturating_sub(published.elapsed()),
            };
            match changes.recv_timeout(wait) {
                Ok(weighed) => pending.push(weighed),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if pending.is_due() {
                self.commit(&mut pending)?;
                is_published = false;
            }
            if !is_published && published.elapsed() >= interval {
                self.index.publish()?;
                published = Instant::now();
                is_published = true;
            }
        }
        self.commit(&mut pending)?;
        self.index.publish()
    }

    fn commit(&self, pending: &mut Pending) -> Result<(), IndexError> {
        if pending.batch.changes.is_empty() {
            return Ok(());
        }
        let applied = self.index.apply(&pending.batch)?;
        for (change, outcome) in pending.batch.changes.iter().zip(&pending.outcomes) {
            self.counters.settle(outcome);
            if let DocChange::Put { document, .. } = change
                && let Some(reason) = document.reason.as_ref().filter(|reason| reason.is_failure())
            {
                let (path, message) = (document.path.clone(), reason.to_string());
                (self.on_event)(IngestEvent::FileError { path, message });
            }
        }
        self.counters.add(&applied);
        self.budget.give_back(pending.bytes);
        *pending = Pending::default();
        (self.on_event)(IngestEvent::Progress);
        Ok(())
    }
}

#[derive(Default)]
struct Pending {
    batch: Batch,
    /// Of the changes, in their order.
    outcomes: Vec<FileOutcome>,
    bytes: u64,
    since: Option<Instant>,
}

impl Pending {
    fn push(&mut self, weighed: Weighed) {
        self.since.get_or_insert_with(Instant::now);
        self.bytes += weighed.bytes;
        self.batch.changes.push(weighed.change);
        self.outcomes.push(weighed.outcome);
    }

    fn is_due(&self) -> bool {
        self.batch.changes.len() >= BATCH_CHANGES
            || self.bytes >= BATCH_BYTES
            || self.since.is_some_and(|since| since.elapsed() >= BATCH_AGE)
    }
}
