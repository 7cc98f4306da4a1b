//! `cargo xtask fuzz`: coverage-guided fuzzing of everything that reads what strangers write.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::Args;
use crate::process::{cargo, list, run, target, workspace};

/// Each family, with the feature that compiles it.
const FAMILIES: &[(&str, Option<&str>)] = &[
    ("pdf", None),
    ("office", None),
    ("xls", None),
    ("rtf", None),
    ("html", None),
    ("mail", None),
    ("text", None),
    ("archive", None),
    ("picture", None),
    ("audio", None),
    ("redact", None),
    ("patterns", None),
    ("lang", Some("lang")),
    ("query", Some("query")),
    ("headers", Some("http")),
    ("messages", Some("mcp")),
    ("configuration", Some("config")),
];

/// An input may take this much; more is a finding.
const SECONDS: u64 = 20;
const MEGABYTES: u64 = 1024;
const LONGEST_INPUT: u64 = 32 << 10;

pub(crate) fn run_families(args: &mut Args) -> Result<(), String> {
    let minutes = args.number("--minutes", 60)?.max(1);
    let names = args.rest();
    let known = |name: &String| FAMILIES.iter().any(|(family, _)| family == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all = Vec::from_iter(FAMILIES.iter().map(|(family, _)| *family)).join(" ");
        return Err(format!("no family {unknown:?}; there are: {all}"));
    }
    let chosen = |family: &str| names.is_empty() || names.iter().any(|name| name == family);
    let mut found = Vec::new();
    println!("| family | minutes | executions | per second | edges covered | inputs kept | findings |");
    println!("|---|---:|---:|---:|---:|---:|---|");
    for (family, feature) in FAMILIES.iter().copied().filter(|(family, _)| chosen(family)) {
        let outcome = fuzz(&build(feature)?, family, minutes)?;
        println!("{}", outcome.row(family));
        found.extend(outcome.findings);
    }
    match found.as_slice() {
        [] => Ok(()),
        found => Err(format!(
            "inputs that must not be: {}. FUZZ_UNWRAP=FILE keeps the document that one means; a small one \
             belongs into crates/extract/tests/findings",
            found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The instrumented program. The flags are stable ones: what cargo-fuzz sets, without a sanitizer.
fn build(feature: Option<&str>) -> Result<PathBuf, String> {
    const FLAGS: [&str; 8] = [
        "--cfg=fuzzing",
        "-Cpasses=sancov-module",
        "-Cllvm-args=-sanitizer-coverage-level=4",
        "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
        "-Cllvm-args=-sanitizer-coverage-pc-table",
        "-Cllvm-args=-sanitizer-coverage-trace-compares",
        "-Cllvm-args=-sanitizer-coverage-stack-depth",
        "-Cforce-frame-pointers=yes",
    ];
    let host = host_triple()?;
    // One folder for all families, whose dependencies are mostly the same.
    let folder = target().join("fuzz/build");
    let mut command = cargo();
    command.current_dir(workspace().join("fuzz"));
    // A target of its own keeps the flags from the build scripts.
    command.args(["build", "--quiet", "--release", "--target", &host, "--target-dir"]).arg(&folder);
    command.args(feature.map(|feature| format!("--features={feature}")));
    command.env("RUSTFLAGS", FLAGS.join(" "));
    run(&mut command)?;
    Ok(folder.join(host).join("release/dir2mcp-fuzz"))
}

fn host_triple() -> Result<String, String> {
    let mut command = std::process::Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let told = command.arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let told = String::from_utf8_lossy(&told.stdout);
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not name its host".into())
}

struct Outcome {
    took: Duration,
    executions: u64,
    edges: u64,
    kept: usize,
    findings: Vec<PathBuf>,
}

impl Outcome {
    fn row(&self, family: &str) -> String {
        let seconds = self.took.as_secs().max(1);
        let (minutes, rate) = (self.took.as_secs_f64() / 60.0, self.executions / seconds);
        let findings =
            if self.findings.is_empty() { "none".to_owned() } else { self.findings.len().to_string() };
        let Outcome { executions, edges, kept, .. } = self;
        format!("| {family} | {minutes:.1} | {executions} | {rate} | {edges} | {kept} | {findings} |")
    }
}

fn fuzz(program: &Path, family: &str, minutes: usize) -> Result<Outcome, String> {
    let folder = target().join("fuzz/state").join(family);
    let (corpus, findings, log) = (folder.join("corpus"), folder.join("findings"), folder.join("log"));
    let say = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&corpus).map_err(say)?;
    std::fs::create_dir_all(&findings).map_err(say)?;
    let mut seed = std::process::Command::new(program);
    run(seed.env("FUZZ_FAMILY", family).env("FUZZ_SEEDS", &corpus))?;
    let started = Instant::now();
    let until = Duration::from_secs(60 * minutes as u64);
    let mut executions = 0;
    loop {
        let output = std::fs::File::create(&log).map_err(say)?;
        let left = until.saturating_sub(started.elapsed()).as_secs().max(1);
        let ended = std::process::Command::new(program)
            .env("FUZZ_FAMILY", family)
            .arg(&corpus)
            .arg(format!("-max_total_time={left}"))
            .arg(format!("-timeout={SECONDS}"))
            .arg(format!("-rss_limit_mb={MEGABYTES}"))
            .arg(format!("-max_len={LONGEST_INPUT}"))
            .arg(format!("-artifact_prefix={}/", findings.display()))
            .args(["-print_final_stats=1", "-verbosity=1", "-reload=0"])
            .stdout(Stdio::null())
            .stderr(output)
            .status()
            .map_err(say)?;
        let told = std::fs::read(&log).map_err(say)?;
        let told = String::from_utf8_lossy(&told);
        executions += last_number(&told, "stat::number_of_executed_units:");
        let slow = forget_passing_slowness(program, family, list(&findings)?)?;
        let findings = list(&findings)?;
        if !ended.success() && slow == 0 && findings.is_empty() {
            return Err(format!("{family}: the fuzzer ended with {ended}; see {}", log.display()));
        }
        if ended.success() || !findings.is_empty() || started.elapsed() >= until {
            let edges = last_number(&told, " cov: ");
            let (took, kept) = (started.elapsed(), list(&corpus)?.len());
            return Ok(Outcome { took, executions, edges, kept, findings });
        }
    }
}

/// Removes the inputs that took long only because the machine was busy with something else, and counts them.
fn forget_passing_slowness(program: &Path, family: &str, findings: Vec<PathBuf>) -> Result<usize, String> {
    let is_slow = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("timeout-") || name.starts_with("slow-unit-")
    };
    let mut forgotten = 0;
    for input in findings.into_iter().filter(is_slow) {
        let mut again = std::process::Command::new(program);
        again.env("FUZZ_FAMILY", family).arg(&input).arg(format!("-timeout={SECONDS}"));
        again.stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let passed = again.status().is_ok_and(|status| status.success());
        if passed && started.elapsed() < Duration::from_secs(SECONDS / 4) {
            std::fs::remove_file(&input).map_err(|error| format!("{}: {error}", input.display()))?;
            forgotten += 1;
        }
    }
    Ok(forgotten)
}

/// The last number that follows a label.
fn last_number(text: &str, label: &str) -> u64 {
    let after = text.rfind(label).map_or("", |at| text[at + label.len()..].trim_start());
    let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    after[..digits].parse().unwrap_or(0)
}
