//! The system's wall clock, and time stamps as they are written down.

use std::time::SystemTime;

use model::WallClock;

/// What the system says.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl WallClock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// RFC 3339 in UTC, with milliseconds and `Z`.
pub(crate) fn timestamp(clock: &dyn WallClock) -> String {
    let now = jiff::Timestamp::try_from(clock.now()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{now:.3}")
}

/// The year in UTC.
pub(crate) fn year(clock: &dyn WallClock) -> i32 {
    let now = jiff::Timestamp::try_from(clock.now()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    i32::from(now.to_zoned(jiff::tz::TimeZone::UTC).year())
}
