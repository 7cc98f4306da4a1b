//! How good the secret rules and the redaction are, in figures. `cargo xtask secrets` runs this with real packages and
//! writes `docs/security-figures.md`; without packages it is a short test.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use model::RelPath;
use policy::{Policy, PolicyConfig, SecretLevel, redact};

use super::formats::{PHONES, drawn};
use super::labelled::{Line, negative, positive};

fn policy(secret_level: SecretLevel) -> Policy {
    Policy::new(PolicyConfig { secret_level, ..PolicyConfig::default() }).unwrap()
}

fn hit<'p>(policy: &'p Policy, line: &Line) -> Option<&'p str> {
    let path = RelPath::from_walk(line.path).unwrap();
    policy.scan(&path, line.text.as_bytes()).map(|found| found.rule)
}

/// Right hits, wrong hits and all lines with a credential, and the same by class.
struct Judged {
    found: usize,
    wrong: Vec<String>,
    all: usize,
    by_class: BTreeMap<&'static str, (usize, usize)>,
}

impl Judged {
    fn new(level: SecretLevel) -> Judged {
        let policy = policy(level);
        let lines = positive();
        let mut by_class: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
        for line in &lines {
            let (found, all) = by_class.entry(line.class).or_default();
            *found += usize::from(hit(&policy, line).is_some());
            *all += 1;
        }
        let wrong = negative()
            .iter()
            .filter_map(|line| Some(format!("{} {}: {}", hit(&policy, line)?, line.path, line.text)))
            .collect();
        let found = by_class.values().map(|(found, _)| found).sum();
        Judged { found, wrong, all: lines.len(), by_class }
    }

    fn recall(&self) -> f64 {
        self.found as f64 / self.all as f64
    }

    fn precision(&self, more_wrong: usize) -> f64 {
        self.found as f64 / (self.found + self.wrong.len() + more_wrong) as f64
    }
}

#[test]
fn d087_precision_and_recall_on_labelled_lines() {
    assert!(positive().len() + negative().len() >= 1500 && positive().len() >= 700);
    for (level, recall, precision) in [(SecretLevel::Default, 0.50, 0.95), (SecretLevel::Strict, 0.70, 0.80)]
    {
        let judged = Judged::new(level);
        let told = format!(
            "{level:?}: recall {:.3}, precision {:.3}, {:?}, wrong: {:#?}",
            judged.recall(),
            judged.precision(0),
            judged.by_class,
            judged.wrong
        );
        assert!(judged.recall() >= recall && judged.precision(0) >= precision, "{told}");
    }
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

#[test]
#[ignore = "takes real packages: cargo xtask secrets"]
fn figures() {
    let folder = PathBuf::from(
        std::env::var_os("DIR2MCP_PACKAGES").expect("DIR2MCP_PACKAGES: a folder of unpacked packages"),
    );
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
    let out = PathBuf::from(std::env::var_os("DIR2MCP_FIGURES").expect("DIR2MCP_FIGURES: where to write"));
    fs::write(&out, page).unwrap();
    fs::write(out.with_extension("tsv"), blocked_page).unwrap();
}
