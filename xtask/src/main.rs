//! The project's own commands: `cargo xtask test` runs every test there is; the rest are its parts and the long
//! versions that nobody wants to wait for.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

mod advisories;
mod agents;
mod alerts;
mod bench;
mod clients;
mod compare;
mod conformance;
mod console;
mod crash;
mod damage;
mod docs;
mod documents;
mod edits;
mod eval;
mod facts;
mod fuzz;
mod house;
mod licences;
mod load;
mod model;
mod outlines;
mod process;
mod provider_clients;
mod recognition;
mod secrets;
mod sessions;
mod test;
mod tools;
mod torture;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

DIR2MCP_BINARY=PATH makes every command use that binary instead of building one.

  test [--list] [--only NAME]...   everything: format, lints, licences, tests, conformance,
                                   real clients, docs
  tools                            install what the external suites need, into target/tools
  conformance                      the official MCP conformance suite against the built binary
  clients                          the Python and TypeScript clients and the inspector against it
  console [--only SUITE,...] [--release] [--write]
                                   the web page in Chromium: scenarios, accessibility, budgets; --write puts the figures
                                   in docs/performance.md and the pictures in docs/console
  stand-ins [--serve]              the clients of Mistral, ElevenLabs, OpenAI and Cohere against our stand-ins for their
                                   servers; --serve starts the stand-ins and says where they are
  agents                           Claude Code, Codex, mcporter, FastMCP and the inspector, each with the configuration
                                   that `connect` wrote for it (installs 1 GB)
  advisories                       known vulnerabilities among the dependencies (needs cargo-deny and the network)
  docs [--check]                   write the generated reference pages, or check that they are current
  crash [--kills N] [--files N] [--seed N]
                                   kill -9 while indexing (default 200 times), then compare with a clean build
  damage [--kills N] [--power-cuts N] [--flips N] [--truncations N] [--blocks N] [--seed N] [--debug]
                                   kill -9 and power cuts (as root) while a state comes to be, damage in each of its
                                   files (default 1000, 200, 10000, 2000, 500): it starts, mends itself, answers right
  edits [--edits N] [--files N] [--seed N]
                                   edit a watched folder (default 1000 times), then compare with a clean build
  torture [--operations N] [--projects N] [--kills N] [--seed N] [--backend sqlite|postgres]
                                   writers on one file store through several servers that are killed, and a database
                                   server that crashes (default 20000 operations): is what they saw possible one
                                   after another?
  model [--operations N] [--tenants N] [--seed N] [--backend sqlite|postgres]
                                   random calls on the file store (default 1000000) against a plain model: no
                                   difference, and nothing of one tenant in an answer to another
  sessions [--sessions N]          abandon sessions (default 100000), then look at the memory
  load [--greedy N] [--questions N] [--at-once N] [--rounds N]
                                   an honest client beside 1000 greedy connections, and the memory after three times
                                   10000 questions at once, both as ratios
  bench [--tree PATH] [--peers] [--growth] [--only PART]... [--write]
                                   measure speed as ratios; --peers beside semble, --growth with large folders; PART is
                                   tree, peers, large, watched, growth, vectors, store or store-growth;
                                   --write puts them in docs/performance.md
  compare [--rounds N] [--write]   dir2mcp beside ripgrep, semble, codegraph, recoll and the MCP filesystem server: what they
                                   find, cost, read and show (installs 700 MB); --write puts it in docs/comparison.md
  eval --sets PATH [--ablations] [--weights NAME=VALUE,...] [--write]
                                   how often the right file is found on labelled questions; --write puts the figures
                                   in eval/results.md
  eval --everyday|--answers [--verbose] [--debug] [--write]
                                   everyday questions over a made folder of documents, mails and code: no download
                                   is needed; --write puts the figures in eval/everyday/results.md
  documents [PDF]...               documents that other programs made, read and compared with what they say, and PDFs
                                   with what pdftotext reads; the tables are printed
  documents --pdfs [--verbose] [--write]
                                   public PDFs of Debian packages (fetched, 300 MB) against pdftotext; --write puts
                                   the figures in docs/documents.md
  recognition [--write]            scans and recordings, read by dir2mcp, by tesseract and by ONNX Runtime with the same
                                   weights: how well and how fast; --write puts the figures in docs/documents.md and
                                   docs/performance.md
  fuzz [FAMILY]... [--minutes N]   coverage-guided fuzzing of the readers, each family for an hour or N minutes: pdf
                                   office xls rtf html mail text archive picture audio redact patterns lang query
                                   headers messages configuration
  secrets [--packages FOLDER] [--write]
                                   how many credentials and personal data are found, missed and mistaken, on labelled
                                   lines and on real packages; --write puts the figures in docs/security-figures.md
  names                            exported type names that are declared twice
  facts ast|typescript [--debug] FOLDER...
                                   facts about declarations against CPython's ast, or against the TypeScript compiler
  outlines ast FOLDER...           Python outlines against CPython's own ast
  outlines ctags LANGUAGE=FOLDER...
                                   outlines against universal-ctags
  outlines time FOLDER...          how long both take for the same files
";

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let command = if args.is_empty() { String::new() } else { args.remove(0) };
    let mut args = Args(args);
    if args.switch("--help") | args.switch("-h") {
        print!("{}", usage(&command));
        return ExitCode::SUCCESS;
    }
    let result = match command.as_str() {
        "test" => test::run(&mut args),
        "tools" => tools::install().map(drop),
        "conformance" => conformance::run(),
        "clients" => clients::run(),
        "console" => console::run(&mut args),
        "stand-ins" => provider_clients::run_or_serve(&mut args),
        "advisories" => advisories::run(&mut args),
        "agents" => agents::run(),
        "docs" => docs::run(&mut args),
        "crash" => crash::run(&mut args),
        "damage" => damage::run(&mut args),
        "edits" => edits::run(&mut args),
        "sessions" => sessions::run(&mut args),
        "torture" => torture::run(&mut args),
        "model" => model::run(&mut args),
        "load" => load::run(&mut args),
        "recognition" => recognition::run(&mut args),
        "bench" => bench::run(&mut args),
        "compare" => compare::run(&mut args),
        "eval" => eval::run(&mut args),
        "documents" => documents::run(&mut args),
        "fuzz" => fuzz::run_families(&mut args),
        "names" => house::check_names(),
        "facts" => facts::run(&mut args),
        "outlines" => outlines::run(&mut args),
        "secrets" => secrets::run_figures(&mut args),
        "" | "help" | "--help" | "-h" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        other => Err(format!("no command {other:?}\n\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The lines of the help that are about a command; all of them where it is not a command.
fn usage(command: &str) -> String {
    let mut lines = String::new();
    let mut is_about_it = false;
    for line in HELP.lines().filter(|line| line.starts_with("  ")) {
        // Further lines are indented more.
        if !line.starts_with("   ") {
            is_about_it = line.split_whitespace().next() == Some(command);
        }
        if is_about_it {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    if lines.is_empty() { HELP.to_owned() } else { format!("cargo xtask COMMAND\n\n{lines}") }
}

/// The arguments after the command.
struct Args(Vec<String>);

impl Args {
    /// Takes a switch; true if it was there.
    fn switch(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|arg| arg != name);
        self.0.len() < before
    }

    /// Takes an option and its value.
    fn value(&mut self, name: &str) -> Result<Option<String>, String> {
        let Some(position) = self.0.iter().position(|arg| arg == name) else { return Ok(None) };
        self.0.remove(position);
        if position == self.0.len() {
            return Err(format!("{name} needs a value"));
        }
        Ok(Some(self.0.remove(position)))
    }

    fn number(&mut self, name: &str, default: usize) -> Result<usize, String> {
        match self.value(name)? {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("{name} needs a number, not {text:?}")),
        }
    }

    /// All that is left.
    fn rest(&mut self) -> Vec<String> {
        std::mem::take(&mut self.0)
    }

    /// What nobody took is a mistake.
    fn done(&self) -> Result<(), String> {
        self.0.first().map_or(Ok(()), |arg| Err(format!("unknown argument {arg:?}\n\n{HELP}")))
    }
}
