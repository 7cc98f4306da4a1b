//! `cargo xtask damage`: kills and power cuts while a state directory comes to be, and damage in every file of one.

mod power;

use std::time::Duration;

use testkit::scenario::{Births, births};

use crate::Args;
use crate::process::{Profile, build, cargo, run as run_command};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let seed = args.number("--seed", 1)?;
    let kills = args.number("--kills", 1000)?;
    let power_cuts = args.number("--power-cuts", 200)?;
    let flips = args.number("--flips", 10_000)?;
    let cuts = args.number("--truncations", 2_000)?;
    let blocks = args.number("--blocks", 500)?;
    let profile = if args.switch("--debug") { Profile::Debug } else { Profile::Release };
    args.done()?;
    let binary = build(profile)?;
    if kills > 0 {
        let plan = Births { kills, within: Duration::from_millis(200), seed: seed as u64 };
        let hits = births(&binary, &plan, &|line| println!("{line}"))?;
        println!("damage: {kills} births, {hits} of them killed within 200 ms: every one started again");
    }
    if power_cuts > 0 {
        let report = power::run(&binary, power_cuts, seed as u64)?;
        println!("damage: {report}");
    }
    if flips + cuts + blocks > 0 {
        let mut command = cargo();
        command.args(["test", "--quiet", "-p", "dir2mcp", "--test", "it"]);
        if let Profile::Release = profile {
            command.arg("--release");
        }
        command.args(["--", "--nocapture", "damage_anywhere_in_the_state_is_noticed_and_mended"]);
        let plan = format!("flips={flips},cuts={cuts},blocks={blocks},seed={seed}");
        run_command(command.env("DIR2MCP_DAMAGE", plan))?;
        println!("damage: {flips} flips, {cuts} truncations, {blocks} blocks of zeros: no wrong answer");
    }
    Ok(())
}
