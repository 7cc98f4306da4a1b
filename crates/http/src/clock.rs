//! Where the edge reads the time, so that tests can let a day pass in no time.

use std::time::Instant;

/// A monotonic clock: limits and expiry must not follow the wall clock when it is set back.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Instant;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }
}
