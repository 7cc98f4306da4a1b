//! `cargo xtask advisories`: known vulnerabilities and withdrawn versions among the dependencies.
//!
//! Not part of the tests: it needs the advisory database, which `cargo deny` fetches, and what it finds changes without a
//! change of ours.

use crate::Args;
use crate::process::{capture, cargo, exists};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    args.done()?;
    if !exists("cargo-deny") {
        return Err("cargo-deny is missing; install it with `cargo install cargo-deny --locked`".into());
    }
    let done = capture(cargo().args(["deny", "--all-features", "check", "advisories"]))?;
    print!("{}{}", done.stdout, done.stderr);
    match done.code {
        Some(0) => Ok(()),
        _ if done.stderr.contains("failed to fetch advisory database") => {
            Err("the advisory database could not be fetched (is this machine offline?); nothing was checked"
                .into())
        }
        _ => Err("a dependency has an advisory, see above".into()),
    }
}
