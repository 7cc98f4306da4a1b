//! The official MCP conformance suite, twice: the scenarios that any server must pass against the product as it is
//! shipped, and the whole of both requirement sets against an example of the `mcp` crate that wraps the product's server
//! with the suite's fixtures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::{DEADLINE, Folder, Process, Program};

use crate::process::{self, Profile, build, capture, target};
use crate::tools::{self, Tools};

/// Scenarios that need nothing but a server, by revision.
const SHIPPED: &[(&str, &[&str])] = &[
    (
        "2025-11-25",
        &[
            "server-initialize",
            "ping",
            "tools-list",
            "server-session-lifecycle",
            "server-sse-multiple-streams",
            "dns-rebinding-protection",
        ],
    ),
    (
        "2026-07-28",
        &[
            "tools-list",
            "caching",
            "sep-2164-resource-not-found",
            "http-header-validation",
            "dns-rebinding-protection",
            "input-required-result-unsupported-methods",
            "server-stateless",
        ],
    ),
];

/// Checks of the scenarios above that ask for a fixture, which the product as shipped does not have. The run with
/// fixtures passes them.
const NEED_FIXTURES: &[&str] = &[
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
];

const REVISIONS: &[&str] = &["2025-11-25", "2026-07-28"];

pub(crate) fn run() -> Result<(), String> {
    let tools = tools::install()?;
    let binary = build(Profile::Debug)?;
    let folder = Folder::from("//- notes.md\n# Notes\n\nThe conformance suite reads this folder.\n");
    let mut failures = Vec::new();

    // The suite cannot send a token.
    let shipped = Program::new(&binary, &folder).state_dir(&folder.outside().join("shipped"));
    let server = shipped.serve(&["--auth", "none"]);
    for (revision, scenarios) in SHIPPED {
        let mut total = Counts::default();
        for scenario in *scenarios {
            let arguments = ["--scenario", scenario, "--spec-version", revision];
            let outcome = suite(&tools, &server.url(), &arguments)?;
            let counts = outcome.counts(NEED_FIXTURES);
            for failure in &counts.failures {
                println!("fail {revision} {scenario}: {failure}");
            }
            if counts.passed + counts.excused == 0 {
                println!("fail {revision} {scenario}: no check ran\n{}", outcome.output);
                failures.push((*scenario).to_owned());
            } else if !counts.failures.is_empty() {
                failures.push((*scenario).to_owned());
            }
            total.add(counts);
        }
        println!("as shipped, {revision}: {}", total.summary());
    }
    drop(server);

    let server = start_fixtures()?;
    let url = server.next_line(DEADLINE).ok_or("the server with fixtures did not say where it is")?;
    for revision in REVISIONS {
        let outcome = suite(&tools, &url, &["--requirements", revision])?;
        let counts = outcome.counts(&[]);
        for failure in &counts.failures {
            println!("note {revision}: {failure}");
        }
        println!("with fixtures, {revision}: {}", counts.summary());
        // The exit code is about what the revision requires; unscored scenarios are run too, and only noted.
        if outcome.code != Some(0) || counts.passed == 0 {
            println!("{}", tail(&outcome.output, 60));
            failures.push(format!("--requirements {revision}"));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(format!("conformance: {}", failures.join(", "))) }
}

/// The server with fixtures; its first line of output is its URL.
fn start_fixtures() -> Result<Process, String> {
    process::build_as_for_tests()?;
    let program = target().join("debug/examples/conformance");
    Process::start(&mut Command::new(&program)).map_err(|error| format!("{}: {error}", program.display()))
}

struct Outcome {
    code: Option<i32>,
    output: String,
    /// All `checks.json` of the run.
    checks: Vec<Value>,
}

#[derive(Default)]
struct Counts {
    passed: usize,
    warnings: usize,
    excused: usize,
    failures: Vec<String>,
}

impl Outcome {
    fn counts(&self, excused: &[&str]) -> Counts {
        let mut counts = Counts::default();
        for check in &self.checks {
            let id = check["id"].as_str().unwrap_or_default();
            match check["status"].as_str() {
                Some("SUCCESS") => counts.passed += 1,
                Some("WARNING") => counts.warnings += 1,
                Some("FAILURE") if excused.contains(&id) => counts.excused += 1,
                Some("FAILURE") => {
                    let why = check["errorMessage"].as_str().or(check["description"].as_str());
                    counts.failures.push(format!("{id}: {}", why.unwrap_or_default()));
                }
                _ => {}
            }
        }
        counts
    }
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.warnings += other.warnings;
        self.excused += other.excused;
        self.failures.extend(other.failures);
    }

    fn summary(&self) -> String {
        let mut text = format!("{} checks passed, {} failed", self.passed, self.failures.len());
        if self.warnings > 0 {
            text.push_str(&format!(", {} warnings", self.warnings));
        }
        if self.excused > 0 {
            text.push_str(&format!(", {} need fixtures", self.excused));
        }
        text
    }
}

fn suite(tools: &Tools, url: &str, arguments: &[&str]) -> Result<Outcome, String> {
    let results = target().join("tools/conformance-results");
    let _ = fs::remove_dir_all(&results);
    fs::create_dir_all(&results).map_err(|error| error.to_string())?;
    let script = tools.node_modules.join("@modelcontextprotocol/conformance/dist/index.js");
    let mut command = Command::new(&tools.node);
    command.arg(script).args(["server", "--url", url, "--output-dir"]).arg(&results).args(arguments);
    let done = capture(&mut command)?;
    let mut checks = Vec::new();
    collect(&results, &mut checks)?;
    Ok(Outcome { code: done.code, output: done.stdout + &done.stderr, checks })
}

/// Reads every `checks.json` below a directory.
fn collect(directory: &Path, checks: &mut Vec<Value>) -> Result<(), String> {
    let entries = fs::read_dir(directory).map_err(|error| error.to_string())?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, checks)?;
        } else if path.file_name().is_some_and(|name| name == "checks.json") {
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            let found: Vec<Value> =
                serde_json::from_str(&text).map_err(|error| format!("{path:?}: {error}"))?;
            checks.extend(found);
        }
    }
    Ok(())
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
