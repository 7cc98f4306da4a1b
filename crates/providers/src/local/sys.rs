//! What differs between systems: limits for another process.

use rustix::process::{Pid, setpriority_process};

/// How far below ordinary work a program is scheduled.
const NICENESS: i32 = 10;

/// Limits the address space and the CPU seconds of a process, and lowers its priority. What cannot be limited is still
/// ended by the clock.
pub(super) fn limit(pid: Pid, memory: u64, seconds: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, prlimit};
        for (resource, limit) in [(Resource::As, memory), (Resource::Cpu, seconds)] {
            let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
            let _ = prlimit(Some(pid), resource, limit);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (memory, seconds);
    lower_priority(pid);
}

pub(super) fn lower_priority(pid: Pid) {
    let _ = setpriority_process(Some(pid), NICENESS);
}
