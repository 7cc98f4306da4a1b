//! Where a reading thread puts its changes, and what it holds of the budget meanwhile.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crossbeam_channel::Sender;
use index::DocChange;

use crate::budget::BytesBudget;
use crate::commit::Weighed;
use crate::outcome::FileOutcome;

pub(crate) struct Outlet<'a> {
    budget: &'a BytesBudget,
    changes: &'a Sender<Weighed>,
    cancel: &'a AtomicBool,
    /// Taken for what is being read now; goes with the change that is made of it.
    held: u64,
    closed: bool,
}

impl<'a> Outlet<'a> {
    pub(crate) fn new(
        budget: &'a BytesBudget,
        changes: &'a Sender<Weighed>,
        cancel: &'a AtomicBool,
    ) -> Outlet<'a> {
        Outlet { budget, changes, cancel, held: 0, closed: false }
    }

    /// Waits until so many bytes may be read; `false` when the job has ended.
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        match self.budget.take(bytes) {
            Some(taken) => self.held += taken,
            None => self.closed = true,
        }
        !self.is_closed()
    }

    /// Returns what was taken. A thread that waits for anything but the budget must hold nothing of it.
    pub(crate) fn release(&mut self) {
        self.budget.give_back(std::mem::take(&mut self.held));
    }

    /// Sends a change that is counted as what it says.
    pub(crate) fn send(&mut self, change: DocChange) {
        let outcome = FileOutcome::of_change(&change);
        self.send_as(change, outcome);
    }

    pub(crate) fn send_as(&mut self, change: DocChange, outcome: FileOutcome) {
        let bytes = std::mem::take(&mut self.held);
        if self.changes.send(Weighed { change, outcome, bytes }).is_err() {
            self.closed = true;
        }
    }

    /// The job was stopped, or the other end is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed || self.cancel.load(Relaxed)
    }
}

impl Drop for Outlet<'_> {
    fn drop(&mut self) {
        self.release();
    }
}
