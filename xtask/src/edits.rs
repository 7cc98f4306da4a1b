//! `cargo xtask edits`: the long version of the test that edits a watched folder.

use testkit::scenario::{Edits, edits};

use crate::Args;
use crate::process::{Profile, build};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let plan = Edits {
        edits: args.number("--edits", 1_000)?,
        files: args.number("--files", 200)?,
        seed: args.number("--seed", 1)? as u64,
    };
    args.done()?;
    let binary = build(Profile::Release)?;
    let report = edits(&binary, &plan, &|line| println!("{line}"))?;
    println!(
        "edits: {} edits, {} documents, {} queries: byte-identical to a fresh index {:.1?} after the last edit",
        report.edits, report.documents, report.queries, report.settled
    );
    Ok(())
}
