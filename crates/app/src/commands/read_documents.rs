//! `dir2mcp read-documents`: the child that reads hostile documents. It gives up everything it could harm with before it
//! reads the first byte.

use policy::{Confinement, ConfinementStatus};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::exit::Exit;

/// Memory for the document, what it unpacks to and its text; three files of a kilobyte can ask for all there is.
const MAX_DATA_BYTES: u64 = 768 << 20;

/// Seconds of CPU over its whole life: a last resort, the server counts the time of each document.
const MAX_CPU_SECONDS: u64 = 3600;

pub(crate) fn run() -> Result<(), Exit> {
    // No file; and no connection either, since the limit below leaves no descriptor for one.
    let files = policy::confine(&Confinement::default());
    let limits = [
        (Resource::Data, MAX_DATA_BYTES),
        (Resource::Cpu, MAX_CPU_SECONDS),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        // What is open stays open; nothing more can be.
        (Resource::Nofile, 3),
        (Resource::Nproc, 0),
    ];
    for (resource, limit) in limits {
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
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    Ok(engine::serve_documents(&mut input, &mut output, &missing.join("; "))?)
}
