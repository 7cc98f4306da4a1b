//! What this process and this thread cost; other processes are measured by the test kit.

use std::fs;
use std::time::Duration;

pub(crate) use testkit::measure::{Cost, best, cpu_of, megabytes, milliseconds, quantile, run, size_of};

/// CPU time of this process so far, to the nanosecond.
pub(crate) fn cpu_of_this() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// CPU time of this thread so far. The kernel brings it up to date every few milliseconds.
pub(crate) fn cpu_of_thread() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split_whitespace().next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}
