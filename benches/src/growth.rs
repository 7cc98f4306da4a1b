//! How the figures grow with the number of chunks.

use std::fmt::Write as _;

use testkit::{Era, Folder, Program, Random};

use crate::Setting;
use crate::figures::Report;
use crate::measure::{best, megabytes, milliseconds, run, size_of};
use crate::searching;

/// Small chunks, so that a million of them are hundreds of megabytes and not gigabytes.
const CONFIG: &str = "version: 1\nchunking:\n  max_chars: 400\n  overlap_chars: 40\n  min_chars: 50\n";
const CHUNKS: &[usize] = &[10_000, 100_000, 1_000_000];

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Result<(), String> {
    let mut table = String::from(
        "## Growth\n\nGenerated prose in files of 100 kB, cut into chunks of 400 characters.\n\n\
         | chunks | input MB | index CPU s | MB per CPU s | peak MB | index / input | re-scan CPU s | first answer ms | \
         search p50 ms | p99 ms |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for goal in CHUNKS {
        let folder = Folder::empty();
        folder.write(".dir2mcp.yaml", CONFIG);
        let input = prose(&folder, *goal);
        let state = folder.outside().join("state");
        let program = Program::new(&setting.binary, &folder).state_dir(&state);
        let cost = run(&mut program.command(&["index", "--quiet"]))?;
        let rescan = best(3, || run(&mut program.command(&["index", "--quiet"])))?;
        let size = size_of(&state);
        let started = std::time::Instant::now();
        let server = program.serve(&["--auth", "none"]);
        let first = started.elapsed();
        server.wait_indexed();
        let chunks = searching::chunks(&server);
        // Words of the texts, from frequent to rare.
        let words: Vec<String> = (0..200).map(|n| word(7 + n * 211)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (p50, p99) = searching::latency(&mut server.client(Era::Modern), 500, &words);
        let _ = writeln!(
            table,
            "| {chunks} | {:.0} | {:.1} | {:.1} | {:.0} | {:.2} | {:.3} | {:.0} | {:.2} | {:.2} |",
            megabytes(input),
            cost.cpu.as_secs_f64(),
            megabytes(input) / cost.cpu.as_secs_f64(),
            megabytes(cost.memory),
            size as f64 / input as f64,
            rescan.cpu.as_secs_f64(),
            milliseconds(first),
            milliseconds(p50),
            milliseconds(p99),
        );
        println!("     {chunks} chunks measured");
    }
    report.section(table);
    Ok(())
}

/// Prose with a vocabulary that grows as that of natural text does: many words are rare. Returns its bytes.
fn prose(folder: &Folder, chunks: usize) -> u64 {
    let mut random = Random::new(chunks as u64);
    let bytes_per_chunk = 360;
    let files = (chunks * bytes_per_chunk).div_ceil(100_000);
    let mut total = 0;
    for file in 0..files {
        let mut text = String::with_capacity(101_000);
        let mut words = 0;
        while text.len() < 100_000 {
            // Zipf's law, roughly: the product of two uniform numbers.
            let rank = random.below(60_000) * random.below(1_000) / 1_000;
            spell(rank, &mut text);
            words += 1;
            text.push_str(if words % 90 == 0 {
                ".\n\n"
            } else if words % 13 == 0 {
                ".\n"
            } else {
                " "
            });
        }
        total += text.len() as u64;
        folder.write(&format!("part{}/text{file}.txt", file / 100), text);
    }
    total
}

fn word(number: usize) -> String {
    let mut text = String::new();
    spell(number, &mut text);
    text
}

/// A pronounceable word for a number.
fn spell(mut number: usize, text: &mut String) {
    const SYLLABLES: &[&str] =
        &["ba", "co", "de", "fi", "go", "hu", "la", "me", "ni", "po", "ra", "se", "ti", "vo", "ze", "ju"];
    loop {
        text.push_str(SYLLABLES[number % SYLLABLES.len()]);
        number /= SYLLABLES.len();
        if number == 0 {
            return;
        }
    }
}
