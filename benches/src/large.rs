//! Two promises about large folders: a search in a hundred thousand chunks of real text, and one edit among a hundred
//! thousand files.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Client, Era, Folder, Program, Random, Tree};

use crate::figures::Report;
use crate::measure::{cpu_of, megabytes, milliseconds, quantile, run};
use crate::{Setting, inside, queries, searching};

/// Searches several large packages at once.
pub(crate) fn warm_search(setting: &Setting, report: &mut Report) -> Result<(), String> {
    let tree = &setting.large;
    let state = setting.scratch.outside().join("large");
    let program = Program::at(&setting.binary, tree).state_dir(&state);
    run(&mut program.command(&["index", "--quiet"]))?;
    let chunks =
        program.json(&["status", "--json"])["snapshot"]["indexing"]["chunks_total"].as_u64().unwrap_or(0);
    let mut took = inside::search(tree, &state, &queries::of_tree(tree, 2_200)?)?;
    let detail = format!(
        "{chunks} chunks of several packages, 2000 different queries of two to six words; \
         99th percentile {:.1} ms, median CPU time {:.2} ms",
        milliseconds(took.worst()),
        milliseconds(took.median_cpu())
    );
    report.at_most(
        "Search in process, warm, embedding included, median",
        milliseconds(took.median()),
        5.0,
        " ms",
        &detail,
    );
    Ok(())
}

/// A file is saved among very many that are watched: how long until its new word is found.
pub(crate) fn one_edit(setting: &Setting, report: &mut Report) -> Result<(), String> {
    const FILES: usize = 100_000;
    const PER_FOLDER: usize = 25;
    const EDITS: usize = 20;
    let folder = Folder::empty();
    for file in 0..FILES {
        let part = file / PER_FOLDER;
        folder.write(
            &format!("area{}/part{part}/note{file}.md", part / 40),
            format!("# Note {file}\n\nOn subject {file}, and what part {part} says of it.\n"),
        );
    }
    let state = folder.outside().join("state");
    let program = Program::new(&setting.binary, &folder).state_dir(&state);
    let cost = run(&mut program.command(&["index", "--quiet"]))?;
    let server = program.serve(&[]);
    server.wait_indexed();

    let mut client = server.client(Era::Modern);
    let mut random = Random::new(5);
    let mut samples = Vec::with_capacity(EDITS);
    let before = cpu_of(server.id())?;
    for edit in 0..EDITS {
        let file = random.below(FILES);
        let part = file / PER_FOLDER;
        let mark = format!("{}edited", Tree::mark(edit));
        let started = Instant::now();
        folder.write(
            &format!("area{}/part{part}/note{file}.md", part / 40),
            format!("# Note {file}\n\nOn subject {file}, now with {mark}.\n"),
        );
        while !finds(&mut client, &mark) {
            if started.elapsed() > Duration::from_secs(60) {
                return Err(format!("edit {edit} of {FILES} watched files is not found"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        samples.push(started.elapsed());
    }
    let spent = cpu_of(server.id())?.saturating_sub(before);
    let detail = format!(
        "{FILES} files watched, median of {EDITS} edits, worst {:.0} ms, {:.0} ms of CPU time each with the questions asked meanwhile",
        milliseconds(quantile(&mut samples, 1.0)),
        milliseconds(spent / EDITS as u32)
    );
    let median = milliseconds(quantile(&mut samples, 0.5));
    report.at_most("One edited file until it is found, wall time", median, 1000.0, " ms", &detail);
    report.note(format!(
        "Indexing {FILES} small files takes {:.1} s of CPU time and {:.0} MB; the server that watches them holds {} chunks.",
        cost.cpu.as_secs_f64(),
        megabytes(cost.memory),
        searching::chunks(&server)
    ));
    Ok(())
}

fn finds(client: &mut impl Client, mark: &str) -> bool {
    let answer = client.expect("dir2mcp.search", json!({ "query": mark, "k": 1, "index": "text" }));
    answer["hits"][0]["snippet"].as_str().is_some_and(|text| text.contains(mark))
}
