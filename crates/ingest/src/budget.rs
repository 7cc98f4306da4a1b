//! Bounds the bytes that are read but not yet committed, so that memory does not follow the tree's size.

use std::sync::{Condvar, Mutex, PoisonError};

pub(crate) struct BytesBudget {
    capacity: u64,
    state: Mutex<BytesInUse>,
    freed: Condvar,
}

struct BytesInUse {
    used: u64,
    closed: bool,
}

impl BytesBudget {
    pub(crate) fn new(capacity: u64) -> BytesBudget {
        BytesBudget {
            capacity,
            state: Mutex::new(BytesInUse { used: 0, closed: false }),
            freed: Condvar::new(),
        }
    }

    /// Waits until `bytes` fit and takes them; `false` once the budget is closed. One item larger than the whole
    /// budget takes all of it, so it passes alone instead of never.
    pub(crate) fn take(&self, bytes: u64) -> Option<u64> {
        let bytes = bytes.min(self.capacity);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.closed && state.used + bytes > self.capacity {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return None;
        }
        state.used += bytes;
        Some(bytes)
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.used -= bytes;
        self.freed.notify_all();
    }

    /// Wakes everybody who waits: the other end is gone.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::BytesBudget;

    #[test]
    fn a_giant_passes_alone_and_closing_wakes_the_waiting() {
        let budget = BytesBudget::new(10);
        let giant = budget.take(1000);
        assert_eq!(giant, Some(10));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.take(1));
            budget.close();
            assert_eq!(waiting.join().unwrap(), None);
        });
    }
}
