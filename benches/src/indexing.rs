//! Indexing a source tree, scanning it again, and one edited file; beside ripgrep on the same files.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use testkit::{Client, Era, Folder, Program, Tree};

use crate::Setting;
use crate::figures::Report;
use crate::measure::{best, cpu_of, megabytes, milliseconds, quantile, run, size_of};

const BUILDS: usize = 5;
/// Together they take about as long as a build, half of them before it and half behind it.
const COUNTS_PER_BUILD: usize = 20;
const RESCANS: usize = 15;

/// Returns the state directory with the finished index of the tree.
pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Result<PathBuf, String> {
    let rg = |arguments: &[&str]| run(Command::new("rg").args(arguments).arg(&setting.tree));
    let (files, bytes) = input(setting)?;
    report.note(format!("The tree has {files} files, {:.0} MB.", megabytes(bytes)));
    rg(&["--count", "warm"])?;

    let state = setting.scratch.outside().join("state");
    let program = Program::at(&setting.binary, &setting.tree).state_dir(&state);
    let mut index = program.command(&["index", "--quiet"]);
    // By turns: what disturbs one disturbs the other, so each build is compared with the counts around it.
    let counts = || (0..COUNTS_PER_BUILD / 2).map(|_| Ok(rg(&["--count", "xylophonist"])?.cpu)).sum();
    let (mut times, mut mean_counts) = (Vec::new(), Vec::new());
    let whole = best(BUILDS, || {
        let before: Result<Duration, String> = counts();
        if state.exists() {
            std::fs::remove_dir_all(&state).map_err(crate::text)?;
        }
        let build = run(&mut index)?;
        let count = (before? + counts()?) / COUNTS_PER_BUILD as u32;
        times.push(build.cpu.div_duration_f64(count));
        mean_counts.push(count);
        Ok(build)
    })?;
    times.sort_by(f64::total_cmp);
    let count = quantile(&mut mean_counts, 0.5);
    report.note(format!(
        "Indexing takes {:.1} s of CPU time and {:.1} s of wall time, {:.1} MB per CPU second.",
        whole.cpu.as_secs_f64(),
        whole.wall.as_secs_f64(),
        megabytes(bytes) / whole.cpu.as_secs_f64()
    ));
    let detail = format!("median of {BUILDS}");
    report.at_most("Indexing, CPU time against `rg --count`", times[BUILDS / 2], 60.0, " times", &detail);
    report.at_most("Peak memory while indexing", megabytes(whole.memory), 300.0, " MB", "");
    let size = size_of(&state);
    let share = size as f64 / bytes as f64;
    report.at_most("Index size against input size", share, 0.6, "", &format!("{:.0} MB", megabytes(size)));

    // By turns again; both are short, so there are more of them.
    let (mut list, mut rescan) = (Vec::new(), Vec::new());
    for _ in 0..RESCANS {
        list.push(rg(&["--files"])?.cpu);
        rescan.push(run(&mut index)?.cpu);
    }
    let (list, rescan) = (quantile(&mut list, 0.5), quantile(&mut rescan, 0.5));
    report.note(format!(
        "`rg --count` of a word that hardly occurs takes {:.2} s of CPU time, `rg --files` {:.3} s.",
        count.as_secs_f64(),
        list.as_secs_f64()
    ));
    let detail = format!("{:.3} s, median of {RESCANS}", rescan.as_secs_f64());
    report.at_most(
        "Unchanged re-scan, CPU time against `rg --files`",
        rescan.div_duration_f64(list),
        3.0,
        " times",
        &detail,
    );
    one_edit(setting, report)?;
    Ok(state)
}

/// Number and size of the files that ripgrep would search.
fn input(setting: &Setting) -> Result<(usize, u64), String> {
    let output =
        Command::new("rg").arg("--files").arg("-0").arg(&setting.tree).output().map_err(crate::text)?;
    let paths: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty()).collect();
    let bytes = paths
        .iter()
        .filter_map(|path| std::fs::metadata(std::str::from_utf8(path).ok()?).ok())
        .map(|metadata| metadata.len())
        .sum();
    Ok((paths.len(), bytes))
}

/// A file is saved in a watched folder: what it costs until it can be found.
fn one_edit(setting: &Setting, report: &mut Report) -> Result<(), String> {
    const EDITS: usize = 40;
    let folder = Folder::empty();
    let tree = Tree { files: 2_000, parts: 12, seed: 3 };
    tree.write(folder.path()).map_err(crate::text)?;
    let server = Program::new(&setting.binary, &folder).serve(&[]);
    server.wait_indexed();
    let mut client = server.client(Era::Modern);
    let mut ask = |mark: &str| {
        let answer = client.expect("dir2mcp.search", json!({ "query": mark, "k": 1, "index": "text" }));
        answer["hits"][0]["snippet"].as_str().is_some_and(|text| text.contains(mark))
    };
    // Asking costs too; what it costs is measured first and taken off.
    let before = cpu_of(server.id())?;
    for _ in 0..200 {
        ask("nothinglikethis");
    }
    let per_question = (cpu_of(server.id())? - before) / 200;

    let before = cpu_of(server.id())?;
    let mut questions = 0;
    for edit in 0..EDITS {
        let mark = format!("{}edited", Tree::mark(edit));
        folder.write("ledger/part0/edited.txt", format!("{}\n{mark}\n", tree.file(4, edit as u64).1));
        server.poll("the edit", |_| {
            questions += 1;
            ask(&mark).then_some(())
        });
    }
    let spent = (cpu_of(server.id())? - before).saturating_sub(per_question * questions);
    let each = milliseconds(spent / EDITS as u32);
    report.at_most(
        "One edited file until it is found, CPU time",
        each,
        20.0,
        " ms",
        &format!("mean of {EDITS}"),
    );
    Ok(())
}
