//! `cargo xtask sessions`: the long version of the test with abandoned sessions.

use testkit::scenario::{Sessions, sessions};

use crate::Args;
use crate::process::{Profile, build};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let plan = Sessions { sessions: args.number("--sessions", 100_000)? };
    args.done()?;
    let binary = build(Profile::Release)?;
    let report = sessions(&binary, &plan, &|line| println!("{line}"))?;
    let megabytes = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    println!(
        "sessions: {} opened, {} refused, {} honest calls served; {:.1} MB at the start, {:.1} MB before, \
         {:.1} MB at the peak, {:.1} MB after ({:+.1} %)",
        report.opened,
        report.refused,
        report.honest_calls,
        megabytes(report.fresh),
        megabytes(report.before),
        megabytes(report.peak),
        megabytes(report.after),
        report.growth() * 100.0
    );
    if report.growth() > 0.05 { Err("the memory did not come back within 5 %".into()) } else { Ok(()) }
}
