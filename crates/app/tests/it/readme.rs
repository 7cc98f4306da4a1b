//! The tour of README.md, run: every command prints what the page says it prints.
//!
//! `DIR2MCP_README=write` puts the real outputs into the page. A line `…` in the page stands for what follows.

use std::fs;
use std::io::BufRead;
use std::path::Path;
use std::process::Stdio;

use crate::sandbox::Sandbox;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dir2mcp");

/// A long output is cut here, so that the tour stays a tour.
const MOST_LINES: usize = 24;

fn folder() -> Sandbox {
    Sandbox::named("notes")
        .file("guide.md", "# Guide\n\nThe windmill was built in 1893. Its sails were renewed in 1950.\n")
        .file(
            "src/lease.rs",
            "/// Extends a lease that has not run out yet.\n\
             pub fn renew_lease(lease: &mut Lease, now: u64) -> Result<(), Expired> {\n\
             \x20   if lease.until < now {\n        return Err(Expired);\n    }\n\
             \x20   lease.until = now + lease.length;\n    Ok(())\n}\n",
        )
        .file("deploy.txt", "token = \"ghp_0123456789abcdefghijklmnopqrstuvwxyzAB\"\n")
        .bytes("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
}

#[test]
fn the_tour_prints_what_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let page = fs::read_to_string(&path).unwrap();
    let sandbox = folder();
    let mut real = String::new();
    let mut lines = page.lines().peekable();
    let mut in_block = false;
    while let Some(line) = lines.next() {
        in_block = if in_block { line != "```" } else { line == "```console" };
        match line.strip_prefix("$ dir2mcp ").filter(|_| in_block) {
            None => real.push_str(&format!("{line}\n")),
            Some(command) => {
                let mut said = Vec::new();
                while let Some(next) = lines.next_if(|next| !next.starts_with("$ ") && *next != "```") {
                    said.push(next);
                }
                let output = shown(&sandbox, &run(&sandbox, command));
                let more = lines.peek().is_some_and(|next| next.starts_with("$ "));
                real.push_str(&format!("{line}\n{output}{}", if more { "\n" } else { "" }));
            }
        }
    }
    if std::env::var("DIR2MCP_README").is_ok_and(|value| value == "write") {
        fs::write(&path, real).unwrap();
    } else {
        let (page, real) = (without_scores(&page), without_scores(&real));
        assert!(
            real == page,
            "README.md is not current; run with DIR2MCP_README=write\n{}",
            first_difference(&page, &real)
        );
    }
}

/// Runs a command of the tour; a server until it has indexed.
fn run(sandbox: &Sandbox, command: &str) -> String {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words[0] != "up" {
        return sandbox.ok(&words).stdout;
    }
    // The page shows a fixed port; the test takes a free one.
    let words = words.iter().map(|word| if word.starts_with("127.0.0.1:") { "127.0.0.1:0" } else { word });
    let words: Vec<&str> = words.collect();
    let mut child = sandbox.command(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut seen = String::new();
    for line in std::io::BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        seen.push_str(&format!("{line}\n"));
        if line.starts_with("Searchable: ") {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let last = seen.lines().rfind(|line| line.starts_with("Progress: ")).map(str::to_owned);
    // How many progress lines there are depends on the machine.
    let kept =
        seen.lines().filter(|line| !line.starts_with("Progress: ") || Some((*line).to_owned()) == last);
    kept.map(|line| format!("{line}\n")).collect()
}

/// The code of a sign-in link is another one every time.
fn code(line: &str) -> String {
    match line.split_once("#code=") {
        None => line.to_owned(),
        Some((before, after)) => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            format!("{before}#code=CODE{rest}")
        }
    }
}

/// The output as the page has it: the reader's own paths, and no more lines than are worth reading.
fn shown(sandbox: &Sandbox, output: &str) -> String {
    let root = sandbox.root().to_string_lossy().into_owned();
    let text = output.replace(&root, "/home/me/notes").replace(PROGRAM, "/usr/local/bin/dir2mcp");
    let mut lines: Vec<String> = text.lines().map(|line| code(&port(line)).trim_end().to_owned()).collect();
    // A fence would end the page's own block.
    let fence = lines.iter().position(|line| line.starts_with("```")).unwrap_or(lines.len());
    let most = fence.min(MOST_LINES);
    if lines.len() > most {
        lines.truncate(most);
        lines.push("…".to_owned());
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The line with the port that the tour asked for.
fn port(line: &str) -> String {
    match line.split_once("127.0.0.1:") {
        Some((before, after)) if after.starts_with(|c: char| c.is_ascii_digit()) => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}127.0.0.1:8087{rest}")
        }
        _ => line.to_owned(),
    }
}

/// Words as a shell splits them, with single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in command.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// The page without the digits of scores, which every change to the ranking moves a little.
fn without_scores(page: &str) -> String {
    let line = |line: &str| match line.split_once(", score ") {
        Some((before, _)) => format!("{before}, score …\n"),
        None => format!("{line}\n"),
    };
    page.lines().map(line).collect()
}

fn first_difference(page: &str, real: &str) -> String {
    let pair = page.lines().zip(real.lines()).enumerate().find(|(_, (page, real))| page != real);
    match pair {
        Some((at, (page, real))) => format!("line {}:\n  the page: {page}\n  really:   {real}", at + 1),
        None => "one of them is longer".to_owned(),
    }
}
