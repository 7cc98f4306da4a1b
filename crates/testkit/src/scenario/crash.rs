//! `kill -9` at random moments while indexing; then nothing is lost, doubled or different.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Answers;
use crate::{Folder, Program, Random, Tree};

#[derive(Debug, Clone)]
pub struct Crash {
    pub kills: usize,
    pub files: usize,
    pub seed: u64,
}

#[derive(Debug)]
pub struct CrashReport {
    /// Kills that hit a process at work.
    pub hits: usize,
    /// Runs that had ended before their time came.
    pub late: usize,
    pub documents: usize,
    pub queries: usize,
}

/// Runs the story. `check` looks into a copy of `meta.sqlite` and says what is wrong with it; `tell` hears how far
/// it got.
pub fn crash(
    binary: &Path,
    plan: &Crash,
    check: &dyn Fn(&Path) -> Result<(), String>,
    tell: &dyn Fn(&str),
) -> Result<CrashReport, String> {
    let folder = Folder::empty();
    let tree = Tree { files: plan.files, parts: 8, seed: plan.seed };
    let mut numbers: Vec<usize> = (0..plan.files).collect();
    tree.write(folder.path()).map_err(|error| error.to_string())?;
    let mut random = Random::new(plan.seed);

    let state = folder.outside().join("state");
    let program = Program::new(binary, &folder).state_dir(&state);
    let started = Instant::now();
    program.index();
    let whole = started.elapsed();
    tell(&format!("a whole run over {} files takes {whole:.1?}", plan.files));

    let (mut hits, mut late, mut version) = (0, 0, 0u64);
    while hits < plan.kills {
        if (hits + late) % 20 == 0 {
            // From nothing: the moments of the first build are different ones.
            fs::remove_dir_all(&state).map_err(|error| error.to_string())?;
        } else {
            version += 1;
            change(&folder, &tree, &mut numbers, &mut random, version);
        }
        let process = program.start(&["index"]);
        let moment = whole.mul_f64(random.below(1_000) as f64 / 1_000.0) + Duration::from_millis(1);
        if process.output_ends(moment) {
            late += 1;
            process.wait().expect(0);
            if late > plan.kills * 20 {
                return Err(format!("only {hits} of {late} runs were slow enough to be killed"));
            }
            continue;
        }
        process.kill_now();
        hits += 1;
        if hits % 10 == 0 || hits == plan.kills {
            let copy = folder.outside().join("copy");
            copy_database(&state, &copy).map_err(|error| error.to_string())?;
            if copy.join("meta.sqlite").exists() {
                check(&copy.join("meta.sqlite")).map_err(|error| format!("after kill {hits}: {error}"))?;
            }
            tell(&format!("{hits} kills, {late} came too late, the database is whole"));
        }
    }

    let queries = tree.queries();
    program.index();
    check(&state.join("meta.sqlite"))?;
    let survivor = Answers::of(&program, &queries);
    let clean = Program::new(binary, &folder).state_dir(&folder.outside().join("clean"));
    clean.index();
    let fresh = Answers::of(&clean, &queries);
    if let Some(difference) = survivor.difference(&fresh) {
        return Err(format!("after {hits} kills (seed {}) the index differs: {difference}", plan.seed));
    }
    let missing = numbers.len().saturating_sub(survivor.documents.len());
    if missing > 0 {
        return Err(format!("{missing} of {} files are in neither index", numbers.len()));
    }
    Ok(CrashReport { hits, late, documents: survivor.documents.len(), queries: queries.len() })
}

/// Rewrites a tenth of the files, deletes one and brings one back.
fn change(folder: &Folder, tree: &Tree, numbers: &mut Vec<usize>, random: &mut Random, version: u64) {
    for _ in 0..(tree.files / 10).max(3) {
        let number = *random.pick(numbers);
        let (path, content) = tree.file(number, version);
        folder.write(&path, content);
    }
    if numbers.len() > tree.files / 2 {
        let gone = numbers.swap_remove(random.below(numbers.len()));
        folder.remove(&tree.file(gone, 0).0);
    }
    let back = random.below(tree.files);
    if !numbers.contains(&back) {
        let (path, content) = tree.file(back, version);
        folder.write(&path, content);
        numbers.push(back);
    }
}

/// Opening a database after a crash repairs it; the copy is repaired instead of the one under test.
fn copy_database(state: &Path, copy: &Path) -> std::io::Result<()> {
    let _ = fs::remove_dir_all(copy);
    fs::create_dir(copy)?;
    for name in ["meta.sqlite", "meta.sqlite-wal"] {
        if state.join(name).exists() {
            fs::copy(state.join(name), copy.join(name))?;
        }
    }
    Ok(())
}
