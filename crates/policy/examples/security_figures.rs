//! How good the secret rules and the redaction are, on the labelled lines of the tests and on the files of real packages:
//! `security_figures PACKAGES OUT`. `cargo xtask secrets` runs it and writes `docs/security-figures.md`.

#![allow(clippy::disallowed_methods, reason = "it measures on packages that it was given")]

#[path = "../tests/it/formats.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod formats;
#[path = "../tests/it/judged.rs"]
mod judged;
#[path = "../tests/it/labelled.rs"]
mod labelled;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use model::RelPath;
use policy::{SecretLevel, redact};

use formats::{PHONES, drawn};
use judged::{Judged, policy};

fn main() {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = arguments.next().expect("a folder of unpacked packages");
    let out = arguments.next().expect("where to write the figures");
    let mut files = Vec::new();
    clean_files(&folder, &mut files);
    let mut texts = Vec::new();
    for file in files {
        let path = file.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
        let Ok(path) = RelPath::from_walk(&path) else { continue };
        if let Ok(text) = String::from_utf8(fs::read(&file).unwrap())
            && text.len() <= 20 << 20
            && !text.contains('\0')
        {
            texts.push((path, text));
        }
    }
    let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
    let mut page = "| level | recall | precision | precision with packages | clean files held back | files with private keys | MB/s |\n\
                    |---|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let mut classes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut blocked_page = String::new();
    for level in [SecretLevel::Default, SecretLevel::Strict] {
        let policy = policy(level);
        let started = cpu_seconds();
        let mut blocked: Vec<(&RelPath, &str, u32)> = Vec::new();
        let mut keys = 0;
        for (path, text) in &texts {
            match policy.scan(path, text.as_bytes()) {
                // A private key in a test is a private key: rightly held back.
                Some(found) if found.rule == "private-key" || found.rule == "jwk-private-key" => keys += 1,
                Some(found) => blocked.push((path, found.rule, found.line)),
                None => {}
            }
        }
        let speed = bytes as f64 / 1e6 / (cpu_seconds() - started);
        let judged = Judged::new(level);
        writeln!(
            page,
            "| {level:?} | {:.3} | {:.3} | {:.3} | {} of {} ({:.3} %) | {keys} | {speed:.0} |",
            judged.recall(),
            judged.precision(0),
            judged.precision(blocked.len()),
            blocked.len(),
            texts.len(),
            blocked.len() as f64 * 100.0 / texts.len() as f64
        )
        .unwrap();
        for (class, (found, all)) in &judged.by_class {
            classes.entry(class).or_default().push(format!("{found} of {all}"));
        }
        for wrong in &judged.wrong {
            writeln!(blocked_page, "wrong\t{level:?}\t{wrong}").unwrap();
        }
        for (path, rule, line) in &blocked {
            let (_, text) = texts.iter().find(|(other, _)| other == *path).unwrap();
            let line_text = text.lines().nth(*line as usize - 1).unwrap_or_default();
            let shown: String = line_text.trim().chars().take(120).collect();
            writeln!(blocked_page, "file\t{level:?}\t{rule}\t{path}:{line}\t{shown}").unwrap();
        }
    }
    page.push_str("\n| what is found | default | strict |\n|---|---:|---:|\n");
    for (class, found) in &classes {
        writeln!(page, "| {class} | {} |", found.join(" | ")).unwrap();
    }
    let (mut numbers, mut leaked) = (0, 0);
    for format in PHONES {
        for seed in 100..150 {
            let number = drawn(format, seed);
            let shown = redact(&format!("17,{number},Anna")).into_owned();
            numbers += 1;
            leaked += usize::from(!shown.contains("[PHONE]"));
        }
    }
    let mut lines = 0;
    let mut altered = Vec::new();
    for (path, text) in texts.iter().step_by(17) {
        for line in text.lines().filter(|line| line.bytes().any(|byte| byte.is_ascii_digit())).step_by(5) {
            lines += 1;
            let shown = redact(line);
            if shown.contains("[PHONE]") || shown.contains("[CARD]") || shown.contains("[IBAN]") {
                altered.push(format!("blank\t{path}\t{}", line.trim().chars().take(120).collect::<String>()));
            }
        }
    }
    writeln!(page, "\n{leaked} of {numbers} phone numbers in cells of a table left in clear.").unwrap();
    writeln!(
        page,
        "{} of {lines} lines with digits from these packages had a number blanked ({:.3} %).",
        altered.len(),
        altered.len() as f64 * 100.0 / f64::from(lines)
    )
    .unwrap();
    writeln!(blocked_page, "{}", altered.join("\n")).unwrap();
    writeln!(page, "\n{} files, {:.0} MB.", texts.len(), bytes as f64 / 1e6).unwrap();
    fs::write(&out, page).unwrap();
    fs::write(out.with_extension("tsv"), blocked_page).unwrap();
}

/// The files of real packages: paths as they are in their package, and their bytes.
fn clean_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            clean_files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The processor's time of this process: other programs on the machine do not make the rules slower.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // User and system time in ticks, of which Linux counts a hundred in a second for everybody.
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}
