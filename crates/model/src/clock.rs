//! The wall clock as a port: the system's in a server, one that stands still in a test.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time of day, for time stamps. Durations are measured elsewhere, by a clock that is never set back.
pub trait WallClock: fmt::Debug + Send + Sync {
    fn now(&self) -> SystemTime;

    /// Since the beginning of 1970; nothing where the clock is set before it.
    fn since_1970(&self) -> Duration {
        self.now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}
