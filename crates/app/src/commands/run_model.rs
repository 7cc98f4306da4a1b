//! `dir2mcp run-model`: the child that runs a model of an extra on pictures, recordings or passages. It reads the model's
//! files, then gives up everything it could harm with before it reads the first byte of the folder's.

use std::ffi::OsString;

use policy::{Confinement, ConfinementStatus};
use providers::local::ModelChild;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::exit::Exit;

/// Memory for a model, a page and what lies between: recognising a page of 300 dpi takes up to 1.2 GB.
const MAX_DATA_BYTES: u64 = 3 << 30;

pub(crate) fn run(arguments: &[OsString]) -> Result<(), Exit> {
    let mut child = ModelChild::open(arguments)?;
    let files = policy::confine(&Confinement::default());
    child.start_threads();
    let limits = [
        (Resource::Data, MAX_DATA_BYTES),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        // What is open stays open; nothing more can be.
        (Resource::Nofile, 3),
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
    Ok(child.serve(&mut input, &mut output, &missing.join("; "))?)
}
