//! `cargo xtask test`: every test there is, in the order of their cost.

use std::time::{Duration, Instant};

use crate::process::{self, cargo, exists};
use crate::{Args, alerts, clients, conformance, console, docs, house, licences, provider_clients, tools};

type Step = (&'static str, &'static str, fn() -> Result<(), String>);

const STEPS: &[Step] = &[
    ("tools", "install what the external suites need", || tools::install().map(drop)),
    ("format", "cargo fmt --check", || process::run(cargo().args(["fmt", "--all", "--check"]))),
    ("lints", "cargo clippy, no warning allowed", lints),
    ("names", "each exported type name means one thing", house::check_names),
    ("licences", "every dependency is allowed by deny.toml", licences::check),
    ("tests", "unit and integration tests of the workspace", tests),
    ("conformance", "the official MCP conformance suite", conformance::run),
    ("clients", "real MCP clients over HTTP and stdio", clients::run),
    ("console", "the web page in a real browser", console::check),
    ("stand-ins", "the clients of model providers against our stand-in servers", provider_clients::run),
    ("alerts", "the alert rules and the dashboard of the file store, with promtool", alerts::check),
    ("docs", "the generated reference pages and the links", docs::check),
];

fn run_steps(chosen: &[String]) -> Result<(), String> {
    let mut results: Vec<(&str, Duration, Result<(), String>)> = Vec::new();
    for (name, what, step) in STEPS {
        if !chosen.is_empty() && !chosen.iter().any(|only| only == name) {
            continue;
        }
        println!("\n== {name}: {what}");
        let started = Instant::now();
        let result = step();
        if let Err(message) = &result {
            println!("== {name} FAILED: {message}");
        }
        results.push((name, started.elapsed(), result));
    }
    println!();
    for (name, took, result) in &results {
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        println!("{verdict:>8}  {name:<12} {:>7.1} s", took.as_secs_f64());
    }
    let failed = results.iter().filter(|(_, _, result)| result.is_err()).count();
    println!("steps: {} passed, {failed} failed", results.len() - failed);
    if failed > 0 { Err(format!("{failed} of {} steps failed", results.len())) } else { Ok(()) }
}

fn list_steps() {
    for (name, what, _) in STEPS {
        println!("{name:<12} {what}");
    }
}

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let list = args.switch("--list");
    let mut chosen = Vec::new();
    while let Some(name) = args.value("--only")? {
        if !STEPS.iter().any(|(step, _, _)| *step == name) {
            return Err(format!("no step {name:?}; --list names them"));
        }
        chosen.push(name);
    }
    args.done()?;
    if list {
        list_steps();
        return Ok(());
    }
    run_steps(&chosen)
}

fn lints() -> Result<(), String> {
    process::run(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "--deny",
        "warnings",
    ]))
}

/// The property tests draw the same cases every time here: whether a change may land must not be a matter of luck.
/// Without this command they draw new ones.
fn tests() -> Result<(), String> {
    let mut command = cargo();
    command.env("PROPTEST_RNG_SEED", "2026");
    if exists("cargo-nextest") {
        return process::run(command.args(["nextest", "run", "--workspace"]));
    }
    println!("cargo-nextest is not installed; falling back to cargo test");
    process::run(command.args(["test", "--workspace", "--quiet"]))
}
