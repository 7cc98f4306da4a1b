//! Beside semble, the nearest peer: a hybrid search over static embeddings. Both index the same copy of the tree and answer
//! the same queries.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Client, Era, Folder, Program, Semble};

use crate::figures::Report;
use crate::inside::{self, Took};
use crate::measure::{Cost, best, megabytes, milliseconds, quantile, run, size_of};
use crate::{Setting, queries};

/// What each side is asked, the warming ones included.
const QUERIES: usize = 700;
const WARMING: usize = 100;
const FIRST: &str = "connection timeout";
const MARK: &str = "xylophonistedited";
/// All kinds of files, as ours.
const CONTENT: &str = "all";

/// One side's figures.
struct Side {
    index: Cost,
    size: u64,
    contents: String,
    /// A process that answers one query from the finished index.
    first: Cost,
    /// The same after one file was written.
    edit: Cost,
    inside: Took,
}

pub(crate) fn measure(setting: &Setting, semble: &Semble, report: &mut Report) -> Result<(), String> {
    // A copy, because one file is edited.
    let folder = Folder::empty();
    run(Command::new("cp").arg("-r").arg(setting.tree.join(".")).arg(folder.path()))?;
    let queries = queries::of_tree(folder.path(), QUERIES)?;
    let cache = folder.outside().join("semble");
    let state = folder.outside().join("state");
    let program = Program::new(&setting.binary, &folder).state_dir(&state);
    let peer = |query: &str| semble.search(folder.path(), &cache, query, CONTENT);

    // By turns, so that what else the machine does falls on both.
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let _ = std::fs::remove_dir_all(&state);
        let _ = std::fs::remove_dir_all(&cache);
        ours.push(run(&mut program.command(&["index", "--quiet"]))?);
        theirs.push(run(&mut peer(FIRST))?);
    }
    let progress = program.json(&["status", "--json"])["snapshot"]["indexing"].clone();
    let our_contents = format!("{} files, {} chunks", progress["indexed"], progress["chunks_total"]);
    let cheapest = |costs: Vec<Cost>| {
        let mut costs = costs.into_iter();
        best(2, || costs.next().ok_or_else(String::new))
    };
    let (our_index, their_index) = (cheapest(ours)?, cheapest(theirs)?);
    let sizes = (size_of(&state), size_of(&cache));
    let first =
        (best(3, || run(&mut program.command(&["search", FIRST])))?, best(3, || run(&mut peer(FIRST)))?);
    let (their_contents, their_took) = answer(semble, folder.path(), &cache, &queries)?;
    let our_took = inside::search(folder.path(), &state, &queries)?;
    let over_http = over_http(&program, &queries);

    folder.write("edited.py", format!("def {MARK}():\n    return 1\n"));
    let refreshed = run(&mut program.command(&["index", "--quiet"]))?;
    let our_edit = refreshed.then(run(&mut program.command(&["search", MARK]))?);
    let their_edit = run(&mut peer(MARK))?;
    for mut command in [program.command(&["search", MARK]), peer(MARK)] {
        let output = command.output().map_err(crate::text)?;
        if !String::from_utf8_lossy(&output.stdout).contains(&format!("{MARK}():")) {
            return Err(format!("{command:?} does not find the edit"));
        }
    }

    let ours = Side {
        index: our_index,
        size: sizes.0,
        contents: our_contents,
        first: first.0,
        edit: our_edit,
        inside: our_took,
    };
    let theirs = Side {
        index: their_index,
        size: sizes.1,
        contents: their_contents,
        first: first.1,
        edit: their_edit,
        inside: their_took,
    };
    report.at_most(
        "Indexing, CPU time against semble",
        ours.index.cpu.as_secs_f64() / theirs.index.cpu.as_secs_f64(),
        0.15,
        "",
        &format!("{:.1} s and {:.1} s", ours.index.cpu.as_secs_f64(), theirs.index.cpu.as_secs_f64()),
    );
    report.at_most(
        "Peak memory while indexing, against semble",
        ours.index.memory as f64 / theirs.index.memory as f64,
        0.4,
        "",
        &format!("{:.0} MB and {:.0} MB", megabytes(ours.index.memory), megabytes(theirs.index.memory)),
    );
    report.section(table(&semble.version().map_err(crate::text)?, ours, theirs, over_http));
    Ok(())
}

/// What it holds, and what each query takes in its own process.
fn answer(semble: &Semble, tree: &Path, cache: &Path, queries: &[String]) -> Result<(String, Took), String> {
    let input = cache.join("queries");
    std::fs::write(&input, queries.join("\n")).map_err(crate::text)?;
    let output = semble
        .answers(tree, cache, 10, CONTENT)
        .stdin(std::fs::File::open(&input).map_err(crate::text)?)
        .stderr(Stdio::inherit())
        .output()
        .map_err(crate::text)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let told: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    let (held, answers) = told.split_first().ok_or("semble told nothing")?;
    let mut took = Took::default();
    for each in answers.iter().skip(WARMING) {
        took.wall.push(Duration::from_nanos(each["wall"].as_u64().unwrap_or(0)));
        took.cpu.push(Duration::from_nanos(each["cpu"].as_u64().unwrap_or(0)));
    }
    Ok((format!("{} files, {} chunks", held["files"], held["chunks"]), took))
}

/// Median and 99th percentile of ours with everything that a client sees.
fn over_http(program: &Program, queries: &[String]) -> (Duration, Duration) {
    let server = program.serve(&["--auth", "none"]);
    server.wait_indexed();
    let mut client = server.client(Era::Modern);
    let mut samples = Vec::with_capacity(queries.len());
    for (round, query) in queries.iter().enumerate() {
        let started = Instant::now();
        client.expect("dir2mcp.search", json!({ "query": query, "k": 10 }));
        if round >= WARMING {
            samples.push(started.elapsed());
        }
    }
    (quantile(&mut samples, 0.5), quantile(&mut samples, 0.99))
}

fn table(version: &str, mut ours: Side, mut theirs: Side, over_http: (Duration, Duration)) -> String {
    let mut page = format!(
        "## Beside semble\n\nsemble {version} with all kinds of content and WordLlama's table of 256 dimensions (its own is not in \
         its package), on a copy of the tree, by turns. Both answer {} different queries of two to six words. \
         \"First answer\" is a process of the command line from start to end on the finished index; after an edit it brings \
         the index up to date first.\n\n| | dir2mcp | semble | ratio |\n|---|---:|---:|---:|\n",
        QUERIES - WARMING
    );
    let _ = writeln!(page, "| indexed | {} | {} | |", ours.contents, theirs.contents);
    let mut row = |what: &str, unit: &str, one: f64, other: f64| {
        let digits = |value: f64| if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        let _ = writeln!(
            page,
            "| {what}, {unit} | {one:.a$} | {other:.b$} | {:.3} |",
            one / other,
            a = digits(one),
            b = digits(other)
        );
    };
    let seconds = |time: Duration| time.as_secs_f64();
    row("index, CPU", "s", seconds(ours.index.cpu), seconds(theirs.index.cpu));
    row("index, wall", "s", seconds(ours.index.wall), seconds(theirs.index.wall));
    row("index, peak memory", "MB", megabytes(ours.index.memory), megabytes(theirs.index.memory));
    row("index size", "MB", megabytes(ours.size), megabytes(theirs.size));
    row("first answer, CPU", "s", seconds(ours.first.cpu), seconds(theirs.first.cpu));
    row("first answer, wall", "s", seconds(ours.first.wall), seconds(theirs.first.wall));
    row("first answer, peak memory", "MB", megabytes(ours.first.memory), megabytes(theirs.first.memory));
    row("first answer after an edit, CPU", "s", seconds(ours.edit.cpu), seconds(theirs.edit.cpu));
    row("first answer after an edit, wall", "s", seconds(ours.edit.wall), seconds(theirs.edit.wall));
    let ms = milliseconds;
    row("query in process, p50", "ms", ms(ours.inside.median()), ms(theirs.inside.median()));
    row("query in process, p99", "ms", ms(ours.inside.worst()), ms(theirs.inside.worst()));
    row("query in process, CPU p50", "ms", ms(ours.inside.median_cpu()), ms(theirs.inside.median_cpu()));
    let _ = writeln!(page, "| query over HTTP, p50, ms | {:.2} | – | |", ms(over_http.0));
    let _ = writeln!(page, "| query over HTTP, p99, ms | {:.2} | – | |", ms(over_http.1));
    page
}
