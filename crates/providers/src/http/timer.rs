//! Time as the HTTP core sees it, so that a test of an hour's waiting takes no time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime};

/// Measures and waits.
pub trait HttpTimer: fmt::Debug + Send + Sync {
    /// Since some fixed moment; never goes back.
    fn elapsed(&self) -> Duration;

    /// The time of day, which dates in answers are compared with.
    fn now(&self) -> SystemTime;

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The system's clock.
#[derive(Debug)]
pub struct SystemTimer(Instant);

impl Default for SystemTimer {
    fn default() -> SystemTimer {
        SystemTimer(Instant::now())
    }
}

impl HttpTimer for SystemTimer {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(duration))
    }
}
