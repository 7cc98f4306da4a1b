//! What every child process of this program gives up before it reads the first byte that a stranger may have written.

use policy::ConfinementStatus;
use rustix::process::{Resource, Rlimit, setrlimit};

/// Sets the limits, beside those of every child, and forbids all system calls but a few. `files` is what became of the
/// confinement to files. Returns what the kernel could not do.
pub(super) fn give_up_rights(files: ConfinementStatus, limits: &[(Resource, u64)]) -> String {
    let always = [
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        // What is open stays open; nothing more can be, no connection either.
        (Resource::Nofile, 3),
    ];
    for (resource, limit) in limits.iter().copied().chain(always) {
        // Where a limit cannot be set, the others still hold.
        let _ = setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) });
    }
    let mut missing = Vec::new();
    if let ConfinementStatus::Unavailable { reason } = files {
        missing.push(format!("Landlock: {reason}"));
    }
    // Last, since what was done above is among what it forbids.
    if let Err(reason) = policy::read_only_syscalls() {
        missing.push(format!("seccomp: {reason}"));
    }
    missing.join("; ")
}
