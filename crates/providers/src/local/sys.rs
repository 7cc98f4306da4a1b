//! What differs between systems: limits for another process.

use rustix::process::{Pid, setpriority_process};

/// How far below ordinary work a program is scheduled.
const NICENESS: i32 = 10;

/// Limits the address space of a process and lowers its priority. What cannot be limited still has its time limit.
pub(super) fn limit(pid: Pid, memory: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, prlimit};
        let limit = Rlimit { current: Some(memory), maximum: Some(memory) };
        let _ = prlimit(Some(pid), Resource::As, limit);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
    lower_priority(pid);
}

pub(super) fn lower_priority(pid: Pid) {
    let _ = setpriority_process(Some(pid), NICENESS);
}
