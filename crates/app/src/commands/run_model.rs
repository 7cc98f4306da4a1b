//! `dir2mcp run-model`: the child that runs a model of an extra on pictures, recordings or passages. It reads the model's
//! files, then gives up everything it could harm with before it reads the first byte of the folder's.

use std::ffi::OsString;

use policy::Confinement;
use providers::local::ModelChild;
use rustix::process::Resource;

use super::child::give_up_rights;
use crate::exit::Exit;

/// Memory for a model, a page and what lies between: recognising a page of 300 dpi takes up to 1.2 GB.
const MAX_DATA_BYTES: u64 = 3 << 30;

pub(crate) fn run(arguments: &[OsString]) -> Result<(), Exit> {
    let child = ModelChild::open(arguments)?;
    let files = policy::confine(&Confinement::default());
    child.start_threads();
    let missing = give_up_rights(files, &[(Resource::Data, MAX_DATA_BYTES)]);
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    Ok(child.serve(&mut input, &mut output, &missing)?)
}
