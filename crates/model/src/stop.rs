//! How work that runs for a caller is told to end. The work asks between its phases; whoever waits for it, or the clock
//! beside them, gives the order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::{ErrorCode, Failure};

/// One piece of work's order to end. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Orders>);

#[derive(Debug, Default)]
struct Orders {
    is_stopped: AtomicBool,
    is_late: AtomicBool,
}

impl Stop {
    /// For work that is never told to end.
    pub fn never() -> Stop {
        Stop::default()
    }

    /// The caller cancelled the call, or is gone.
    pub fn cancel(&self) {
        self.0.is_stopped.store(true, Relaxed);
    }

    /// The time of the call is over.
    pub fn expire(&self) {
        self.0.is_late.store(true, Relaxed);
        self.cancel();
    }

    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Relaxed)
    }

    /// To be asked between two phases of the work, and in its loops.
    pub fn check(&self) -> Result<(), Failure> {
        if !self.is_stopped() {
            return Ok(());
        }
        Err(match self.0.is_late.load(Relaxed) {
            true => Failure::new(ErrorCode::Timeout, "the time of the call is over"),
            false => Failure::new(ErrorCode::Cancelled, "the call was cancelled"),
        })
    }

    /// For walks and scans, which ask by themselves.
    pub fn flag(&self) -> &AtomicBool {
        &self.0.is_stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_order_counts_for_all_clones() {
        let stop = Stop::never();
        let work = stop.clone();
        assert!(work.check().is_ok());
        stop.expire();
        assert_eq!(work.check().unwrap_err().code, ErrorCode::Timeout);
        let other = Stop::never();
        other.cancel();
        assert_eq!(other.check().unwrap_err().code, ErrorCode::Cancelled);
        assert!(other.flag().load(Relaxed));
    }
}
