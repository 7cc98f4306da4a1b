//! The monotonic clock as a port: limits and expiry must not follow the wall clock when it is set back, and tests let a
//! day pass at once.

use std::time::Instant;

pub trait MonotonicClock: Send + Sync + 'static {
    fn now(&self) -> Instant;
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemMonotonicClock;

impl MonotonicClock for SystemMonotonicClock {
    fn now(&self) -> Instant {
        Instant::now()
    }
}
