//! `cargo xtask load`: one honest client beside a greedy one, and memory after ten thousand questions at once.

use std::time::Duration;

use testkit::scenario::{Load, load};

use crate::Args;
use crate::process::{Profile, build};

/// What the figures may be.
const MOST_SLOWDOWN: f64 = 2.0;
const MOST_GROWTH: f64 = 0.05;

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let plan = Load {
        greedy: args.number("--greedy", 1_000)?,
        questions: args.number("--questions", 1_000)?,
        at_once: args.number("--at-once", 10_000)?,
        rounds: args.number("--rounds", 3)?,
        quiet: Duration::from_secs(30),
    };
    args.done()?;
    let binary = build(Profile::Release)?;
    let report = load(&binary, &plan, &|line| println!("{line}"))?;
    let megabytes = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    println!(
        "load: the honest client waits {:.2} times as long beside {} greedy connections (p99 {:.1} ms and {:.1} ms; as one of \
         them {:.1} ms), which had to come back {} times",
        report.slowdown(),
        plan.greedy,
        report.alone.p99.as_secs_f64() * 1e3,
        report.beside.p99.as_secs_f64() * 1e3,
        report.as_one.p99.as_secs_f64() * 1e3,
        report.reconnected,
    );
    println!(
        "load: {} of {} questions answered; {:.1} MB before, {:.1} MB at the peak, {:.1} MB after ({:+.1} %)",
        report.answered,
        plan.at_once * plan.rounds,
        megabytes(report.before),
        megabytes(report.peak),
        megabytes(report.after),
        report.growth() * 100.0
    );
    if report.answered < plan.at_once * plan.rounds {
        return Err("not every question was answered".into());
    }
    if report.slowdown() > MOST_SLOWDOWN {
        return Err("the honest client waits more than twice as long".into());
    }
    if report.growth() > MOST_GROWTH {
        return Err("the memory did not come back within 5 %".into());
    }
    Ok(())
}
