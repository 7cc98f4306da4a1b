//! `cargo xtask torture`: several servers on one file store, killed while several writers work, and a checker of what they saw.

use testkit::Folder;
use testkit::scenario::{Torture, torture};
use testkit::store::{PLANTED_FAULTS, check_history, simulated_history};

use crate::Args;
use crate::process::{Profile, build};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let operations: usize = args.number("--operations", 20_000)?;
    let projects = args.number("--projects", 20)?;
    let seed = args.number("--seed", 1)? as u64;
    let kills = args.number("--kills", 4)?;
    args.done()?;
    find_planted_faults()?;
    let binary = build(Profile::Release)?;
    let folder = Folder::from("//- note.txt\nThe store lies beside this folder.");
    let store = format!("path: {}", folder.outside().join("shared.sqlite").display());
    let plan = Torture {
        servers: 2,
        writers: 8,
        projects,
        operations: operations / projects.max(1),
        kills,
        seed,
        store,
        crash: None,
    };
    let report = torture(&binary, &plan, &|line| println!("{line}"))?;
    println!(
        "torture: SQLite, 2 servers: {} operations ({} changes, {} refused), {} kills, {} repeated; every history is explained, \
         nothing is lost or doubled, and all is found within {:.1} s",
        report.operations,
        report.changes,
        report.refused,
        report.kills,
        report.repeated,
        report.converged.as_secs_f64()
    );
    Ok(())
}

/// A checker that finds nothing proves nothing.
fn find_planted_faults() -> Result<(), String> {
    for fault in PLANTED_FAULTS {
        if !(0..20).any(|seed| check_history(&simulated_history(Some(*fault), 6, 200, seed)).is_err()) {
            return Err(format!("the checker does not find {fault:?}"));
        }
    }
    println!("torture: the checker finds {0} of {0} planted faults", PLANTED_FAULTS.len());
    Ok(())
}
