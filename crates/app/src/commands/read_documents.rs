//! `dir2mcp read-documents`: the child that reads hostile documents. It gives up everything it could harm with before it
//! reads the first byte.

use policy::Confinement;
use rustix::process::Resource;

use super::child::give_up_rights;
use crate::exit::Exit;

/// Memory for the document, what it unpacks to and its text; three files of a kilobyte can ask for all there is.
const MAX_DATA_BYTES: u64 = 768 << 20;

/// Seconds of CPU over its whole life: a last resort, the server counts the time of each document.
const MAX_CPU_SECONDS: u64 = 3600;

pub(crate) fn run() -> Result<(), Exit> {
    let files = policy::confine(&Confinement::default());
    let limits = [(Resource::Data, MAX_DATA_BYTES), (Resource::Cpu, MAX_CPU_SECONDS), (Resource::Nproc, 0)];
    let missing = give_up_rights(files, &limits);
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    Ok(engine::serve_documents(&mut input, &mut output, &missing)?)
}
