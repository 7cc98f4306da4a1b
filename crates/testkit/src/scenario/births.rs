//! `kill -9` while a state directory comes to be; then the next run starts, finishes, and answers as if nothing had been.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::Answers;
use crate::{Folder, Program, Random, Tree};

#[derive(Debug, Clone)]
pub struct Births {
    pub kills: usize,
    /// The kill comes within this time after the start.
    pub within: Duration,
    pub seed: u64,
}

/// Runs the story and returns how many kills hit a process at work. `tell` hears how far it got.
pub fn births(binary: &Path, plan: &Births, tell: &dyn Fn(&str)) -> Result<usize, String> {
    let folder = Folder::empty();
    let tree = Tree { files: 30, parts: 4, seed: plan.seed };
    tree.write(folder.path()).map_err(|error| error.to_string())?;
    let queries = tree.queries();
    let clean = Program::new(binary, &folder).state_dir(&folder.outside().join("clean"));
    let wanted = Answers::of(&clean, &queries);
    let mut random = Random::new(plan.seed);
    let state = folder.outside().join("state");
    let program = Program::new(binary, &folder).state_dir(&state);
    let mut hits = 0;
    for number in 1..=plan.kills {
        let _ = fs::remove_dir_all(&state);
        let process = program.start(&["index"]);
        let micros = random.below(plan.within.as_micros() as usize) as u64;
        if process.output_ends(Duration::from_micros(micros)) {
            process.wait().expect(0);
        } else {
            process.kill_now();
            hits += 1;
        }
        let done = program.run(&["index"]);
        if done.code != Some(0) {
            return Err(format!("kill {number} after {micros} µs (seed {}): {}", plan.seed, done.output()));
        }
        if done.stderr.contains("could not be read") || done.stderr.contains("damaged") {
            return Err(format!("kill {number} after {micros} µs left a damaged state: {}", done.output()));
        }
        if number % 25 == 0 || number == plan.kills {
            if let Some(difference) = Answers::of(&program, &queries).difference(&wanted) {
                return Err(format!("kill {number} after {micros} µs: {difference}"));
            }
            tell(&format!("{number} births, {hits} killed at work"));
        }
    }
    Ok(hits)
}
